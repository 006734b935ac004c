"""Gradients of ATen that torch has as operators of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL
from kernelcat_core.importers.torch_model.node import Node, at, aten_op, indices
from kernelcat_core.importers.torch_model.nodes.convolution import pullback
from kernelcat_core.importers.torch_model.nodes.distances import distance_gradient
from kernelcat_core.importers.torch_model.nodes.indexing import true_places
from kernelcat_core.importers.torch_model.nodes.layout import edge, expanded, reshaped
from kernelcat_core.importers.torch_model.nodes.reductions import wide
from kernelcat_core.importers.trace import Value, literal


@aten_op("hardshrink_backward softshrink_backward")
def shrink_backward(n: Node, g: Value, x: Value, threshold: float) -> Value:
    return n.pointwise("where(x >= -t and x <= t, 0, g)", n.out.dtype, g=g, x=x, t=threshold)


@aten_op("reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
         "replication_pad2d_backward replication_pad3d_backward")
def pad_backward(n: Node, g: Value, x: Value, pads: Sequence[int]) -> Value:
    i = indices("i", x.rank)
    inner = list(i)
    for k in range(len(pads) // 2):
        axis, before = x.rank - 1 - k, pads[2 * k]
        inner[axis] = edge(f"({i[axis]} - ({before}))", x.shape[axis], n.name.startswith("reflection"))
    kind = wide(g.dtype)
    zero = n.const(np.zeros(x.shape), kind)
    over = ", ".join(f"{a} in {s}" for a, s in zip(i, g.shape, strict=True))
    return n.formula(f'y = scatter[{over}](z, ({", ".join(inner)},), {at("g", i)}, "sum")', z=zero, g=n.cast(g, kind))


@aten_op("masked_scatter_backward")
def masked_scatter_backward(n: Node, g: Value, mask: Value, sizes: Sequence[int]) -> Value:
    """The gradients under the mask in order, then zeros."""
    total = int(np.prod(sizes))
    flat = reshaped(n, g, (g.size,))
    places = true_places(n, expanded(n, mask, g.shape))
    found = min(places.size, total)
    if not found:
        return n.full(n.out, 0)
    made = n.formula(f"y[k in {total}] = where(k < {found}, g[p[k]], 0)", g=flat, p=places)
    return reshaped(n, made, sizes)


@aten_op("_pdist_backward")
def pdist_backward(n: Node, g: Value, x: Value, p: float, d: Value) -> Value:
    rows, columns = np.triu_indices(x.shape[0], 1)
    if p == 0:
        return n.full(n.out, 0)
    full = n.const(np.zeros((x.shape[0],) * 2), g.dtype)
    r, c = n.const(rows.astype(np.int64)), n.const(columns.astype(np.int64))

    def square(v: Value) -> Value:
        upper = n.formula("y = scatter[u](z, (r[u], c[u]), v[u])", z=full, r=r, c=c, v=v)
        return n.formula("y = scatter[u](z, (c[u], r[u]), v[u])", z=upper, r=r, c=c, v=v)

    return distance_gradient(n, square(g), x, x, p, square(d))


@aten_op("_scaled_dot_product_flash_attention_for_cpu")
def attention(n: Node, q: Value, k: Value, v: Value, dropout: float = 0.0, causal: bool = False) -> tuple[Value, Value]:
    """The output, and the logsumexp of every row of scores, which only this operator's own gradient reads."""
    if dropout:
        raise n.refuse("dropout inside attention")
    mask = n.kw("attn_mask")
    text = _attention(q, mask, causal, n.kw("scale"))
    values = {"q": q, "k": k, "v": v, **({} if mask is None else {"m": mask})}
    spec = n.specs[1]
    assert spec is not None
    return n.formula(text, **values), n.full(spec, 0)


def _attention(q: Value, mask: Value | None, causal: bool, scale: float | None) -> str:
    given = {"scale": scale if scale is not None else q.shape[-1] ** -0.5, "causal": bool(causal)}
    return f"y = attention(q, k, v{'' if mask is None else ', m'}, {', '.join(f'{a}={literal(b)}' for a, b in given.items())})"


@aten_op("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(n: Node, g: Value, q: Value, k: Value, v: Value, out: Value, lse: Value, dropout: float, causal: bool
                       ) -> list[Value]:
    if dropout:
        raise n.refuse("dropout inside attention")
    mask = n.kw("attn_mask")
    text = _attention(q, mask, causal, n.kw("scale"))
    kind = wide(q.dtype)
    values = {"q": n.cast(q, kind), "k": n.cast(k, kind), "v": n.cast(v, kind)}
    if mask is not None:
        values["m"] = mask if mask.dtype == BOOL else n.cast(mask, kind)
    return [pullback(n, text, by, n.cast(g, kind), **values) for by in "qkv"]


@aten_op("_efficientzerotensor")
def zeros(n: Node, *_: Any) -> Value:
    return n.full(n.out, 0)
