"""Scalar operations of the IR (`expr.OPS`) as standard ONNX nodes, one function each.

Where ONNX has no node the composition keeps accuracy near the points where a naive one loses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelcat_core.dtypes import BOOL, F64, I64, U8, DType
from kernelcat_core.importers.onnx_nodes import ELEMENT_TYPE, Nodes

Spell = Callable[[Nodes, DType, list[str]], str]

_DIRECT = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "neg": "Neg", "abs": "Abs", "isnan": "IsNaN", "isinf": "IsInf",
    "not": "Not", "not_bits": "BitwiseNot", "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div",
    "and_bits": "BitwiseAnd", "or_bits": "BitwiseOr", "xor_bits": "BitwiseXor", "and": "And", "or": "Or", "xor": "Xor",
    "eq": "Equal", "where": "Where",
}  # fmt: skip
_ORDER = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}


def spell(nodes: Nodes, name: str, args: list[str], operand: DType, wanted: DType) -> str:
    """The value of operation `name` on values `args`; `operand` is their dtype (of the branches for where)."""
    if name == "cast":
        return cast(nodes, args[0], operand, wanted)
    if name in _DIRECT:
        return nodes.emit(_DIRECT[name], *args)
    return _COMPOSED[name](nodes, operand, args)


def cast(n: Nodes, x: str, source: DType, target: DType) -> str:
    """`x` as `target`, toward zero from floats to integers."""
    return x if source == target else n.emit("Cast", x, to=ELEMENT_TYPE[target])


def _literal(n: Nodes, t: DType, value: float) -> str:
    return n.constant(value if t.is_float else int(value), t)


def _negative(n: Nodes, t: DType, x: str) -> str:
    """x < 0, or a negative zero."""
    zero = _literal(n, t, 0.0)
    return n.emit("Or", n.emit("Less", x, zero), n.emit("Less", n.emit("Reciprocal", x), zero))


def _exp2(n: Nodes, t: DType, a: list[str]) -> str:
    return n.emit("Pow", _literal(n, t, 2.0), a[0])


def _expm1(n: Nodes, t: DType, a: list[str]) -> str:
    """2 exp(x/2) sinh(x/2), which loses nothing near 0."""
    half = n.emit("Mul", a[0], _literal(n, t, 0.5))
    product = n.emit("Mul", n.emit("Exp", half), n.emit("Sinh", half))
    large = n.emit("Less", a[0], _literal(n, t, -10.0))
    plain = n.emit("Sub", n.emit("Exp", a[0]), _literal(n, t, 1.0))
    return n.emit("Where", large, plain, n.emit("Mul", product, _literal(n, t, 2.0)))


def _log1p(n: Nodes, t: DType, a: list[str]) -> str:
    """2 atanh(x / (2 + x)) near 0, log(1 + x) elsewhere."""
    ratio = n.emit("Div", a[0], n.emit("Add", a[0], _literal(n, t, 2.0)))
    near = n.emit("Mul", n.emit("Atanh", ratio), _literal(n, t, 2.0))
    far = n.emit("Log", n.emit("Add", a[0], _literal(n, t, 1.0)))
    return n.emit("Where", n.emit("Less", n.emit("Abs", a[0]), _literal(n, t, 0.5)), near, far)


def _log_to(base: float) -> Spell:
    def logarithm(n: Nodes, t: DType, a: list[str]) -> str:
        """In f64, so that powers of the base give whole numbers."""
        wide = n.emit("Div", n.emit("Log", cast(n, a[0], t, F64)), n.constant(math.log(base), F64))
        return cast(n, wide, F64, t)

    return logarithm


def _rsqrt(n: Nodes, t: DType, a: list[str]) -> str:
    return n.emit("Reciprocal", n.emit("Sqrt", a[0]))


def _cbrt(n: Nodes, t: DType, a: list[str]) -> str:
    wide = cast(n, a[0], t, F64)
    root = n.emit("Pow", n.emit("Abs", wide), n.constant(1 / 3, F64))
    return cast(n, n.emit("Mul", n.emit("Sign", wide), root), F64, t)


def _whole(operator: str) -> Spell:
    return lambda n, t, a: n.emit(operator, a[0]) if t.is_float else a[0]


def _trunc(n: Nodes, t: DType, a: list[str]) -> str:
    if not t.is_float:
        return a[0]
    below = n.emit("Less", a[0], _literal(n, t, 0.0))
    return n.emit("Where", below, n.emit("Ceil", a[0]), n.emit("Floor", a[0]))


def _round_half_away(n: Nodes, t: DType, a: list[str]) -> str:
    if not t.is_float:
        return a[0]
    whole = _trunc(n, t, a)
    up = n.emit("GreaterOrEqual", n.emit("Abs", n.emit("Sub", a[0], whole)), _literal(n, t, 0.5))
    step = n.emit("Where", up, n.emit("Sign", a[0]), _literal(n, t, 0.0))
    return n.emit("Add", whole, step)


def _sign(n: Nodes, t: DType, a: list[str]) -> str:
    return a[0] if t == BOOL else n.emit("Sign", a[0])


def _isfinite(n: Nodes, t: DType, a: list[str]) -> str:
    return n.emit("Not", n.emit("Or", n.emit("IsNaN", a[0]), n.emit("IsInf", a[0])))


def _fmod(n: Nodes, t: DType, a: list[str]) -> str:
    return n.emit("Mod", *a, fmod=1)


def _mod(n: Nodes, t: DType, a: list[str]) -> str:
    """The remainder with the sign of the divisor: Mod has it for integers, and C's for floats."""
    if not t.is_float:
        return n.emit("Mod", *a)
    rest, zero = _fmod(n, t, a), _literal(n, t, 0.0)
    other_side = n.emit("Xor", n.emit("Less", rest, zero), n.emit("Less", a[1], zero))
    moves = n.emit("And", other_side, n.emit("Not", n.emit("Equal", rest, zero)))
    return n.emit("Where", moves, n.emit("Add", rest, a[1]), rest)


def _floordiv(n: Nodes, t: DType, a: list[str]) -> str:
    """The exact quotient of a - a mod b: no rounding direction is left to choose."""
    quotient = n.emit("Div", n.emit("Sub", a[0], _mod(n, t, a)), a[1])
    if not t.is_float:
        return quotient
    by_zero = n.emit("Equal", a[1], _literal(n, t, 0.0))
    return n.emit("Where", by_zero, n.emit("Div", *a), n.emit("Round", quotient))


def _extreme(number: str, logical: str) -> Spell:
    return lambda n, t, a: n.emit(logical if t == BOOL else number, *a)


def _ignoring_nan(operator: str) -> Spell:
    def extreme(n: Nodes, t: DType, a: list[str]) -> str:
        if not t.is_float:
            return n.emit(operator, *a)
        known = n.emit("Where", n.emit("IsNaN", a[1]), a[0], n.emit(operator, *a))
        return n.emit("Where", n.emit("IsNaN", a[0]), a[1], known)

    return extreme


def _atan2(n: Nodes, t: DType, a: list[str]) -> str:
    """The angle of (x, y) = (a1, a0) from atan(y / x), by half-planes."""
    y, x = a
    zero = _literal(n, t, 0.0)
    half_turn = n.emit("Where", _negative(n, t, y), _literal(n, t, -math.pi), _literal(n, t, math.pi))
    angle = n.emit("Atan", n.emit("Div", y, x))
    left = n.emit("Where", n.emit("Less", x, zero), n.emit("Add", angle, half_turn), angle)
    upright = n.emit("Mul", n.emit("Sign", y), _literal(n, t, math.pi / 2))
    origin = n.emit("Where", _negative(n, t, x), half_turn, y)
    axis = n.emit("Where", n.emit("Equal", y, zero), origin, upright)
    return n.emit("Where", n.emit("Equal", x, zero), axis, left)


def _hypot(n: Nodes, t: DType, a: list[str]) -> str:
    """large * sqrt(1 + (small / large)^2): squares do not overflow."""
    x, y = (n.emit("Abs", v) for v in a)
    large, small, zero = n.emit("Max", x, y), n.emit("Min", x, y), _literal(n, t, 0.0)
    ratio = n.emit("Div", small, large)
    root = n.emit("Sqrt", n.emit("Add", n.emit("Mul", ratio, ratio), _literal(n, t, 1.0)))
    edge = n.emit("Or", n.emit("Equal", large, zero), n.emit("IsInf", large))
    infinite = n.emit("Or", n.emit("IsInf", x), n.emit("IsInf", y))
    length = n.emit("Where", edge, large, n.emit("Mul", large, root))
    return n.emit("Where", infinite, _literal(n, t, math.inf), length)


def _copysign(n: Nodes, t: DType, a: list[str]) -> str:
    size = n.emit("Abs", a[0])
    return n.emit("Where", _negative(n, t, a[1]), n.emit("Neg", size), size)


def _pow(n: Nodes, t: DType, a: list[str]) -> str:
    """Pow takes no integers but i32 and i64."""
    if t.is_float:
        return n.emit("Pow", *a)
    return cast(n, n.emit("Pow", *(cast(n, x, t, I64) for x in a)), I64, t)


def _pow_of_two(n: Nodes, t: DType, count: str) -> str:
    return _pow(n, t, [_literal(n, t, 2), count])


def _shl(n: Nodes, t: DType, a: list[str]) -> str:
    """BitShift takes unsigned integers only; signed ones are multiplied."""
    return n.emit("BitShift", *a, direction="LEFT") if t.kind == "u" else n.emit("Mul", a[0], _pow_of_two(n, t, a[1]))


def _shr(n: Nodes, t: DType, a: list[str]) -> str:
    return (
        n.emit("BitShift", *a, direction="RIGHT") if t.kind == "u" else _floordiv(n, t, [a[0], _pow_of_two(n, t, a[1])])
    )


def _ordered(operator: str) -> Spell:
    """Less and its kin do not take bool."""

    def compared(n: Nodes, t: DType, a: list[str]) -> str:
        if t == BOOL:
            a = [n.emit("Cast", x, to=ELEMENT_TYPE[U8]) for x in a]
        return n.emit(operator, *a)

    return compared


_COMPOSED: dict[str, Spell] = {
    "exp2": _exp2, "expm1": _expm1, "log1p": _log1p, "log2": _log_to(2.0), "log10": _log_to(10.0), "rsqrt": _rsqrt,
    "cbrt": _cbrt, "floor": _whole("Floor"), "ceil": _whole("Ceil"), "rint": _whole("Round"), "trunc": _trunc,
    "round_half_away": _round_half_away, "sign": _sign, "isfinite": _isfinite, "fmod": _fmod, "mod": _mod,
    "signbit": lambda n, t, a: _negative(n, t, a[0]), "floordiv": _floordiv, "pow": _pow,
    "min": _extreme("Min", "And"), "max": _extreme("Max", "Or"), "fmin": _ignoring_nan("Min"),
    "fmax": _ignoring_nan("Max"), "atan2": _atan2, "hypot": _hypot, "copysign": _copysign, "shl": _shl, "shr": _shr,
    "ne": lambda n, t, a: n.emit("Not", n.emit("Equal", *a)), **{k: _ordered(v) for k, v in _ORDER.items()},
}  # fmt: skip
SPELLED = frozenset(_DIRECT) | frozenset(_COMPOSED) | {"cast"}
