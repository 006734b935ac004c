"""Scalar functions on values: NumPy broadcasting of whole tensors, typing, folding of literals."""

from __future__ import annotations

from kernelcat_core.dtypes import BOOL, F32, I64
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula.functions import BINARY, FUNCTIONS, Function
from kernelcat_core.formula.sizes import Sizes
from kernelcat_core.formula.values import (
    Value,
    at,
    common,
    convert,
    fold_binary,
    fold_function,
    literal,
    strong,
    to_bool,
    to_float,
    type_error,
)
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr, Size, Var, op
from kernelcat_core.ir.graph import Axis


def broadcast(values: list[Value], sizes: Sizes, span: Span) -> tuple[tuple[Axis, ...], list[Value]]:
    """The values over common axes: aligned on the right, equal sizes or 1 (known to be 1, or given as 1)."""
    rank = max(v.rank for v in values)
    if rank == 0:
        return (), values
    axes: list[Axis] = []
    for k in range(rank):
        size: Expr = ONE
        for v in values:
            place = k - (rank - v.rank)
            if place >= 0:
                size = _joined(size, v.axes[place].size, sizes, span)
        axes.append(Axis(f"@{k}", sizes.resolve(size)))
    aligned: list[Value] = []
    for v in values:
        if v.rank == 0:
            aligned.append(v)
            continue
        index: list[Expr] = []
        for a, b in zip(v.axes, axes[rank - v.rank:], strict=True):
            stretched = sizes.resolve(a.size) == ONE and b.size != ONE
            index.append(ZERO if stretched else Var(b.name))
        aligned.append(Value(at(v, tuple(index)), tuple(axes), v.weak))
    return tuple(axes), aligned


def _joined(a: Expr, b: Expr, sizes: Sizes, span: Span) -> Expr:
    a, b = sizes.resolve(a), sizes.resolve(b)
    if a == ONE:
        return b
    if b == ONE or a == b:
        return a
    p, q = sizes.number(a), sizes.number(b)
    if p == 1 and q not in (1, None) and isinstance(a, Size):
        sizes.fix(a, 1)
        return b
    if q == 1 and p not in (1, None) and isinstance(b, Size):
        sizes.fix(b, 1)
        return a

    def error(p: int | None, q: int | None) -> KernelcatError:
        return KernelcatError("KC-F017", f"sizes {p if p is not None else '?'} and {q if q is not None else '?'} do not "
                              "broadcast", span=span, hint="sizes are aligned on the right and are equal, or one is 1")

    sizes.equate(a, b, error)
    return sizes.resolve(a)


def apply(name: str, values: list[Value], sizes: Sizes, span: Span) -> Value:
    """The function called `name` in functions.TABLE, elementwise."""
    f = FUNCTIONS[name]
    axes, aligned = broadcast(values, sizes, span)
    scalar = _scalar(f, [Value(v.expr, (), v.weak) for v in aligned], span)
    return Value(scalar.expr, axes, scalar.weak)


def _scalar(f: Function, v: list[Value], span: Span) -> Value:
    literals = [x.literal for x in v]
    if f.typing in ("number", "float", "integer") and all(x is not None and not isinstance(x, bool) for x in literals):
        folded = _folded(f, v, span)
        if folded is not None:
            return folded
    match f.typing:
        case "logic":
            return Value(op(f.op, *(to_bool(x) for x in v)))
        case "test":
            if f.op != "signbit" and not v[0].dtype.is_float:
                return Value(Const(f.op == "isfinite", BOOL))
            return Value(op(f.op, to_float(v[0], span).expr))
        case "round":
            return strong(v[0]) if not v[0].dtype.is_float else Value(op(f.op, v[0].expr))
    dtype = v[0].dtype if len(v) == 1 else common(v[0], v[1])
    if f.typing == "float" and not dtype.is_float:
        dtype = F32
    if f.typing == "number" and dtype == BOOL and f.op not in ("max", "min"):
        dtype = I64
    if f.typing == "compare" and dtype == BOOL and f.op not in ("eq", "ne"):
        dtype = I64
    if f.typing in ("integer", "bits") and dtype.is_float:
        raise type_error(f"{f.name} takes integers, not {dtype}", span,
                         "use fmod(x, y) or x - y*floor(x / y)" if f.op == "mod" else "cast first, e.g. i32(x)")
    if f.typing == "integer" and dtype == BOOL:
        dtype = I64
    args = [convert(x.expr, dtype, x.weak, span) for x in v]
    if f.op in ("and_bits", "or_bits", "xor_bits", "not_bits") and dtype == BOOL:
        return Value(op(f.op.removesuffix("_bits"), *args))
    if f.op == "floordiv" and dtype.is_float:
        return Value(op("floor", op("div", *args)))
    if f.op in ("floordiv", "mod") and isinstance(args[1], Const) and args[1].value == 0:
        raise type_error("division by zero", span, "check the divisor")
    if f.op == "pow":
        return Value(_power(args[0], args[1], v[1], span))
    if f.op == "fmod" and dtype == BOOL:
        args = [convert(x.expr, I64, x.weak, span) for x in v]
    return Value(op(f.op, *args))


def _power(base: Expr, exponent: Expr, given: Value, span: Span) -> Expr:
    """Small literal exponents become the operation they are."""
    e = given.literal
    if base.dtype.is_integer and isinstance(e, int) and e < 0:
        raise type_error("an integer to a negative power", span, "cast first, e.g. f32(x)**-1")
    if e == 1:
        return base
    if e == 2:
        return op("mul", base, base)
    if base.dtype.is_float:
        if e == 0.5:
            return op("sqrt", base)
        if e == -1:
            return op("div", Const(1.0, base.dtype), base)
    return op("pow", base, exponent)


def _folded(f: Function, v: list[Value], span: Span) -> Value | None:
    if len(v) == 2 and f.op in ("add", "sub", "mul", "div", "floordiv", "mod", "pow"):
        a, b = v[0].literal, v[1].literal
        assert a is not None and b is not None
        return fold_binary(f.op, a, b, span)
    if len(v) == 1:
        x = v[0].literal
        if f.op == "neg" and x is not None:
            return literal(-x)
        return fold_function(f.op, v[0])
    return None


def negate(v: Value, sizes: Sizes, span: Span) -> Value:
    return apply("negative", [v], sizes, span)


def where(condition: Value, a: Value, b: Value, sizes: Sizes, span: Span) -> Value:
    """Elementwise choice; the two sides meet in their common type."""
    axes, (c, x, y) = broadcast([condition, a, b], sizes, span)
    dtype = common(x, y)
    chosen = op("where", to_bool(c), convert(x.expr, dtype, x.weak, span), convert(y.expr, dtype, y.weak, span))
    return Value(chosen, axes, x.weak and y.weak)


def binary(sign: str, a: Value, b: Value, sizes: Sizes, span: Span) -> Value:
    """An infix operation (+ - * / // % ** & | ^ << >> and or)."""
    return apply(BINARY[sign].name, [a, b], sizes, span)
