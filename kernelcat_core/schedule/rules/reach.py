"""Which keys the queries of a block may use, from conditions on positions: causal order, windows, both together."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.ir.expr import ZERO, Expr, Op, add, coefficient, index, loads, mul, op, sub
from kernelcat_core.schedule.affine import constant


@dataclass(frozen=True)
class Bound:
    """A condition on positions: across*q + along*s + rest >= 0, with along 1 or -1."""

    across: int
    along: int
    rest: Expr


def bounds_of(condition: Expr, q: str, s: str) -> tuple[Bound, ...] | None:
    """A condition as bounds on s; None when it is of another form."""
    if not isinstance(condition, Op) or condition.name not in ("lt", "le", "gt", "ge") or loads(condition):
        return None
    left, right = condition.args
    if condition.name in ("gt", "ge"):
        left, right = right, left
    if isinstance(left, Op) and left.name == "abs":
        signs = [left.args[0], sub(ZERO, left.args[0])]
    else:
        signs = [left]
    strict = 1 if condition.name in ("lt", "gt") else 0
    found = []
    for one in signs:
        form = coefficient(add(sub(right, one), index(-strict)), s)
        rest = None if form is None else coefficient(form[1], q)
        along = None if form is None else constant(form[0])
        across = None if rest is None else constant(rest[0])
        if rest is None or across is None or along not in (1, -1):
            return None
        found.append(Bound(across, along, rest[1]))
    return tuple(found)


@dataclass(frozen=True)
class Reach:
    """Keys that some query of a block may use, [low, high), and keys that all of them may, [low_all, high_all)."""

    low: Expr
    high: Expr
    low_all: Expr
    high_all: Expr


def reach(bounds: list[Bound], first: Expr, last: Expr, keys: Expr) -> Reach:
    """The reach of queries `first` .. `last` among `keys` keys."""
    low: Expr = ZERO
    low_all: Expr = ZERO
    high, high_all = keys, keys
    for b in bounds:
        ends = [add(mul(index(b.across), x), b.rest) for x in (first, last)]
        least, most = ends if b.across >= 0 else ends[::-1]
        if b.along == -1:  # s <= across*q + rest
            high, high_all = op("min", high, add(most, index(1))), op("min", high_all, add(least, index(1)))
        else:  # s >= -(across*q + rest)
            low, low_all = op("max", low, sub(ZERO, most)), op("max", low_all, sub(ZERO, least))
    return Reach(low, high, low_all, high_all)
