"""Index expressions made simple: reshapes that undo a division, divisions whose operands have known ranges.

Only identities of whole numbers: (x // n)*n + x % n = x, and with 0 <= r < n: (q*n + r) // n = q, (q*n + r) % n = r.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeGuard

from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, add, index, mul, op, transform, walk
from kernelcat_core.ir.graph import Compute, Graph, Primitive, inner_axes, map_expressions
from kernelcat_core.ir.normal_form import Polynomial, polynomial

Monomial = tuple[Expr, ...]


@lru_cache(maxsize=65536)
def recombined(e: Expr) -> Expr:
    """An i64 expression in which quotient and remainder of one division are added up to what was divided."""
    if not _divides(e):
        return e
    e = transform(e, lambda n: op(n.name, *(_joined(a) for a in n.args)) if _is_division(n) else None)
    return _joined(e)


def _divides(e: Expr) -> bool:
    return any(isinstance(n, Op) and n.name == "mod" and n.dtype == I64 for n in walk(e))


def _is_division(n: Expr) -> TypeGuard[Op]:
    return isinstance(n, Op) and n.name in ("mod", "floordiv") and n.dtype == I64


def _joined(e: Expr) -> Expr:
    terms = Counter(dict(polynomial(e)))
    changed = False
    while True:
        pair = next(_pairs(terms), None)
        if pair is None:
            return written(tuple(sorted(((k, v) for k, v in terms.items() if v), key=repr))) if changed else e
        remainder, quotient, whole = pair
        count = terms.pop(remainder)
        del terms[quotient]
        rest = list(remainder)
        mod = next(a for a in rest if isinstance(a, Op) and a.name == "mod" and a.args[0] == whole)
        rest.remove(mod)
        for atoms, factor in polynomial(whole):
            terms[tuple(sorted((*atoms, *rest), key=repr))] += factor * count
        changed = True


def _pairs(terms: Mapping[Monomial, int]) -> Iterator[tuple[Monomial, Monomial, Expr]]:
    """(monomial with x % n, monomial with x // n, x) whose coefficients fit."""
    for monomial, count in terms.items():
        for atom in monomial:
            if not (isinstance(atom, Op) and atom.name == "mod"):
                continue
            x, n = atom.args
            by = polynomial(n)
            if len(by) != 1:
                continue
            (atoms, factor), = by
            rest = list(monomial)
            rest.remove(atom)
            partner = tuple(sorted((*rest, *atoms, _quotient(x, n)), key=repr))
            if terms.get(partner) == count * factor:
                yield monomial, partner, x


def _quotient(x: Expr, n: Expr) -> Expr:
    """x // n as it is written: (y // a) // b is y // (a*b)."""
    if isinstance(x, Op) and x.name == "floordiv" and isinstance(x.args[1], Const) and isinstance(n, Const):
        return op("floordiv", x.args[0], mul(x.args[1], n))
    return op("floordiv", x, n)


def written(p: Polynomial) -> Expr:
    """A polynomial as an expression."""
    total: Expr = index(0)
    for atoms, factor in p:
        term: Expr = index(1)
        for a in atoms:
            term = mul(term, a)
        total = add(total, mul(term, index(factor)))
    return total


def simplified(graph: Graph) -> Graph:
    """`graph` with the index arithmetic of every node made simple, knowing the ranges of its axes where they are numbers."""
    return Graph(graph.inputs, tuple(_node(n) for n in graph.nodes), graph.outputs)


def _node(node: Primitive) -> Primitive:
    if not isinstance(node, Compute):
        return node
    limits = {a.name: int(a.size.value) for a in (*node.axes, *inner_axes(node)) if isinstance(a.size, Const)}

    def visit(e: Expr) -> Expr | None:
        if isinstance(e, Load) and any(_is_division(n) for i in e.index for n in walk(i)):
            return Load(e.tensor, tuple(in_range(i, limits) for i in e.index), e.dtype, e.where, e.fill)
        return None

    if not any(_is_division(n) for e in node.element for n in walk(e)):
        return node
    return map_expressions(node, lambda e: transform(e, visit))


def in_range(e: Expr, limits: Mapping[str, int]) -> Expr:
    """`e` with divisions by numbers taken apart where variables below their limits allow it."""
    return transform(e, lambda n: _divided(n, limits) if isinstance(n, Op) and _is_division(n) else None)


def _divided(e: Op, limits: Mapping[str, int]) -> Expr | None:
    x, n = e.args
    if not isinstance(n, Const) or int(n.value) < 1:
        return None
    by = int(n.value)
    if isinstance(x, Op) and x.name == "floordiv" and isinstance(x.args[1], Const) and int(x.args[1].value) > 0:
        inner = int(x.args[1].value)
        if e.name == "floordiv":
            return _divided(Op("floordiv", (x.args[0], index(inner * by)), I64), limits) or op(
                "floordiv", x.args[0], index(inner * by))
    terms = polynomial(x)
    whole = tuple((a, c // by) for a, c in terms if c % by == 0)
    rest = tuple((a, c) for a, c in terms if c % by != 0)
    bounds = range_of(rest, limits)
    if bounds is None or bounds[0] < 0 or bounds[1] >= by:
        if not whole or bounds is None or (e.name == "mod" and not whole):
            return None
        left = written(rest)  # (q*n + r) // n = q + r // n, whatever r is
        return add(written(whole), op("floordiv", left, n)) if e.name == "floordiv" else op("mod", left, n)
    return written(whole) if e.name == "floordiv" else written(rest)


def range_of(terms: Polynomial, limits: Mapping[str, int]) -> tuple[int, int] | None:
    """Least and greatest value of a sum of numbers times variables (or their quotients); None when not known."""
    low = high = 0
    for atoms, factor in terms:
        if not atoms:
            low, high = low + factor, high + factor
            continue
        most = _most(atoms[0], limits) if len(atoms) == 1 else None
        if most is None:
            return None
        low, high = low + min(0, factor * most), high + max(0, factor * most)
    return low, high


def _most(atom: Expr, limits: Mapping[str, int]) -> int | None:
    """The greatest value of an atom that is never negative."""
    if isinstance(atom, Var):
        return limits[atom.name] - 1 if limits.get(atom.name, 0) > 0 else None
    if isinstance(atom, Op) and isinstance(atom.args[-1], Const) and int(atom.args[-1].value) > 0:
        if atom.name == "mod":
            return int(atom.args[-1].value) - 1
        inner = range_of(polynomial(atom.args[0]), limits) if atom.name == "floordiv" else None
        if inner is not None and inner[0] >= 0:
            return inner[1] // int(atom.args[-1].value)
    return None
