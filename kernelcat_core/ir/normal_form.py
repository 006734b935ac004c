"""Polynomials over sizes and variables: the normal form in which index expressions are compared."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from kernelcat_core.ir.expr import Const, Expr, Op

Polynomial = tuple[tuple[tuple[Expr, ...], int], ...]


@lru_cache(maxsize=65536)
def polynomial(e: Expr) -> Polynomial:
    """The normal form of an i64 expression: monomials of atoms (sorted by text) with integer coefficients."""
    return tuple(sorted(((k, v) for k, v in _terms(e).items() if v), key=repr))


def _terms(e: Expr) -> Counter[tuple[Expr, ...]]:
    if isinstance(e, Const):
        return Counter({(): int(e.value)})
    if isinstance(e, Op) and e.name in ("add", "sub"):
        total = Counter(_terms(e.args[0]))
        sign = 1 if e.name == "add" else -1
        for k, v in _terms(e.args[1]).items():
            total[k] += sign * v
        return total
    if isinstance(e, Op) and e.name == "neg":
        return Counter({k: -v for k, v in _terms(e.args[0]).items()})
    if isinstance(e, Op) and e.name == "mul":
        total = Counter()
        for k, v in _terms(e.args[0]).items():
            for m, w in _terms(e.args[1]).items():
                total[tuple(sorted(k + m, key=repr))] += v * w
        return total
    return Counter({(e,): 1})


def same(a: Expr, b: Expr) -> bool:
    """Whether two i64 expressions are equal as polynomials (sizes and variables as unknowns)."""
    return a == b or polynomial(a) == polynomial(b)
