"""Convolutions of ONNX. Shapes are numbers here, so automatic padding is worked out at once."""

from __future__ import annotations

from collections.abc import Sequence

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.trace import Value

Pairs = tuple[tuple[int, int], ...]


def spatial(n: Node, sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Strides and dilations of a window operator, one a spatial axis."""
    ones = (1,) * len(sizes)
    return tuple(n.attr("strides") or ones), tuple(n.attr("dilations") or ones)


def padding(n: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Pairs:
    """Elements before and after every spatial axis of `sizes`, from pads or auto_pad."""
    rank = len(sizes)
    strides, dilations = spatial(n, sizes)
    mode = n.attr("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        pairs = []
        for size, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
            total = max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
            small = total // 2
            pairs.append((small, total - small) if mode == "SAME_UPPER" else (total - small, small))
        return tuple(pairs)
    pads = tuple(n.attr("pads") or (0,) * (2 * rank)) if mode == "NOTSET" else (0,) * (2 * rank)
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


@onnx_op("Conv")
def conv(n: Node) -> Value:
    return convolved(n, n.x(0), n.x(1), n.maybe(2))


def convolved(n: Node, x: Value, w: Value, bias: Value | None) -> Value:
    """The cross-correlation that the node's attributes describe."""
    sizes, kernel = x.shape[2:], w.shape[2:]
    if not 1 <= len(sizes) <= 3:
        raise n.refuse(f"{len(sizes)} spatial axes")
    strides, dilations = spatial(n, sizes)
    return n.call(f"conv{len(sizes)}d", x, w, bias, stride=strides, padding=padding(n, sizes, kernel),
                  dilation=dilations, groups=n.attr("group", 1))


@onnx_op("ConvTranspose")
def conv_transpose(n: Node) -> Value:
    x, w = n.x(0), n.x(1)
    sizes = x.shape[2:]
    if not 1 <= len(sizes) <= 3:
        raise n.refuse(f"{len(sizes)} spatial axes")
    strides, dilations = spatial(n, sizes)
    extra = tuple(n.attr("output_padding") or (0,) * len(sizes))
    wanted = n.attr("output_shape")
    pads: Pairs | str
    pads = {"SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}.get(n.attr("auto_pad", "NOTSET"), "")
    if not pads and wanted is None:
        given = n.attr("pads") or (0,) * (2 * len(sizes))
        pads = tuple(zip(given[:len(sizes)], given[len(sizes):], strict=True))
    return n.call(f"conv_transpose{len(sizes)}d", x, w, n.maybe(2), stride=strides, padding=pads or 0,
                  output_padding=extra, groups=n.attr("group", 1), dilation=dilations,
                  output_shape=None if wanted is None else tuple(wanted[-len(sizes):]))
