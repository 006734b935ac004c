"""Sampling at computed positions: grids, regions of interest, deformed windows.

An element at a fractional position is a sum over taps: every axis gives each tap a whole position and a weight, and the
filters are products of one axis each. Positions outside a tensor read 0.
"""

from __future__ import annotations

from kernelcat_core.formula.operators.convolution import kernel_sizes
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, pad_pair, per_axis

_GROUP = "sampling"
_TAPS = {"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}
_A = -0.75  # of the cubic kernel, as in PyTorch and ONNX


def _reflected(x: str, size: str, align: bool) -> str:
    """A coordinate folded back at the first and last pixel's centres (align) or outer edges."""
    low, span = ("0", f"maximum({size} - 1, 1)") if align else ("0.5", size)
    from_edge = f"abs({x} + {low})" if low != "0" else f"abs({x})"
    period = f"fmod({from_edge}, f32(2*({span})))"
    folded = f"minimum({period}, f32(2*({span})) - {period})"
    return f"{folded} - {low}" if low != "0" else folded


def _bounded(x: str, size: str, padding: str, align: bool) -> str:
    if padding == "reflection":
        x = _reflected(x, size, align)
    return x if padding == "zeros" else f"minimum(maximum({x}, 0), f32({size} - 1))"


def _taps(n: int, index: str, left: str, mode: str, padding: str, align: bool) -> list[str]:
    """Lines for whole positions `at{n}` and weights `part{n}` of every tap t, from the coordinates `place{n}`."""
    place, size = f"place{n}[{index}]", f"D{n}"
    if mode == "nearest":
        return [f"at{n}[{left}] = i64(rint({_bounded(place, size, padding, align)}))"]
    if mode == "linear":
        inside = _bounded(place, size, padding, align)
        return [f"near{n}[{left}] = {inside}",
                f"at{n}[{left}, t in 2] = i64(floor(near{n}[{index}])) + t",
                f"part{n}[{left}, t in 2] = 1 - abs(near{n}[{index}] - floor(near{n}[{index}]) - t)"]
    d = f"abs({place} - floor({place}) - (t - 1))"
    near = f"({_A + 2}*{d} - {_A + 3})*{d}*{d} + 1"
    far = f"(({_A}*{d} - {5 * _A})*{d} + {8 * _A})*{d} - {4 * _A}"
    return [f"at{n}[{left}, t in 4] = i64({_bounded(f'(floor({place}) + (t - 1))', size, padding, align)})",
            f"part{n}[{left}, t in 4] = where({d} <= 1, {near}, {far})"]


@operator("grid_sample", group=_GROUP,
          summary="input[N, C, ..] sampled at grid[N, .., axes] (last axis first, from -1 to 1): linear, nearest or cubic",
          example="grid_sample(input, grid)",
          aliases="GridSample", ranks={"input": 4, "grid": 4}, renames={"x": "input", "X": "input"},
          onnx=OnnxNode("GridSample", ("input", "grid"), lambda a: {
              "mode": _name(a["mode"]), "padding_mode": a["padding_mode"], "align_corners": int(a["align_corners"])}))
def grid_sample(input: Tensor, grid: Tensor, mode: str = "linear", padding_mode: str = "zeros",
                align_corners: bool = False) -> str:
    if input.rank < 3 or grid.rank != input.rank:
        raise wrong("grid_sample takes input[N, C, ..] and grid[N, .., axes] with as many axes")
    if mode not in _TAPS or padding_mode not in ("zeros", "border", "reflection"):
        raise wrong("grid_sample knows the modes linear, nearest, cubic and the paddings zeros, border, reflection")
    mode, rank = _name(mode), input.rank - 2
    o = [f"o{n}" for n in range(rank)]
    index, left = ", ".join(["n", *o]), ", ".join(["n", *o])
    lines = [f"input: [N, C, {', '.join(f'D{n}' for n in range(rank))}]",
             f"grid: [N, {', '.join(f'O{n}' for n in range(rank))}, {rank}]"]
    for n in range(rank):
        g = f"grid[{index}, {rank - 1 - n}]"
        unit = f"(f32({g}) + 1)*f32(D{n} - 1)/2" if align_corners else f"((f32({g}) + 1)*f32(D{n}) - 1)/2"
        if input.dtype.name == "f64":
            unit = unit.replace("f32(", "f64(")
        lines += [f"place{n}[{left}] = {unit}", *_taps(n, index, left, mode, padding_mode, align_corners)]
    return "\n".join([*lines, f"y[n, c, {', '.join(o)}] = {_sampled('input', 'n, c', index, rank, _TAPS[mode])}"])


def _name(mode: str) -> str:
    return {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)


def _sampled(source: str, lead: str, index: str, rank: int, taps: int) -> str:
    """The sum over all taps at `index`."""
    if taps == 1:
        return f"{source}[{lead}, {', '.join(f'at{n}[{index}]' for n in range(rank))}]"
    t = [f"t{n}" for n in range(rank)]
    weights = "*".join(f"part{n}[{index}, {a}]" for n, a in enumerate(t))
    places = ", ".join(f"at{n}[{index}, {a}]" for n, a in enumerate(t))
    return f"sum[{', '.join(f'{a} in {taps}' for a in t)}]({weights}*{source}[{lead}, {places}])"


@operator("affine_grid", group=_GROUP, summary="the grid of grid_sample for affine maps theta[N, axes, axes + 1]",
          example="affine_grid(theta, (2, 3, 4, 5))", aliases="AffineGrid", ranks={"theta": 3},
          onnx=OnnxNode("AffineGrid", ("theta",), lambda a: {"size": list(a["size"]),
                                                             "align_corners": int(a["align_corners"])}))
def affine_grid(theta: Tensor, size: tuple[int, ...], align_corners: bool = False) -> str:
    if theta.rank != 3 or not isinstance(size, tuple) or len(size) not in (4, 5):
        raise wrong("affine_grid takes theta[N, axes, axes + 1] and size (N, C, H, W) or (N, C, D, H, W)")
    sizes = per_axis(size, len(size), "size of affine_grid")
    rank = len(sizes) - 2
    terms = []
    for n, length in enumerate(sizes[2:]):
        unit = f"(2*f32(o{n}) - {length - 1})/{length if not align_corners else max(1, length - 1)}"
        terms.append(f"theta[n, a, {rank - 1 - n}]*({unit})")
    left = ", ".join(f"o{n} in {length}" for n, length in enumerate(sizes[2:]))
    return "\n".join([f"theta: [{sizes[0]}, {rank}, {rank + 1}]",
                      f"y[n, {left}, a] = {' + '.join([*reversed(terms), f'theta[n, a, {rank}]'])}"])


@operator("roi_align", group=_GROUP, summary="regions [R, 4] (x1, y1, x2, y2) of x[N, C, H, W] resampled to one size each",
          example="roi_align(X, rois, batch_indices, 2, 2, sampling_ratio=2)",
          aliases="RoiAlign", ranks={"x": 4, "rois": 2, "batch_indices": 1}, renames={"input": "x"})
def roi_align(x: Tensor, rois: Tensor, batch_indices: Tensor, output_height: int = 1, output_width: int = 1,
              sampling_ratio: int = 0, spatial_scale: float = 1.0, mode: str = "avg",
              coordinate_transformation_mode: str = "half_pixel") -> str:
    """With sampling_ratio 0 a region is as large as the image at most: more samples than that would need are left out."""
    if (x.rank, rois.rank, batch_indices.rank) != (4, 2, 1) or mode not in ("avg", "max"):
        raise wrong("roi_align takes x[N, C, H, W], rois[R, 4], batch_indices[R] and the mode avg or max")
    if coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise wrong("roi_align knows the coordinates half_pixel and output_half_pixel")
    outputs = per_axis((output_height, output_width), 2, "output of roi_align")
    (ratio,) = per_axis(sampling_ratio, 1, "sampling_ratio of roi_align", 0)
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    lines = ["x: [N, C, D0, D1]", "rois: [R, 4]", "batch_indices: [R]"]
    for n, out in enumerate(outputs):
        first, last = (f"rois[r, {k}]*{float(spatial_scale)!r} - {shift}" for k in (1 - n, 3 - n))
        extent = f"({last}) - ({first})" if shift else f"maximum(({last}) - ({first}), 1.0)"
        samples = str(ratio) if ratio else f"((D{n} + {out - 1})//{out} + 1)"
        count = f"f32({ratio})" if ratio else f"ceil(bin{n}[r])"
        lines += [f"bin{n}[r in R] = ({extent})/{out}",
                  f"many{n}[r in R] = {count}",
                  f"place{n}[r in R, o in {out}, s in {samples}] = {first} + bin{n}[r]*(o + (s + 0.5)/many{n}[r])",
                  f"used{n}[r in R, o in {out}, s in {samples}] = s < many{n}[r] and place{n}[r, o, s] >= -1 and "
                  f"place{n}[r, o, s] <= D{n}",
                  f"near{n}[r in R, o in {out}, s in {samples}] = minimum(maximum(place{n}[r, o, s], 0), f32(D{n} - 1))",
                  f"at{n}[r in R, o in {out}, s in {samples}, t in 2] = minimum(i64(floor(near{n}[r, o, s])) + t, D{n} - 1)",
                  f"part{n}[r in R, o in {out}, s in {samples}, t in 2] = "
                  f"1 - abs(near{n}[r, o, s] - floor(near{n}[r, o, s]) - t)"]
    element = ("part0[r, p, u, a]*part1[r, q, v, b]*"
               "x[i64(batch_indices[r]), c, at0[r, p, u, a], at1[r, q, v, b]]")
    left = f"y[r in R, c in C, p in {outputs[0]}, q in {outputs[1]}]"
    used = "used0[r, p, u] and used1[r, q, v]"
    if mode == "avg":
        total = f"sum[u, v, a, b](where({used}, {element}, 0))"
        return "\n".join([*lines, f"{left} = {total}/maximum(many0[r]*many1[r], 1.0)"])
    some = "u < many0[r] and v < many1[r]"
    return "\n".join([*lines, f"{left} = max[u, v, a, b](where({some}, where({used}, {element}, 0), -inf))"])


@operator("deform_conv2d", group=_GROUP, summary="convolution whose taps are moved by offsets and weighted by a mask",
          example="deform_conv2d(X, W, offset)", aliases="DeformConv deform_conv",
          ranks={"input": 4, "weight": 4, "offset": 4, "bias": 1, "mask": 4},
          renames={"x": "input", "w": "weight", "strides": "stride", "pads": "padding", "dilations": "dilation",
                   "group": "groups", "offset_group": "offset_groups"})
def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, bias: Tensor | None = None, mask: Tensor | None = None,
                  stride: Sizes = 1, padding: Sizes | tuple[tuple[int, int], ...] = 0, dilation: Sizes = 1, groups: int = 1,
                  offset_groups: int = 1, kernel_size: Sizes | None = None) -> str:
    if input.rank != 4 or weight.rank != 4 or offset.rank != 4 or (mask is not None and mask.rank != 4):
        raise wrong("deform_conv2d takes tensors with 4 axes")
    k = kernel_sizes(weight, kernel_size, 2, "deform_conv2d")
    s, d = per_axis(stride, 2, "stride of deform_conv2d"), per_axis(dilation, 2, "dilation of deform_conv2d")
    (count,), (parts,) = per_axis(groups, 1, "groups"), per_axis(offset_groups, 1, "offset_groups")
    pads = [pad_pair("deform_conv2d", padding, n, 2) for n in range(2)]
    taps = f"{k[0]}*{k[1]}"
    length = [f"(D{n} + {sum(pads[n])} - {d[n]}*({k[n]} - 1) - 1)//{s[n]} + 1" for n in range(2)]
    index = "n, g, k0, k1, o0, o1"
    left = f"n in N, g in {parts}, k0 in {k[0]}, k1 in {k[1]}, o0 in {length[0]}, o1 in {length[1]}"
    lines = [f"weight: [F, G, {k[0]}, {k[1]}]", f"input: [N, {count}*G, D0, D1]",
             f"offset: [N, {2 * parts}*{taps}, {length[0]}, {length[1]}]"]
    if mask is not None:
        lines.append(f"mask: [N, {parts}*{taps}, {length[0]}, {length[1]}]")
    for n in range(2):
        moved = f"offset[n, ((g*{k[0]} + k0)*{k[1]} + k1)*2 + {n}, o0, o1]"
        lines += [f"place{n}[{left}] = {s[n]}*o{n} + {d[n]}*k{n} - {pads[n][0]} + {moved}",
                  *_taps(n, index, left, "linear", "zeros", False)]
    part = f"c//({count}*G//{parts})" if parts > 1 else "0"
    here = f"n, {part}, k0, k1, o0, o1"
    value = _sampled("input", "n, c", here, 2, 2)
    if mask is not None:
        value += f"*mask[n, (({part})*{k[0]} + k0)*{k[1]} + k1, o0, o1]"
    full = f"n in N, c in {count}*G, k0 in {k[0]}, k1 in {k[1]}, o0 in {length[0]}, o1 in {length[1]}"
    lines.append(f"column[{full}] = {value}")
    channel = "c" if count == 1 else f"(f//(F//{count}))*G + c"
    body = f"sum[c in G, k0 in {k[0]}, k1 in {k[1]}](column[n, {channel}, k0, k1, o0, o1]*weight[f, c, k0, k1])"
    tail = "" if bias is None else " + bias[f]"
    return "\n".join([*lines, f"y[n in N, f in F, o0 in {length[0]}, o1 in {length[1]}] = {body}{tail}"])
