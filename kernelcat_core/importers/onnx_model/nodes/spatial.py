"""Operators of ONNX that resample, pad and rearrange positions."""

from __future__ import annotations

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.trace import Value


@onnx_op("Resize", 10)
def resize(n: Node) -> Value:
    x = n.x()
    first = 1 if n.version < 11 else 2
    scales = tuple(float(v) for v in n.host(first)) if n.has(first) and n.x(first).size else None
    sizes = n.ints(3) if n.has(3) else None
    coordinates = n.attr("coordinate_transformation_mode", "asymmetric" if n.version < 11 else "half_pixel")
    if coordinates == "align_corners" and not sizes:
        coordinates = "align_scaled_corners"
    roi = tuple(float(v) for v in n.host(1)) if coordinates == "tf_crop_and_resize" else None
    axes = n.attr("axes")
    return n.call("resize", x, sizes=sizes, scales=None if sizes else scales, mode=n.attr("mode", "nearest"),
                  coordinates=coordinates, rounding=n.attr("nearest_mode", "floor" if n.version < 11 else "round_prefer_floor"),
                  cubic_coeff_a=float(n.attr("cubic_coeff_a", -0.75)), exclude_outside=bool(n.attr("exclude_outside", 0)),
                  antialias=bool(n.attr("antialias", 0)), axes=None if axes is None else tuple(axes), roi=roi,
                  extrapolation_value=float(n.attr("extrapolation_value", 0.0)),
                  keep_aspect_ratio_policy=n.attr("keep_aspect_ratio_policy", "stretch"))


@onnx_op("Upsample", 7)
def upsample(n: Node) -> Value:
    scales = n.attr("scales") or tuple(float(v) for v in n.host(1))
    return n.call("resize", n.x(), scales=tuple(float(s) for s in scales), mode=n.attr("mode", "nearest"),
                  coordinates="asymmetric", rounding="floor")


@onnx_op("Pad", 1)
def pad(n: Node) -> Value:
    x = n.x()
    given = n.ints(1, "pads") or ()
    axes = n.ints(3) or tuple(range(x.rank))
    pairs = [(0, 0)] * x.rank
    for k, axis in enumerate(axes):
        pairs[axis] = (given[k], given[k + len(axes)])
    value: Value = n.x(2) if n.has(2) else n.const(np.asarray(n.attr("value", 0.0)).astype(x.dtype.numpy))
    mode = n.attr("mode", "constant")
    if mode != "constant":
        return n.call("pad", x, pads=tuple(pairs), mode=mode)
    if value.rank:
        value = n.formula("y = v[0]", v=value) if value.constant is None else n.const(value.constant.reshape(()))
    return n.call("pad", x, pads=tuple(pairs), value=value)


@onnx_op("CenterCropPad")
def center_crop_pad(n: Node) -> Value:
    axes = n.attr("axes")
    return n.call("center_crop_pad", n.x(), shape=n.ints(1), axes=None if axes is None else tuple(axes))


@onnx_op("Col2Im")
def col2im(n: Node) -> Value:
    image, block = n.ints(1) or (), n.ints(2) or ()
    ones = (1,) * len(image)
    pads = n.attr("pads") or (0,) * (2 * len(image))
    return n.call("col2im", n.x(), output_size=image, kernel_size=block, dilation=tuple(n.attr("dilations") or ones),
                  stride=tuple(n.attr("strides") or ones),
                  padding=tuple(zip(pads[:len(image)], pads[len(image):], strict=True)))


@onnx_op("DepthToSpace SpaceToDepth")
def blocks(n: Node) -> Value:
    name = "depth_to_space" if n.op == "DepthToSpace" else "space_to_depth"
    return n.call(name, n.x(), block=n.attr("blocksize"), mode=n.attr("mode", "DCR"))
