"""Derivatives of scalar expressions: one rule an operation of ir/expr.OPS, and the chain rule over trees.

A rule gets the operation, and `s`, the derivative of the result by its value; it gives one derivative an operand (None: zero).
Textbook derivatives, with these conventions where there is none:

- max and min pass half to each side where both are equal, nothing where the other side is a literal (so relu, relu6 and
  hardtanh have slope 0 at their corners); fmax and fmin pass all to the first side then.
- abs has slope 0 at 0 (it is the sign); sign and roundings have slope 0 everywhere.
- sqrt at 0, log at 0 and the like give what the division gives: an infinity, or NaN where it meets a zero.
- pow(x, y) by x is 0 where y is 0; by y it is 0 where x is 0 and y >= 0.
- atan2 and hypot at the origin give NaN; copysign has slope 0 at x = 0.
- a choice (where) passes to the side that was chosen, and what the other side would give, infinite or not, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from kernelcat_core.ir.differentiate import smooth
from kernelcat_core.ir.differentiate.algebra import (
    Gradient,
    computed,
    is_number,
    minus,
    neg,
    number,
    over,
    plus,
    square,
    times,
    where,
)
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, cast, op

Leaf = Load | Var
Rule = Callable[[Op, Expr], tuple[Gradient, ...]]
Gate = Callable[[Expr], Expr]
Choice = Callable[[Op], tuple[Gate, ...]]

_LN2, _LN10 = math.log(2.0), math.log(10.0)


def _unary(f: Callable[[Expr, Expr, Expr], Expr]) -> Rule:
    """A rule for one operand from f(x, result, s)."""
    return lambda e, s: (f(e.args[0], e, s),)


def _root(x: Expr) -> Expr:
    return op("sqrt", x)


def _division(e: Op, s: Expr) -> tuple[Gradient, ...]:
    b = e.args[1]
    return over(s, b), neg(over(times(s, e), b))


def _product(e: Op, s: Expr) -> tuple[Gradient, ...]:
    a, b = e.args
    return times(s, b), times(s, a)


def _power(e: Op, s: Expr) -> tuple[Gradient, ...]:
    x, y = e.args
    if isinstance(y, Const):
        c = float(y.value)
        return (None if c == 0.0 else times(times(s, number(c, x)), _raised(x, c - 1.0)), None)
    zero = number(0.0, x)
    by_x = where(op("eq", y, zero), zero, times(times(s, y), op("pow", x, minus(y, number(1.0, x)))))
    flat = op("and", op("eq", x, zero), op("ge", y, zero))
    return by_x, where(flat, zero, times(times(s, e), op("log", x)))


def _raised(x: Expr, c: float) -> Expr:
    """x to a constant power, as the operation it is."""
    plain = {0.0: number(1.0, x), 1.0: x}
    if c in plain:
        return plain[c]
    if c == 2.0:
        return square(x)
    if c == 0.5:
        return _root(x)
    if c == -1.0:
        return over(number(1.0, x), x)
    return op("pow", x, number(c, x))


def _extreme(better: str) -> Choice:
    def gates(e: Op) -> tuple[Gate, ...]:
        a, b = e.args
        only_better = isinstance(a, Const) or isinstance(b, Const)

        def gate(x: Expr, y: Expr) -> Gate:
            def pass_on(d: Expr) -> Expr:
                zero = number(0.0, d)
                tie = zero if only_better else where(op("eq", a, b), times(d, number(0.5, d)), zero)
                return where(op(better, x, y), d, tie)

            return pass_on

        return gate(a, b), gate(b, a)

    return gates


def _lenient_extreme(at_least: str) -> Choice:
    """fmax and fmin: NaN loses, the first side wins ties."""
    return lambda e: _either(op("or", op(at_least, *e.args), op("isnan", e.args[1])))


def _either(condition: Expr) -> tuple[Gate, ...]:
    return (lambda d: where(condition, d, number(0.0, d))), (lambda d: where(condition, number(0.0, d), d))


def _angle(e: Op, s: Expr) -> tuple[Gradient, ...]:
    y, x = e.args
    length = plus(square(x), square(y))
    return over(times(s, x), length), neg(over(times(s, y), length))


def _signed(e: Op, s: Expr) -> tuple[Gradient, ...]:
    x = e.args[0]
    zero = number(0.0, x)
    return where(op("eq", x, zero), zero, times(s, over(e, x))), None


def _remainder(rounding: str) -> Rule:
    return lambda e, s: (s, neg(times(s, op(rounding, op("div", *e.args)))))


def _one_minus_square(x: Expr) -> Expr:
    return minus(number(1.0, x), square(x))


RULES: dict[str, Rule] = {
    "exp": _unary(lambda x, e, s: times(s, e)),
    "exp2": _unary(lambda x, e, s: times(times(s, e), number(_LN2, x))),
    "expm1": _unary(lambda x, e, s: times(s, op("exp", x))),
    "log": _unary(lambda x, e, s: over(s, x)),
    "log2": _unary(lambda x, e, s: over(s, times(x, number(_LN2, x)))),
    "log10": _unary(lambda x, e, s: over(s, times(x, number(_LN10, x)))),
    "log1p": _unary(lambda x, e, s: over(s, plus(x, number(1.0, x)))),
    "sqrt": _unary(lambda x, e, s: over(times(s, number(0.5, x)), e)),
    "rsqrt": _unary(lambda x, e, s: neg(times(times(s, number(0.5, x)), times(e, square(e))))),
    "cbrt": _unary(lambda x, e, s: over(s, times(square(e), number(3.0, x)))),
    "sin": _unary(lambda x, e, s: times(s, op("cos", x))),
    "cos": _unary(lambda x, e, s: neg(times(s, op("sin", x)))),
    "tan": _unary(lambda x, e, s: times(s, plus(square(e), number(1.0, x)))),
    "asin": _unary(lambda x, e, s: over(s, _root(_one_minus_square(x)))),
    "acos": _unary(lambda x, e, s: neg(over(s, _root(_one_minus_square(x))))),
    "atan": _unary(lambda x, e, s: over(s, plus(square(x), number(1.0, x)))),
    "sinh": _unary(lambda x, e, s: times(s, op("cosh", x))),
    "cosh": _unary(lambda x, e, s: times(s, op("sinh", x))),
    "tanh": _unary(lambda x, e, s: times(s, _one_minus_square(e))),
    "asinh": _unary(lambda x, e, s: over(s, _root(plus(square(x), number(1.0, x))))),
    "acosh": _unary(lambda x, e, s: over(s, _root(minus(square(x), number(1.0, x))))),
    "atanh": _unary(lambda x, e, s: over(s, _one_minus_square(x))),
    "erf": _unary(lambda x, e, s: times(times(s, number(2.0 / math.sqrt(math.pi), x)), op("exp", neg(square(x))))),
    "neg": _unary(lambda x, e, s: neg(s)),
    "abs": _unary(lambda x, e, s: times(s, op("sign", x))),
    "add": lambda e, s: (s, s),
    "sub": lambda e, s: (s, neg(s)),
    "mul": _product,
    "div": _division,
    "mod": _remainder("floor"),
    "fmod": _remainder("trunc"),
    "pow": _power,
    "atan2": _angle,
    "hypot": lambda e, s: (over(times(s, e.args[0]), e), over(times(s, e.args[1]), e)),
    "copysign": _signed,
    "cast": lambda e, s: (cast(s, computed(e.args[0].dtype)) if e.args[0].dtype.is_float else None,),
}

CHOICES: dict[str, Choice] = {
    "max": _extreme("gt"),
    "min": _extreme("lt"),
    "fmax": _lenient_extreme("ge"),
    "fmin": _lenient_extreme("le"),
    "where": lambda e: ((lambda d: number(0.0, d)), *_either(e.args[0])),
}
"""Operations whose value is that of one operand: what passes to each is decided after its own derivatives are formed, so
that an infinity on the other side does no harm."""

FLAT = frozenset((
    "floor", "ceil", "trunc", "rint", "round_half_away", "sign", "floordiv", "not_bits", "isnan", "isinf", "isfinite",
    "not", "signbit", "and_bits", "or_bits", "xor_bits", "shl", "shr", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor",
))  # fmt: skip
"""Operations whose value does not change, or is no float."""


def partials(e: Expr, s: Expr) -> dict[Leaf, Expr]:
    """What `s`, the derivative by the value of `e`, gives for each float Load and reduction state that `e` uses.

    `e` is `algebra.widened`; derivatives have the `computed` type of their leaf.
    """
    received: dict[Expr, Expr] = {e: s}
    found: dict[Leaf, Expr] = {}
    for node in reversed(_inner_first(e)):
        d = received.pop(node, None)
        if d is None or is_number(d, 0.0):
            continue
        if isinstance(node, Load | Var):
            _give(found, node, d)
        elif isinstance(node, Op) and node.name in CHOICES:
            for operand, gate in zip(node.args, CHOICES[node.name](node), strict=True):
                for leaf, part in partials(operand, d).items():
                    _give(found, leaf, gate(part))
        elif isinstance(node, Op):
            known = smooth.partial(node, d)
            for operand, step in known if known is not None else zip(node.args, RULES[node.name](node, d), strict=True):
                if step is not None:
                    _give(received, operand, step)
    return found


Place = TypeVar("Place", bound=Expr)


def _give(to: dict[Place, Expr], place: Place, d: Expr) -> None:
    to[place] = plus(to[place], d) if place in to else d


def _inner_first(e: Expr) -> list[Expr]:
    """The float nodes that a derivative passes through, each once, operands before operations."""
    order: dict[Expr, None] = {}

    def visit(n: Expr) -> None:
        if not n.dtype.is_float or n in order:
            return
        if isinstance(n, Op):
            if n.name in FLAT:
                return
            for a in n.args:
                visit(a)
        order[n] = None

    visit(e)
    return list(order)
