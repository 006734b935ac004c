"""Index arithmetic as polynomials with integer coefficients over atoms (index variables, sizes, opaque subterms).

Used to decide whether two sizes are equal, whether a subscript stays inside its tensor, and to write size expressions in
one normal form. Indices and sizes are non-negative; a quotient, minimum or maximum is where its parts say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernelcat_core.ir.expr import Const, Expr, Op, Size, Var, index, op

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, int]
Ranges = Mapping[str, Expr]
"""Index name -> size of its range."""

_TERMS = 64


def constant(value: int) -> Polynomial:
    return {(): value} if value else {}


def atom(e: Expr) -> Polynomial:
    return {(e,): 1}


def plus(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """a + factor * b"""
    total = dict(a)
    for m, c in b.items():
        value = total.get(m, 0) + factor * c
        if value:
            total[m] = value
        else:
            total.pop(m, None)
    return total


def _merge(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=repr)) if a and b else a or b


def times(a: Polynomial, b: Polynomial) -> Polynomial | None:
    """a * b; None when it gets too long."""
    if len(a) * len(b) > _TERMS:
        return None
    total: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            total = plus(total, {_merge(m, n): c * d})
    return total


def of(e: Expr) -> Polynomial:
    """The polynomial of an i64 expression."""
    if isinstance(e, Const):
        return constant(int(e.value))
    if not isinstance(e, Op):
        return atom(e)
    if e.name in ("add", "sub"):
        return plus(of(e.args[0]), of(e.args[1]), 1 if e.name == "add" else -1)
    if e.name == "neg":
        return plus({}, of(e.args[0]), -1)
    if e.name == "mul":
        found = times(of(e.args[0]), of(e.args[1]))
        return atom(e) if found is None else found
    if e.name in ("floordiv", "mod"):
        return _divided(e.name, of(e.args[0]), of(e.args[1]))
    if e.name in ("min", "max"):
        a, b = of(e.args[0]), of(e.args[1])
        gap = plus(a, b, -1)
        if nonnegative(gap):
            return b if e.name == "min" else a
        if nonnegative(plus({}, gap, -1)):
            return a if e.name == "min" else b
        return atom(op(e.name, expression(a), expression(b)))
    return atom(e)


def _divided(name: str, a: Polynomial, b: Polynomial) -> Polynomial:
    """Floor division and remainder: what the divisor divides exactly comes out."""
    exact: Polynomial = {}
    rest: Polynomial = {}
    if len(b) == 1:
        (divisor, d), = b.items()
        for m, c in a.items():
            left = list(m)
            for x in divisor:
                if x in left:
                    left.remove(x)
                else:
                    break
            else:
                if c % d == 0:
                    exact[tuple(left)] = c // d
                    continue
            rest[m] = c
    else:
        rest = a
    if not rest:
        return exact if name == "floordiv" else {}
    if len(b) == 1 and () in b and set(rest) == {()}:
        remainder = rest[()]
        return plus(exact, constant(remainder // b[()])) if name == "floordiv" else constant(remainder % b[()])
    part = atom(op(name, expression(rest), expression(b)))
    return plus(exact, part) if name == "floordiv" else part


def expression(p: Polynomial) -> Expr:
    """The polynomial as an i64 expression: positive terms, then negative ones, the constant last."""
    total: Expr | None = None
    ordered = [(m, c) for m, c in p.items() if m and c > 0] + [(m, c) for m, c in p.items() if m and c < 0]
    for m, c in ordered:
        term: Expr = m[0]
        for x in m[1:]:
            term = op("mul", term, x)
        if abs(c) != 1:
            term = op("mul", term, index(abs(c)))
        if total is None:
            total = term if c > 0 else op("neg", term)
        else:
            total = op("add" if c > 0 else "sub", total, term)
    rest = p.get((), 0)
    if total is None:
        return index(rest)
    return op("add", total, index(rest)) if rest else total


def normal(e: Expr) -> Expr:
    """`e` in normal form."""
    return e if isinstance(e, Const | Var | Size) else expression(of(e))


def number(p: Polynomial) -> int | None:
    """The value of a polynomial that is a constant."""
    if not p:
        return 0
    return p[()] if set(p) == {()} else None


def nonnegative(p: Polynomial) -> bool:
    """True when `p >= 0` follows from: indices and sizes are >= 0, c*(e // c) <= e, min(a, b) <= a, b <= max(a, b)."""
    return _nonnegative(p, 4)


@lru_cache(maxsize=65536)
def _positive_atom(x: Expr) -> bool:
    """Whether an atom is known to be >= 0."""
    if not isinstance(x, Op):
        return True
    parts = [_nonnegative(of(a), 4) for a in x.args]
    match x.name:
        case "max":
            return any(parts)
        case "mod":
            return parts[1]
        case _:
            return all(parts)


def _nonnegative(p: Polynomial, patience: int) -> bool:
    if all(c >= 0 for c in p.values()) and all(_positive_atom(x) for m in p for x in m):
        return True
    if patience == 0:
        return False
    for m, c in p.items():
        if len(m) != 1 or not isinstance(m[0], Op):
            continue
        e = m[0]
        if c < 0 and e.name == "min":
            without = {k: v for k, v in p.items() if k != m}
            if any(_nonnegative(plus(without, of(a), c), patience - 1) for a in e.args):
                return True
        if c > 0 and e.name == "max":
            without = {k: v for k, v in p.items() if k != m}
            if any(_nonnegative(plus(without, of(a), c), patience - 1) for a in e.args):
                return True
        if c < 0 and e.name == "floordiv" and isinstance(e.args[1], Const):
            d = int(e.args[1].value)
            if d > 0 and -c % d == 0:
                without = {k: v for k, v in p.items() if k != m}
                if _nonnegative(plus(without, of(e.args[0]), c // d), patience - 1):
                    return True
        if c < 0 and e.name == "mod" and isinstance(e.args[1], Const) and int(e.args[1].value) > 0:
            without = {k: v for k, v in p.items() if k != m}
            if _nonnegative(plus(without, constant(int(e.args[1].value) - 1), c), patience - 1):
                return True
    # e // b * b <= e for a size b: a monomial (e // b) * b
    for m, c in p.items():
        if c >= 0 or len(m) < 2:
            continue
        for x in m:
            if isinstance(x, Op) and x.name == "floordiv":
                rest = list(m)
                rest.remove(x)
                if x.args[1] in rest:
                    rest.remove(x.args[1])
                    scaled = times(of(x.args[0]), {tuple(rest): c})
                    without = {k: v for k, v in p.items() if k != m}
                    if scaled is not None and _nonnegative(plus(without, scaled), patience - 1):
                        return True
    return False


def bounds(p: Polynomial, ranges: Ranges) -> tuple[Polynomial, Polynomial] | None:
    """The least and greatest value of `p` while every index runs over its (non-empty) range, in terms of sizes.

    Exact when `p` is affine in the indices; otherwise an enclosure. None when a term has no bound of this form.
    """
    low: Polynomial = {}
    high: Polynomial = {}
    for m, c in p.items():
        term_low, term_high = constant(1), constant(1)
        for x in m:
            found = _atom_bounds(x, ranges)
            if found is None:
                return None
            # every factor is >= 0 at its least, or the term is a single atom
            if len(m) > 1 and not nonnegative(found[0]):
                return None
            next_low, next_high = times(term_low, found[0]), times(term_high, found[1])
            if next_low is None or next_high is None:
                return None
            term_low, term_high = next_low, next_high
        if c < 0:
            term_low, term_high = term_high, term_low
        low, high = plus(low, term_low, c), plus(high, term_high, c)
    return low, high


def _atom_bounds(x: Expr, ranges: Ranges) -> tuple[Polynomial, Polynomial] | None:
    if isinstance(x, Var):
        if x.name not in ranges:
            return None
        return {}, plus(of(ranges[x.name]), constant(1), -1)
    if isinstance(x, Op) and x.name in ("floordiv", "mod", "min", "max"):
        a, b = bounds(of(x.args[0]), ranges), bounds(of(x.args[1]), ranges)
        if a is None or b is None:
            return None
        if x.name in ("min", "max"):
            return _pick(x.name, a[0], b[0]), _pick(x.name, a[1], b[1])
        if b[0] != b[1] or (number(b[0]) is not None and (number(b[0]) or 0) <= 0):
            return None
        if x.name == "floordiv":
            return _divided("floordiv", a[0], b[0]), _divided("floordiv", a[1], b[0])
        last = plus(b[0], constant(1), -1)
        if nonnegative(a[0]) and nonnegative(plus(last, a[1], -1)):
            return a
        return {}, last
    return atom(x), atom(x)


def _pick(name: str, a: Polynomial, b: Polynomial) -> Polynomial:
    return of(op(name, expression(a), expression(b)))


def linear(p: Polynomial, name: str) -> tuple[Polynomial, Polynomial] | None:
    """`p` as (coefficient, rest) of the index `name`; None when it is not affine in it."""
    coefficient: Polynomial = {}
    rest: Polynomial = {}
    for m, c in p.items():
        here = [x for x in m if isinstance(x, Var) and x.name == name]
        if not here:
            if any(name in _names(x) for x in m if isinstance(x, Op)):
                return None
            rest[m] = c
            continue
        if len(here) > 1:
            return None
        others = list(m)
        others.remove(here[0])
        if any(name in _names(x) for x in others if isinstance(x, Op)):
            return None
        coefficient[tuple(others)] = c
    return coefficient, rest


def _names(e: Expr) -> frozenset[str]:
    from kernelcat_core.ir.expr import variables

    return variables(e)


def indices(p: Polynomial) -> list[str]:
    """Names of the indices in `p`, in order."""
    found: dict[str, None] = {}
    for m in p:
        for x in m:
            found.update(dict.fromkeys([x.name] if isinstance(x, Var) else sorted(_names(x))))
    return list(found)


def affine(p: Polynomial) -> bool:
    """True when every index stands alone or times sizes, outside divisions, remainders, min and max."""
    for m in p:
        if sum(isinstance(x, Var) for x in m) > 1:
            return False
        if any(isinstance(x, Op) and _names(x) for x in m):
            return False
    return True
