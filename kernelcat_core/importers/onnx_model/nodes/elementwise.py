"""Elementwise operators of ONNX."""

from __future__ import annotations

import math

from kernelcat_core.dtypes import BOOL
from kernelcat_core.importers.onnx_model.coded import NUMBERS, decoded, encoded
from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op, tensor_type
from kernelcat_core.importers.trace import Value

_UNARY = {
    "Abs": "abs(x)", "Acos": "arccos(x)", "Acosh": "arccosh(x)", "Asin": "arcsin(x)", "Asinh": "arcsinh(x)",
    "Atan": "arctan(x)", "Atanh": "arctanh(x)", "Ceil": "ceil(x)", "Cos": "cos(x)", "Cosh": "cosh(x)", "Erf": "erf(x)",
    "Exp": "exp(x)", "Floor": "floor(x)", "IsNaN": "isnan(x)", "Log": "log(x)", "Neg": "-x", "Not": "not x",
    "Reciprocal": "1/x", "Relu": "relu(x)", "Round": "rint(x)", "Sigmoid": "sigmoid(x)", "Sign": "sign(x)", "Sin": "sin(x)",
    "Sinh": "sinh(x)", "Softplus": "softplus(x)", "Softsign": "softsign(x)", "Sqrt": "sqrt(x)", "Tan": "tan(x)",
    "Tanh": "tanh(x)", "HardSwish": "hardswish(x)", "Mish": "mish(x)", "BitwiseNot": "bitwise_not(x)",
}
_BINARY = {
    "Add": "a + b", "Sub": "a - b", "Mul": "a * b", "And": "a and b", "Or": "a or b",
    "Equal": "a == b", "Less": "a < b", "LessOrEqual": "a <= b", "Greater": "a > b", "GreaterOrEqual": "a >= b",
    "BitwiseAnd": "bitwise_and(a, b)", "BitwiseOr": "bitwise_or(a, b)", "BitwiseXor": "bitwise_xor(a, b)",
}


@onnx_op(" ".join(_UNARY))
def unary(n: Node) -> Value:
    return n.formula(f"y = {_UNARY[n.op]}", x=n.x())


@onnx_op(" ".join(_BINARY))
def binary(n: Node) -> Value:
    a, b = aligned(n, n.x(0), n.x(1))
    return n.formula(f"y = {_BINARY[n.op]}", a=a, b=b)


def aligned(n: Node, a: Value, b: Value) -> tuple[Value, Value]:
    """Before opset 7, `axis` says where the axes of b stand among those of a."""
    axis = n.attr("axis")
    if n.version < 7 and axis is not None and n.attr("broadcast", 0):
        after = a.rank - int(axis) % max(1, a.rank) - b.rank
        for _ in range(after):
            b = n.call("expand_dims", b, axis=-1)
    return a, b


@onnx_op("PRelu")
def prelu(n: Node) -> Value:
    """Before opset 7 a row of slopes is one a channel (axis 1)."""
    x, slope = n.x(0), n.x(1)
    if n.version < 7 and slope.rank == 1 and slope.size > 1:
        for _ in range(x.rank - 2):
            slope = n.call("expand_dims", slope, axis=-1)
    return n.formula("y = where(a < 0, a*b, a)", a=x, b=slope)


@onnx_op("Xor")
def xor(n: Node) -> Value:
    return n.formula("y = a != b", a=n.x(0), b=n.x(1))


@onnx_op("Div")
def div(n: Node) -> Value:
    a, b = aligned(n, n.x(0), n.x(1))
    if a.dtype.is_float:
        return n.formula("y = a / b", a=a, b=b)
    if a.dtype.kind == "u":
        return n.formula("y = a // b", a=a, b=b)
    return n.formula("q = a // b\ny = q + where((a % b != 0) and ((a < 0) != (b < 0)), 1, 0)", a=a, b=b)


@onnx_op("Mod")
def mod(n: Node) -> Value:
    """Of floats without fmod as Python's %: the sign is the divisor's, of zeros too."""
    text = "y = fmod(a, b)" if n.attr("fmod", 0) else "y = a % b"
    if n.x().dtype.is_float and not n.attr("fmod", 0):
        text = "r = fmod(a, b)\ny = where(r == 0, copysign(r, b), where((r < 0) != (b < 0), r + b, r))"
    return n.formula(text, a=n.x(0), b=n.x(1))


@onnx_op("Pow")
def power(n: Node) -> Value:
    a, b = aligned(n, n.x(0), n.x(1))
    kind = a.dtype
    wide = f"{'f64' if kind.name in ('f64', 'i64', 'i32') or (b.dtype.bits == 64 and b.dtype.is_float) else 'f32'}"
    if not kind.is_float:
        return n.formula(f"y = {kind}({wide}(a) ** {wide}(b))", a=a, b=b)
    if b.dtype == kind:
        return n.formula("y = a ** b", a=a, b=b)
    return n.formula(f"y = {kind}({wide}(a) ** {wide}(b))", a=a, b=b)


@onnx_op("Max Min")
def extreme(n: Node) -> Value:
    found = n.x(0)
    for k in range(1, len(n)):
        found = n.formula(f"y = {n.op.lower()}imum(a, b)", a=found, b=n.x(k))
    return found


@onnx_op("Sum Mean")
def total(n: Node) -> Value:
    found = n.x(0)
    for k in range(1, len(n)):
        found = n.formula("y = a + b", a=found, b=n.x(k))
    return n.formula(f"y = x / {len(n)}", x=found) if n.op == "Mean" and len(n) > 1 else found


@onnx_op("Where")
def where(n: Node) -> Value:
    return n.formula("y = where(c, a, b)", c=n.x(0), a=n.x(1), b=n.x(2))


@onnx_op("BitShift")
def shift(n: Node) -> Value:
    return n.formula(f"y = a {'<<' if n.attr('direction') == 'LEFT' else '>>'} b", a=n.x(0), b=n.x(1))


@onnx_op("IsInf")
def is_inf(n: Node) -> Value:
    up, down = n.attr("detect_positive", 1), n.attr("detect_negative", 1)
    if up and down:
        return n.formula("y = isinf(x)", x=n.x())
    if not up and not down:
        return n.formula("y = isinf(x) and (x == 0)", x=n.x())
    return n.formula(f"y = isinf(x) and (x {'>' if up else '<'} 0)", x=n.x())


@onnx_op("Elu Selu Celu LeakyRelu ThresholdedRelu HardSigmoid Shrink")
def parametric(n: Node) -> Value:
    a, g = n.attr("alpha"), n.attr("gamma", 1.0507009873554805)
    match n.op:
        case "Elu":
            text = f"where(x < 0, {1.0 if a is None else a}*(exp(x) - 1), x)"
        case "Selu":
            text = f"{g}*where(x > 0, x, {1.6732632423543772 if a is None else a}*(exp(x) - 1))"
        case "Celu":
            alpha = 1.0 if a is None else a
            text = f"maximum(x, 0) + minimum({alpha}*(exp(x/{alpha}) - 1), 0)"
        case "LeakyRelu":
            text = f"where(x < 0, {0.01 if a is None else a}*x, x)"
        case "ThresholdedRelu":
            text = f"where(x > {1.0 if a is None else a}, x, 0)"
        case "HardSigmoid":
            text = f"maximum(0, minimum(1, {0.2 if a is None else a}*x + {n.attr('beta', 0.5)}))"
        case _:
            lambd, bias = n.attr("lambd", 0.5), n.attr("bias", 0.0)
            text = f"where(x < -({lambd}), x + {bias}, where(x > {lambd}, x - ({bias}), 0))"
    return n.formula(f"y = {text}", x=n.x())


@onnx_op("Gelu")
def gelu(n: Node) -> Value:
    return n.call("gelu", n.x(), approximate=n.attr("approximate", "none"))


@onnx_op("Swish")
def swish(n: Node) -> Value:
    return n.formula(f"y = x * sigmoid({n.attr('alpha', 1.0)}*x)", x=n.x())


@onnx_op("Clip", 1)
def clip_attributes(n: Node) -> Value:
    low, high = n.attr("min", -math.inf), n.attr("max", math.inf)
    text = "x" if low == -math.inf else f"maximum(x, {low})"
    return n.formula(f"y = {text if high == math.inf else f'minimum({text}, {high})'}", x=n.x())


@onnx_op("Clip", 11)
def clip(n: Node) -> Value:
    x = n.x()
    if n.has(1):
        x = n.formula("y = maximum(x, a)", x=x, a=n.x(1))
    return n.formula("y = minimum(x, a)", x=x, a=n.x(2)) if n.has(2) else x if n.has(1) else n.formula("y = +x", x=x)


@onnx_op("Identity")
def identity(n: Node) -> tuple[Item, ...]:
    return (n.inputs[0],)


GREATEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}
"""The greatest finite numbers of the 8-bit floats."""


@onnx_op("Cast CastLike")
def cast(n: Node) -> Value:
    code = n.x(1).code if n.op == "CastLike" else NUMBERS.get(n.attr("to"), "")
    saturate = bool(n.attr("saturate", 1))
    if code == n.x().code and code:
        return n.x()
    x = decoded(n, n.x())
    if code:
        return encoded(n, x, code, saturate, n.attr("round_mode", "up"))
    to = n.x(1).dtype if n.op == "CastLike" else tensor_type(n.attr("to"))
    return convert(n, x, to.name, saturate)


def convert(n: Node, x: Value, to: str, saturate: bool = True) -> Value:
    """`x` as another element type; to integers toward zero, to bool by not being zero, to 8-bit floats within their range
    unless `saturate` is off."""
    if x.dtype.name == to:
        return x
    if to == BOOL.name:
        return n.formula("y = x != 0", x=x)
    if to in GREATEST and saturate:
        most = GREATEST[to]
        return n.formula(f"y = {to}(minimum(maximum(f32(x), -{most}), {most}))", x=x)
    if to in ("i4", "u4"):  # the lowest bits of a whole number
        low = "bitwise_and(i64(x), 15)"
        return n.formula(f"y = {to}({low})" if to == "u4" else f"y = {to}(bitwise_xor({low}, 8) - 8)", x=x)
    return n.formula(f"y = {to}(x)", x=x)
