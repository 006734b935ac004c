"""Attention of ONNX where it is the plain one; its other forms go by the standard's body."""

from __future__ import annotations

from typing import Any

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
from kernelcat_core.importers.trace import Value

_OTHER = ("softcap", "softmax_precision", "qk_matmul_output_mode")


def _is_plain(n: Node) -> bool:
    """Queries with at most a mask of bools: no cache, no cap, no window, nothing but the result asked for."""
    windows = [v for name, v in n.attributes.items() if "window" in name and v not in (-1, None)]
    return (n.x().dtype.is_float and not any(n.has(k) for k in range(4, len(n))) and not windows
            and not any(n.attr(name) for name in _OTHER) and not any(n.outputs[1:])
            and (not n.has(3) or (n.x(3).dtype.kind == "b" and n.x(3).rank in (2, 4))))


@onnx_op("Attention", 23)
def attention(n: Node) -> Any:
    if not _is_plain(n):
        return NotImplemented
    q, k, v = n.x(0), n.x(1), n.x(2)
    flat = q.rank == 3
    if flat:
        heads = n.attr("q_num_heads"), n.attr("kv_num_heads"), n.attr("kv_num_heads")
        q, k, v = (_split(n, x, count) for x, count in zip((q, k, v), heads, strict=True))
    group = q.shape[1] // k.shape[1]
    if group > 1:
        k, v = (n.formula(f"y[b, h in {q.shape[1]}, s, d] = x[b, h//{group}, s, d]", x=x) for x in (k, v))
    mask = n.maybe(3)
    if mask is not None and mask.rank == 4 and mask.shape[:2] != q.shape[:2]:
        i = ["0" if s == 1 else a for s, a in zip(mask.shape[:2], "bh", strict=True)]
        mask = n.formula(f"y[b in {q.shape[0]}, h in {q.shape[1]}, s, d] = x[{', '.join(i)}, s, d]", x=mask)
    if mask is not None and mask.shape[-2:] != (q.shape[2], k.shape[2]):
        return NotImplemented
    made = n.call("attention", q, k, v, mask=mask, scale=n.attr("scale"), causal=bool(n.attr("is_causal", 0)))
    if not flat:
        return (made,)
    joined = n.call("transpose", made, axes=(0, 2, 1, 3))
    return (reshaped(n, joined, (*joined.shape[:2], joined.shape[2]*joined.shape[3])),)


def _split(n: Node, x: Value, heads: int) -> Value:
    """[batch, length, heads*size] as [batch, heads, length, size]."""
    batch, length, width = x.shape
    return n.call("transpose", reshaped(n, x, (batch, length, heads, width // heads)), axes=(0, 2, 1, 3))
