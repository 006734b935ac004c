"""Smooth functions that are written in pieces or in steps that overflow: their derivatives as a whole.

`1 / (1 + exp(-x))` goes through an infinity where exp(-x) overflows, and `maximum(x, 0) + log1p(exp(-abs(x)))` through two
corners at 0; neither is in the function itself.
"""

from __future__ import annotations

from kernelcat_core.ir.differentiate.algebra import Gradient, is_number, neg, number, over, times
from kernelcat_core.ir.expr import Expr, Op, op

Steps = list[tuple[Expr, Gradient]]


def partial(e: Op, s: Expr) -> Steps | None:
    """Operands with their derivatives, when `e` is one of these functions."""
    for form in (_logistic, _soft_exponential, _soft_corner):
        steps = form(e, s)
        if steps is not None:
            return steps
    return None


def logistic(x: Expr) -> Expr:
    """1 / (1 + exp(-x))"""
    one = number(1.0, x)
    return over(one, op("add", one, op("exp", neg(x))))


def _exponent(e: Expr) -> Expr | None:
    """u of exp(u)"""
    return e.args[0] if isinstance(e, Op) and e.name == "exp" else None


def _logistic(e: Op, s: Expr) -> Steps | None:
    """a / (1 + exp(u)): by u it is -e / (1 + exp(-u))."""
    if e.name != "div" or not isinstance(e.args[1], Op) or e.args[1].name != "add":
        return None
    a, (p, q) = e.args[0], e.args[1].args
    u = _exponent(q) if is_number(p, 1.0) else _exponent(p) if is_number(q, 1.0) else None
    if u is None:
        return None
    return [(a, over(s, e.args[1])), (u, neg(times(times(s, e), logistic(u))))]


def _soft_exponential(e: Op, s: Expr) -> Steps | None:
    """log1p(exp(u)): the slope is the logistic function."""
    u = _exponent(e.args[0]) if e.name == "log1p" else None
    return None if u is None else [(u, times(s, logistic(u)))]


def _soft_corner(e: Op, s: Expr) -> Steps | None:
    """max(x, 0) + log1p(exp(-|x|)) and min(x, 0) - log1p(exp(-|x|)): log(1 + exp(x)) and -log(1 + exp(-x))."""
    shape = {"add": "max", "sub": "min"}.get(e.name)
    if shape is None:
        return None
    corner, rest = e.args
    if not isinstance(corner, Op) or corner.name != shape or not is_number(corner.args[1], 0.0):
        return None
    x = corner.args[0]
    if rest != op("log1p", op("exp", op("neg", op("abs", x)))):
        return None
    return [(x, times(s, logistic(x if e.name == "add" else neg(x))))]
