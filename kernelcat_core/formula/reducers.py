"""Reducers to primitives: element, monoid and finishing expression of each reserved name."""

from __future__ import annotations

from typing import NamedTuple

from kernelcat_core.dtypes import BF16, BOOL, F16, F32, I64, DType, accumulator
from kernelcat_core.formula.values import Value, to_bool, widen
from kernelcat_core.ir.expr import Const, Expr, Op, Var, add, cast, mul, op, product
from kernelcat_core.ir.graph import Axis, Monoid, monoid


class Reduction(NamedTuple):
    """`element` has one expression for each state of `monoid`; `finish` is over s0, s1.. (None: s0)."""

    monoid: Monoid
    element: tuple[Expr, ...]
    finish: Expr | None


def plain(name: str, body: Expr, over: tuple[Axis, ...], wanted: DType | None) -> Reduction:
    """Any reducer but logsumexp. `wanted` is the type of a cast directly around it.

    Integer sums and products are i64, or `wanted` if that is an integer; 16-bit floats accumulate in f32 and round once;
    the mean of integers is f32.
    """
    if name in ("sum", "prod", "mean"):
        return _arithmetic(name, body, over, wanted)
    if name in ("any", "all"):
        return Reduction(monoid(name, BOOL), (to_bool(Value(body)),), None)
    if name in ("argmax", "argmin"):
        return Reduction(monoid(name, body.dtype), (body, position(over)), Var("s1"))
    return Reduction(monoid(name, body.dtype), (body,), None)


def _arithmetic(name: str, body: Expr, over: tuple[Axis, ...], wanted: DType | None) -> Reduction:
    kind = accumulator(body.dtype)
    reduced = kind if not body.dtype.is_float else body.dtype
    if wanted is not None:
        if kind == I64 and wanted.is_integer:
            kind = reduced = wanted
        elif kind.is_float and wanted.is_float:
            reduced = wanted
            kind = wanted if wanted.bits > kind.bits else kind
    element = widen(body, kind) if body.dtype in (F16, BF16) else _counted_in(body, kind)
    m = monoid("sum" if name == "mean" else name, kind)
    state: Expr = Var("s0", kind)
    if name == "mean":
        mean_type = kind if kind.is_float else F32
        reduced = reduced if kind.is_float else F32
        count = cast(product([a.size for a in over]), mean_type)
        state = op("div", cast(state, mean_type), _as_float(count))
    finish = cast(state, reduced)
    return Reduction(m, (element,), None if finish == Var("s0", kind) else finish)


_EXACT = frozenset({"add", "sub", "mul", "neg"})


def _counted_in(body: Expr, kind: DType) -> Expr:
    """`body` converted to the accumulator's type; sums and products of narrow integers are formed in it, so that they do
    not wrap before they are added up (i8*i8 does not fit i8)."""
    if isinstance(body, Op) and body.name in _EXACT and body.dtype.is_integer and kind.is_integer and kind.bits > body.dtype.bits:
        return op(body.name, *(_counted_in(a, kind) for a in body.args))
    return cast(body, kind)


def _as_float(e: Expr) -> Expr:
    return Const(float(e.args[0].value), e.dtype) if isinstance(e, Op) and isinstance(e.args[0], Const) else e


def position(over: tuple[Axis, ...]) -> Expr:
    """Row-major position of the reduce indices."""
    total: Expr = over[0].var
    for a in over[1:]:
        total = add(mul(total, a.size), a.var)
    return total
