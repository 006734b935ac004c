"""Convolutions of ATen and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelcat_core.importers.torch_model.node import Node, aten_op
from kernelcat_core.importers.torch_model.nodes.reductions import reduced, wide
from kernelcat_core.importers.trace import Value, literal


def per_axis(given: Any, rank: int) -> tuple[int, ...]:
    """One number an axis, from a number, one number in a list, or as many as axes."""
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    return tuple(int(v) for v in (listed * rank if len(listed) == 1 else listed))


def pullback(n: Node, text: str, by: str, g: Value, **values: Value) -> Value:
    """The gradient of `y`, which `text` defines over `values`, by one of them, weighted by `g`."""
    return n.formula(f"{text}\ndx_ = grad(y, {by}, g_)\n-> dx_", **values, g_=g)


def _call(rank: int, has_bias: bool, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
          groups: int) -> str:
    """The operator of the language that says what aten.convolution says."""
    pads = tuple((p, p) for p in per_axis(padding, rank))
    arguments = {"stride": per_axis(stride, rank), "padding": pads, "dilation": per_axis(dilation, rank), "groups": groups}
    if transposed:
        arguments["output_padding"] = per_axis(output_padding, rank)
    written = ", ".join(f"{k}={literal(v)}" for k, v in arguments.items())
    return f"y = conv{'_transpose' if transposed else ''}{rank}d(x, w{', b' if has_bias else ''}, {written})"


@aten_op("convolution")
def convolution(n: Node, x: Value, w: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int) -> Value:
    rank = w.rank - 2
    if not 1 <= rank <= 3:
        raise n.refuse(f"{rank} spatial axes")
    if not x.size or not w.size:
        return n.full(n.out, 0)
    text = _call(rank, bias is not None, stride, padding, dilation, transposed, output_padding, groups)
    return n.formula(text, x=x, w=w, **({} if bias is None else {"b": bias}))


@aten_op("convolution_backward")
def convolution_backward(n: Node, g: Value, x: Value, w: Value, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
                         transposed: bool, output_padding: Any, groups: int, mask: Sequence[bool]) -> list[Value | None]:
    rank = w.rank - 2
    if not 1 <= rank <= 3:
        raise n.refuse(f"{rank} spatial axes")
    kind = wide(g.dtype)
    g, x, w = n.cast(g, kind), n.cast(x, kind), n.cast(w, kind)
    text = _call(rank, False, stride, padding, dilation, transposed, output_padding, groups)
    made: list[Value | None] = [None, None, None]
    for place, by in ((0, "x"), (1, "w")):
        spec = n.specs[place]
        if mask[place] and spec is not None:
            made[place] = pullback(n, text, by, g, x=x, w=w) if g.size and spec.size else n.full(spec, 0)
    spec = n.specs[2]
    if mask[2] and spec is not None:
        axes = tuple(k for k in range(g.rank) if k != 1)
        made[2] = reduced(n, g, axes, False, "sum[{k}]({x})") if g.size else n.full(spec, 0)
    return made
