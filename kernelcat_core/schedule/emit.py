"""Emitter: turns scalar expressions over tensors into copies, waits and maps of a tile program under construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcat_core.dtypes import F32, STORAGE_ONLY, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, cast, substitute, transform, variables, walk
from kernelcat_core.ir.graph import Axis, Graph, Monoid, Tensor
from kernelcat_core.ir.tile import Copy, For, If, Lane, Let, Map, Reduce, Scope, Stmt, Store, Tile, TileProgram, Wait
from kernelcat_core.schedule.affine import Merge, flatten


@dataclass
class _Block:
    """Statements being collected; `defined` names what exists here; `memo` holds the loads already made here."""

    statements: list[Stmt]
    defined: set[str]
    memo: dict[tuple[Load, tuple[Lane, ...]], Expr] = field(default_factory=dict)


def compute_dtype(dtype: DType) -> DType:
    """The type in which a tile program calculates: 16-bit and 8-bit floats widen to f32."""
    return F32 if dtype.is_float and dtype.bits < 32 else dtype


def widen(e: Expr) -> Expr:
    """`e` calculated in f32 where it says f16 or bf16; loads keep their type and are cast. One rounding at the store."""
    if not (e.dtype.is_float and e.dtype.bits < 32):
        if isinstance(e, Op):
            return Op(e.name, tuple(widen(a) for a in e.args), e.dtype)
        return e
    if isinstance(e, Const):
        return Const(e.value, F32)
    if isinstance(e, Op):
        args = tuple(widen(a) for a in e.args)
        if e.name == "cast" and e.dtype in STORAGE_ONLY:  # a rounding that the formula asks for
            return Op("cast", (cast(args[0], e.dtype),), F32)
        return cast(args[0], F32) if e.name == "cast" else Op(e.name, args, F32)
    return cast(e, F32)


class Emitter:
    """Builds one TileProgram. Blocks nest; a load is placed in the outermost block where all it needs is defined."""

    def __init__(self, graph: Graph, name: str, kernel_class: str, tensors: Mapping[str, Tensor] | None = None) -> None:
        self.tensors: Mapping[str, Tensor] = graph.tensors if tensors is None else tensors
        self.name = name
        self.kernel_class = kernel_class
        self.tiles: list[Tile] = []
        self.intermediates: dict[str, Tile] = {}
        self.reads: dict[str, Tensor] = {}
        self.writes: dict[str, Tensor] = {}
        self.grid: list[Axis] = []
        self.blocks = [_Block([], set())]
        self._taken = set(self.tensors) | set(graph.size_names)

    def fresh(self, stem: str) -> str:
        """A name that no tensor, size, variable or tile of this program has."""
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name

    def cell(self, axis: Axis) -> None:
        """Add a grid axis; its variable is defined everywhere."""
        self.grid.append(axis)
        self.blocks[0].defined.add(axis.name)

    def tile(self, stem: str, dtype: DType, lanes: tuple[Lane, ...], scope: Scope = "near") -> Tile:
        """A fresh tile with the shape of `lanes` (rank 0, scope scalar, without)."""
        t = Tile(self.fresh(stem), dtype, tuple(lane.capacity for lane in lanes), scope if lanes else "scalar")
        self.tiles.append(t)
        return t

    def put(self, statement: Stmt) -> None:
        self.blocks[-1].statements.append(statement)
        if isinstance(statement, Let):
            self.blocks[-1].defined.add(statement.name)

    def open(self, *defined: str) -> None:
        """Start a block in which `defined` variables exist."""
        self.blocks.append(_Block([], set(defined)))

    def close_for(self, var: str, extent: Expr, stages: int = 1) -> None:
        """End the block as the body of a serial loop."""
        body = tuple(self.blocks.pop().statements)
        self.put(For(var, extent, body, stages))

    def close_if(self, condition: Expr) -> None:
        body = tuple(self.blocks.pop().statements)
        self.put(If(condition, body))

    def value(self, e: Expr, lanes: tuple[Lane, ...], names: Mapping[str, Expr] = {}, merges: tuple[Merge, ...] = (),
              last: Mapping[str, Expr] = {}) -> Expr:
        """`e` (over tensors, multi-index loads, axis Vars) as an expression over tiles; copies are emitted as needed.

        `names` renames axis variables, then `merges` fold neighbouring axes, then `last` gives blocked axes their values.
        Intermediates become tile reads.
        """
        return widen(self._resolve(self.place(substitute(flatten(e, self.tensors), names), merges, last), lanes))

    def forget(self) -> None:
        """Make loads of the block at hand anew from here on: what is near is read twice cheaper than it is kept in a tile."""
        self.blocks[-1].memo.clear()

    def place(self, e: Expr, merges: tuple[Merge, ...], last: Mapping[str, Expr]) -> Expr:
        """An expression over canonical axes, rewritten over merged axes and then over blocks and lanes."""
        for m in merges:
            e = m.apply(e)
        return substitute(e, last)

    def _resolve(self, e: Expr, lanes: tuple[Lane, ...]) -> Expr:
        if isinstance(e, Op):
            return Op(e.name, tuple(self._resolve(a, lanes) for a in e.args), e.dtype)
        if not isinstance(e, Load) or e.tensor not in self.tensors:
            return e  # (a tile may stand in an offset already)
        if e.tensor in self.intermediates:
            t = self.intermediates[e.tensor]
            read: Expr = t.at(*(lane.var for lane in lanes)) if t.shape else t.at()
            return cast(read, e.dtype) if e.dtype.is_float == t.dtype.is_float and e.dtype != t.dtype else read
        return self._copy(e, lanes)

    def _copy(self, e: Load, lanes: tuple[Lane, ...]) -> Expr:
        """The tile that holds tensor element `e` for every lane it depends on."""
        where = None if e.where is None else self._resolve(e.where, lanes)
        offset = self._resolve(e.index[0], lanes)
        fill = None if e.fill is None else self._resolve(e.fill, lanes)
        used = variables(offset) | (variables(where) if where is not None else frozenset())
        used |= variables(fill) if fill is not None else frozenset()
        inner = [n for x in (offset, where, fill) if x is not None for n in walk(x) if isinstance(n, Load)]
        uniform = not used & {lane.name for lane in lanes} and not any(n.index for n in inner)
        kept = () if uniform else lanes
        key = (Load(e.tensor, (offset,), e.dtype, where, fill), kept)
        needed = set(used) - {lane.name for lane in lanes}
        for lane in kept:
            needed |= variables(lane.extent)
        floor = 0
        if inner:  # a computed subscript: stay in the block where its tiles were made
            floor = len(self.blocks) - 1
        for block in self.blocks:
            if key in block.memo:
                return block.memo[key]
        seen: set[str] = set()
        place = len(self.blocks) - 1
        for depth, block in enumerate(self.blocks):
            seen |= block.defined
            if needed <= seen and depth >= floor:
                place = depth
                break
        t = self.tile(f"t_{e.tensor}", e.dtype, kept, "near")
        token = self.fresh("q")
        self.reads.setdefault(e.tensor, self.tensors[e.tensor])
        block = self.blocks[place]
        block.statements += [Copy(token, t.name, kept, e.tensor, offset, where, fill), Wait(token)]
        read = t.at(*(lane.var for lane in kept))
        block.memo[key] = read
        return read

    def load(self, tensor: Tensor, offset: Expr, lanes: tuple[Lane, ...], where: Expr | None = None) -> Expr:
        """A copy of tensor[offset] over `lanes` (0 where `where` does not hold), awaited at once."""
        return self._copy(Load(tensor.name, (offset,), tensor.dtype, where), lanes)

    def map(self, tiles: tuple[Tile, ...], lanes: tuple[Lane, ...], values: tuple[Expr, ...]) -> None:
        self.put(Map(tuple(t.name for t in tiles), lanes, tuple(cast(v, t.dtype) for v, t in zip(values, tiles))))

    def reduce(self, tiles: tuple[Tile, ...], monoid: Monoid, lanes: tuple[Lane, ...], elements: tuple[Expr, ...]) -> None:
        self.put(Reduce(tuple(t.name for t in tiles), widen_monoid(monoid), lanes, lanes[-1].name, elements))

    def store(self, tensor: Tensor, offset: Expr, lanes: tuple[Lane, ...], value: Expr, where: Expr | None = None,
              combine: Expr | None = None) -> None:
        self.writes.setdefault(tensor.name, tensor)
        self.put(Store(tensor.name, offset, lanes, cast(value, tensor.dtype), where, combine))

    def program(self) -> TileProgram:
        """The finished program."""
        assert len(self.blocks) == 1
        return TileProgram(self.name, tuple(self.reads.values()), tuple(self.writes.values()), tuple(self.grid),
                           tuple(self.tiles), tuple(self.blocks[0].statements), self.kernel_class)


def widen_monoid(monoid: Monoid) -> Monoid:
    """The same reduction over states in the types that tile programs calculate in."""
    if all(compute_dtype(d) == d for d in monoid.state):
        return monoid
    identity = tuple(Const(i.value, compute_dtype(i.dtype)) for i in monoid.identity)
    combine = tuple(_retyped(widen(c)) for c in monoid.combine)
    return Monoid(monoid.name, tuple(compute_dtype(d) for d in monoid.state), identity, combine)


def _retyped(e: Expr) -> Expr:
    """`e` with its variables in the types that tile programs calculate in, without casts that change nothing."""
    e = transform(e, lambda n: Var(n.name, compute_dtype(n.dtype)) if isinstance(n, Var) else None)
    return transform(e, lambda n: n.args[0] if isinstance(n, Op) and n.name == "cast" and n.args[0].dtype == n.dtype
                     else None)


def bind_states(e: Expr, prefix: str, values: tuple[Expr, ...]) -> Expr:
    """`e` with the state variables `prefix`0, `prefix`1.. replaced."""
    return substitute(_retyped(e), {f"{prefix}{k}": v for k, v in enumerate(values)})
