"""Resizing along any axes, as ONNX Resize and PyTorch's interpolate.

Coordinates are exact: the input coordinate of output position o is a fraction num/den of whole numbers, so that no rounding
of a scale moves a sample. One axis is resized at a time, since all filters are separable.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, per_axis

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "cubic": "cubic",
          "bicubic": "cubic"}
_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "align_scaled_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class _Axis:
    """One axis of size `size`: its scale is p/q, its output length `length` (all texts of size expressions)."""

    size: str
    length: str
    p: str
    q: str
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)

    def coordinate(self, kind: str) -> tuple[str, str]:
        """(num, den) of the input coordinate at output index o; den > 0."""
        o, size, length, p, q = "o", self.size, self.length, f"({self.p})", f"({self.q})"
        match kind:
            case "half_pixel":
                return f"(2*{o} + 1)*{q} - {p}", f"(2*{p})"
            case "pytorch_half_pixel":
                return f"((2*{o} + 1)*{q} - {p})*minimum({length} - 1, 1)", f"(2*{p})"
            case "half_pixel_symmetric":
                return f"{size}*{p} - ({length})*{q} + (2*{o} + 1)*{q} - {p}", f"(2*{p})"
            case "align_corners":
                return f"{o}*({size} - 1)", f"maximum({length} - 1, 1)"
            case "align_scaled_corners":  # ONNX: the last corner is where the scaled size, not rounded down, ends
                return f"{o}*({size} - 1)*{q}", f"maximum({size}*{p} - {q}, 1)"
            case "asymmetric":
                return f"{o}*{q}", p
            case "tf_half_pixel_for_nn":
                return f"(2*{o} + 1)*{q}", f"(2*{p})"
        common = Fraction(1, self.start.denominator * self.end.denominator)
        a, b, c = int(self.start / common), int(self.end / common), int(1 / common)
        # at its middle for one output, else from start to end
        inner = f"2*({a}*({length} - 1) + {o}*{b - a}) + (1 - minimum({length} - 1, 1))*{a + b}"
        return f"({inner})*({size} - 1)", f"({2 * c}*maximum({length} - 1, 1))"


def _fraction(value: object, what: str) -> Fraction:
    """A number as the simple fraction that it rounds (scales come as 32-bit floats)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
        raise wrong(f"{what} of resize is a number for each axis")
    exact = Fraction(value)
    simple = exact.limit_denominator(4096)
    return simple if abs(simple - exact) <= abs(exact) * Fraction(1, 10 ** 7) else exact.limit_denominator(1 << 24)


def _real(x: Tensor) -> str:
    return "f64" if x.dtype.name == "f64" else "f32"


def _cubic(distance: str, a: float) -> str:
    """Keys' kernel (1981) at a distance >= 0."""
    d = f"({distance})"
    near = f"(({a + 2!r})*{d} - ({a + 3!r}))*{d}*{d} + 1"
    far = f"((({a!r})*{d} - ({5 * a!r}))*{d} + ({8 * a!r}))*{d} - ({4 * a!r})"
    return f"where({d} <= 1, {near}, where({d} < 2, {far}, 0.0))"


@dataclass(frozen=True)
class _Filter:
    """What is the same for every axis."""

    mode: str
    kind: str
    rounding: str
    a: float
    exclude: bool
    antialias: bool


def _nearest(axis: _Axis, f: _Filter) -> str:
    num, den = axis.coordinate(f.kind)
    places = {"round_prefer_floor": f"(2*({num}) + {den} - 1)//(2*{den})",
              "round_prefer_ceil": f"(2*({num}) + {den})//(2*{den})",
              "floor": f"({num})//{den}", "ceil": f"({num} + {den} - 1)//{den}"}
    return f"minimum(maximum({places[f.rounding]}, 0), {axis.size} - 1)"


def _stage(axis: _Axis, f: _Filter, source: str, k: int, rank: int, real: str, left: str) -> list[str]:
    """Lines that resize axis k of `source`; the last assigns `left`."""
    i = letters(rank)

    def at(place: str) -> str:
        return subscripted(source, [place if n == k else a for n, a in enumerate(i)])

    target = subscripted(left, [f"o in {axis.length}" if n == k else a for n, a in enumerate(i)])
    if f.mode == "nearest":
        return [f"{target} = {at(_nearest(axis, f))}"]
    num, den = axis.coordinate(f.kind)
    first, part = f"({num})//{den}", f"{real}(({num}) % {den})/{real}({den})"
    clamp = f"minimum(maximum({first} + {{}}, 0), {axis.size} - 1)"
    if f.mode == "linear" and not f.antialias and not f.exclude:
        return [f"{target} = {at(clamp.format(0))}*(1 - {part}) + {at(clamp.format(1))}*({part})"]
    # taps first + 1 - reach .. first + reach; wider by 1/scale when an image shrinks and its frequencies are filtered
    width = 1 if f.mode == "linear" else 2
    shrink = f"(maximum({axis.q}, {axis.p}))" if f.antialias else axis.p
    reach = f"(({width}*{shrink} + {axis.p} - 1)//({axis.p}))" if f.antialias else str(width)
    distance = f"abs({real}(t + 1 - {reach}) - {part})"
    if f.antialias:
        distance += f"*({real}({axis.p})/{real}({shrink}))"
    weight = f"maximum(1 - {distance}, 0)" if f.mode == "linear" else _cubic(distance, f.a)
    tap = f"{first} + t + 1 - {reach}"
    if f.exclude:
        weight = f"where(0 <= {tap} and {tap} < {axis.size}, {weight}, 0)"
    lines = [f"w{k}[o in {axis.length}, t in 2*{reach}] = {weight}"]
    # the taps of an unfiltered kernel add up to 1
    share = f"/sum[u in 2*{reach}](w{k}[o, u])" if f.antialias or f.exclude else ""
    place = clamp.format(f"(t + 1 - {reach})")
    return [*lines, f"{target} = sum[t in 2*{reach}](w{k}[o, t]*{at(place)}){share}"]


@operator("resize", group="layout",
          summary="resampled along axes (all, or those named): nearest, linear or cubic, by sizes or by scales",
          example='resize(X, scales=(2, 1.5), mode="linear")', aliases="Resize", renames={
              "input": "x", "size": "sizes", "scale_factor": "scales", "coordinate_transformation_mode": "coordinates",
              "nearest_mode": "rounding"})
def resize(x: Tensor, sizes: Sizes | tuple[int | None, ...] | None = None,
           scales: float | tuple[float, ...] | None = None, mode: str = "nearest", coordinates: str = "half_pixel",
           rounding: str = "round_prefer_floor", cubic_coeff_a: float = -0.75, exclude_outside: bool = False,
           antialias: bool = False, axes: tuple[int, ...] | None = None, roi: tuple[float, ...] | None = None,
           extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch") -> str:
    over = [normalised(a, x.rank, "resize") for a in (range(x.rank) if axes is None else axes)]
    if mode not in _MODES or coordinates not in _COORDINATES or rounding not in _ROUNDINGS:
        raise wrong(f"resize knows the modes {', '.join(dict.fromkeys(_MODES.values()))}, the coordinates "
                    f"{', '.join(_COORDINATES)} and the roundings {', '.join(_ROUNDINGS)}")
    if (sizes is None) == (scales is None):
        raise wrong("resize takes sizes or scales")
    given = sizes if scales is None else scales
    wanted = given if isinstance(given, tuple) else (given,) * len(over)
    if len(wanted) != len(over):
        raise wrong(f"resize takes {len(over)} {'sizes' if scales is None else 'scales'}, one for each of its axes")
    region = [_fraction(v, "roi") for v in roi or ()]
    if coordinates == "tf_crop_and_resize" and len(region) != 2 * len(over):
        raise wrong(f"roi of resize is {len(over)} starts, then {len(over)} ends")
    found = {a: axis for a, v, n in zip(over, wanted, range(len(over)), strict=True)
             if (axis := _axis(x, a, v, scales is None, coordinates, region[n::len(over)])) is not None}
    if keep_aspect_ratio_policy != "stretch" and scales is None:
        found = _proportional(x, over, wanted, keep_aspect_ratio_policy)
    f = _Filter(_MODES[mode], coordinates, rounding, float(cubic_coeff_a), bool(exclude_outside), bool(antialias))
    return _staged(x, found, f, extrapolation_value)


def _axis(x: Tensor, a: int, value: Any, is_size: bool, kind: str, region: list[Fraction]) -> _Axis | None:
    """None where an axis stays as it is."""
    size = f"N{a}"
    start, end = region or (Fraction(0), Fraction(1))
    if value is None:
        return None
    if is_size:
        (length,) = per_axis(value, 1, "sizes of resize")
        if x.shape[a] == length and kind != "tf_crop_and_resize":
            return None
        return _Axis(size, str(length), str(length), size, start, end)
    scale = _fraction(value, "scales")
    if scale <= 0:
        raise wrong("scales of resize are positive")
    if scale == 1 and start == 0 and end == 1:
        return None
    p, q = scale.numerator, scale.denominator
    known = x.shape[a]
    extent = f"({size}*{p}//{q})" if known is None else str(known * p // q)
    return _Axis(size, extent, str(p), str(q), start, end)


def _proportional(x: Tensor, over: list[int], wanted: tuple[Any, ...], policy: str) -> dict[int, _Axis]:
    """One scale for all axes, so that no size (not_larger) or every size (not_smaller) reaches what is asked."""
    shape = [x.shape[a] for a in over]
    if policy not in ("not_larger", "not_smaller") or None in shape or 0 in shape:
        raise wrong("keep_aspect_ratio_policy is stretch, or not_larger or not_smaller where the sizes are numbers")
    ratios = [Fraction(w, d) for w, d in zip(wanted, shape, strict=True) if d]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return {a: _Axis(f"N{a}", str(int(scale * (d or 0) + Fraction(1, 2))), str(scale.numerator), str(scale.denominator))
            for a, d in zip(over, shape, strict=True)}


def _staged(x: Tensor, found: dict[int, _Axis], f: _Filter, outside: float) -> str:
    lines = [f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]"] if x.rank else []
    i = letters(x.rank)
    source = "x"
    for k, axis in found.items():
        left = f"r{k}"
        lines += _stage(axis, f, source, k, x.rank, _real(x), left)
        source = left
    if f.kind == "tf_crop_and_resize":
        tests = []
        for k, axis in found.items():
            num, den = (t.replace("o", i[k]) for t in axis.coordinate(f.kind))
            tests.append(f"0 <= {num} and {num} <= ({axis.size} - 1)*{den}")
        lines.append(f"{subscripted('y', i)} = where({' and '.join(tests)}, {subscripted(source, i)}, {outside!r})")
    elif not found:
        lines.append(f"{subscripted('y', i)} = {subscripted('x', i)}")
    if f.mode != "nearest" and not x.dtype.is_float and found:
        last = "y" if f.kind == "tf_crop_and_resize" else source
        lines.append(f"{subscripted('z', i)} = {x.dtype}({subscripted(last, i)})")
    return "\n".join(lines)


@operator("upsample_nearest", group="layout", summary="each position repeated `scale` times along every spatial axis",
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


@operator("interpolate", group="layout", summary="resize over the axes after N and C, with PyTorch's modes",
          example='interpolate(X, scale_factor=2, mode="bilinear")', ranks={"x": 4},
          renames={"input": "x", "sizes": "size", "scales": "scale_factor"})
def interpolate(x: Tensor, size: Sizes | None = None, scale_factor: float | tuple[float, ...] | None = None,
                mode: str = "nearest", align_corners: bool = False, antialias: bool = False) -> str:
    axes = tuple(range(2, x.rank))
    if mode in ("nearest", "nearest-exact"):
        exact = mode == "nearest-exact"
        return resize(x, size, scale_factor, "nearest", "half_pixel" if exact else "asymmetric",
                      "round_prefer_ceil" if exact else "floor", axes=axes)
    return resize(x, size, scale_factor, mode, "align_corners" if align_corners else "half_pixel", axes=axes,
                  cubic_coeff_a=-0.5 if antialias else -0.75, exclude_outside=antialias, antialias=antialias)
