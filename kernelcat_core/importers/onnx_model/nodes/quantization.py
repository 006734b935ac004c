"""Quantised operators of ONNX: integers with a scale and a zero point for the tensor, an axis or blocks of an axis."""

from __future__ import annotations

from kernelcat_core.dtypes import I8, DType
from kernelcat_core.importers.onnx_model.coded import NUMBERS, decoded, encoded
from kernelcat_core.importers.onnx_model.node import Node, onnx_op, tensor_type
from kernelcat_core.importers.onnx_model.nodes.convolution import convolved
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged
from kernelcat_core.importers.trace import Value


def bounds(kind: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    return (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.kind == "i" else (0, (1 << kind.bits) - 1)


def _spread(n: Node, name: str, x: Value, t: Value) -> str:
    """The element of a scale or zero point that belongs to x[i0, i1, ..]."""
    i = indices("i", x.rank)
    if t.size == 1:
        return f"{name}[{', '.join('0' * t.rank)}]" if t.rank else name
    axis = n.attr("axis", 1) % x.rank
    if t.rank == 1:
        return f"{name}[{i[axis]}]"
    block = n.attr("block_size", 0) or -(-x.shape[axis] // t.shape[axis])
    return f"{name}[{', '.join(f'{a}//{block}' if k == axis else a for k, a in enumerate(i))}]"


@onnx_op("QuantizeLinear")
def quantize(n: Node) -> Value:
    x, scale = n.x(0), n.x(1)
    number = n.attr("output_dtype") or 2
    code = n.x(2).code if n.has(2) else NUMBERS.get(number, "")
    kind = n.x(2).dtype if n.has(2) else tensor_type(2) if code else tensor_type(number)
    i = indices("i", x.rank)
    if kind.is_float or code.startswith("float"):  # zero points of floats are 0
        quotient = n.formula(f"y{_at(i, x.shape)} = f32(x{_at(i)})/f32({_spread(n, 's', x, scale)})", x=x, s=scale)
        saturate = bool(n.attr("saturate", 1))
        return encoded(n, quotient, code, saturate) if code else convert(n, quotient, kind.name, saturate)
    if code:  # whole numbers of few bits: 8 of them until the end
        kind = I8 if code == "int2" else kind
    low, high = {"int2": (-2, 1), "uint2": (0, 3)}.get(code) or bounds(kind)
    real = "f64" if x.dtype.bits > 32 or kind.bits > 16 else "f32"
    rounded = f"rint({real}(x{_at(i)})/{real}({_spread(n, 's', x, scale)}))"
    if n.has(2):
        rounded += f" + {real}({_spread(n, 'z', x, n.x(2))})"
    text = f"y{_at(i, x.shape)} = {kind}(minimum(maximum({rounded}, {low}), {high}))"
    made = n.formula(text, x=x, s=scale, **({"z": decoded(n, n.x(2))} if n.has(2) else {}))
    return encoded(n, made, code) if code else made


def _at(i: list[str], shape: tuple[int, ...] | None = None) -> str:
    return f"[{', '.join(i) if shape is None else ranged(i, shape)}]" if i else ""


def _whole(n: Node, x: Value) -> Value:
    """A value that kernels compute with; integers of two bits as i8."""
    return convert(n, decoded(n, x), "i8") if x.code in ("int2", "uint2") else decoded(n, x)


@onnx_op("DequantizeLinear")
def dequantize(n: Node) -> Value:
    x, scale = _whole(n, n.x(0)), n.x(1)
    kind = tensor_type(n.attr("output_dtype")) if n.attr("output_dtype") else scale.dtype
    i = indices("i", x.rank)
    element = f"f32(x{_at(i)})" if x.dtype.is_float else f"i64(x{_at(i)})"
    if n.has(2) and not x.dtype.is_float:
        element = f"({element} - i64({_spread(n, 'z', x, n.x(2))}))"
    made = n.formula(f"y{_at(i, x.shape)} = f32({element})*f32({_spread(n, 's', x, scale)})", x=x, s=scale,
                     **({"z": _whole(n, n.x(2))} if n.has(2) and not x.dtype.is_float else {}))
    return convert(n, made, kind.name)


def _centred(n: Node, x: Value, zero: Value | None, axis: int) -> Value:
    """x minus its zero point (one, or one a place of an axis), as i32."""
    if zero is None:
        return convert(n, x, "i32")
    i = indices("i", x.rank)
    element = "z" if not zero.rank else "z[0]" if zero.size == 1 else f"z[{i[axis]}]" if zero.rank == 1 else \
        f"z[{', '.join('0' if s == 1 else a for s, a in zip(zero.shape, i[x.rank - zero.rank:], strict=True))}]"
    return n.formula(f"y{_at(i, x.shape)} = i32(x{_at(i)}) - i32({element})", x=x, z=zero)


@onnx_op("MatMulInteger")
def matmul_integer(n: Node) -> Value:
    a, b = n.x(0), n.x(1)
    return convert(n, n.call("matmul", _centred(n, a, n.maybe(2), max(0, a.rank - 2)),
                             _centred(n, b, n.maybe(3), b.rank - 1)), "i32")


@onnx_op("ConvInteger")
def conv_integer(n: Node) -> Value:
    made = convolved(n, _centred(n, n.x(0), n.maybe(2), 1), _centred(n, n.x(1), n.maybe(3), 0), None)
    return convert(n, made, "i32")


def _requantised(n: Node, product: Value, scales: dict[str, Value], factor: str, zero: Value) -> Value:
    """An integer product times scales, rounded, moved by a zero point and kept inside its type."""
    kind = zero.dtype
    low, high = bounds(kind)
    i = indices("i", product.rank)
    point = "z" if not zero.rank else f"z[{', '.join('0' * zero.rank)}]"
    return n.formula(f"y{_at(i, product.shape)} = {kind}(minimum(maximum(rint(f32(p{_at(i)})*({factor})) + f32({point}), "
                     f"{low}), {high}))", p=product, z=zero, **scales)


def _factor(name: str, t: Value, index: str) -> str:
    """A scale: one number, or one a place of an axis."""
    if t.size == 1:
        return f"f32({name}[{', '.join('0' * t.rank)}])" if t.rank else f"f32({name})"
    return f"f32({name}[{index}])"


@onnx_op("QLinearMatMul")
def qlinear_matmul(n: Node) -> Value:
    a, b = n.x(0), n.x(3)
    product = convert(n, n.call("matmul", _centred(n, a, n.x(2), max(0, a.rank - 2)), _centred(n, b, n.x(5), b.rank - 1)), "i32")
    i = indices("i", product.rank)
    scales = {"sa": n.x(1), "sb": n.x(4), "sy": n.x(6)}
    factor = (f"{_factor('sa', n.x(1), i[-2] if len(i) > 1 else '0')}*{_factor('sb', n.x(4), i[-1] if i else '0')}"
              f"/{_factor('sy', n.x(6), '0')}")
    return _requantised(n, product, scales, factor, n.x(7))


@onnx_op("QLinearConv")
def qlinear_conv(n: Node) -> Value:
    product = convolved(n, _centred(n, n.x(0), n.x(2), 1), _centred(n, n.x(3), n.x(5), 0), n.maybe(8))
    scales = {"sa": n.x(1), "sb": n.x(4), "sy": n.x(6)}
    factor = f"{_factor('sa', n.x(1), 'i1')}*{_factor('sb', n.x(4), 'i1')}/{_factor('sy', n.x(6), 'i1')}"
    return _requantised(n, convert(n, product, "i32"), scales, factor, n.x(7))


