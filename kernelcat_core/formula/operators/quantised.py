"""Quantised operators, as ONNX defines them: whole numbers with a scale and a zero point, rounded half to even, saturated.

A scale or zero point is one number, one for each position of an axis, or (blocked) one for each block of an axis.
"""

from __future__ import annotations

from kernelcat_core.dtypes import DTYPES
from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.convolution import Padding, kernel_sizes
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, guards, per_axis, windows

_GROUP = "quantised"
_KINDS = ("u8", "i8", "u16", "i16", "i4", "u4")
_RANKS = {"scale": 0, "zero_point": 0, "y_scale": 0, "y_zero_point": 0, "x_scale": 0, "x_zero_point": 0}


def _limits(dtype: str, name: str) -> tuple[int, int]:
    if dtype not in _KINDS:
        raise wrong(f"{name} gives {', '.join(_KINDS)}, not {dtype}")
    bits = DTYPES[dtype].bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "i" else (0, (1 << bits) - 1)


def saturated(value: str, zero: str, dtype: str, name: str) -> str:
    """`value`, rounded half to even and moved to its zero point, as a whole number of `dtype`."""
    low, high = _limits(dtype, name)
    moved = f"rint({value})" + (f" + f32({zero})" if zero else "")
    return f"{dtype}(minimum(maximum({moved}, {float(low)!r}), {float(high)!r}))"


def _kind(zero_point: Tensor | None, dtype: str) -> str:
    """The type of a zero point (a number in the text has none of its own) is that of the quantised values."""
    if zero_point is None or zero_point.dtype.name not in _KINDS:
        return dtype
    return zero_point.dtype.name


def _at(name: str, parameter: Tensor, x: Tensor, axis: int, block: int) -> str:
    """A scale or zero point at the position i0 i1.. of x."""
    i = letters(x.rank)
    if parameter.rank == 0:
        return name
    if parameter.rank == 1 and x.rank:
        return f"{name}[0]" if parameter.shape[0] == 1 else f"{name}[{i[normalised(axis, x.rank, name)]}]"
    if parameter.rank == x.rank and block > 0:
        place = normalised(axis, x.rank, name)
        return subscripted(name, [f"{a}//{block}" if k == place else a for k, a in enumerate(i)])
    raise wrong(f"{name} is one number, one for each position of the axis, or one for each block of block_size positions")


def _left(x: Tensor) -> tuple[str, str]:
    declared = f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]\n" if x.rank else ""
    return declared, subscripted("y", [f"{a} in N{k}" for k, a in enumerate(letters(x.rank))])


@operator("quantize_linear", group=_GROUP, summary="x / scale rounded half to even, plus the zero point, saturated",
          aliases="QuantizeLinear", example="zero_point: u8; quantize_linear(X, scale, zero_point)", ranks=_RANKS,
          renames={"input": "x", "y_scale": "scale", "y_zero_point": "zero_point", "output_dtype": "dtype"})
def quantize_linear(x: Tensor, scale: Tensor, zero_point: Tensor | None = None, axis: int = 1, block_size: int = 0,
                    dtype: str = "u8") -> str:
    (block,) = per_axis(block_size, 1, "block_size of quantize_linear", 0)
    declared, left = _left(x)
    zero = "" if zero_point is None else _at("zero_point", zero_point, x, axis, block)
    value = f"{subscripted('x', letters(x.rank))}/{_at('scale', scale, x, axis, block)}"
    return f"{declared}{left} = {saturated(value, zero, _kind(zero_point, dtype), 'quantize_linear')}"


@operator("dequantize_linear", group=_GROUP, summary="(x - zero point)*scale", aliases="DequantizeLinear",
          example="X: u8[M, N]; zero_point: u8; dequantize_linear(X, scale, zero_point)", ranks=_RANKS,
          renames={"input": "x", "x_scale": "scale", "x_zero_point": "zero_point"})
def dequantize_linear(x: Tensor, scale: Tensor, zero_point: Tensor | None = None, axis: int = 1,
                      block_size: int = 0) -> str:
    (block,) = per_axis(block_size, 1, "block_size of dequantize_linear", 0)
    declared, left = _left(x)
    element = subscripted("x", letters(x.rank))
    if zero_point is not None:
        zero = _at("zero_point", zero_point, x, axis, block)
        element = f"{element} - {zero}" if x.dtype.is_float else f"(i32({element}) - i32({zero}))"
    return f"{declared}{left} = f32({element})*{_at('scale', scale, x, axis, block)}"


_RANGE = ["high = maximum(max[{0}](f32({1})), 0)", "low = minimum(min[{0}](f32({1})), 0)"]


def _dynamic(x: Tensor) -> list[str]:
    if x.rank == 0:
        raise wrong("dynamic quantisation takes a tensor")
    k = letters(x.rank)
    element = subscripted("x", k)
    return [*(line.format(", ".join(k), element) for line in _RANGE), "step = (high - low)/255",
            "zero = minimum(maximum(rint(-low/step), 0), 255)"]


@operator("dynamic_quantize", group=_GROUP, summary="x in u8, with the scale and zero point of its own range",
          example="dynamic_quantize(X)", renames={"input": "x"})
def dynamic_quantize(x: Tensor) -> str:
    declared, left = _left(x)
    element = subscripted("x", letters(x.rank))
    return declared + "\n".join([*_dynamic(x), f"{left} = u8(minimum(maximum(rint({element}/step) + zero, 0), 255))"])


@operator("dynamic_quantize_scale", group=_GROUP, summary="the scale that dynamic_quantize takes",
          example="dynamic_quantize_scale(X)", renames={"input": "x"})
def dynamic_quantize_scale(x: Tensor) -> str:
    return "\n".join([*_dynamic(x)[:2], "y = (high - low)/255"])


@operator("dynamic_quantize_zero_point", group=_GROUP, summary="the zero point that dynamic_quantize takes",
          example="dynamic_quantize_zero_point(X)", renames={"input": "x"})
def dynamic_quantize_zero_point(x: Tensor) -> str:
    return "\n".join([*_dynamic(x)[:3], "y = u8(minimum(maximum(rint(-low/step), 0), 255))"])


def _whole(t: Tensor, name: str) -> None:
    if not t.dtype.is_integer:
        raise wrong(f"{name} is a tensor of whole numbers", f"declare it: {name}: i8[M, K]")


def _shifted(element: str, zero: str) -> str:
    return f"(i32({element}) - i32({zero}))" if zero else f"i32({element})"


def _row_zero(name: str, zero: Tensor | None, indices: list[str], own: str) -> str:
    """A zero point of a matrix operand: one number, one a row (or column), or of the operand's rank with 1 elsewhere."""
    if zero is None:
        return ""
    if zero.rank == 0:
        return name
    if zero.rank == 1:
        return f"{name}[0]" if zero.shape[0] == 1 or own not in indices else f"{name}[{own}]"
    if zero.rank != len(indices):
        raise wrong(f"{name} is one number, one a row of a or column of b, or has as many axes as its matrix")
    return subscripted(name, ["0" if d == 1 else i for i, d in zip(indices, zero.shape, strict=True)])


def _products(a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None, name: str) -> tuple[str, str]:
    """Indices of the result, and the sum of products in i32."""
    _whole(a, "a")
    _whole(b, "b")
    if min(a.rank, b.rank) < 1:
        raise wrong(f"{name} takes tensors, not scalars")
    batch = max(a.rank, b.rank, 2) - 2
    lead = [f"b{k}" for k in range(batch)]

    def own(t: Tensor, other: Tensor) -> list[str]:
        count = max(0, t.rank - 2)
        kept = lead[batch - count:]
        longer = [other.rank - 2 - count + k >= 0 and other.rank > 2 and other.shape[other.rank - 2 - count + k] != 1
                  for k in range(count)]
        return ["0" if t.shape[k] == 1 and longer[k] else n for k, n in enumerate(kept)]

    rows, columns = (["m"] if a.rank > 1 else []), (["n"] if b.rank > 1 else [])
    left, right = [*own(a, b), *rows, "k"], [*own(b, a), "k", *columns]
    x = _shifted(subscripted("a", left), _row_zero("a_zero_point", a_zero, left, "m"))
    y = _shifted(subscripted("b", right), _row_zero("b_zero_point", b_zero, right, "n"))
    return ", ".join([*lead, *rows, *columns]), f"i32(sum[k]({x}*{y}))"


@operator("matmul_integer", group=_GROUP, summary="matrix product of whole numbers less their zero points, in i32",
          aliases="MatMulInteger", example="A: u8[M, K]; B: i8[K, N]; matmul_integer(A, B)",
          ranks={"a_zero_point": 0, "b_zero_point": 0}, renames={"A": "a", "B": "b"},
          onnx=OnnxNode("MatMulInteger", ("a", "b", "a_zero_point", "b_zero_point"),
                        applies=lambda x: all(x[n] is None or x[n].rank == 0 for n in ("a_zero_point", "b_zero_point"))))
def matmul_integer(a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None) -> str:
    indices, total = _products(a, b, a_zero_point, b_zero_point, "matmul_integer")
    return f"y[{indices}] = {total}" if indices else f"y = {total}"


@operator("qlinear_matmul", group=_GROUP, summary="matrix product of quantised tensors, quantised again",
          aliases="QLinearMatMul",
          example="a: u8[M, K]; b: u8[K, N]; a_zero_point: u8; b_zero_point: u8; y_zero_point: u8; "
                  "qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)",
          ranks={**_RANKS, "a_scale": 0, "b_scale": 0, "a_zero_point": 0, "b_zero_point": 0})
def qlinear_matmul(a: Tensor, a_scale: Tensor, a_zero_point: Tensor, b: Tensor, b_scale: Tensor, b_zero_point: Tensor,
                   y_scale: Tensor, y_zero_point: Tensor) -> str:
    indices, total = _products(a, b, a_zero_point, b_zero_point, "qlinear_matmul")
    left = [*indices.replace(" ", "").split(","), "k"] if indices else ["k"]
    right = [*(i for i in left[:-1] if i != "m"), "n"]
    scale_a = _row_zero("a_scale", a_scale, [i for i in left[:-1] if i != "n"] + ["k"], "m")
    scale_b = _row_zero("b_scale", b_scale, [i for i in right if i != "n"] + ["k", "n"], "n")
    if y_scale.rank or y_zero_point.rank:
        raise wrong("y_scale and y_zero_point of qlinear_matmul are one number each")
    value = f"f32(total{f'[{indices}]' if indices else ''})*(f32({scale_a})*f32({scale_b})/f32(y_scale))"
    head = f"[{indices}]" if indices else ""
    kind = _kind(y_zero_point, "u8")
    return f"total{head} = {total}\ny{head} = {saturated(value, 'y_zero_point', kind, 'qlinear_matmul')}"


def _convolved(x: Tensor, w: Tensor, x_zero: Tensor | None, w_zero: Tensor | None, stride: Sizes, padding: Padding,
               dilation: Sizes, groups: int, kernel_size: Sizes | None, name: str) -> tuple[list[str], str, str]:
    """Declarations, left indices with their ranges, and the sum of products in i32; padding counts as the zero point."""
    _whole(x, "x")
    _whole(w, "w")
    rank = x.rank - 2
    if rank < 1 or w.rank != x.rank:
        raise wrong(f"{name} takes x[N, C, ..] and w[F, C/groups, ..]")
    (count,) = per_axis(groups, 1, f"groups of {name}")
    found = windows(name, kernel_sizes(w, kernel_size, rank, name), stride, padding, dilation)
    channel = "c" if count == 1 else f"(f//(F//{count}))*G + c"
    taps = [f"k{v.n}" for v in found]
    if x_zero is not None and x_zero.rank:
        raise wrong(f"the zero point of x in {name} is one number")
    zero_x = "x_zero_point" if x_zero is not None else ""
    zero_w = "" if w_zero is None else "w_zero_point" if w_zero.rank == 0 else (
        "w_zero_point[0]" if w_zero.shape[0] == 1 else "w_zero_point[f]")
    product = (_shifted(f"x[n, {', '.join([channel, *(v.place for v in found)])}]", zero_x) + "*"
               + _shifted(f"w[f, {', '.join(['c', *taps])}]", zero_w))
    test = guards(found)
    if test:
        product = f"where({test}, {product}, 0)"
    over = ", ".join(["c in G", *(f"k{v.n} in {v.size}" for v in found)])
    depth = "G" if count == 1 else f"{count}*G"
    lines = [f"w: [F, G, {', '.join(v.size for v in found)}]",
             f"x: [N, {depth}, {', '.join(f'D{v.n}' for v in found)}]"]
    left = ", ".join(["n in N", "f in F", *(f"o{v.n} in {v.output}" for v in found)])
    return lines, left, f"i32(sum[{over}]({product}))"


_CONV_NAMES = {"W": "w", "X": "x", "weight": "w", "input": "x", "strides": "stride", "pads": "padding",
               "dilations": "dilation", "group": "groups", "kernel_shape": "kernel_size"}


@operator("conv_integer", group=_GROUP, summary="convolution of whole numbers less their zero points, in i32",
          aliases="ConvInteger", example="x: u8[2, 3, 8, 9]; w: u8[4, 3, 3, 3]; conv_integer(x, w)",
          ranks={"x": 4, "w": 4, "x_zero_point": 0, "w_zero_point": 0}, renames=_CONV_NAMES)
def conv_integer(x: Tensor, w: Tensor, x_zero_point: Tensor | None = None, w_zero_point: Tensor | None = None,
                 stride: Sizes = 1, padding: Padding = 0, dilation: Sizes = 1, groups: int = 1,
                 kernel_size: Sizes | None = None) -> str:
    lines, left, total = _convolved(x, w, x_zero_point, w_zero_point, stride, padding, dilation, groups, kernel_size,
                                    "conv_integer")
    return "\n".join([*lines, f"y[{left}] = {total}"])


@operator("qlinear_conv", group=_GROUP, summary="convolution of quantised tensors plus a bias in i32, quantised again",
          aliases="QLinearConv",
          example="x: u8[2, 3, 8, 9]; w: i8[4, 3, 3, 3]; x_zero_point: u8; w_zero_point: i8; y_zero_point: u8; "
                  "qlinear_conv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point)",
          ranks={**_RANKS, "x": 4, "w": 4, "w_scale": 0, "w_zero_point": 0, "bias": 1}, renames={**_CONV_NAMES, "B": "bias"})
def qlinear_conv(x: Tensor, x_scale: Tensor, x_zero_point: Tensor, w: Tensor, w_scale: Tensor, w_zero_point: Tensor,
                 y_scale: Tensor, y_zero_point: Tensor, bias: Tensor | None = None, stride: Sizes = 1,
                 padding: Padding = 0, dilation: Sizes = 1, groups: int = 1, kernel_size: Sizes | None = None) -> str:
    lines, left, total = _convolved(x, w, x_zero_point, w_zero_point, stride, padding, dilation, groups, kernel_size,
                                    "qlinear_conv")
    if y_scale.rank or y_zero_point.rank or x_scale.rank:
        raise wrong("the scales of x and y in qlinear_conv, and their zero points, are one number each")
    plain = ", ".join(part.split(" in ")[0] for part in left.split(", ") if " in " in part)
    scale_w = "w_scale" if w_scale.rank == 0 else "w_scale[0]" if w_scale.shape[0] == 1 else "w_scale[f]"
    value = f"f32(total[{plain}])*(f32(x_scale)*f32({scale_w})/f32(y_scale))"
    kind = _kind(y_zero_point, "u8")
    return "\n".join([*lines, f"total[{left}] = {total}{'' if bias is None else ' + bias[f]'}",
                      f"y[{plain}] = {saturated(value, 'y_zero_point', kind, 'qlinear_conv')}"])
