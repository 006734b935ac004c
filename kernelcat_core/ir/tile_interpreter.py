"""The executable meaning of tile programs, on NumPy, with every rule of ir/tile.py checked as it runs.

Slow and strict: reads of elements that were never written, of tiles whose copy was not awaited, accesses outside a tensor
and stores that meet are errors (KC-S003). Tests run schedules through it before any backend exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import scalar
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, evaluate
from kernelcat_core.ir.graph import Tensor
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

Array = npt.NDArray[Any]


def _fault(message: str) -> KernelcatError:
    return KernelcatError("KC-S003", message, hint="this is a fault of the schedule, please report the formula")


def run(module: TileModule, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
    """The outputs of `module` for `inputs` (by name) at the given sizes."""
    memory: dict[str, Array] = {}
    for t in module.inputs:
        memory[t.name] = np.ascontiguousarray(inputs[t.name], t.dtype.numpy).reshape(-1)
    shapes = {t.name: tuple(evaluate(d, sizes) for d in t.shape) for t in (*module.outputs, *module.temporaries)}
    for t in (*module.temporaries, *module.outputs):
        memory.setdefault(t.name, np.zeros(int(np.prod(shapes[t.name])), t.dtype.numpy))
    for program in module.programs:
        for t in (*program.reads, *program.writes):  # the same bytes, in a type that the target has
            memory[t.name] = memory[t.name].view(t.dtype.numpy)
        _run_program(program, memory, sizes)
    return {t.name: memory[t.name].view(t.dtype.numpy).reshape(shapes[t.name]) for t in module.outputs}


def _run_program(program: TileProgram, memory: dict[str, Array], sizes: Mapping[str, int]) -> None:
    written = {t.name: np.zeros(memory[t.name].size, np.int64) for t in program.writes}
    tensors = {t.name: t for t in (*program.reads, *program.writes)}
    extents = [range(evaluate(a.size, sizes)) for a in program.grid]
    for number, place in enumerate(product(*extents)):
        cell = _Cell(program, memory, written, tensors, sizes, {a.name: v for a, v in zip(program.grid, place)}, number)
        with np.errstate(all="ignore"):
            cell.block(program.body)


class _Cell:
    """One grid cell: tiles with their defined elements, pending copies, uniform variables."""

    def __init__(self, program: TileProgram, memory: dict[str, Array], written: dict[str, Array],
                 tensors: dict[str, Tensor], sizes: Mapping[str, int], env: dict[str, int], number: int) -> None:
        self.number = number
        self.program, self.memory, self.written, self.tensors, self.sizes, self.env = (
            program, memory, written, tensors, sizes, env)
        self.tiles = {t.name: np.zeros(t.shape, t.dtype.numpy) for t in program.tiles}
        self.defined = {t.name: np.zeros(t.shape, bool) for t in program.tiles}
        self.pending: dict[str, str] = {}

    def block(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            match s:
                case Let():
                    self.env[s.name] = evaluate(s.value, self.sizes, self.env)
                case For():
                    for k in range(evaluate(s.extent, self.sizes, self.env)):
                        self.env[s.var] = k
                        self.block(s.body)
                case If():
                    if int(self.value(s.condition, ())):
                        self.block(s.body)
                case Copy():
                    self.copy(s)
                case Wait():
                    self.pending = {t: q for t, q in self.pending.items() if q != s.token}
                case Map():
                    values = [self.value(v, s.lanes) for v in s.values]
                    for name, v in zip(s.tiles, values):
                        self.write(name, s.lanes, v)
                case Reduce():
                    self.reduce(s)
                case Mma():
                    self.mma(s)
                case Store():
                    self.store(s)

    def extents(self, lanes: tuple[Lane, ...]) -> tuple[int, ...]:
        found = tuple(evaluate(lane.extent, self.sizes, self.env) for lane in lanes)
        for lane, n in zip(lanes, found):
            if not 0 <= n <= lane.capacity:
                raise _fault(f"lane {lane.name} has extent {n}, capacity {lane.capacity}")
        return found

    def write(self, name: str, lanes: tuple[Lane, ...], value: Array) -> None:
        box = tuple(slice(0, n) for n in self.extents(lanes))
        if self.tiles[name].ndim != len(lanes):
            raise _fault(f"tile {name} has rank {self.tiles[name].ndim}, the statement {len(lanes)}")
        self.tiles[name][box] = value
        self.defined[name][box] = True

    def read(self, load: Load, lanes: tuple[Lane, ...]) -> Array:
        name = load.tensor
        if name in self.pending:
            raise _fault(f"tile {name} is read before its copy was awaited")
        along = [lane.var in load.index for lane in lanes]
        if load.index != tuple(lane.var for lane, used in zip(lanes, along) if used):
            raise _fault(f"tile {name} is read at other indices than the statement's lanes")
        extents = self.extents(lanes) if load.index else ()
        box = tuple(slice(0, n) for n, used in zip(extents, along) if used)
        if not self.defined[name][box].all():
            raise _fault(f"tile {name} is read where it was never written")
        found = np.asarray(self.tiles[name][box])
        return found.reshape([n if used else 1 for n, used in zip(extents, along)]) if load.index else found

    def value(self, e: Expr, lanes: tuple[Lane, ...]) -> Array:
        if isinstance(e, Const):
            return scalar.constant(e.value, e.dtype, "declared")
        if isinstance(e, Size):
            return np.asarray(self.sizes[e.name], np.int64)
        if isinstance(e, Load):
            return self.read(e, lanes)
        if isinstance(e, Var):
            for k, lane in enumerate(lanes):
                if lane.name == e.name:
                    shape = [-1 if j == k else 1 for j in range(len(lanes))]
                    return np.arange(self.extents(lanes)[k]).reshape(shape)
            return np.asarray(self.env[e.name], np.int64)
        return scalar.apply(e.name, [self.value(a, lanes) for a in e.args], e.dtype, "declared")

    def places(self, tensor: str, offset: Expr, where: Expr | None, lanes: tuple[Lane, ...]) -> tuple[Array, Array]:
        shape = self.extents(lanes)
        at = np.broadcast_to(self.value(offset, lanes), shape)
        on = np.broadcast_to(np.asarray(True) if where is None else self.value(where, lanes), shape)
        inside = (at >= 0) & (at < self.memory[tensor].size)
        if (on & ~inside).any():
            raise _fault(f"an access leaves {tensor}: offset {at[on & ~inside][0]} of {self.memory[tensor].size}")
        return np.where(on, at, 0), on

    def copy(self, s: Copy) -> None:
        if s.tensor in self.written:
            raise _fault(f"{s.tensor} is read by the program that writes it")
        at, on = self.places(s.tensor, s.offset, s.where, s.lanes)
        source = self.memory[s.tensor]
        value = source[at] if source.size else np.zeros(at.shape, source.dtype)
        if s.where is not None:
            fill = self.value(s.fill, s.lanes) if s.fill is not None else np.zeros((), source.dtype)
            value = np.where(on, value, fill.astype(source.dtype))
        self.write(s.tile, s.lanes, value)
        self.pending[s.tile] = s.token

    def reduce(self, s: Reduce) -> None:
        over = [lane.name for lane in s.lanes].index(s.over)
        extents = self.extents(s.lanes)
        elements = [np.moveaxis(np.broadcast_to(self.value(e, s.lanes), extents), over, -1) for e in s.elements]
        shape = (*extents[:over], *extents[over + 1:])
        state = [np.broadcast_to(scalar.constant(i.value, i.dtype, "declared"), shape) for i in s.monoid.identity]
        for k in range(extents[over]):
            names = {f"a{n}": v for n, v in enumerate(state)} | {f"b{n}": v[..., k] for n, v in enumerate(elements)}
            state = [self.bound(c, names) for c in s.monoid.combine]
        for name, v in zip(s.tiles, state):
            self.write(name, tuple(lane for lane in s.lanes if lane.name != s.over), v)

    def bound(self, e: Expr, names: Mapping[str, Array]) -> Array:
        if isinstance(e, Var) and e.name in names:
            return names[e.name]
        if isinstance(e, Const):
            return scalar.constant(e.value, e.dtype, "declared")
        assert not isinstance(e, Var | Size | Load)
        return scalar.apply(e.name, [self.bound(a, names) for a in e.args], e.dtype, "declared")

    def mma(self, s: Mma) -> None:
        dtype = self.tiles[s.c].dtype
        a = self.read(Load(s.a, (s.m.var, s.k.var), self.program.tile[s.a].dtype), (s.m, s.k)).astype(dtype)
        b = self.read(Load(s.b, (s.k.var, s.n.var), self.program.tile[s.b].dtype), (s.k, s.n)).astype(dtype)
        c = self.read(Load(s.c, (s.m.var, s.n.var), self.program.tile[s.c].dtype), (s.m, s.n))
        self.write(s.c, (s.m, s.n), (c + a @ b).astype(dtype))

    def store(self, s: Store) -> None:
        """Every element remembers its writer, 0 for none: a lane (from 1) that may renew it, or -1 for a plain store."""
        at, on = self.places(s.tensor, s.offset, s.where, s.lanes)
        value = np.broadcast_to(self.value(s.value, s.lanes), at.shape)[on]
        places, writers = at[on], self.written[s.tensor]
        lanes = np.arange(1, 1 + int(np.prod([lane.capacity for lane in s.lanes]))).reshape([x.capacity for x in s.lanes])
        own = (self.number * lanes.size + lanes)[tuple(slice(0, n) for n in at.shape)][on]
        free = (writers[places] == 0) | ((writers[places] == own) & (s.combine is not None))
        if not free.all() or len(np.unique(places)) != places.size:
            raise _fault(f"two stores to {s.tensor} meet")
        writers[places] = -1 if s.combine is None else own
        if s.combine is not None:
            old = scalar.convert(self.memory[s.tensor][places], s.value.dtype, "declared")
            value = np.broadcast_to(self.bound(s.combine, {"a0": old, "b0": value}), old.shape)
        self.memory[s.tensor][places] = value
