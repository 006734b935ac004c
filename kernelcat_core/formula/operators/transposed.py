"""Transposed convolutions over one, two and three axes (as PyTorch's conv_transpose and ONNX's ConvTranspose).

An output position p is reached by the taps k for which p + before - dilation*k is a multiple of the stride. With
g = gcd(stride, dilation), s = stride/g and d = dilation/g, those are k = a + s*t for one phase a of s (none where g does not
divide p + before), and they read the input at v - d*t, where p + before = g*(d*a + s*v). So every phase is a dense
convolution of ceil(K/s) taps: nothing is multiplied by inserted zeros.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelcat_core.formula.operators.convolution import Padding, auto_pad, kernel_sizes
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import SAME, Sizes, pad_pair, per_axis


@dataclass(frozen=True)
class _Axis:
    """One spatial axis n of input size D{n}: `before` and `length` (of the output) are texts of size expressions."""

    n: int
    size: str
    stride: int
    dilation: int
    before: str
    length: str
    more: int | None = None
    """How many more positions a phase has than the input, where that is a number."""

    @property
    def common(self) -> int:
        return math.gcd(self.stride, self.dilation)

    @property
    def phases(self) -> int:
        return self.stride // self.common

    @property
    def step(self) -> int:
        return self.dilation // self.common

    @property
    def taps(self) -> str:
        """How many taps the longest phase has."""
        return self.size if self.phases == 1 else f"({self.size} + {self.phases - 1})//{self.phases}"

    @property
    def tap(self) -> str:
        return f"t{self.n}" if self.phases == 1 else f"a{self.n} + {self.phases}*t{self.n}"

    @property
    def place(self) -> str:
        return f"v{self.n} - " + (f"t{self.n}" if self.step == 1 else f"{self.step}*t{self.n}")

    @property
    def position(self) -> str:
        """The positions v of every phase."""
        if self.more is not None:
            return f"v{self.n} in D{self.n} {'-' if self.more < 0 else '+'} {abs(self.more)}"
        return f"v{self.n} in maximum(({self.length} - 1 + {self.before})//{self.stride} + 1, 0)"

    @property
    def inside(self) -> str:
        return f"0 <= {self.place} and {self.place} < D{self.n}"

    @property
    def within(self) -> str:
        """Whether the tap exists: the last ones of a phase may not."""
        whole = self.phases == 1 or (self.size.isdigit() and int(self.size) % self.phases == 0)
        return "" if whole else f"{self.tap} < {self.size}"

    @property
    def reached(self) -> tuple[str, str]:
        """The position v and the phase that hold output position o."""
        m = f"o{self.n}" if self.before == "0" else f"(o{self.n} + {self.before})"
        if self.common > 1:
            m = f"({m}//{self.common})"
        if self.phases == 1:
            return m, ""
        inverse = pow(self.step, -1, self.phases)
        phase = f"{m} % {self.phases}" if inverse == 1 else f"({inverse}*{m}) % {self.phases}"
        if self.step == 1:
            return f"{m}//{self.phases}", phase
        return f"({m} - {self.step}*({phase}))//{self.phases}", phase

    @property
    def hit(self) -> str:
        """Whether any tap reaches output position o."""
        return f"(o{self.n} + {self.before}) % {self.common} == 0" if self.common > 1 else ""


def _axes(name: str, sizes: tuple[str, ...], stride: object, padding: object, output_padding: object, dilation: object,
          output_shape: tuple[int, ...] | None) -> list[_Axis]:
    rank = len(sizes)
    strides, dilations = per_axis(stride, rank, f"stride of {name}"), per_axis(dilation, rank, f"dilation of {name}")
    extra = per_axis(output_padding, rank, f"output_padding of {name}", 0)
    wanted = None if output_shape is None else per_axis(output_shape, rank, f"output_shape of {name}")
    found: list[_Axis] = []
    for n, (size, s, d) in enumerate(zip(sizes, strides, dilations, strict=True)):
        reach = str(d * (int(size) - 1)) if size.isdigit() else f"{d}*({size} - 1)"
        full = f"(D{n} - 1)*{s} + {reach} + {1 + extra[n]}"
        if wanted is None and padding not in SAME:
            low, high = pad_pair(name, padding, n, rank)
            length = f"({full} - {low + high})" if low + high else f"({full})"
            more = (d * (int(size) - 1) + extra[n] - high) // s if size.isdigit() else None
            found.append(_Axis(n, size, s, d, str(low), length, more))
            continue
        length = f"D{n}*{s}" if wanted is None else str(wanted[n])
        total = f"maximum({full} - {length}, 0)"
        if wanted is None and size.isdigit():
            total = str(max(0, d * (int(size) - 1) + 1 + extra[n] - s))
        # ONNX: with SAME_UPPER the larger half of an odd total comes after, otherwise before
        upper = padding in ("same", "same_upper")
        before = f"({total})//2" if upper else f"(({total}) - ({total})//2)"
        if total.isdigit():
            before = str(int(total) // 2 if upper else int(total) - int(total) // 2)
        found.append(_Axis(n, size, s, d, before, length))
    return found


def _transposed(rank: int, name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Padding,
                output_padding: Sizes, groups: int, dilation: Sizes, kernel_size: Sizes | None,
                output_shape: tuple[int, ...] | None) -> str:
    if input.rank not in (rank + 1, rank + 2) or weight.rank != rank + 2:
        raise wrong(f"{name} takes input[N, C, {rank} more] (N may be left out) and weight[C, F/groups, {rank} more]")
    (count,) = per_axis(groups, 1, f"groups of {name}")
    axes = _axes(name, kernel_sizes(weight, kernel_size, rank, name), stride, padding, output_padding, dilation,
                 output_shape)
    lead = ["n"] if input.rank == rank + 2 else []
    depth = "C" if count == 1 else f"(C//{count})"
    channel = "c" if count == 1 else f"(f//F)*{depth} + c"
    filter_ = "f" if count == 1 else "f % F"
    filters = "F" if count == 1 else f"{count}*F"
    places = ", ".join([*lead, channel, *(a.place for a in axes)])
    taps = ", ".join([channel, filter_, *(a.tap for a in axes)])
    over = ", ".join([f"c in {depth}", *(f"t{a.n} in {a.taps}" for a in axes)])
    within = " and ".join(a.within for a in axes if a.within)
    inside = " and ".join(a.inside for a in axes)
    phases = [f"a{a.n} in {a.phases}" for a in axes if a.phases > 1]
    weighed = f"where({within}, weight[{taps}], 0)" if within else f"weight[{taps}]"
    body = f"sum[{over}](where({inside}, input[{places}], 0)*{weighed})"
    lines = [f"weight: [{', '.join(['C', 'F', *(a.size for a in axes)])}]",
             f"input: [{', '.join([*lead, 'C']).replace('n', 'N')}, {', '.join(f'D{a.n}' for a in axes)}]",
             f"_: [C, {count}*{depth}]" if count > 1 else "",
             # positions last: neighbours in memory are neighbours in the input
             f"phase[{', '.join([*lead, f'f in {filters}', *phases, *(a.position for a in axes)])}] = {body}"]
    held = [*(a.reached[1] for a in axes if a.phases > 1), *(a.reached[0] for a in axes)]
    reached = f"phase[{', '.join([*lead, 'f', *held])}]"
    hits = " and ".join(a.hit for a in axes if a.hit)
    if hits:
        reached = f"where({hits}, {reached}, 0)"
    left = ", ".join([*lead, f"f in {filters}", *(f"o{a.n} in {a.length}" for a in axes)])
    lines.append(f"y[{left}] = {reached}{'' if bias is None else ' + bias[f]'}")
    return "\n".join(line for line in lines if line)


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of ONNX ConvTranspose."""
    rank = arguments["weight"].rank - 2
    found: dict[str, Any] = {"strides": list(per_axis(arguments["stride"], rank, "stride")),
                             "dilations": list(per_axis(arguments["dilation"], rank, "dilation")),
                             "output_padding": list(per_axis(arguments["output_padding"], rank, "output_padding", 0)),
                             "group": arguments["groups"]}
    if arguments["output_shape"] is not None:
        return found | {"output_shape": list(arguments["output_shape"])} | auto_pad(arguments["padding"])
    if arguments["padding"] in SAME:
        return found | auto_pad(arguments["padding"])
    pairs = [pad_pair("conv_transpose", arguments["padding"], n, rank) for n in range(rank)]
    return found | {"pads": [p[0] for p in pairs] + [p[1] for p in pairs]}


def _define(rank: int) -> None:
    name = f"conv_transpose{rank}d"

    def build(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = 1, padding: Padding = 0,
              output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1, kernel_size: Sizes | None = None,
              output_shape: tuple[int, ...] | None = None) -> str:
        return _transposed(rank, name, input, weight, bias, stride, padding, output_padding, groups, dilation, kernel_size,
                           output_shape)

    operator(name, group="convolution", summary=f"adjoint of a convolution over {rank} ax{'is' if rank == 1 else 'es'}",
             example=f"{name}(kernel_size=3, stride=2, padding=1)", aliases=f"ConvTranspose{rank}D ConvTranspose{rank}d",
             ranks={"input": rank + 2, "weight": rank + 2, "bias": 1},
             renames={"x": "input", "w": "weight", "strides": "stride", "pads": "padding", "dilations": "dilation",
                      "group": "groups"},
             onnx=OnnxNode("ConvTranspose", ("input", "weight", "bias"), _attributes,
                           applies=lambda a: a["input"].rank == a["weight"].rank))(build)


for _rank in (1, 2, 3):
    _define(_rank)
