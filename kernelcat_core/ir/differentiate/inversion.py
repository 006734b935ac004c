"""Index maps backwards: at which points of a loop does a load read a given element?

A load T[e1, .., er] over loop variables reads element (p1, .., pr) where e_d = p_d for all d. These equations are solved for
as many variables as they decide; the others stay free. What a solution needs (a division without remainder, a range)
becomes a guard, unless it is seen to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernelcat_core.dtypes import I64
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    Load,
    Op,
    Var,
    add,
    conjuncts,
    index,
    mul,
    op,
    sub,
    substitute,
    variables,
)
from kernelcat_core.ir.expr import loads as loads_of
from kernelcat_core.ir.graph import Axis
from kernelcat_core.ir.polynomial import Polynomial

_LARGE = 1 << 40  # what an unknown size counts as, when variables are compared


@dataclass(frozen=True)
class Inversion:
    """`bound`: variable -> its value over the element's position and the free variables; `free` has those left, with
    the ones that solving added; `guards` must hold at a point for it to read the element. A variable in `outside` leaves its
    range where one of those guards fails."""

    bound: Mapping[str, Expr]
    free: tuple[Axis, ...]
    guards: tuple[Expr, ...]
    outside: Mapping[str, frozenset[Expr]]
    ranges: Mapping[str, Expr]

    def predicate(self, c: Expr | None) -> list[Expr]:
        """A condition over the loop's variables as conditions at the solution, those that hold everywhere left out."""
        moved = [normal(substitute(part, self.bound)) for part in conjuncts(c)]
        return [part for part in dict.fromkeys(moved) if not certain(part, self.ranges)]


def invert(load: Load, axes: tuple[Axis, ...], target: tuple[Axis, ...], fresh: Callable[[str], str]) -> Inversion | None:
    """Where `load`, made over `axes`, reads the element at `target`; None when its subscripts are computed from tensors
    or are of no form that can be solved. Names in `axes` and `target` are distinct; `fresh` names added variables."""
    if any(loads_of(i) for i in load.index):
        return None
    s = _Solver({a.name: a.size for a in axes}, {a.name: a.size for a in target}, fresh)
    s.predicates = [_aimed(c, load, target) for c in conjuncts(load.where)]
    s.equations = [(poly.normal(e), t.var) for e, t in zip(load.index, target, strict=True)]
    try:
        s.solve()
    except _Unsolved:
        return None
    stated = [(name, normal(substitute(c, s.bound))) for name, c in s.guards]
    stated += [("", normal(substitute(c, s.bound))) for c in s.predicates]
    kept = [(name, c) for name, c in stated if not s.certain(c)]
    guards = dict.fromkeys(sorted((c for _, c in kept), key=is_affine, reverse=True))
    outside = {n: frozenset(c for name, c in kept if name in s.relied(n)) for n in s.bound}
    free = tuple(Axis(n, size) for n, size in s.sizes.items() if n not in s.bound)
    return Inversion(s.bound, free, tuple(guards), {n: found for n, found in outside.items() if found}, s.ranges())


def normal(c: Expr) -> Expr:
    """A comparison of index expressions with both sides in normal form."""
    if isinstance(c, Op) and len(c.args) == 2 and c.args[0].dtype == c.args[1].dtype == I64:
        a, b = c.args
        if c.name == "lt" and (f := _dividend(a)) is not None:  # f // s < n where f < s*n
            a, b = f[0], mul(f[1], b)
        if c.name == "le" and a == ZERO and (f := _dividend(b)) is not None:
            b = f[0]
        return op(c.name, poly.normal(a), poly.normal(b))
    return c


def _dividend(e: Expr) -> tuple[Expr, Expr] | None:
    """f and s of f // s, with s a literal or a size that is not divided itself."""
    e = poly.normal(e)
    if isinstance(e, Op) and e.name == "floordiv" and poly.nonnegative(poly.of(e.args[1])):
        return e.args[0], e.args[1]
    return None


def certain(c: Expr, ranges: Mapping[str, Expr]) -> bool:
    """Whether a condition on indices follows from their ranges."""
    if isinstance(c, Const):
        return bool(c.value)
    if not isinstance(c, Op) or len(c.args) != 2 or any(a.dtype != I64 or loads_of(a) for a in c.args):
        return False
    gap = poly.plus(poly.of(c.args[1]), poly.of(c.args[0]), -1)
    if c.name == "eq":
        return gap == {}
    if c.name in ("gt", "ge"):
        gap = poly.plus({}, gap, -1)
    if c.name in ("lt", "gt"):
        gap = poly.plus(gap, poly.constant(1), -1)
    found = poly.bounds(gap, ranges) if c.name in ("lt", "le", "gt", "ge") else None
    return found is not None and poly.nonnegative(found[0])


def is_affine(c: Expr) -> bool:
    """Whether `c` compares affine expressions of indices, so that the language takes it as a guard of loads."""
    return isinstance(c, Op) and len(c.args) == 2 and all(a.dtype == I64 and poly.affine(poly.of(a)) for a in c.args)


def _aimed(c: Expr, load: Load, target: tuple[Axis, ...]) -> Expr:
    """A comparison about a subscript of the load as one about the element's position."""
    if not isinstance(c, Op) or c.name not in ("lt", "le", "gt", "ge", "eq", "ne") or any(a.dtype != I64 for a in c.args):
        return c
    gap = poly.plus(poly.of(c.args[0]), poly.of(c.args[1]), -1)
    for e, t in zip(load.index, target, strict=True):
        for sign in (1, -1):
            rest = poly.plus(gap, poly.of(e), -sign)
            if variables(e) and not poly.indices(rest):
                moved = poly.plus(rest, poly.atom(t.var), sign)
                return op(c.name, poly.expression(moved), ZERO)
    return c


class _Unsolved(Exception):
    """The equations are of no form that can be solved."""


@dataclass
class _Solver:
    """Mutable while one load is inverted. `sizes` are ranges of the loop's variables, `around` of the position's."""

    sizes: dict[str, Expr]
    around: dict[str, Expr]
    fresh: Callable[[str], str]
    equations: list[tuple[Expr, Expr]] = field(default_factory=list)
    predicates: list[Expr] = field(default_factory=list)
    bound: dict[str, Expr] = field(default_factory=dict)
    guards: list[tuple[str, Expr]] = field(default_factory=list)
    """Conditions, each with the variable whose value needs it ("": none)."""
    relies: dict[str, frozenset[str]] = field(default_factory=dict)
    """Variable -> those still free when it was solved for: its value is inside where theirs are."""

    def relied(self, name: str) -> frozenset[str]:
        """The variable and all on which its value relies."""
        return frozenset({name}).union(*(self.relied(n) for n in self.relies.get(name, ())))

    # -- what is known

    def ranges(self) -> dict[str, Expr]:
        return {**self.around, **{n: s for n, s in self.sizes.items() if n not in self.bound}}

    def certain(self, c: Expr) -> bool:
        return certain(c, self.ranges())

    def unknown(self, e: Expr) -> list[str]:
        return [n for n in poly.indices(poly.of(e)) if n in self.sizes and n not in self.bound]

    # -- steps

    def solve(self) -> None:
        """Solve all equations, the simplest first; raises _Unsolved."""
        while self.equations:
            self.equations = [(poly.normal(substitute(e, self.bound)), substitute(r, self.bound)) for e, r in self.equations]
            self.equations.sort(key=lambda q: (not isinstance(q[0], Var), len(self.unknown(q[0]))))
            if not any(self._step(k) for k in range(len(self.equations))) and not any(
                    self.linear(k) for k in range(len(self.equations))):
                raise _Unsolved

    def _step(self, k: int) -> bool:
        return self.plain(k) or self.digits(k) or self.atom(k)

    def bind(self, name: str, value: Expr) -> None:
        value = poly.normal(value)
        self.relies[name] = frozenset(self.unknown(value))
        self.bound = {n: substitute(e, {name: value}) for n, e in self.bound.items()}
        self.guards = [(n, substitute(g, {name: value})) for n, g in self.guards]
        self.bound[name] = value

    def require(self, c: Expr, name: str = "") -> None:
        if not self.certain(c):
            self.guards.append((name, c))

    def inside(self, e: Expr, size: Expr, name: str = "") -> None:
        """0 <= e < size"""
        self.require(op("le", ZERO, poly.normal(e)), name)
        self.require(op("lt", poly.normal(e), size), name)

    def plain(self, k: int) -> bool:
        """An equation without unknowns, or with a variable alone on its left."""
        left, right = self.equations[k]
        if isinstance(left, Var) and left.name in self.unknown(left) and left.name not in variables(right):
            del self.equations[k]
            size = self.sizes[left.name]
            self.bind(left.name, right)
            self.inside(right, size, left.name)
            return True
        if not self.unknown(left):
            del self.equations[k]
            self.require(op("eq", left, right))
            return True
        return False

    def digits(self, k: int) -> bool:
        """c*v + rest with 0 <= rest - low < c: v is the quotient by c and the rest the remainder, as digits of a number.

        v is a variable, or a quotient or remainder of some.
        """
        left, right = self.equations[k]
        p = poly.of(left)
        for v in self._terms(p):
            c, rest = _apart(p, v)
            if c == {(): 1} or poly.indices(c) or not self.unknown(poly.expression(rest)) or not poly.nonnegative(c):
                continue
            found = poly.bounds(rest, self.ranges())
            if found is None or poly.indices(found[0]) or poly.indices(found[1]):
                continue
            low, high = found
            if not poly.nonnegative(poly.plus(poly.plus(c, poly.constant(1), -1), poly.plus(high, low, -1), -1)):
                continue
            step, from_low = poly.expression(c), sub(right, poly.expression(low))
            del self.equations[k]
            self.equations.append((v, op("floordiv", from_low, step)))
            self.equations.append((poly.expression(rest), add(op("mod", from_low, step), poly.expression(low))))
            return True
        return False

    def _terms(self, p: Polynomial) -> list[Expr]:
        """Unknown variables, quotients and remainders among the factors of `p`, each once."""
        return [x for x in dict.fromkeys(x for m in p for x in m) if self.unknown(x)]

    def atom(self, k: int) -> bool:
        """A quotient f // s or a remainder f % s among the terms: an equation for f, with a variable for what is lost."""
        left, right = self.equations[k]
        p = poly.of(left)
        for m, c in p.items():
            e = m[0] if len(m) == 1 else None
            if not isinstance(e, Op) or e.name not in ("floordiv", "mod") or abs(c) != 1 or not self.unknown(e):
                continue
            f, s = e.args
            if self.unknown(s) or (not poly.nonnegative(poly.plus(poly.of(s), poly.constant(1), -1)) and poly.number(
                    poly.of(s)) is not None):
                continue
            others = poly.expression({n: d for n, d in p.items() if n != m})
            value = sub(right, others) if c == 1 else sub(others, right)
            del self.equations[k]
            if e.name == "floordiv":
                self.equations.append((f, add(mul(s, value), self._remainder(f, s))))
            else:
                self.inside(value, s)
                self.equations.append((f, add(mul(s, self._quotient(f, s)), value)))
            return True
        return False

    def _remainder(self, f: Expr, s: Expr) -> Expr:
        """f % s: known from another equation or from a condition of the load, else a new variable."""
        partner = self._partner("mod", f, s)
        if partner is not None:
            self.inside(partner, s)
            return partner
        for c in self.predicates:
            c = substitute(c, self.bound)
            if isinstance(c, Op) and c.name == "eq" and isinstance(c.args[1], Const) and poly.of(c.args[0]) == poly.of(
                    op("mod", f, s)):
                return c.args[1]
        return self._new("r", s)

    def _quotient(self, f: Expr, s: Expr) -> Expr:
        """f // s: known from another equation, else a new variable over its values."""
        partner = self._partner("floordiv", f, s)
        if partner is not None:
            return partner
        found = poly.bounds(poly.of(f), self.ranges())
        if found is None:
            raise _Unsolved
        low, high = (op("floordiv", poly.expression(bound), s) for bound in found)
        return add(self._new("q", poly.normal(add(sub(high, low), ONE))), poly.normal(low))

    def _partner(self, name: str, f: Expr, s: Expr) -> Expr | None:
        """The right side of the equation whose left is exactly `name(f, s)`."""
        wanted = poly.of(op(name, f, s))
        for k, (left, right) in enumerate(self.equations):
            if poly.of(left) == wanted:
                del self.equations[k]
                return right
        if name == "floordiv" and isinstance(f, Op) and f.name == "floordiv":
            return self._partner(name, f.args[0], poly.normal(mul(f.args[1], s)))
        return None

    def _new(self, stem: str, size: Expr) -> Expr:
        if size == ONE:
            return ZERO
        name = self.fresh(stem)
        self.sizes[name] = size
        return Var(name)

    def linear(self, k: int) -> bool:
        """c*v + rest with the other variables free: v is (p - rest) / c, where that is whole and inside v's range.

        The variable with the most values is solved for, so that the fewest points are left to walk.
        """
        left, right = self.equations[k]
        p = poly.of(left)
        best: tuple[tuple[int, int, int], str, Polynomial, int] | None = None
        for place, name in enumerate(n for n in self.sizes if n in self.unknown(left)):
            split = poly.linear(p, name)
            factor = None if split is None else poly.number(split[0])
            if split is None or not factor or name in variables(right):
                continue
            length = poly.number(poly.of(self.sizes[name]))
            rank = (_LARGE if length is None else length, -place, -abs(factor))
            if best is None or rank > best[0]:
                best = rank, name, split[1], factor
        if best is None:
            return False
        _, name, rest, c = best
        gap = sub(right, poly.expression(rest)) if c > 0 else sub(poly.expression(rest), right)
        step = index(abs(c))
        size = self.sizes[name]
        del self.equations[k]
        self.bind(name, op("floordiv", poly.normal(gap), step))
        self.inside(gap, poly.normal(mul(size, step)), name)
        if abs(c) != 1:
            self.require(op("eq", op("mod", poly.normal(gap), step), ZERO), name)
        return True


def _apart(p: Polynomial, v: Expr) -> tuple[Polynomial, Polynomial]:
    """`p` as coefficient * v + rest, where `v` is one of its atoms; the rest may use the variables of `v`."""
    c: Polynomial = {}
    rest: Polynomial = {}
    for m, k in p.items():
        if v in m:
            others = list(m)
            others.remove(v)
            c = poly.plus(c, {tuple(others): k})
        else:
            rest[m] = k
    return c, rest
