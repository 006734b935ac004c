"""Typed values while lowering: a scalar expression over the axes of a tensor, and the typing of operations.

A `Value` with axes is a whole tensor: its element at those axes. Without axes it is a scalar, which may use indices of
the statement. A weak value is a literal, whose type is that of the other side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kernelcat_core.dtypes import BF16, BOOL, F8E4M3, F8E5M2, F16, F32, I4, I8, I64, U4, U8, DType, promote
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import limits
from kernelcat_core.ir.expr import Const, Expr, Op, Var, cast, op, substitute, variables
from kernelcat_core.ir.graph import Axis

_ARRIVES_AS = {F8E4M3: F32, F8E5M2: F32, I4: I8, U4: U8}


@dataclass(frozen=True)
class Value:
    """`expr` uses the Vars of `axes` (row-major order); `weak` marks literals."""

    expr: Expr
    axes: tuple[Axis, ...] = ()
    weak: bool = False

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def dtype(self) -> DType:
        return self.expr.dtype

    @property
    def literal(self) -> bool | int | float | None:
        """The Python value of a weak value."""
        return self.expr.value if self.weak and isinstance(self.expr, Const) else None


def literal(value: bool | int | float) -> Value:
    if isinstance(value, bool):
        return Value(Const(value, BOOL))
    return Value(Const(value, I64 if isinstance(value, int) else F32), weak=True)


def at(value: Value, index: tuple[Expr, ...]) -> Expr:
    """The element of a tensor value at an index."""
    return substitute(value.expr, {a.name: i for a, i in zip(value.axes, index, strict=True)})


def type_error(message: str, span: Span, hint: str = "") -> KernelcatError:
    return KernelcatError("KC-F015", message, span=span, hint=hint)


def convert(e: Expr, dtype: DType, weak: bool, span: Span) -> Expr:
    """`e` as `dtype`; a literal must fit."""
    if weak and isinstance(e, Const):
        value = e.value
        if dtype.is_integer:
            if isinstance(value, float):
                raise type_error(f"{value} is not an integer", span, f"write {dtype}(...) around the integer side first")
            low = -(1 << dtype.bits - 1) if dtype.kind == "i" else 0
            high = (1 << dtype.bits - (dtype.kind == "i")) - 1
            if not low <= value <= high:
                raise type_error(f"{value} does not fit {dtype}", span, "cast the other side to a wider type")
            return Const(int(value), dtype)
        if dtype.is_float:
            return Const(float(value), dtype)
        return Const(bool(value), BOOL)
    if weak and isinstance(e, Op) and e.name == "where":
        return op("where", e.args[0], convert(e.args[1], dtype, True, span), convert(e.args[2], dtype, True, span))
    return cast(e, dtype)


def common(a: Value, b: Value) -> DType:
    """The type in which two values meet."""
    if a.weak and b.weak:
        return F32 if a.dtype.is_float or b.dtype.is_float else I64
    if a.weak or b.weak:
        lit, other = (a, b) if a.weak else (b, a)
        if other.dtype.is_float:
            return other.dtype
        if lit.dtype.is_float:
            return F32
        return I64 if other.dtype.kind == "b" else other.dtype
    return promote(a.dtype, b.dtype)


def strong(v: Value) -> Value:
    """A literal with the type that nothing else decided."""
    return Value(v.expr, v.axes) if v.weak else v


def to_float(v: Value, span: Span) -> Value:
    """Integers and bool become f32; floats stay."""
    if v.dtype.is_float:
        return strong(v)
    return Value(convert(v.expr, F32, v.weak, span), v.axes)


def to_bool(v: Value) -> Expr:
    """A condition: a number counts as "not zero"."""
    if v.dtype == BOOL:
        return v.expr
    return op("ne", v.expr, Const(0.0 if v.dtype.is_float else 0, v.dtype))


def arrived(e: Expr) -> Expr:
    """A load or a cast as a value: storage-only types become the type they compute in."""
    target = _ARRIVES_AS.get(e.dtype)
    return e if target is None else cast(e, target)


_WIDENS = frozenset({"add", "sub", "mul", "div", "neg", "pow", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
                     "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "erf", "abs", "hypot",
                     "asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2"})


def widen(e: Expr, dtype: DType) -> Expr:
    """`e` (a 16-bit float) computed in `dtype` throughout, so that it is rounded once: loads are converted first."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const):
        return cast(e, dtype)
    if isinstance(e, Op):
        if e.name in _WIDENS and e.dtype in (F16, BF16):
            return op(e.name, *(widen(a, dtype) for a in e.args))
        if e.name == "where" and e.dtype in (F16, BF16):
            return op("where", e.args[0], widen(e.args[1], dtype), widen(e.args[2], dtype))
        if e.name in ("max", "min") and e.dtype in (F16, BF16):
            return op(e.name, *(widen(a, dtype) for a in e.args))
    return cast(e, dtype)


def rename_axes(value: Value, names: list[str]) -> Value:
    """The same tensor value with its axes called `names`."""
    if [a.name for a in value.axes] == names:
        return value
    axes = tuple(Axis(n, a.size) for n, a in zip(names, value.axes, strict=True))
    return Value(at(value, tuple(Var(n) for n in names)), axes, value.weak)


def free_indices(value: Value) -> frozenset[str]:
    """Indices of the statement that a value uses, its own axes apart."""
    return variables(value.expr) - {a.name for a in value.axes}


_FOLDABLE: dict[str, Callable[[float], float]] = {
    "exp": math.exp, "exp2": lambda x: 2.0 ** x, "log": math.log, "log2": math.log2, "log10": math.log10,
    "log1p": math.log1p, "expm1": math.expm1, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "tanh": math.tanh, "erf": math.erf, "rsqrt": lambda x: 1 / math.sqrt(x)}


def fold_function(name: str, v: Value) -> Value | None:
    """A function of a literal as a literal (in double precision), where it is defined and finite."""
    if v.literal is None or name not in _FOLDABLE:
        return None
    try:
        return literal(float(_FOLDABLE[name](float(v.literal))))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def fold_binary(name: str, a: int | float, b: int | float, span: Span) -> Value:
    """Arithmetic on literals, as Python does it; results stay in the range of literals."""
    try:
        folded: int | float
        match name:
            case "add":
                folded = a + b
            case "sub":
                folded = a - b
            case "mul":
                folded = a * b
            case "div":
                folded = a / b
            case "floordiv":
                folded = a // b
            case "mod":
                folded = a % b
            case "pow":
                if isinstance(a, int) and isinstance(b, int) and b > 0 and abs(a) > 1 and b > 64:
                    raise OverflowError
                power = a ** b
                if isinstance(power, complex):
                    raise ValueError
                folded = power
            case _:
                raise AssertionError(name)
    except (ZeroDivisionError, ValueError):
        raise type_error("this arithmetic on numbers has no value", span, "check the divisor or the base") from None
    except OverflowError:
        raise _too_large(span) from None
    if isinstance(folded, int) and abs(folded) > limits.LITERAL:
        raise _too_large(span)
    return literal(folded)


def _too_large(span: Span) -> KernelcatError:
    return KernelcatError("KC-F003", "the number is too large", span=span, hint="write inf for infinity")


