"""Convolutions over one, two and three axes (cross-correlation, as in PyTorch and ONNX)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import SAME, Sizes, guards, pads, per_axis, windows

Padding = int | str | tuple[Any, ...]


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of ONNX Conv."""
    rank = arguments["weight"].rank - 2
    sizes = kernel_sizes(arguments["weight"], arguments["kernel_size"], rank, "conv")
    found = windows("conv", sizes, arguments["stride"], arguments["padding"], arguments["dilation"])
    attributes: dict[str, Any] = {"strides": [w.stride for w in found], "dilations": [w.dilation for w in found],
                                  "group": arguments["groups"]}
    if all(s.isdigit() for s in sizes):
        attributes["kernel_shape"] = [int(s) for s in sizes]
    known = pads(found)
    return attributes | (auto_pad(arguments["padding"]) or {"pads": known})


def auto_pad(padding: object) -> dict[str, Any]:
    """ONNX's auto_pad where the padding follows from sizes."""
    if padding == "same_lower":
        return {"auto_pad": "SAME_LOWER"}
    return {"auto_pad": "SAME_UPPER"} if padding in SAME else {}


def _standard(arguments: Mapping[str, Any]) -> bool:
    """Whether ONNX Conv says the same."""
    batched: bool = arguments["input"].rank == arguments["weight"].rank
    return batched and (arguments["padding"] != "causal" or arguments["kernel_size"] is not None
                        or None not in arguments["weight"].shape[2:])


def kernel_sizes(weight: Tensor, kernel_size: Sizes | None, rank: int, name: str) -> tuple[str, ...]:
    """Window sizes: numbers where the call or the weight's shape says them, else names."""
    if kernel_size is not None:
        return tuple(str(k) for k in per_axis(kernel_size, rank, f"kernel_size of {name}"))
    return tuple(f"K{n}" if size is None else str(size) for n, size in enumerate(weight.shape[2:]))


def _conv(rank: int, name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes,
          padding: Padding, dilation: Sizes, groups: int, kernel_size: Sizes | None, in_channels: int | None,
          out_channels: int | None) -> str:
    if input.rank not in (rank + 1, rank + 2) or weight.rank != rank + 2:
        raise wrong(f"{name} takes input[N, C, {rank} more] (N may be left out) and weight[F, C/groups, {rank} more]")
    batch = input.rank == rank + 2
    (count,) = per_axis(groups, 1, f"groups of {name}")
    for value, what in ((in_channels, "in_channels"), (out_channels, "out_channels")):
        if value is not None and (per_axis(value, 1, f"{what} of {name}")[0] % count):
            raise wrong(f"{what} of {name} is a multiple of groups")
    found = windows(name, kernel_sizes(weight, kernel_size, rank, name), stride, padding, dilation)
    filters = "F" if out_channels is None else str(out_channels)
    depth = "G" if in_channels is None else str(in_channels // count)
    channels = depth if count == 1 else f"{count}*{depth}"
    sizes = [f"D{n}" for n in range(rank)]
    channel = "c" if count == 1 else f"(f//({filters}//{count}))*{depth} + c"
    element = f"input[{', '.join([*['n'][:batch], channel, *(w.place for w in found)])}]"
    guard = guards(found)
    if guard:
        element = f"where({guard}, {element}, 0)"
    taps = [f"k{n}" for n in range(rank)]
    places = ", ".join(f"o{w.n} in {w.output}" for w in found)
    body = f"sum[{', '.join(['c', *taps])}]({element}*weight[f, {', '.join(['c', *taps])}])"
    return "\n".join([f"weight: [{', '.join([filters, depth, *(w.size for w in found)])}]",
                      f"input: [{', '.join([*['N'][:batch], channels, *sizes])}]",
                      f"y[{'n in N, ' if batch else ''}f, {places}] = {body}{'' if bias is None else ' + bias[f]'}"])


def _define(rank: int) -> None:
    name = f"conv{rank}d"

    def build(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
              padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, kernel_size: Sizes | None = None,
              in_channels: int | None = None, out_channels: int | None = None) -> str:
        return _conv(rank, name, input, weight, bias, stride, padding, dilation, groups, kernel_size, in_channels,
                     out_channels)

    example = f"Conv{rank}D(kernel_size=3, padding=1)"
    operator(name, group="convolution", summary=f"sliding window products over {rank} ax{'is' if rank == 1 else 'es'}",
             example=example, aliases=f"Conv{rank}D Conv{rank}d conv{rank}D",
             ranks={"input": rank + 2, "weight": rank + 2, "bias": 1},
             renames={"x": "input", "w": "weight", "strides": "stride", "pads": "padding", "dilations": "dilation",
                      "group": "groups"},
             onnx=OnnxNode("Conv", ("input", "weight", "bias"), _attributes, applies=_standard))(build)


for _rank in (1, 2, 3):
    _define(_rank)
