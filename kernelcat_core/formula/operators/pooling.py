"""Pools over one, two and three axes, and over all positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelcat_core.formula.operators.axes import Axes
from kernelcat_core.formula.operators.convolution import Padding, auto_pad
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, Window, guards, pads, per_axis, windows

NAMES = {"x": "input", "kernel_shape": "kernel_size", "strides": "stride", "pads": "padding", "dilations": "dilation"}


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of ONNX MaxPool, AveragePool and LpPool."""
    rank = arguments["rank_"]
    found = pool_windows("pool", rank, arguments["kernel_size"], arguments["stride"], arguments["padding"],
                         arguments["dilation"], arguments["ceil_mode"])
    attributes: dict[str, Any] = {"kernel_shape": [int(w.size) for w in found], "strides": [w.stride for w in found],
                                  "dilations": [w.dilation for w in found], "ceil_mode": int(arguments["ceil_mode"])}
    if "count_include_pad" in arguments:
        attributes["count_include_pad"] = int(arguments["count_include_pad"])
    if "p" in arguments:
        attributes["p"] = arguments["p"]
    return attributes | (auto_pad(arguments["padding"]) or {"pads": pads(found)})


def node(op_type: str, rank: int) -> OnnxNode:
    """The standard node of a pool over `rank` axes, for batched input."""
    return OnnxNode(op_type, ("input",), lambda a: _attributes({**a, "rank_": rank}),
                    applies=lambda a: a["input"].rank == rank + 2)


def pool_windows(name: str, rank: int, kernel_size: Sizes, stride: Sizes | None, padding: Padding, dilation: Sizes,
                 ceil_mode: bool = False) -> list[Window]:
    """The windows of a pool; the stride is the window's size if left out."""
    sizes = per_axis(kernel_size, rank, f"kernel_size of {name}")
    return windows(name, tuple(str(k) for k in sizes), kernel_size if stride is None else stride, padding, dilation,
                   bool(ceil_mode))


@dataclass(frozen=True)
class Pooled:
    """Texts of a pool: declaration, leading indices, left indices, an element of the window, and the window's indices."""

    declaration: str
    lead: list[str]
    left: str
    element: str
    over: str


def pooled(name: str, rank: int, input: Tensor, found: list[Window]) -> Pooled:
    """KC-F005 unless the input has `rank` axes after C, or after N and C."""
    if input.rank not in (rank + 1, rank + 2):
        raise wrong(f"{name} takes input[N, C, {rank} more] (N may be left out)")
    lead = ["n", "c"][rank + 2 - input.rank:]
    sizes = [*(a.upper() for a in lead), *(f"D{n}" for n in range(rank))]
    return Pooled(f"input: [{', '.join(sizes)}]", lead,
                  ", ".join([*lead, *(f"o{w.n} in {w.output}" for w in found)]),
                  f"input[{', '.join([*lead, *(w.place for w in found)])}]",
                  ", ".join(f"k{w.n} in {w.size}" for w in found))


def least(input: Tensor) -> str:
    """The smallest value of the input's type."""
    if input.dtype.is_float:
        return "-inf"
    return str(-(1 << input.dtype.bits - 1) if input.dtype.kind == "i" else 0)


def _define(rank: int) -> None:
    ranks = {"input": rank + 2}
    axes = f"{rank} ax{'is' if rank == 1 else 'es'}"

    def max_pool(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
                 dilation: Sizes = 1, ceil_mode: bool = False) -> str:
        name = f"max_pool{rank}d"
        found = pool_windows(name, rank, kernel_size, stride, padding, dilation, ceil_mode)
        p = pooled(name, rank, input, found)
        guard = guards(found)
        body = f"where({guard}, {p.element}, {least(input)})" if guard else p.element
        return f"{p.declaration}\ny[{p.left}] = max[{p.over}]({body})"

    def avg_pool(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0,
                 count_include_pad: bool = True, dilation: Sizes = 1, ceil_mode: bool = False,
                 divisor_override: int | None = None) -> str:
        name = f"avg_pool{rank}d"
        found = pool_windows(name, rank, kernel_size, stride, padding, dilation, ceil_mode)
        p = pooled(name, rank, input, found)
        guard = guards(found)
        if not guard and divisor_override is None:
            return f"{p.declaration}\ny[{p.left}] = mean[{p.over}]({p.element})"
        total = f"sum[{p.over}](where({guard}, {p.element}, 0))" if guard else f"sum[{p.over}]({p.element})"
        if divisor_override is not None:
            (count,) = map(str, per_axis(divisor_override, 1, f"divisor_override of {name}"))
        elif count_include_pad:
            count = "*".join(f"f32({w.count(True)})" if w.ceil else w.size for w in found)
        else:
            count = "*".join(f"f32({w.count(False)})" if w.padded else w.size for w in found)
        return f"{p.declaration}\ny[{p.left}] = {total} / ({count})"

    def lp_pool(input: Tensor, kernel_size: Sizes = 2, stride: Sizes | None = None, padding: Padding = 0, p: int = 2,
                dilation: Sizes = 1, ceil_mode: bool = False) -> str:
        name = f"lp_pool{rank}d"
        found = pool_windows(name, rank, kernel_size, stride, padding, dilation, ceil_mode)
        pool = pooled(name, rank, input, found)
        guard = guards(found)
        body = f"where({guard}, {pool.element}, 0)" if guard else pool.element
        return "\n".join([pool.declaration, lp_norm(f"y[{pool.left}]", pool.over, body, p, name)])

    operator(f"max_pool{rank}d", group="pooling", summary=f"largest element of sliding windows over {axes}",
             example=f"max_pool{rank}d(kernel_size=2)", aliases=f"MaxPool{rank}D MaxPool{rank}d", ranks=ranks,
             renames=NAMES, onnx=node("MaxPool", rank))(max_pool)
    operator(f"avg_pool{rank}d", group="pooling", summary=f"mean of sliding windows over {axes}",
             example=f"avg_pool{rank}d(kernel_size=2)", aliases=f"AvgPool{rank}D AvgPool{rank}d", ranks=ranks, renames=NAMES,
             onnx=node("AveragePool", rank)._replace(applies=lambda a: a["input"].rank == rank + 2 and
                                                     a["divisor_override"] is None))(avg_pool)
    operator(f"lp_pool{rank}d", group="pooling", summary=f"p-norm of sliding windows over {axes}",
             example=f"lp_pool{rank}d(kernel_size=2)", aliases=f"LpPool{rank}D LpPool{rank}d", ranks=ranks,
             renames={**NAMES, "norm_type": "p", "dilations": "dilation"}, onnx=node("LpPool", rank))(lp_pool)


def lp_norm(left: str, over: str, element: str, p: int, name: str) -> str:
    """`left` = the p-norm of the elements."""
    if isinstance(p, bool) or not isinstance(p, int) or p < 1:
        raise wrong(f"p of {name} is a whole number, at least 1")
    if p == 1:
        return f"{left} = sum[{over}](abs({element}))"
    if p == 2:
        return f"{left} = sqrt(sum[{over}]({element}*{element}))"
    return f"{left} = sum[{over}](abs({element})**{p})**{1 / p!r}"


for _rank in (1, 2, 3):
    _define(_rank)


def _global(name: str, reducer: str, summary: str, onnx: str, aliases: str) -> None:
    def build(input: Tensor) -> str:
        if input.rank < 3:
            raise wrong(f"{name} takes input[N, C, ...] with at least one more axis")
        a = Axes.over(input.rank, list(range(2, input.rank)))
        return f"{a.left('y', True)} = {reducer}[{', '.join(a.reduced)}]({a.inner('input')})"

    operator(name, group="pooling", summary=summary, example=f"{name}(X)", aliases=aliases, ranks={"input": 4},
             renames=NAMES, onnx=OnnxNode(onnx, ("input",)))(build)


_global("global_max_pool", "max", "largest element over all positions", "GlobalMaxPool", "GlobalMaxPool")
_global("global_avg_pool", "mean", "mean over all positions", "GlobalAveragePool", "GlobalAveragePool")


@operator("global_lp_pool", group="pooling", summary="p-norm over all positions", example="global_lp_pool(X)",
          aliases="GlobalLpPool", ranks={"input": 4}, renames=NAMES)
def global_lp_pool(input: Tensor, p: int = 2) -> str:
    if input.rank < 3:
        raise wrong("global_lp_pool takes input[N, C, ...] with at least one more axis")
    a = Axes.over(input.rank, list(range(2, input.rank)))
    return lp_norm(a.left("y", True), ", ".join(a.reduced), a.inner("input"), p, "global_lp_pool")
