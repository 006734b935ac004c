"""What lowering one program to the `dma` model keeps: where tiles lie, names, extents, and the loops over lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kernelcat_core.codegen.dma_ast import (
    Block,
    Branch,
    Buffer,
    CopyIn,
    Declare,
    Loop,
    Memory,
    Put,
    Queue,
    Stmt,
    Vector,
    View,
)
from kernelcat_core.codegen.dma_bits import BitMaskCode
from kernelcat_core.codegen.dma_numbers import NumberMaskCode
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.codegen.dma_temps import Temps
from kernelcat_core.codegen.dma_value import Place
from kernelcat_core.codegen.dma_vector import VectorCode
from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr, Load, Op, Var, add, ceil_div, index, loads, mul, op, sub
from kernelcat_core.ir.tile import Copy, For, If, Lane, Map, Mma, Reduce, Tile, TileProgram, statements
from kernelcat_core.ir.tile import Stmt as TileStmt


@dataclass(frozen=True)
class _Room:
    """How a tile lies in its buffer: rows `pitch` elements apart."""

    buffer: str
    pitch: int


class Context:
    """State of lowering one program with vectors of at most `chunk` elements."""

    def __init__(self, program: TileProgram, table: Table, memory: Memory, chunk: int, slots: int) -> None:
        self.program, self.table, self.memory, self.chunk, self.slots = program, table, memory, chunk, slots
        self.temps = Temps(chunk, table)
        self.rooms: dict[str, _Room] = {}
        self.buffers: dict[str, Buffer] = {}
        self.ranges: dict[str, Expr] = {a.name: a.size for a in program.grid}
        self.lets: dict[str, Expr] = {}
        self.waits: dict[str, tuple[Stmt, ...]] = {}
        self.names: dict[str, int] = {}
        self.aliases = _copied_tiles(self.program)
        self._place_tiles()

    # ---- tiles

    def _place_tiles(self) -> None:
        """Every tile's buffer. Tiles that only one box copy fills become queues, while there are queue buffers left."""
        copies = {s.tile: s for s in statements(self.program.body) if isinstance(s, Copy)}
        written = [t for s in statements(self.program.body) for t in _writes(s)]
        staged = {
            f.tile: s.stages
            for s in statements(self.program.body)
            if isinstance(s, For)
            for f in s.body
            if isinstance(f, Copy)
        }
        left = self.memory.queue_buffers
        for t in self.program.tiles:
            if not t.shape or t.name in self.aliases:
                continue
            pitch = self._pitch(t)
            elements = _round(
                pitch * (t.shape[0] if len(t.shape) == 2 else 1), self.memory.repeat_bytes // t.dtype.itemsize
            )
            if len(t.shape) == 2:
                elements += (
                    self.memory.repeat_bytes // t.dtype.itemsize
                )  # compares read whole repeats of the last row
            c = copies.get(t.name)
            queued = c is not None and written.count(t.name) == 1 and self.is_box(c) and left > 0
            slots = min(left, self.slots, 2 if staged.get(t.name, 1) > 1 else 1) if queued else 1
            left -= slots if queued else 0
            self.buffers[t.name] = Buffer(t.name, t.dtype, elements, "in" if queued else "calc", slots)
            self.rooms[t.name] = _Room(t.name, pitch)
        self.rooms |= {name: self.rooms[source] for name, source in self.aliases.items()}

    def _pitch(self, t: Tile) -> int:
        return (
            _round(t.shape[-1], max(1, self.memory.block_bytes // t.dtype.itemsize))
            if len(t.shape) == 2
            else t.shape[0]
        )

    def is_box(self, s: Copy) -> bool:
        return (
            bool(s.lanes)
            and s.is_box
            and not any(n.index for e in (s.offset, s.where, s.fill) if e is not None for n in loads(e))
        )

    def fresh(self, stem: str) -> str:
        """A scalar name not used before in this program."""
        self.names[stem] = self.names.get(stem, -1) + 1
        return f"{stem}__{self.names[stem]}"

    # ---- pieces

    def code(self, lane: str | None, start: Expr, count: Expr, row: Expr | None = None) -> VectorCode:
        """A vector code emitter for the lanes start .. start + count - 1 of row `row` of rank-2 tiles."""
        places: dict[str, Place] = {}
        for t in self.program.tiles:
            if t.shape:
                room = self.rooms[t.name]
                base = ZERO if row is None or len(t.shape) < 2 else mul(row, index(room.pitch))
                places[t.name] = Place(room.buffer, t.dtype, base)
        kind = BitMaskCode if self.table.masks == "bits" else NumberMaskCode
        return kind(self.table, self.temps, places, lane, start, count, self.fresh)

    def uniform(self, e: Expr) -> tuple[list[Stmt], Expr]:
        """A uniform expression for the scalar unit, with the statements it needs first."""
        code = self.code(None, ZERO, ONE)
        value = code.scalar(code.prepare(e))
        return code.close(), value

    def view(self, tile: str, row: Expr | None, start: Expr) -> View:
        room = self.rooms[tile]
        base = ZERO if row is None else mul(row, index(room.pitch))
        return View(room.buffer, self.program.tile[tile].dtype, add(base, start))

    def positive(self, extent: Expr) -> bool:
        """Whether an extent is known to be positive: a constant, or what is left of an axis in a block of its loop."""
        if isinstance(extent, Const):
            return int(extent.value) > 0
        value = self.lets.get(extent.name) if isinstance(extent, Var) else extent
        if not (isinstance(value, Op) and value.name == "min" and isinstance(value.args[0], Const)):
            return False
        block = int(value.args[0].value)
        return any(
            value.args[1] == sub(size, mul(Var(v), index(block))) and r == ceil_div(size, block)
            for v, r in self.ranges.items()
            for size in _dividends(r, value.args[1], Var(v), block)
        )

    def guarded(self, lanes: tuple[Lane, ...], body: list[Stmt]) -> list[Stmt]:
        """`body` where every extent is positive; vector instructions have no empty form."""
        condition: Expr | None = None
        for lane in lanes:
            if not self.positive(lane.extent):
                more = op("gt", lane.extent, ZERO)
                condition = more if condition is None else op("and", condition, more)
        return body if condition is None or not body else [Branch(condition, tuple(body))]

    def over(
        self, lanes: tuple[Lane, ...], emit: Callable[[str, Expr, Expr, Expr | None], list[Stmt]]
    ) -> list[Stmt]:
        """`emit(lane, start, count, row)` for every row and chunk of the lanes."""
        before: list[Stmt] = []
        extents: list[Expr] = []
        for lane in lanes:
            if isinstance(lane.extent, Const | Var):
                extents.append(lane.extent)
            else:
                named = Var(self.fresh("n"))
                extents.append(named)
                before.append(Declare(named.name, I64, lane.extent))
        last, n = lanes[-1], extents[-1]
        row = lanes[0].var if len(lanes) == 2 else None
        if last.capacity <= self.chunk:
            body = emit(last.name, ZERO, n, row)
        else:
            start, count = Var(self.fresh("s")), Var(self.fresh("m"))
            inner = emit(last.name, start, count, row)
            size = Declare(count.name, I64, op("min", index(self.chunk), sub(n, start)))
            body = [Loop(start.name, ZERO, n, index(self.chunk), (size, *inner))]
        if row is not None:
            rows = {name for name, room in self.rooms.items() if len(self.program.tile[name].shape) == 2}
            apart = all(name in rows for name in _written(tuple(body)))  # nothing but this row is written
            body = [Loop(lanes[0].name, ZERO, extents[0], ONE, tuple(body), apart)]
        return before + self.guarded(lanes, body)


def _written(body: tuple[Stmt, ...]) -> Iterator[str]:
    """Buffers that statements write; queue steps count as writes."""
    for s in body:
        match s:
            case Vector():
                yield s.target.buffer
                if s.work is not None:
                    yield s.work.buffer
            case Put() | CopyIn():
                yield s.target.buffer
            case Queue():
                yield s.buffer
            case Loop() | Block():
                yield from _written(s.body)
            case Branch():
                yield from _written(s.body)
                yield from _written(s.otherwise)


def _round(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def _writes(s: TileStmt) -> tuple[str, ...]:
    """Tiles that a statement writes."""
    match s:
        case Copy():
            return (s.tile,)
        case Map() | Reduce():
            return s.tiles
        case Mma():
            return (s.c,)
    return ()


def _copied_tiles(program: TileProgram) -> dict[str, str]:
    """Tile -> the tile that it is a copy of, where neither is written after that Map: both can share a buffer."""
    found: dict[str, str] = {}
    writers = [(set(_writes(s)) | {t for inner in _inside(s) for t in _writes(inner)}) for s in program.body]
    fetched = {s.tile for s in statements(program.body) if isinstance(s, Copy)}
    for k, s in enumerate(program.body):
        if not (isinstance(s, Map) and s.lanes and len(s.tiles) == 1 and isinstance(s.values[0], Load)):
            continue
        to, source = s.tiles[0], s.values[0].tensor
        root = found.get(source, source)
        alone = not any(to in w for j, w in enumerate(writers) if j != k)
        settled = not any({root, source} & w for w in writers[k:])
        same = (
            program.tile[to].dtype == program.tile[root].dtype
            and program.tile[to].shape == program.tile[root].shape
        )
        if alone and settled and same and root not in fetched:
            found[to] = root
    return found


def _inside(s: TileStmt) -> Iterator[TileStmt]:
    """The statements of a block statement."""
    if isinstance(s, For | If):
        yield from statements(s.body)


def _dividends(extent: Expr, left: Expr, var: Var, block: int) -> list[Expr]:
    """Candidates for the axis size S in `left` = S - var * block."""
    step = mul(var, index(block))
    if isinstance(left, Op) and left.name == "sub" and left.args[1] == step:
        return [left.args[0]]
    return []
