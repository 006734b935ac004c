"""Pools over one, two and three axes, and over all positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcat_core.formula.operators.axes import Axes, subscripted
from kernelcat_core.formula.operators.convolution import Padding
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, Window, guards, pads, per_axis, windows

_NAMES = {"x": "input", "kernel_shape": "kernel_size", "strides": "stride", "pads": "padding"}


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of ONNX MaxPool and AveragePool."""
    rank = arguments["input"].rank - 2
    found = _windows("pool", rank, arguments["kernel_size"], arguments["stride"], arguments["padding"],
                     arguments.get("dilation", 1))
    attributes: dict[str, Any] = {"kernel_shape": [int(w.size) for w in found], "strides": [w.stride for w in found]}
    if "dilation" in arguments:
        attributes["dilations"] = [w.dilation for w in found]
    if "count_include_pad" in arguments:
        attributes["count_include_pad"] = int(arguments["count_include_pad"])
    known = pads(found)
    return attributes | ({"auto_pad": "SAME_UPPER"} if known is None or arguments["padding"] == "same" else {"pads": known})


def _windows(name: str, rank: int, kernel_size: Sizes, stride: Sizes | None, padding: Padding,
             dilation: Sizes) -> list[Window]:
    sizes = per_axis(kernel_size, rank, f"kernel_size of {name}")
    return windows(name, tuple(str(k) for k in sizes), kernel_size if stride is None else stride, padding, dilation)


def _pooled(name: str, rank: int, input: Tensor, found: list[Window]) -> tuple[str, str, str, str]:
    """Declaration, left side, input element, reducer indices."""
    if input.rank != rank + 2:
        raise wrong(f"{name} takes input[N, C, {rank} more]")
    declaration = f"input: [{', '.join(['N', 'C', *(f'D{n}' for n in range(rank))])}]"
    left = f"y[n, c, {', '.join(f'o{w.n} in {w.output}' for w in found)}]"
    element = f"input[n, c, {', '.join(w.place for w in found)}]"
    return declaration, left, element, ", ".join(f"k{w.n} in {w.size}" for w in found)


def _define(rank: int) -> None:
    ranks = {"input": rank + 2}
    axes = f"{rank} ax{'is' if rank == 1 else 'es'}"

    def max_pool(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
                 dilation: Sizes = 1) -> str:
        name = f"max_pool{rank}d"
        found = _windows(name, rank, kernel_size, stride, padding, dilation)
        declaration, left, element, over = _pooled(name, rank, input, found)
        guard = guards(found)
        least = "-inf" if input.dtype.is_float else str(-(1 << input.dtype.bits - 1) if input.dtype.kind == "i" else 0)
        body = f"where({guard}, {element}, {least})" if guard else element
        return f"{declaration}\n{left} = max[{over}]({body})"

    def avg_pool(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
                 count_include_pad: bool = True) -> str:
        name = f"avg_pool{rank}d"
        found = _windows(name, rank, kernel_size, stride, padding, 1)
        declaration, left, element, over = _pooled(name, rank, input, found)
        guard = guards(found)
        if not guard:
            return f"{declaration}\n{left} = mean[{over}]({element})"
        total = f"sum[{over}](where({guard}, {element}, 0))"
        if count_include_pad:
            count = 1
            for w in found:
                count *= int(w.size)
            return f"{declaration}\n{left} = {total} / {count}"
        return f"{declaration}\n{left} = {total} / sum[{over}](where({guard}, 1.0, 0.0))"

    operator(f"max_pool{rank}d", group="pooling", summary=f"largest element of sliding windows over {axes}",
             example=f"max_pool{rank}d(kernel_size=2)", aliases=f"MaxPool{rank}D MaxPool{rank}d", ranks=ranks,
             renames=_NAMES, onnx=OnnxNode("MaxPool", ("input",), _attributes))(max_pool)
    operator(f"avg_pool{rank}d", group="pooling", summary=f"mean of sliding windows over {axes}",
             example=f"avg_pool{rank}d(kernel_size=2)", aliases=f"AvgPool{rank}D AvgPool{rank}d", ranks=ranks,
             renames=_NAMES, onnx=OnnxNode("AveragePool", ("input",), _attributes))(avg_pool)


for _rank in (1, 2, 3):
    _define(_rank)


def _global(name: str, reducer: str, summary: str, onnx: str, aliases: str) -> None:
    def build(input: Tensor) -> str:
        if input.rank < 3:
            raise wrong(f"{name} takes input[N, C, ...] with at least one more axis")
        a = Axes.over(input.rank, list(range(2, input.rank)))
        return f"{a.left('y', True)} = {reducer}[{', '.join(a.reduced)}]({a.inner('input')})"

    operator(name, group="pooling", summary=summary, example=f"{name}(X)", aliases=aliases, ranks={"input": 4},
             renames=_NAMES, onnx=OnnxNode(onnx, ("input",)))(build)


_global("global_max_pool", "max", "largest element over all positions", "GlobalMaxPool", "GlobalMaxPool")
_global("global_avg_pool", "mean", "mean over all positions", "GlobalAveragePool", "GlobalAveragePool")


@operator("upsample_nearest", group="pooling", summary="each position repeated `scale` times along every spatial axis",
          example="upsample_nearest(X, scale=2)", ranks={"input": 4}, renames={"x": "input", "scale_factor": "scale"})
def upsample_nearest(input: Tensor, scale: Sizes = 2) -> str:
    if input.rank < 3:
        raise wrong("upsample_nearest takes input[N, C, ...] with at least one more axis")
    rank = input.rank - 2
    factors = per_axis(scale, rank, "scale of upsample_nearest")
    left = ", ".join(f"o{n} in D{n}*{s}" for n, s in enumerate(factors))
    inner = [f"o{n}//{s}" for n, s in enumerate(factors)]
    return "\n".join([f"input: [{', '.join(['N', 'C', *(f'D{n}' for n in range(rank))])}]",
                      f"y[n, c, {left}] = {subscripted('input', ['n', 'c', *inner])}"])
