"""How an address or a predicate moves along a lane, divisions by uniform sizes included.

Over a run of lanes in which every quotient keeps its value, `x // D` is constant and `x % D` moves like `x`; and a
conjunction of comparisons of affine expressions that holds at both ends of a run holds inside it. So one test of the two
ends of a run replaces a test of every element.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.ir.expr import ONE, ZERO, Expr, Op, Var, mul, op, sub, variables


@dataclass(frozen=True)
class Motion:
    """`step` elements a lane (uniform), as long as each of `quotients` keeps its value."""

    step: Expr
    quotients: tuple[Expr, ...] = ()


def motion(e: Expr, lane: str) -> Motion | None:
    """The Motion of an i64 expression along `lane`; None when it has no constant step between quotient changes."""
    if lane not in variables(e):
        return Motion(ZERO)
    if isinstance(e, Var):
        return Motion(ONE)
    if not isinstance(e, Op):
        return None
    a = motion(e.args[0], lane)
    b = motion(e.args[1], lane) if len(e.args) == 2 else Motion(ZERO)
    if a is None or b is None or len(e.args) > 2:
        return None
    both = a.quotients + b.quotients
    if e.name == "neg":
        return Motion(sub(ZERO, a.step), both)
    if e.name in ("add", "sub"):
        return Motion(op(e.name, a.step, b.step), both)
    if e.name == "mul":
        for x, other in ((a, 1), (b, 0)):
            if lane not in variables(e.args[other]):
                return Motion(mul(x.step, e.args[other]), both)
        return None
    if e.name in ("floordiv", "mod") and lane not in variables(e.args[1]):
        if a.step == ZERO:
            return Motion(ZERO, both)
        quotient = op("floordiv", *e.args)
        return Motion(ZERO if e.name == "floordiv" else a.step, (*both, quotient))
    return None


def convex(condition: Expr, lane: str) -> tuple[Expr, ...] | None:
    """Quotients under which `condition`, true at both ends of a run of lanes, is true inside; None when never."""
    if lane not in variables(condition):
        return ()
    if not isinstance(condition, Op):
        return None
    if condition.name == "and":
        parts = [convex(a, lane) for a in condition.args]
        return None if any(p is None for p in parts) else tuple(q for p in parts for q in p or ())
    if condition.name in ("lt", "le", "gt", "ge", "eq"):
        sides = [motion(a, lane) for a in condition.args]
        return None if any(s is None for s in sides) else tuple(q for s in sides if s is not None for q in s.quotients)
    return None
