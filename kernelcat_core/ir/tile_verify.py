"""Legality of tile programs: the rules of ir/tile.py that need no sizes, checked between hops in tests and on demand."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Expr, Load, Op, Size, Var, walk
from kernelcat_core.ir.tile import (
    Copy,
    For,
    If,
    Lane,
    Let,
    Map,
    Mma,
    Reduce,
    Stmt,
    Store,
    TileModule,
    TileProgram,
    Wait,
)


def verify(module: TileModule) -> None:
    """Raises KC-S003 with the first problem of `module`."""
    for program in module.programs:
        for problem in _Checker(module, program).problems():
            raise KernelcatError("KC-S003", f"{program.name}: {problem}",
                                 hint="this is a fault of the schedule, please report the formula")


class _Checker:
    """Walks one program in text order with the names defined so far and the copies in flight."""

    def __init__(self, module: TileModule, program: TileProgram) -> None:
        self.program = program
        self.sizes = set(module.sizes)
        self.written = {t.name for t in program.writes}
        self.read = {t.name for t in program.reads}
        self.in_flight: dict[str, str] = {}

    def problems(self) -> Iterator[str]:
        names = [t.name for t in self.program.tiles]
        tensors = [t.name for t in (*self.program.reads, *self.program.writes)]
        for name in sorted({n for n in names if names.count(n) > 1} | set(names) & set(tensors)):
            yield f"{name} names two things"
        for both in sorted(self.written & self.read):
            yield f"{both} is read and written"
        for t in self.program.tiles:
            if len(t.shape) > 2 or (t.scope == "scalar") != (not t.shape):
                yield f"tile {t.name} has shape {t.shape} in scope {t.scope}"
        scope = {a.name for a in self.program.grid}
        yield from self._block(self.program.body, scope)

    def _block(self, body: tuple[Stmt, ...], outer: set[str]) -> Iterator[str]:
        scope = set(outer)
        for s in body:
            match s:
                case Let():
                    yield from self._expr(s.value, (), scope)
                    scope.add(s.name)
                case For():
                    yield from self._expr(s.extent, (), scope)
                    yield from self._block(s.body, scope | {s.var})
                case If():
                    yield from self._expr(s.condition, (), scope)
                    yield from self._block(s.body, scope)
                case Copy():
                    yield from self._access(s.tensor, self.read, s.lanes, scope, s.offset, s.where, s.fill)
                    yield from self._tile(s.tile, s.lanes)
                    self.in_flight[s.tile] = s.token
                case Wait():
                    if s.token not in self.in_flight.values():
                        yield f"wait for {s.token}, which is not in flight"
                    self.in_flight = {t: q for t, q in self.in_flight.items() if q != s.token}
                case Map():
                    for v in s.values:
                        yield from self._expr(v, s.lanes, scope)
                    for t, v in zip(s.tiles, s.values, strict=True):
                        yield from self._tile(t, s.lanes)
                        if self.program.tile[t].dtype != v.dtype:
                            yield f"tile {t} is {self.program.tile[t].dtype} but its value is {v.dtype}"
                case Reduce():
                    if s.over not in [lane.name for lane in s.lanes]:
                        yield "a reduction is over one of its lanes"
                    for v in s.elements:
                        yield from self._expr(v, s.lanes, scope)
                    for t in s.tiles:
                        yield from self._tile(t, tuple(lane for lane in s.lanes if lane.name != s.over))
                case Mma():
                    for tile, lanes in ((s.a, (s.m, s.k)), (s.b, (s.k, s.n)), (s.c, (s.m, s.n))):
                        yield from self._tile(tile, lanes)
                case Store():
                    yield from self._access(s.tensor, self.written, s.lanes, scope, s.offset, s.where, s.value)
                    if s.combine is not None:
                        for n in walk(s.combine):
                            if isinstance(n, Load | Size) or (isinstance(n, Var) and n not in (
                                    Var("a0", s.value.dtype), Var("b0", s.value.dtype))):
                                yield f"a store to {s.tensor} combines more than the element and the value"

    def _access(self, tensor: str, known: set[str], lanes: tuple[Lane, ...], scope: set[str], *parts: Expr | None
                ) -> Iterator[str]:
        if tensor not in known:
            yield f"{tensor} is not declared for this access"
        for e in parts:
            if e is not None:
                yield from self._expr(e, lanes, scope)

    def _tile(self, name: str, lanes: tuple[Lane, ...]) -> Iterator[str]:
        t = self.program.tile.get(name)
        if t is None:
            yield f"there is no tile {name}"
        elif t.shape != tuple(lane.capacity for lane in lanes):
            yield f"tile {name} of shape {t.shape} is used over lanes of {[lane.capacity for lane in lanes]}"
        elif name in self.in_flight:
            yield f"tile {name} is touched while a copy into it is in flight"

    def _expr(self, e: Expr, lanes: tuple[Lane, ...], scope: set[str]) -> Iterator[str]:
        for lane in lanes:
            if any(isinstance(n, Var) and n.name not in scope for n in walk(lane.extent)):
                yield f"the extent of lane {lane.name} uses an unknown variable"
        own = {lane.name for lane in lanes}
        for n in walk(e):
            if isinstance(n, Var) and n.name not in scope | own:
                yield f"variable {n.name} is not defined here"
            if isinstance(n, Size) and n.name not in self.sizes:
                yield f"size {n.name} is not an argument"
            if isinstance(n, Op) and n.dtype.is_float and n.dtype.bits < 32 and n.name not in ("cast", "where"):
                yield f"{n.name} computes in {n.dtype}"
            if isinstance(n, Load):
                along = tuple(lane for lane in lanes if lane.var in n.index)
                if n.index != tuple(lane.var for lane in along):
                    yield f"tile {n.tensor} is read at other indices than the lanes"
                yield from self._tile(n.tensor, along)
