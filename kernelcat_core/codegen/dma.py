"""Lowers tile programs to the `dma` execution model (see dma_ast): tiles become buffers and queues, copies go through queues,
maps become whole-tile instructions, and what has no instruction is done by the scalar unit, element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelcat_core.codegen.dma_ast import (
    Assign,
    Block,
    Branch,
    Buffer,
    CopyIn,
    CopyOut,
    Declare,
    DmaProgram,
    Loop,
    Memory,
    Put,
    Queue,
    Stmt,
    Vector,
    View,
)
from kernelcat_core.codegen.dma_sync import insert_syncs
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.codegen.dma_temps import Temps
from kernelcat_core.codegen.dma_vector import Place, Value, VectorCode
from kernelcat_core.dtypes import BF16, F16, F32, I64, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    Load,
    Op,
    Var,
    add,
    cast,
    ceil_div,
    index,
    loads,
    mul,
    op,
    sub,
    substitute,
    walk,
)
from kernelcat_core.ir.tile import (
    Copy,
    For,
    If,
    Lane,
    Let,
    Map,
    Mma,
    Reduce,
    Store,
    Tile,
    TileModule,
    TileProgram,
    Wait,
    lane_stride,
    statements,
)
from kernelcat_core.ir.tile import Stmt as TileStmt

_FOLDS = {"add": "sum", "max": "max", "min": "min"}


@dataclass(frozen=True)
class _Room:
    """How a tile lies in its buffer: rows `pitch` elements apart."""

    buffer: str
    pitch: int


def lower(module: TileModule, table: Table, memory: Memory) -> tuple[DmaProgram, ...]:
    """The programs of a module for a core with `memory` and the instructions of `table`.

    Raises KC-R001 for operations that the core cannot do and KC-S002 when the tiles do not fit its memory.
    """
    return tuple(_fit(p, module.sizes, table, memory) for p in module.programs)


def _fit(program: TileProgram, sizes: tuple[str, ...], table: Table, memory: Memory) -> DmaProgram:
    """Lower with the longest vectors for which tiles and temporaries fit, then with single instead of double buffers."""
    widest = max([1, *(t.shape[-1] for t in program.tiles if t.shape), *_capacities(program)])
    chunk = -(-widest // 128) * 128
    most, slots = chunk, 2
    while True:
        found = _Lowering(program, table, memory, chunk, slots).run(sizes)
        if found.near_bytes <= memory.near_bytes:
            return found
        if chunk > 128:
            chunk = max(128, chunk // 2 // 128 * 128)
        elif slots > 1:
            chunk, slots = most, 1
        else:
            raise KernelcatError(
                "KC-S002",
                f"program {program.name} needs {found.near_bytes} bytes on chip, "
                f"{memory.near_bytes} are there",
                hint="use smaller blocks",
            )


def _capacities(program: TileProgram) -> list[int]:
    return [
        s.lanes[-1].capacity
        for s in statements(program.body)
        if isinstance(s, Copy | Map | Reduce | Store) and s.lanes
    ]


class _Lowering:
    """State of lowering one program with vectors of at most `chunk` elements."""

    def __init__(self, program: TileProgram, table: Table, memory: Memory, chunk: int, slots: int) -> None:
        self.program, self.table, self.memory, self.chunk, self.slots = program, table, memory, chunk, slots
        self.temps = Temps(chunk)
        self.rooms: dict[str, _Room] = {}
        self.buffers: dict[str, Buffer] = {}
        self.ranges: dict[str, Expr] = {a.name: a.size for a in program.grid}
        self.lets: dict[str, Expr] = {}
        self.waits: dict[str, tuple[Stmt, ...]] = {}
        self.names: dict[str, int] = {}
        self._place_tiles()

    def run(self, sizes: tuple[str, ...]) -> DmaProgram:
        scalars = tuple(Declare(t.name, t.dtype, None, False) for t in self.program.tiles if not t.shape)
        body = (*scalars, *self.block(self.program.body))
        buffers = (*self.buffers.values(), *self.temps.buffers(self.memory))
        body = insert_syncs(body, buffers)
        queues = {b.queue: 0 for b in buffers if b.queue}
        total = 0
        for b in buffers:
            room = -(-b.bytes // self.memory.block_bytes) * self.memory.block_bytes * b.slots
            if b.queue:
                queues[b.queue] = max(queues[b.queue], room)
            else:
                total += room
        return DmaProgram(
            self.program.name,
            self.program.reads,
            self.program.writes,
            self.program.grid,
            buffers,
            body,
            sizes,
            self.program.kernel_class,
            total + sum(queues.values()),
            self.naturals(body),
        )

    def naturals(self, body: tuple[Stmt, ...]) -> frozenset[str]:
        """Grid and loop variables, and extents: statements over them are guarded against empty ones."""
        found = {a.name for a in self.program.grid}
        for s in statements(self.program.body):
            if isinstance(s, Copy | Map | Reduce | Store):
                found |= {lane.extent.name for lane in s.lanes if isinstance(lane.extent, Var)}
        stack = list(body)
        while stack:
            s_ = stack.pop()
            if isinstance(s_, Loop):
                found.add(s_.var)
            if isinstance(s_, Declare) and s_.name.startswith(("n__", "m__")):
                found.add(s_.name)
            if isinstance(s_, Loop | Branch | Block):
                stack += s_.body
        return frozenset(found)

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
            if not t.shape:
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
            queued = c is not None and written.count(t.name) == 1 and self._is_box(c) and left > 0
            slots = min(left, self.slots, 2 if staged.get(t.name, 1) > 1 else 1) if queued else 1
            left -= slots if queued else 0
            self.buffers[t.name] = Buffer(t.name, t.dtype, elements, "in" if queued else "calc", slots)
            self.rooms[t.name] = _Room(t.name, pitch)

    def _pitch(self, t: Tile) -> int:
        return (
            _round(t.shape[-1], max(1, self.memory.block_bytes // t.dtype.itemsize))
            if len(t.shape) == 2
            else t.shape[0]
        )

    def _is_box(self, s: Copy) -> bool:
        return (
            bool(s.lanes)
            and s.is_box
            and not any(n.index for e in (s.offset, s.where, s.fill) if e is not None for n in loads(e))
        )

    def fresh(self, stem: str) -> str:
        """A scalar name not used before in this program."""
        self.names[stem] = self.names.get(stem, -1) + 1
        return f"{stem}__{self.names[stem]}"

    # ---- blocks

    def block(self, body: tuple[TileStmt, ...]) -> tuple[Stmt, ...]:
        """A block; queue buffers that it allocates are freed at its end."""
        out: list[Stmt] = []
        for s in body:
            out += self.statement(s)
        out += [
            Queue("free", s.tile)
            for s in body
            if isinstance(s, Copy) and s.lanes and self.buffers[s.tile].role == "in"
        ]
        return tuple(out)

    def statement(self, s: TileStmt) -> list[Stmt]:
        match s:
            case Let():
                self.lets[s.name] = s.value
                before, value = self.uniform(s.value)
                return [*before, Declare(s.name, I64, value)]
            case Copy():
                return self.copy(s)
            case Wait():
                return list(self.waits.get(s.token, ()))
            case Map():
                return self.map(s) if s.lanes else self.scalar_map(s)
            case Reduce():
                return self.reduce(s)
            case Mma():
                return self.mma(s)
            case Store():
                return self.store(s)
            case For():
                self.ranges[s.var] = s.extent
                before, extent = self.uniform(s.extent)
                return [*before, Loop(s.var, ZERO, extent, ONE, self.block(s.body))]
            case If():
                before, condition = self.uniform(s.condition)
                return [*before, Branch(condition, self.block(s.body))]

    # ---- pieces

    def code(self, lane: str | None, start: Expr, count: Expr, row: Expr | None = None) -> VectorCode:
        """A vector code emitter for the lanes start .. start + count - 1 of row `row` of rank-2 tiles."""
        places: dict[str, Place] = {}
        for t in self.program.tiles:
            if t.shape:
                room = self.rooms[t.name]
                base = ZERO if row is None or len(t.shape) < 2 else mul(row, index(room.pitch))
                places[t.name] = Place(room.buffer, t.dtype, base)
        return VectorCode(self.table, self.temps, places, lane, start, count, self.fresh)

    def uniform(self, e: Expr) -> tuple[list[Stmt], Expr]:
        """A uniform expression for the scalar unit, with the statements it needs first."""
        code = self.code(None, ZERO, ONE)
        value = code.scalar(code.prepare(e))
        return code.close(), value

    def view(self, tile: str, row: Expr | None, start: Expr) -> View:
        room = self.rooms[tile]
        base = ZERO if row is None else mul(row, index(room.pitch))
        return View(room.buffer, self.buffers[tile].dtype, add(base, start))

    def positive(self, extent: Expr) -> bool:
        """Whether an extent is known to be at least 1: a constant, or what is left of an axis in a block of its loop."""
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
            body = [Loop(lanes[0].name, ZERO, extents[0], ONE, tuple(body))]
        return before + self.guarded(lanes, body)

    # ---- copies

    def copy(self, s: Copy) -> list[Stmt]:
        if not s.lanes:
            before, value = self.uniform(
                self.element_of(s.tensor, s.offset, self.program.tile[s.tile].dtype, s.where, s.fill)
            )
            return [*before, Assign(s.tile, value)]
        return self.box(s) if self._is_box(s) else self.gather(s)

    def element_of(
        self, tensor: str, offset: Expr, dtype: DType, where: Expr | None, fill: Expr | None
    ) -> Expr:
        load: Expr = Load(tensor, (offset,), dtype)
        return (
            load
            if where is None
            else Op("where", (where, load, fill if fill is not None else Const(0, dtype)), dtype)
        )

    def box(self, s: Copy) -> list[Stmt]:
        """A rectangular copy by the copy pipe; where its (uniform) predicate fails, the fill value instead."""
        queued = self.buffers[s.tile].role == "in"
        origin = substitute(s.offset, {lane.name: ZERO for lane in s.lanes})
        before, offset = self.uniform(origin)
        rows, stride = ONE, ZERO
        if len(s.lanes) == 2:
            found = lane_stride(s.offset, s.lanes[0])
            assert found is not None
            rows, stride = s.lanes[0].extent, found
        pitch = self.rooms[s.tile].pitch
        work: list[Stmt] = self.guarded(
            s.lanes,
            [
                CopyIn(
                    self.view(s.tile, None, ZERO), s.tensor, offset, rows, s.lanes[-1].extent, stride, pitch
                )
            ],
        )
        after: list[Stmt] = []
        if s.where is not None:
            more, where = self.uniform(s.where)
            before += more
            work = [Branch(where, tuple(work))]
            after = [Branch(op("not", where), tuple(self.fill_tile(s)))]
        if not queued:
            return [*before, *work, *after]
        self.waits[s.token] = (Queue("dequeue", s.tile), *after)
        return [*before, Queue("alloc", s.tile), *work, Queue("enqueue", s.tile)]

    def fill_tile(self, s: Copy) -> list[Stmt]:
        def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
            code = self.code(lane, start, count, row)
            code.assign(
                code.prepare(s.fill if s.fill is not None else Const(0, self.buffers[s.tile].dtype)),
                self.view(s.tile, row, start),
            )
            return code.close()

        return self.over(s.lanes, emit)

    def gather(self, s: Copy) -> list[Stmt]:
        """One address an element: the scalar unit reads global memory and writes the tile."""
        dtype = self.program.tile[s.tile].dtype

        def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
            code = self.code(lane, start, count, row)
            at = Var(self.fresh("e"))
            parts = [
                None if e is None else code.element(code.prepare(e), at) for e in (s.offset, s.where, s.fill)
            ]
            offset, where, fill = parts
            assert offset is not None
            view = self.view(s.tile, row, add(start, at))
            loop = Loop(
                at.name, ZERO, count, ONE, (Put(view, self.element_of(s.tensor, offset, dtype, where, fill)),)
            )
            return [*code.close(), loop]

        return self.over(s.lanes, emit)

    # ---- arithmetic

    def map(self, s: Map) -> list[Stmt]:
        def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
            code = self.code(lane, start, count, row)
            roots = [code.prepare(v) for v in s.values]
            late: list[tuple[Value, DType, View]] = []
            copies: list[str] = []
            for k, (tile, root) in enumerate(zip(s.tiles, roots, strict=True)):
                target = self.view(tile, row, start)
                if not any(n.tensor == tile for later in s.values[k + 1 :] for n in loads(later)):
                    code.assign(root, target)
                    continue
                value = code.value(root)
                if (
                    value.view is not None and not value.temp
                ):  # another tile, which may be written before this is stored
                    kept = self.temps.take(value.view.dtype)
                    copies.append(kept)
                    code.move(View(kept, value.view.dtype, ZERO), value.view)
                    value = Value(View(kept, value.view.dtype, ZERO))
                late.append((value, root.dtype, target))
            for value, dtype, target in late:
                code.store(value, dtype, target)
            for name in copies:
                self.temps.give(name)
            return code.close()

        return self.over(s.lanes, emit)

    def scalar_map(self, s: Map) -> list[Stmt]:
        code = self.code(None, ZERO, ONE)
        values = [code.scalar(code.prepare(v)) for v in s.values]
        if len(values) == 1:
            return [*code.close(), Assign(s.tiles[0], values[0])]
        held = [Var(self.fresh("v"), v.dtype) for v in values]
        return [
            *code.close(),
            Block(
                (
                    *(Declare(h.name, h.dtype, v) for h, v in zip(held, values, strict=True)),
                    *(Assign(t, h) for t, h in zip(s.tiles, held, strict=True)),
                )
            ),
        ]

    def reduce(self, s: Reduce) -> list[Stmt]:
        """Rank-1: into scalar variables. Rank-2: each row into scalar variables, then into the rank-1 tiles."""
        if len(s.lanes) == 1:
            states = [Var(t, d) for t, d in zip(s.tiles, s.monoid.state, strict=True)]
            return [
                *(Assign(v.name, i) for v, i in zip(states, s.monoid.identity, strict=True)),
                *self.over(
                    s.lanes, lambda lane, start, count, row: self.fold(s, states, lane, start, count, row)
                ),
            ]
        states = [Var(self.fresh("r"), d) for d in s.monoid.state]
        inner: list[Stmt] = [
            Declare(v.name, v.dtype, i, False) for v, i in zip(states, s.monoid.identity, strict=True)
        ]
        row = s.lanes[0].var
        inner += self.over(
            (s.lanes[1],), lambda lane, start, count, _: self.fold(s, states, lane, start, count, row)
        )
        inner += [Put(self.view(t, None, row), v) for t, v in zip(s.tiles, states, strict=True)]
        return [Loop(row.name, ZERO, s.lanes[0].extent, ONE, tuple(inner))]

    def fold(
        self, s: Reduce, states: list[Var], lane: str, start: Expr, count: Expr, row: Expr | None
    ) -> list[Stmt]:
        """states = combine(states, elements of this chunk)."""
        code = self.code(lane, start, count, row)
        roots = [code.prepare(e) for e in s.elements]
        combine = s.monoid.combine[0]
        name = _FOLDS.get(combine.name) if isinstance(combine, Op) and len(states) == 1 else None
        if (
            name is not None
            and self.table.find("reduce", name, states[0].dtype.name)
            and code.varies(roots[0])
        ):
            source = code.value(roots[0]).view
            assert source is not None
            self.temps.reduces = True
            result = View("result", states[0].dtype, ZERO)
            code.out.append(
                Vector(
                    f"reduce_{name}", result, (source,), (), count, work=View("work", states[0].dtype, ZERO)
                )
            )
            part: Expr = Load("result", (ZERO,), states[0].dtype)
            return [*code.close(), Assign(states[0].name, substitute(combine, {"a0": states[0], "b0": part}))]
        at = Var(self.fresh("e"))
        items = [code.element(r, at) for r in roots]
        lanes = [Var(self.fresh("v"), i.dtype) for i in items]
        names: dict[str, Expr] = {}
        for k, (a, b) in enumerate(zip(states, lanes, strict=True)):
            names |= {f"a{k}": a, f"b{k}": b}
        merged = [substitute(c, names) for c in s.monoid.combine]
        for e in merged:
            for n in walk(e):
                if isinstance(n, Op) and n.args[0].dtype.is_float and n.name not in self.table.scalar_ops:
                    raise KernelcatError(
                        "KC-R001", f"the fold {s.monoid.name} needs {n.name}, which the scalar unit lacks"
                    )
        held = [Var(self.fresh("v"), v.dtype) for v in states]
        body: tuple[Stmt, ...] = (
            *(Declare(v.name, v.dtype, i) for v, i in zip(lanes, items, strict=True)),
            *(Declare(h.name, h.dtype, m) for h, m in zip(held, merged, strict=True)),
            *(Assign(v.name, h) for v, h in zip(states, held, strict=True)),
        )
        return [*code.close(), Loop(at.name, ZERO, count, ONE, body)]

    def mma(self, s: Mma) -> list[Stmt]:
        """Row by row of the result: c[m, :] += a[m, k] * b[k, :] by Axpy, in f32; other dtypes on the scalar unit."""
        a, b, c = (self.program.tile[t] for t in (s.a, s.b, s.c))
        narrow = (F32, F16, BF16)
        m, k = s.m.var, s.k.var

        def factor(dtype: DType) -> Expr:
            return cast(Load(s.a, (add(mul(m, index(self.rooms[s.a].pitch)), k),), a.dtype), dtype)

        def vector(lane: str, start: Expr, count: Expr, _: Expr | None) -> list[Stmt]:
            source = self.view(s.b, k, start)
            before: list[Stmt] = []
            temp = ""
            if b.dtype != F32:
                temp = self.temps.take(F32)
                source = View(temp, F32, ZERO)
                before = [Vector("cast", source, (self.view(s.b, k, start),), (), count)]
            row = Vector("axpy", self.view(s.c, m, start), (source,), (factor(F32),), count)
            if temp:
                self.temps.give(temp)
            rows = Loop(m.name, ZERO, s.m.extent, ONE, (row,), independent=True)
            return [Loop(k.name, ZERO, s.k.extent, ONE, (*before, rows))]

        def scalar(lane: str, start: Expr, count: Expr, _: Expr | None) -> list[Stmt]:
            at = add(start, Var(lane))
            cell = add(mul(m, index(self.rooms[s.c].pitch)), at)
            right = cast(Load(s.b, (add(mul(k, index(self.rooms[s.b].pitch)), at),), b.dtype), c.dtype)
            total = op("add", Load(s.c, (cell,), c.dtype), op("mul", factor(c.dtype), right))
            put = Put(View(self.rooms[s.c].buffer, c.dtype, cell), total)
            return [
                Loop(
                    m.name,
                    ZERO,
                    s.m.extent,
                    ONE,
                    (Loop(k.name, ZERO, s.k.extent, ONE, (Loop(lane, ZERO, count, ONE, (put,)),)),),
                )
            ]

        emit = vector if c.dtype == F32 and a.dtype in narrow and b.dtype in narrow else scalar
        return self.guarded((s.m, s.k), self.over((s.n,), emit))

    # ---- stores

    def store(self, s: Store) -> list[Stmt]:
        tensor = next(t for t in self.program.writes if t.name == s.tensor)
        before: list[Stmt] = []
        if not s.lanes:
            body = self.store_one(s, tensor.dtype)
        elif s.is_box and not any(n.index for n in loads(s.offset)):
            body = self.over(
                s.lanes,
                lambda lane, start, count, row: self.store_chunk(s, tensor.dtype, lane, start, count, row),
            )
        else:
            return self.over(
                s.lanes,
                lambda lane, start, count, row: self.scatter(s, tensor.dtype, lane, start, count, row),
            )
        if s.where is None:
            return body
        before, where = self.uniform(s.where)
        return [*before, Branch(where, tuple(body))]

    def store_chunk(
        self, s: Store, dtype: DType, lane: str, start: Expr, count: Expr, row: Expr | None
    ) -> list[Stmt]:
        """Compute into an output buffer and copy it out."""
        out = f"out_{dtype}"
        self.buffers.setdefault(out, Buffer(out, dtype, self.chunk, "out", self.slots, "out"))
        code = self.code(lane, start, count, row)
        code.assign(code.prepare(s.value), View(out, dtype, ZERO))
        offset = add(substitute(s.offset, {lane: ZERO}), start)
        more, place = self.uniform(offset)
        return [
            Block(
                (
                    Queue("alloc", out),
                    *code.close(),
                    Queue("enqueue", out),
                    Queue("dequeue", out),
                    *more,
                    CopyOut(s.tensor, place, View(out, dtype, ZERO), ONE, count, ZERO, 0),
                    Queue("free", out),
                )
            )
        ]

    def stage(self, dtype: DType) -> View:
        name = f"stage_{dtype}"
        self.buffers.setdefault(name, Buffer(name, dtype, max(1, self.memory.block_bytes // dtype.itemsize)))
        return View(name, dtype, ZERO)

    def store_one(self, s: Store, dtype: DType) -> list[Stmt]:
        stage = self.stage(dtype)
        before, value = self.uniform(s.value)
        more, offset = self.uniform(s.offset)
        return [*before, *more, Put(stage, value), CopyOut(s.tensor, offset, stage, ONE, ONE, ZERO, 0)]

    def scatter(
        self, s: Store, dtype: DType, lane: str, start: Expr, count: Expr, row: Expr | None
    ) -> list[Stmt]:
        """One address an element: each goes through a staging block and a copy of its own."""
        stage = self.stage(dtype)
        code = self.code(lane, start, count, row)
        at = Var(self.fresh("e"))
        roots = [None if e is None else code.prepare(e) for e in (s.value, s.offset, s.where)]
        value, offset, where = (None if r is None else code.element(r, at) for r in roots)
        assert value is not None and offset is not None
        body: tuple[Stmt, ...] = (Put(stage, value), CopyOut(s.tensor, offset, stage, ONE, ONE, ZERO, 0))
        if where is not None:
            body = (Branch(where, body),)
        return [*code.close(), Loop(at.name, ZERO, count, ONE, body)]


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


def _dividends(extent: Expr, left: Expr, var: Var, block: int) -> list[Expr]:
    """Candidates for the axis size S in `left` = S - var * block."""
    step = mul(var, index(block))
    if isinstance(left, Op) and left.name == "sub" and left.args[1] == step:
        return [left.args[0]]
    return []
