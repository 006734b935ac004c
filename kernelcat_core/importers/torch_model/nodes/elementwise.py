"""Elementwise operators of ATen: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

from typing import Any

from kernelcat_core.dtypes import BOOL, F32, F64, DType
from kernelcat_core.importers.torch_model.node import Node, Operand, aten_op
from kernelcat_core.importers.trace import Value

_UNARY = {
    "abs": "abs(a)", "neg": "-a", "sign": "sign(a)", "sgn": "sign(a)", "sqrt": "sqrt(a)", "rsqrt": "rsqrt(a)", "exp": "exp(a)",
    "exp2": "exp2(a)", "expm1": "expm1(a)", "log": "log(a)", "log2": "log2(a)", "log10": "log10(a)", "log1p": "log1p(a)",
    "sin": "sin(a)", "cos": "cos(a)", "tan": "tan(a)", "asin": "asin(a)", "acos": "acos(a)", "atan": "atan(a)",
    "sinh": "sinh(a)", "cosh": "cosh(a)", "tanh": "tanh(a)", "asinh": "asinh(a)", "acosh": "acosh(a)", "atanh": "atanh(a)",
    "erf": "erf(a)", "erfc": "erfc(a)", "erfinv": "erfinv(a)", "reciprocal": "1/a",
    "sigmoid": "sigmoid(a)", "lgamma": "lgamma(a)", "digamma": "digamma(a)", "i0": "i0(a)", "special_i0e": "i0e(a)",
    "special_i1": "i1(a)", "special_i1e": "i1e(a)", "special_erfcx": "erfcx(a)",
    "special_log_ndtr": "log_ndtr(a)", "special_ndtr": "ndtr(a)", "special_ndtri": "1.4142135623730951*erfinv(2*a - 1)",
}
_KEEPS_INTEGERS = {"floor": "floor(a)", "ceil": "ceil(a)", "trunc": "trunc(a)", "round": "rint(a)", "relu": "maximum(a, 0)"}
_TESTS = {"isnan": "isnan(a)", "isinf": "isinf(a)", "signbit": "signbit(a)"}
_BINARY = {
    "mul": "a*b", "maximum": "maximum(a, b)", "minimum": "minimum(a, b)", "fmax": "fmax(a, b)", "fmin": "fmin(a, b)",
    "atan2": "atan2(a, b)", "hypot": "hypot(a, b)", "copysign": "copysign(a, b)", "fmod": "fmod(a, b)",
    "logaddexp": "logaddexp(a, b)", "bitwise_and": "bitwise_and(a, b)", "bitwise_or": "bitwise_or(a, b)",
    "bitwise_xor": "bitwise_xor(a, b)", "bitwise_left_shift": "a << b", "bitwise_right_shift": "a >> b",
    "__lshift__": "a << b", "__rshift__": "a >> b",
    "xlogy": "where(isnan(b), nan, where(a == 0, 0, a*log(b)))",
    "heaviside": "where(a == 0, b, where(a < 0, 0, 1))",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@aten_op(" ".join(_UNARY))
def unary(n: Node, a: Value) -> Value:
    if n.name in ("abs", "neg", "sign", "sgn"):
        if a.dtype == BOOL or (a.dtype.kind == "u" and n.name != "neg"):
            return n.cast(n.pointwise("a != 0", a.dtype, a=a), a.dtype) if n.name.startswith("s") else n.formula("y = +x", x=a)
        return n.pointwise(_UNARY[n.name], a.dtype, a=a)
    return n.pointwise(_UNARY[n.name], n.out.dtype, a=a)


@aten_op(" ".join(_KEEPS_INTEGERS))
def rounding(n: Node, a: Value) -> Value:
    if n.name != "relu" and not a.dtype.is_float:
        return n.formula("y = +x", x=a)
    return n.pointwise(_KEEPS_INTEGERS[n.name], a.dtype, a=a)


@aten_op(" ".join(_TESTS))
def test(n: Node, a: Value) -> Value:
    if not a.dtype.is_float:
        return n.pointwise("a < 0" if n.name == "signbit" and a.dtype.kind == "i" else "a != a", a.dtype, a=a)
    return n.formula(f"y = {_TESTS[n.name]}", a=a)


def _binary_names() -> str:
    forms = {"mul": "Tensor", "bitwise_and": "Tensor Scalar", "bitwise_or": "Tensor Scalar", "bitwise_xor": "Tensor Scalar",
             "bitwise_left_shift": "Tensor Tensor_Scalar", "bitwise_right_shift": "Tensor Tensor_Scalar",
             "copysign": "Tensor Scalar",
             "fmod": "Tensor Scalar", "xlogy": "Tensor Scalar_Other Scalar_Self", "__lshift__": "Tensor Scalar",
             "__rshift__": "Tensor Scalar"}
    names = [f"{op}.{form}" for op in _BINARY for form in forms.get(op, "default").split()]
    return " ".join([*names, "mul.Scalar"])


@aten_op(_binary_names())
def binary(n: Node, a: Operand, b: Operand) -> Value:
    text = _BINARY[n.name]
    if n.out.dtype == BOOL:
        text = {"mul": "a and b", "maximum": "a or b", "minimum": "a and b", "fmax": "a or b", "fmin": "a and b",
                "bitwise_and": "a and b", "bitwise_or": "a or b", "bitwise_xor": "a != b"}.get(n.name, text)
    return n.pointwise(text, n.out.dtype, a=a, b=b)


@aten_op("add.Tensor add.Scalar sub.Tensor sub.Scalar rsub.Tensor rsub.Scalar")
def add(n: Node, a: Operand, b: Operand, alpha: Any = None) -> Value:
    alpha = n.kw("alpha", 1) if alpha is None else alpha
    if n.name == "rsub":
        a, b = b, a
    if n.out.dtype == BOOL:
        return n.pointwise("a or b" if alpha else "a", BOOL, a=a, b=b)
    sign = "+" if n.name == "add" else "-"
    return n.pointwise(f"a {sign} b" if alpha == 1 else f"a {sign} b*c", n.out.dtype, a=a, b=b,
                       **({} if alpha == 1 else {"c": alpha}))


@aten_op("addcmul addcdiv")
def added(n: Node, x: Value, a: Value, b: Value) -> Value:
    sign = "*" if n.name == "addcmul" else "/"
    return n.pointwise(f"x + v*a{sign}b" if sign == "*" else "x + v*(a/b)", n.out.dtype, x=x, a=a, b=b, v=n.kw("value", 1))


@aten_op("div.Tensor div.Scalar")
def div(n: Node, a: Operand, b: Operand) -> Value:
    return n.pointwise("a / b", n.out.dtype, a=a, b=b)


_FLOOR = ("where(b == 0, a/b, where(f == 0, copysign(0.0, a/b), where(f - floor(f) > 0.5, floor(f) + 1, floor(f))))")


@aten_op("div.Tensor_mode div.Scalar_mode floor_divide floor_divide.Scalar")
def rounded_div(n: Node, a: Operand, b: Operand) -> Value:
    mode = "floor" if n.name == "floor_divide" else n.kw("rounding_mode")
    kind = n.out.dtype
    if mode is None:
        return n.pointwise("a / b", kind, a=a, b=b)
    if kind.is_integer:
        if mode == "floor" or kind.kind == "u":
            return n.pointwise("a // b", kind, a=a, b=b)
        return n.pointwise("a // b + where((a % b != 0) and ((a < 0) != (b < 0)), 1, 0)", kind, a=a, b=b)
    if mode == "trunc":
        return n.pointwise("trunc(a / b)", kind, a=a, b=b)
    # the quotient by way of the remainder, as Python divides floats: floor(a / b) may be rounded up across a whole number
    m = "fmod(a, b)"
    f = f"((a - {m})/b - where({m} != 0 and (b < 0) != ({m} < 0), 1, 0))"
    return n.pointwise(_FLOOR.replace("f - ", f"{f} - ").replace("floor(f)", f"floor({f})").replace("f ==",
                                                                                                    f"{f} =="), kind, a=a, b=b)


@aten_op("remainder.Tensor remainder.Scalar remainder.Scalar_Tensor")
def remainder(n: Node, a: Operand, b: Operand) -> Value:
    if n.out.dtype.is_integer:
        return n.pointwise("a % b", n.out.dtype, a=a, b=b)
    return n.pointwise("fmod(a, b) + where(fmod(a, b) != 0 and (b < 0) != (fmod(a, b) < 0), b, 0)", n.out.dtype, a=a, b=b)


@aten_op("pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar")
def power(n: Node, a: Operand, b: Operand) -> Value:
    kind = n.out.dtype
    if kind == BOOL:
        return n.pointwise("a or not b", kind, a=a, b=b)
    if kind.is_integer:
        return _integer_power(n, a, b, kind)
    if isinstance(b, (int, float)) and not isinstance(b, bool):
        text = {2: "a*a", 1: "+a", 0.5: "sqrt(a)", -1: "1/a", 3: "a*a*a", -2: "1/(a*a)"}.get(b, "")
        if text:
            return n.pointwise(text, kind, a=a)
    return n.pointwise("a ** b", kind, a=a, b=b)


def _integer_power(n: Node, a: Operand, b: Operand, kind: DType) -> Value:
    if isinstance(b, int) and 0 <= b <= 8:
        return n.pointwise("*".join(["a"] * b) if b else "1 + 0*a", kind, a=a)
    return n.cast(n.pointwise("a ** b", F64, a=a, b=b), kind)


def _compare_names() -> str:
    return " ".join(f"{op}.{form}" for op in _COMPARE for form in ("Tensor", "Scalar"))


@aten_op(_compare_names())
def compare(n: Node, a: Operand, b: Operand) -> Value:
    kind = n.promoted()
    if kind == BOOL:
        text = {"eq": "a == b", "ne": "a != b", "lt": "b and not a", "le": "b or not a", "gt": "a and not b", "ge": "a or not b"}
        return n.pointwise(text[n.name], kind, a=a, b=b)
    if kind.is_float and kind.bits == 16:  # exact in f32
        kind = F32
    return n.pointwise(f"a {_COMPARE[n.name]} b", kind, a=a, b=b)


@aten_op("logical_and logical_or logical_xor logical_not")
def logical(n: Node, a: Value, b: Value | None = None) -> Value:
    text = {"logical_and": "a and b", "logical_or": "a or b", "logical_xor": "a != b", "logical_not": "not a"}[n.name]
    return n.pointwise(text, BOOL, a=a, **({} if b is None else {"b": b}))


@aten_op("bitwise_not")
def bitwise_not(n: Node, a: Value) -> Value:
    return n.pointwise("not a" if a.dtype == BOOL else "bitwise_not(a)", a.dtype, a=a)


@aten_op("where.self where.ScalarOther where.ScalarSelf where.Scalar")
def where(n: Node, c: Value, a: Operand, b: Operand) -> Value:
    kind = n.out.dtype
    values = {"c": n.cast(c, BOOL)}
    texts = []
    from kernelcat_core.importers.torch_model.node import number

    for name, x in (("a", a), ("b", b)):
        if isinstance(x, Value):
            values[name] = n.cast(x, kind)
            texts.append(name)
        else:
            texts.append(f"{kind}({number(x, kind)})" if kind != BOOL else number(x, kind))
    return n.formula(f"y = where(c, {texts[0]}, {texts[1]})", **values)


@aten_op("clamp clamp.Tensor clamp_min clamp_min.Tensor clamp_max clamp_max.Tensor")
def clamp(n: Node, x: Value, low: Operand | None = None, high: Operand | None = None) -> Value:
    if n.name == "clamp_max":
        low, high = None, low
    given = {"x": x, **({} if low is None else {"a": low}), **({} if high is None else {"b": high})}
    text = "x" if low is None else "maximum(x, a)"
    text = text if high is None else f"minimum({text}, b)"
    return n.pointwise(text if text != "x" else "+x", n.out.dtype, **given)


@aten_op("logit")
def logit(n: Node, x: Value, eps: float | None = None) -> Value:
    if eps is None:
        return n.pointwise("log(x/(1 - x))", n.out.dtype, x=x)
    return n.pointwise("log(minimum(maximum(x, e), f)/(1 - minimum(maximum(x, e), f)))", n.out.dtype, x=x, e=eps, f=1 - eps)


@aten_op("_to_copy prims.convert_element_type.default")
def converted(n: Node, x: Value, *_: Any) -> Value:
    return n.cast(x, n.out.dtype) if x.dtype != n.out.dtype else n.formula("y = +x" if x.dtype != BOOL else "y = x or x", x=x)


@aten_op("clone alias detach detach_copy alias_copy lift_fresh_copy lift_fresh contiguous positive "
         "resolve_conj resolve_neg real conj _conj conj_physical copy copy_")
def same(n: Node, x: Value, *others: Any) -> Value:
    if n.name in ("copy", "copy_"):
        from kernelcat_core.importers.torch_model.nodes.layout import expanded

        return expanded(n, n.cast(others[0], n.out.dtype), n.out.shape)
    return x


@aten_op("gelu")
def gelu(n: Node, x: Value) -> Value:
    return n.call("gelu", x, approximate=n.kw("approximate", "none"))


@aten_op("leaky_relu hardtanh softplus elu silu mish hardswish hardsigmoid")
def activation(n: Node, x: Value, *a: Any) -> Value:
    match n.name:
        case "leaky_relu":
            return n.pointwise("where(x > 0, x, x*s)", n.out.dtype, x=x, s=a[0])
        case "hardtanh":
            return n.pointwise("minimum(maximum(x, l), h)", n.out.dtype, x=x, l=a[0], h=a[1])
        case "softplus":
            return n.pointwise("where(x*b > t, x, log1p(exp(x*b))/b)", n.out.dtype, x=x, b=a[0], t=a[1])
        case "elu":
            return n.pointwise("where(x > 0, x*s, s*c*expm1(x*d))", n.out.dtype, x=x, c=a[0], s=a[1], d=a[2])
        case "silu":
            return n.pointwise("x*sigmoid(x)", n.out.dtype, x=x)
        case "mish":
            return n.pointwise("x*tanh(softplus(x))", n.out.dtype, x=x)
        case "hardswish":
            return n.pointwise("x*minimum(maximum(x + 3, 0), 6)/6", n.out.dtype, x=x)
    return n.pointwise("minimum(maximum(x + 3, 0), 6)/6", n.out.dtype, x=x)
