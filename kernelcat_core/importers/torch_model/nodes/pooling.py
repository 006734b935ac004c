"""Pools of ATen and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcat_core.importers.torch_model.node import Node, at, aten_op, indices, ranged
from kernelcat_core.importers.torch_model.nodes.convolution import per_axis, pullback
from kernelcat_core.importers.torch_model.nodes.layout import reshaped
from kernelcat_core.importers.torch_model.nodes.reductions import wide
from kernelcat_core.importers.trace import Value, literal


def _rank(n: Node) -> int:
    return int(next(ch for ch in n.name if ch.isdigit()))


def _written(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{k}={literal(v)}" for k, v in arguments.items())


def _windows(rank: int, size: Any, stride: Any, padding: Any) -> dict[str, Any]:
    sizes = per_axis(size, rank)
    return {"kernel_size": sizes, "stride": per_axis(stride, rank) if stride not in (None, [], ()) else sizes,
            "padding": tuple((p, p) for p in per_axis(padding, rank))}


@aten_op("max_pool2d_with_indices max_pool3d_with_indices")
def max_pool(n: Node, x: Value, size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil: bool = False) -> tuple[Value, Value]:
    rank = _rank(n)
    arguments = {**_windows(rank, size, stride, padding), "dilation": per_axis(dilation, rank), "ceil_mode": bool(ceil)}
    return (n.formula(f"y = max_pool{rank}d(x, {_written(arguments)})", x=x),
            n.formula(f"y = max_pool{rank}d_indices(x, {_written(arguments)})", x=x))


@aten_op("max_pool2d_with_indices_backward max_pool3d_with_indices_backward "
         "adaptive_max_pool2d_backward adaptive_max_pool3d_backward")
def max_pool_backward(n: Node, g: Value, x: Value, *rest: Any) -> Value:
    """Every gradient goes where its maximum was found: places count row-major in a plane."""
    return scattered_planes(n, g, rest[-1], _rank(n), n.out.shape)


def scattered_planes(n: Node, g: Value, places: Value, rank: int, shape: tuple[int, ...]) -> Value:
    """Sums of `g` at row-major `places` of the last `rank` axes of `shape`."""
    kind = wide(g.dtype)
    lead, plane = shape[:len(shape) - rank], int(np.prod(shape[len(shape) - rank:]))
    zero = n.const(np.zeros((*lead, plane)), kind)
    u = indices("u", g.rank)
    over = ranged(u, g.shape)
    made = n.formula(f'y = scatter[{over}](z, ({", ".join([*u[:len(lead)], at("p", u)])},), {at("g", u)}, "sum")',
                     z=zero, p=places, g=n.cast(g, kind))
    return reshaped(n, made, shape)


@aten_op("max_unpool2d max_unpool3d")
def max_unpool(n: Node, x: Value, places: Value, size: Any, *_: Any) -> Value:
    rank = _rank(n)
    shape = n.out.shape
    lead, plane = shape[:len(shape) - rank], int(np.prod(shape[len(shape) - rank:]))
    u = indices("u", x.rank)
    made = n.formula(f"y = scatter[{ranged(u, x.shape)}](z, ({', '.join([*u[:len(lead)], at('p', u)])},), {at('x', u)})",
                     z=n.const(np.zeros((*lead, plane)), x.dtype), p=places, x=x)
    return reshaped(n, made, shape)


def _average(rank: int, size: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: int | None) -> str:
    arguments = {**_windows(rank, size, stride, padding), "ceil_mode": bool(ceil), "count_include_pad": bool(include)}
    if divisor is not None:
        arguments["divisor_override"] = 1
    scale = "" if divisor is None else f" / {float(divisor)!r}"
    return f"y = avg_pool{rank}d(x, {_written(arguments)}){scale}"


@aten_op("avg_pool1d avg_pool2d avg_pool3d")
def avg_pool(n: Node, x: Value, size: Any, stride: Any = (), padding: Any = 0, ceil: bool = False, include: bool = True,
             divisor: int | None = None) -> Value:
    return n.formula(_average(_rank(n), size, stride, padding, ceil, include, divisor), x=x)


@aten_op("avg_pool2d_backward avg_pool3d_backward")
def avg_pool_backward(n: Node, g: Value, x: Value, size: Any, stride: Any, padding: Any, ceil: bool, include: bool,
                      divisor: int | None) -> Value:
    kind = wide(g.dtype)
    text = _average(_rank(n), size, stride, padding, ceil, include, divisor)
    return pullback(n, text, "x", n.cast(g, kind), x=n.cast(x, kind))


@aten_op("_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d")
def adaptive_avg_pool(n: Node, x: Value, size: Any) -> Value:
    rank = _rank(n)
    return n.formula(f"y = adaptive_avg_pool{rank}d(x, output_size={literal(per_axis(size, rank))})", x=x)


@aten_op("_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(n: Node, g: Value, x: Value) -> Value:
    rank, kind = _rank(n), wide(g.dtype)
    text = f"y = adaptive_avg_pool{rank}d(x, output_size={literal(g.shape[g.rank - rank:])})"
    return pullback(n, text, "x", n.cast(g, kind), x=n.cast(x, kind))


@aten_op("adaptive_max_pool2d adaptive_max_pool3d")
def adaptive_max_pool(n: Node, x: Value, size: Any) -> tuple[Value, Value]:
    """Values, and row-major places in each plane: the place in the largest window, then in the plane."""
    rank = _rank(n)
    size = per_axis(size, rank)
    own = x.shape[x.rank - rank:]
    lead = indices("i", x.rank - rank)
    firsts = [f"(o{k}*{d})//{s}" for k, (d, s) in enumerate(zip(own, size, strict=True))]
    ends = [f"((o{k} + 1)*{d} + {s - 1})//{s}" for k, (d, s) in enumerate(zip(own, size, strict=True))]
    longest = [max(-(-(o + 1) * d // s) - o * d // s for o in range(s)) for d, s in zip(own, size, strict=True)]
    inside = " and ".join(f"k{k} < {e} - {f}" for k, (e, f) in enumerate(zip(ends, firsts, strict=True)))
    element = at("x", [*lead, *(f"minimum({f} + k{k}, {d - 1})" for k, (f, d) in enumerate(zip(firsts, own, strict=True)))])
    left = ranged([*lead, *(f"o{k}" for k in range(rank))], [*x.shape[:x.rank - rank], *size])
    spot = ", ".join([*lead, *(f"o{k}" for k in range(rank))])
    over = ranged([f"k{k}" for k in range(rank)], longest)
    least = "-inf" if x.dtype.is_float else str(-(1 << x.dtype.bits - 1) if x.dtype.kind == "i" else 0)
    body = f"where({inside}, {element}, {least})"
    parts: list[str] = []
    step = 1
    for k in reversed(range(rank)):
        parts.insert(0, f"({firsts[k]} + w[{spot}]//{step} % {longest[k]})")
        step *= longest[k]
    place = "0"
    for k in range(rank):
        place = f"({place})*{own[k]} + {parts[k]}"
    value = n.formula(f"y[{left}] = max[{over}]({body})", x=x)
    return value, n.formula(f"w[{left}] = argmax[{over}]({body})\ny[{left}] = {place}\n-> y", x=x)


@aten_op("pixel_shuffle pixel_unshuffle")
def pixel_shuffle(n: Node, x: Value, factor: int) -> Value:
    if x.rank != 4:
        flat = reshaped(n, x, (int(np.prod(x.shape[:-3])), *x.shape[-3:]))
        return reshaped(n, n.call(n.name, flat, block=factor), n.out.shape)
    return n.call(n.name, x, block=factor)


_UP = {"upsample_nearest": "nearest", "_upsample_nearest_exact": "nearest-exact", "upsample_linear": "linear",
       "upsample_bilinear": "linear", "upsample_trilinear": "linear", "upsample_bicubic": "cubic"}


def upsampled(n: Node, x_rank: int, sizes: Any, corners: bool, scales: Any) -> str:
    """The resize of the language that says what an upsample of ATen says; given scales count, not those of the sizes."""
    rank = _rank(n)
    stem = n.name.split(f"{rank}d")[0]
    mode = _UP[stem]
    arguments: dict[str, Any] = {"axes": tuple(range(x_rank - rank, x_rank)), "sizes": tuple(int(s) for s in sizes)}
    if any(s is not None for s in scales):
        raise n.refuse("scale factors of its own")
    if mode.startswith("nearest"):
        exact = mode == "nearest-exact"
        arguments |= {"mode": "nearest", "coordinates": "half_pixel" if exact else "asymmetric",
                      "rounding": "round_prefer_ceil" if exact else "floor"}
    else:
        arguments |= {"mode": mode, "coordinates": "align_corners" if corners else "half_pixel"}
    return f"y = resize(x, {_written(arguments)})"


_ALIGNED = ("linear", "bilinear", "trilinear", "bicubic")


@aten_op("upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward _upsample_nearest_exact1d_backward "
         "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward upsample_linear1d_backward "
         "upsample_bilinear2d_backward upsample_trilinear3d_backward upsample_bicubic2d_backward")
def upsample_backward(n: Node, g: Value, output_size: Any, input_size: Any, *rest: Any) -> Value:
    corners = bool(rest[0]) if any(f"_{a}" in n.name for a in _ALIGNED) else False
    scales = rest[1:] if any(f"_{a}" in n.name for a in _ALIGNED) else rest
    kind = wide(g.dtype)
    text = upsampled(n, len(input_size), output_size, corners, scales)
    return pullback(n, text, "x", n.cast(g, kind), x=n.const(np.zeros(input_size), kind))


@aten_op("im2col")
def im2col(n: Node, x: Value, size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    given = x if x.rank == 4 else reshaped(n, x, (1, *x.shape))
    made = n.call("im2col", given, kernel_size=per_axis(size, 2), dilation=per_axis(dilation, 2), padding=per_axis(padding, 2),
                  stride=per_axis(stride, 2))
    return reshaped(n, made, n.out.shape)


@aten_op("col2im")
def col2im(n: Node, x: Value, output: Any, size: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    given = x if x.rank == 3 else reshaped(n, x, (1, *x.shape))
    made = n.call("col2im", given, output_size=per_axis(output, 2), kernel_size=per_axis(size, 2), dilation=per_axis(dilation, 2),
                  padding=per_axis(padding, 2), stride=per_axis(stride, 2))
    return reshaped(n, made, n.out.shape)


