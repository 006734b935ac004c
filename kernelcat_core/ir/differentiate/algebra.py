"""Building derivatives: constructors that drop what is times one or times zero, and the types derivatives are computed in.

A derivative that is zero is None, so that it takes part in nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

from kernelcat_core.dtypes import F32, F64, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, cast, conjuncts, op, transform

Gradient = Expr | None


def computed(dtype: DType) -> DType:
    """The type in which derivatives of a float type are formed and added up: f32 for 8- and 16-bit floats."""
    return dtype if dtype == F64 else F32


def number(value: float, like: Expr) -> Const:
    return Const(float(value), like.dtype)


def is_number(e: Expr, value: float | None = None) -> bool:
    return isinstance(e, Const) and e.dtype.is_float and (value is None or e.value == value)


_FOLD: dict[str, Callable[[float, float], float]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _folded(name: str, a: Expr, b: Expr) -> Expr | None:
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(_FOLD[name](float(a.value), float(b.value)), a.dtype)
    return None


def _negated(e: Expr) -> Expr | None:
    """What `e` is the negative of, when it is one."""
    if isinstance(e, Op) and e.name == "neg":
        return e.args[0]
    if isinstance(e, Const) and float(e.value) < 0:
        return number(-float(e.value), e)
    return None


def neg(e: Expr) -> Expr:
    if isinstance(e, Const):
        return number(-float(e.value), e)
    return _negated(e) or op("neg", e)


def times(a: Expr, b: Expr) -> Expr:
    if is_number(a, 1.0):
        return b
    if is_number(b, 1.0):
        return a
    for one, other in ((a, b), (b, a)):
        if is_number(one, -1.0):
            return neg(other)
        if isinstance(one, Op) and one.name == "neg":
            return neg(times(a.args[0], b) if one is a and isinstance(a, Op) else times(a, one.args[0]))
        if isinstance(one, Op) and one.name == "div" and is_number(one.args[0], 1.0):
            return over(other, one.args[1])
    return _folded("mul", a, b) or op("mul", a, b)


def over(a: Expr, b: Expr) -> Expr:
    if is_number(b, 1.0):
        return a
    if isinstance(a, Op) and a.name == "neg":
        return neg(over(a.args[0], b))
    return op("div", a, b)


def plus(a: Expr, b: Expr) -> Expr:
    for one, other in ((a, b), (b, a)):
        if is_number(one, 0.0):
            return other
    if (inner := _negated(b)) is not None:
        return minus(a, inner)
    if (inner := _negated(a)) is not None:
        return minus(b, inner)
    if a == b:
        return times(number(2.0, a), a)
    if isinstance(a, Op) and isinstance(b, Op) and a.name == b.name == "where" and a.args[0] == b.args[0]:
        return where(a.args[0], plus(a.args[1], b.args[1]), plus(a.args[2], b.args[2]))
    return _folded("add", a, b) or op("add", a, b)


def minus(a: Expr, b: Expr) -> Expr:
    if is_number(b, 0.0):
        return a
    if is_number(a, 0.0):
        return neg(b)
    if (inner := _negated(b)) is not None:
        return plus(a, inner)
    if isinstance(a, Op) and a.name == "neg":
        return neg(plus(a.args[0], b))
    return _folded("sub", a, b) or op("sub", a, b)


def square(e: Expr) -> Expr:
    return times(e, e)


def where(condition: Expr, a: Expr, b: Expr) -> Expr:
    if a == b:
        return a
    return op("where", condition, a, b)


def total(parts: Iterable[Gradient]) -> Gradient:
    """The sum of gradients."""
    found: Expr | None = None
    for p in parts:
        if p is not None:
            found = p if found is None else plus(found, p)
    return found


def widened(e: Expr) -> Expr:
    """A float expression in `computed` precision: 16-bit floats are converted where they are loaded.

    Conditions stay as they are, so that they are decided as in the formula itself.
    """
    if not e.dtype.is_float:
        return e
    wide = computed(e.dtype)
    if isinstance(e, Const):
        return cast(e, wide)
    if not isinstance(e, Op):
        return cast(e, wide)
    if e.name == "cast":
        inner = e.args[0]
        return cast(widened(inner), wide) if inner.dtype.is_float else cast(inner, wide)
    args = tuple(widened(a) if a.dtype.is_float else a for a in e.args)
    return e if args == e.args else op(e.name, *args)


def assuming(e: Expr, known: Iterable[Expr]) -> Expr:
    """`e` where the conditions `known` hold: choices that they decide, or that a load makes itself, are gone."""
    facts = set(known)

    def decided(n: Expr) -> Expr | None:
        if not isinstance(n, Op) or n.name != "where":
            return None
        condition, chosen, other = n.args
        parts = conjuncts(condition)
        if all(c in facts for c in parts):
            return chosen
        inside = isinstance(chosen, Load) and isinstance(other, Const) and chosen.fill == other
        return chosen if inside and isinstance(chosen, Load) and set(parts) <= set(conjuncts(chosen.where)) else None

    return transform(e, decided)


def core(e: Expr) -> Expr:
    """`e` without the casts around it."""
    while isinstance(e, Op) and e.name == "cast":
        e = e.args[0]
    return e


def is_plain(e: Expr) -> bool:
    """A literal, or an element of a tensor read without a condition (casts apart)."""
    inner = core(e)
    return isinstance(inner, Const) or (isinstance(inner, Load) and inner.where is None)
