"""The sizes of one formula while it is lowered: symbols, what is known to be equal, what must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import Const, Expr, Size, evaluate, index, sizes, sub, transform

DECLARED, INFERRED = 0, 1


@dataclass(frozen=True)
class Requirement:
    """`value >= 0` (or `== 0` when `exact`) must hold of the sizes; else the error `code` with `message(sizes)`."""

    value: Expr
    exact: bool
    code: str
    message: Callable[[Mapping[str, int]], str]
    hint: str
    span: Span | None

    def holds(self, bindings: Mapping[str, int]) -> bool:
        try:
            v = evaluate(self.value, bindings)
        except ZeroDivisionError:
            return False
        return v == 0 if self.exact else v >= 0

    def error(self, bindings: Mapping[str, int]) -> KernelcatError:
        return KernelcatError(self.code, self.message(bindings), hint=self.hint, span=self.span)


@dataclass
class Sizes:
    """Mutable while a formula is lowered. `given` holds numbers from outside; they check, they do not specialise."""

    given: dict[str, int] = field(default_factory=dict)
    rank: dict[str, int] = field(default_factory=dict)
    bound: dict[str, Expr] = field(default_factory=dict)
    nickname: dict[str, str] = field(default_factory=dict)
    requirements: list[Requirement] = field(default_factory=list)
    maximum: dict[str, int] = field(default_factory=dict)

    def symbol(self, name: str, rank: int) -> Size:
        """A symbol of this name; of a fresh name where it is taken by an inferred one."""
        chosen, count = name, 2
        while rank == INFERRED and chosen in self.rank:
            chosen, count = f"{name}_{count}", count + 1
        self.rank.setdefault(chosen, rank)
        return Size(chosen)

    def limit(self, name: str, maximum: int, span: Span) -> None:
        """Declare that a symbol is at most `maximum`: schedules count on it, every run is held to it."""
        self.maximum[name] = min(maximum, self.maximum.get(name, maximum))
        self.require(sub(index(maximum), Size(name)), "KC-F018", lambda _: f"{name} is larger than its bound {maximum}",
                     f"give a smaller {name}, or raise its bound", span)

    def bounds(self) -> dict[str, int]:
        """The least declared maximum of each symbol that is not bound to another."""
        found: dict[str, int] = {}
        for name, n in self.maximum.items():
            if isinstance(size := self.resolve(Size(name)), Size):
                found[size.name] = min(n, found.get(size.name, n))
        return found

    def resolve(self, e: Expr) -> Expr:
        """`e` in terms of symbols that are not bound, in normal form."""
        if isinstance(e, Const):
            return e
        if not any(s in self.bound for s in sizes(e)):
            return e
        return poly.normal(transform(e, lambda n: self.bound.get(n.name) if isinstance(n, Size) else None))

    def substituted(self, e: Expr) -> Expr:
        """Any expression with its bound symbols replaced."""
        if not self.bound:
            return e
        return transform(e, lambda n: self.bound.get(n.name) if isinstance(n, Size) else None)

    def number(self, e: Expr) -> int | None:
        """The value of a size where declarations or given shapes say it."""
        e = self.resolve(e)
        if isinstance(e, Const):
            return int(e.value)
        if all(s in self.given for s in sizes(e)):
            try:
                return evaluate(e, self.given)
            except (ZeroDivisionError, AssertionError, KeyError):
                return None
        return None

    def equate(self, a: Expr, b: Expr, error: Callable[[int | None, int | None], KernelcatError]) -> None:
        """Make two sizes one; `error(number of a, number of b)` is raised when they cannot be."""
        a, b = poly.normal(self.resolve(a)), poly.normal(self.resolve(b))
        if a == b:
            return
        p, q = self.number(a), self.number(b)
        if p is not None and q is not None and p != q:
            raise error(p, q)
        gap = poly.plus(poly.of(a), poly.of(b), -1)
        known = poly.number(gap)
        if known == 0:
            return
        if known is not None:
            raise error(p, q)
        if isinstance(a, Size) and isinstance(b, Size):
            if self.rank.get(b.name, 1) < self.rank.get(a.name, 1):
                a, b = b, a
            self._bind(b.name, a)
        elif isinstance(b, Size) and b.name not in sizes(a):
            self._bind(b.name, a)
        elif isinstance(a, Size) and a.name not in sizes(b):
            self._bind(a.name, b)
        else:
            failure = error(p, q)
            self.require(poly.expression(gap), failure.code, lambda _: failure.message, failure.hint, failure.span,
                         exact=True)

    def fix(self, e: Expr, value: int) -> None:
        """Bind a free symbol to a number."""
        e = self.resolve(e)
        if isinstance(e, Size):
            self._bind(e.name, index(value))

    def _bind(self, name: str, e: Expr) -> None:
        for other, value in self.bound.items():
            if name in sizes(value):
                self.bound[other] = poly.normal(
                    transform(value, lambda n: e if isinstance(n, Size) and n.name == name else None))
        self.bound[name] = e
        if name in self.given and isinstance(e, Size):
            self.given.setdefault(e.name, self.given[name])
        if name in self.nickname and isinstance(e, Size):
            self.nickname.setdefault(e.name, self.nickname[name])

    def require(self, value: Expr, code: str, message: Callable[[Mapping[str, int]], str], hint: str,
                span: Span | None, exact: bool = False) -> None:
        """Demand `value >= 0` (`== 0` when exact): proved away, refused at once, or kept to be checked at binding."""
        value = poly.normal(self.resolve(value))
        if not exact and poly.nonnegative(poly.of(value)):
            return
        needed = Requirement(value, exact, code, message, hint, span)
        known = self.number(value)
        if known is not None and not (known == 0 if exact else known >= 0):
            raise needed.error(self.given)
        if not isinstance(value, Const):
            self.requirements.append(needed)
