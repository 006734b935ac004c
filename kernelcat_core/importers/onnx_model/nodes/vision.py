"""Operators of ONNX that sample images at computed places, and determinants."""

from __future__ import annotations

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.convolution import padding, spatial
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
from kernelcat_core.importers.trace import Value


@onnx_op("DeformConv", 19)
def deform_conv(n: Node) -> Value:
    x, w = n.x(0), n.x(1)
    if x.rank != 4:
        raise n.refuse(f"{x.rank - 2} spatial axes")
    strides, dilations = spatial(n, w.shape[2:])
    return n.call("deform_conv2d", x, w, n.x(2), bias=n.maybe(3), mask=n.maybe(4), stride=strides, dilation=dilations,
                  padding=padding(n, x.shape[2:], w.shape[2:]), groups=n.attr("group", 1),
                  offset_groups=n.attr("offset_group", 1))


@onnx_op("GridSample", 16)
def grid_sample(n: Node) -> Value:
    return n.call("grid_sample", n.x(0), n.x(1), mode=n.attr("mode", "linear"), padding_mode=n.attr("padding_mode", "zeros"),
                  align_corners=bool(n.attr("align_corners", 0)))


@onnx_op("AffineGrid", 20)
def affine_grid(n: Node) -> Value:
    return n.call("affine_grid", n.x(0), size=n.ints(1), align_corners=bool(n.attr("align_corners", 0)))


@onnx_op("RoiAlign", 10)
def roi_align(n: Node) -> Value:
    return n.call("roi_align", n.x(0), n.x(1), n.x(2), output_height=n.attr("output_height", 1),
                  output_width=n.attr("output_width", 1), sampling_ratio=n.attr("sampling_ratio", 0),
                  spatial_scale=float(n.attr("spatial_scale", 1.0)), mode=n.attr("mode", "avg"),
                  coordinate_transformation_mode=n.attr("coordinate_transformation_mode",
                                                        "half_pixel" if n.version >= 16 else "output_half_pixel"))


@onnx_op("MaxRoiPool")
def max_roi_pool(n: Node) -> Value:
    """The largest element of every part of every region [batch, x1, y1, x2, y2]; an empty part gives 0."""
    x, rois, scale = n.x(0), n.x(1), float(n.attr("spatial_scale", 1.0))
    lines = []
    for axis, (name, size, parts) in enumerate(zip("hw", x.shape[2:], n.attr("pooled_shape"), strict=True)):
        left = f"r in {rois.shape[0]}, p in {parts}"
        lines += [f"{name}0[r] = floor(rois[r, {2 - axis}]*{scale!r} + 0.5)",
                  f"{name}d[r] = maximum(floor(rois[r, {4 - axis}]*{scale!r} + 0.5) - {name}0[r] + 1, 1)/{parts}",
                  f"{name}a[{left}] = minimum(maximum(floor(p*{name}d[r]) + {name}0[r], 0), {size})",
                  f"{name}b[{left}] = minimum(maximum(ceil((p + 1)*{name}d[r]) + {name}0[r], 0), {size})"]
    rows, columns = n.attr("pooled_shape")
    inside = "h >= ha[r, p] and h < hb[r, p] and w >= wa[r, q] and w < wb[r, q]"
    left = f"r in {rois.shape[0]}, c in {x.shape[1]}, p in {rows}, q in {columns}"
    lines += [f"m[{left}] = max[h in {x.shape[2]}, w in {x.shape[3]}](where({inside}, x[i64(rois[r, 0]), c, h, w], -inf))",
              "y[r, c, p, q] = where(hb[r, p] > ha[r, p] and wb[r, q] > wa[r, q], m[r, c, p, q], 0)"]
    return n.formula("\n".join(lines), x=x, rois=rois)


@onnx_op("Det")
def det(n: Node) -> Value:
    """Elimination with row pivots, a column at a time (Schur complements)."""
    x = n.x()
    size, lead = x.shape[-1], x.shape[:-2]
    rest = reshaped(n, x, (int(np.prod(lead)), size, size))
    total: Value | None = None
    while True:
        value = n.formula("p[b] = argmax[i](abs(x[b, i, 0]))\ny[b] = x[b, p[b], 0]*where(p[b] == 0, 1, -1)", x=rest)
        total = value if total is None else n.formula("y = a*b", a=total, b=value)
        if rest.shape[1] == 1:
            break
        m = rest.shape[1] - 1
        rest = n.formula(
            f"p[b] = argmax[i](abs(x[b, i, 0]))\nf[b, i in {m}] = where(i + 1 == p[b], x[b, 0, 0], x[b, i + 1, 0])\n"
            f"y[b, i in {m}, j in {m}] = where(i + 1 == p[b], x[b, 0, j + 1], x[b, i + 1, j + 1]) - "
            "where(x[b, p[b], 0] == 0, 0, f[b, i]/x[b, p[b], 0])*x[b, p[b], j + 1]", x=rest)
    return reshaped(n, total, lead)
