"""Lowering of tile programs for the SIMT model: one block of threads a grid cell, tiles spread over threads.

Tiles live in private arrays, by a layout of their shape (simt_layout), so statements over equal lanes need no exchange and
run in one loop over a thread's items. Only operands of Mma and partial results of Reduce go through shared memory; a
barrier stands where a statement touches shared elements that other threads wrote, or will overwrite what they read, since
the last one. Copies are awaited at once, but those of a staged contraction loop (simt_mma).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

from kernelcat_core.codegen import simt_layout as layouts
from kernelcat_core.codegen.simt_ast import (
    Assign,
    Barrier,
    Branch,
    Define,
    Kernel,
    Loop,
    Node,
    Registers,
    Repeat,
    Shared,
    Variable,
    used_names,
)
from kernelcat_core.codegen.simt_layout import Layout, div, rem
from kernelcat_core.dtypes import BF16, BOOL, F16, F32, I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    Var,
    cast,
    conjunction,
    index,
    loads,
    op,
    substitute,
    transform,
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
    Stmt,
    Store,
    Tile,
    TileModule,
    TileProgram,
    Wait,
    lane_stride,
    statements,
)
from kernelcat_core.target import Target

DEFAULT_THREADS = 128


@dataclass(frozen=True)
class Limits:
    """What a target's block may use: `shared_bytes`; whether mma.m16n8k16 on 16-bit operands exists; `warp`, the threads
    that exchange values without shared memory (a power of two; 1: none do); whether copies into shared memory can run
    asynchronously.
    """

    shared_bytes: int
    tensor_cores: bool
    warp: int = 32
    async_copies: bool = True

    @staticmethod
    def of(target: Target) -> Limits:
        """What a target's manifest says; its limits "near_bytes", "tensor_cores", "warp" and "async_copies"."""
        return Limits(
            target.limit("near_bytes", 32 << 10),
            target.limit("tensor_cores", 0) > 0,
            target.limit("warp", 1),
            target.limit("async_copies", 0) > 0,
        )


@dataclass(frozen=True)
class Group:
    """Neighbouring statements over equal lanes: one loop over items."""

    lanes: tuple[Lane, ...]
    body: tuple[Copy | Map | Store, ...]

    def fills(self, operands: Container[str]) -> bool:
        """Whether it copies an operand of Mma into shared memory."""
        first = self.body[0]
        return isinstance(first, Copy) and first.tile in operands


@dataclass(frozen=True)
class Traffic:
    """Shared arrays that were written, and read, since the last barrier."""

    written: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def touch(self, reads: frozenset[str], writes: frozenset[str]) -> tuple[bool, Traffic]:
        """Whether a barrier must stand before such an access, and the traffic after it."""
        if (reads | writes) & self.written or writes & self.read:
            return True, Traffic(writes, reads)
        return False, Traffic(self.written | writes, self.read | reads)

    def either(self, other: Traffic) -> Traffic:
        return Traffic(self.written | other.written, self.read | other.read)


def lower(module: TileModule, limits: Limits) -> tuple[Kernel, ...]:
    """One Kernel a program, in launch order."""
    return tuple(Lowering(p, module, limits).kernel() for p in module.programs)


class Lowering:
    """Builds the Kernel of one program; `_block` is called more than once a loop, so it keeps no traffic itself."""

    def __init__(self, program: TileProgram, module: TileModule, limits: Limits) -> None:
        self.program, self.module, self.limits = program, module, limits
        self._taken = _names(program) | set(module.sizes)
        self.thread = Var(self.fresh("t"))
        self.shared: dict[str, Shared] = {}
        self.operands: dict[str, Mma] = {}
        for s in statements(program.body):
            if isinstance(s, Mma):
                self.operands |= {s.a: s, s.b: s}
        self.slots: dict[str, Expr] = {}
        self.layouts: dict[tuple[int, ...], Layout] = {}
        self.warps: layouts.WarpGrid | None = None
        self.warp, self.lane = Var(self.fresh("warp")), Var(self.fresh("lane"))
        self.places: dict[str, Expr] = {}
        self.facts: dict[str, Node] = {}
        self.threads = self._place()
        self.double_buffered = self._buffers()
        self._contents: dict[int, tuple[Group | Stmt, ...]] = {}
        self._names: dict[object, str] = {}
        self.writes = Counter(name for s in statements(program.body) for name in _writes(s))
        self.read_tiles = frozenset(name for s in statements(program.body) for name in _reads(s))
        self.plan = self.grouped(program.body)
        self.local = self._local_tiles()

    # -- names and layouts

    def fresh(self, stem: str) -> str:
        """A name that nothing in this program has."""
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}{count}"
        self._taken.add(name)
        return name

    def named(self, key: object, stem: str) -> str:
        """The name for `key`, the same whenever it is asked for."""
        if key not in self._names:
            self._names[key] = self.fresh(stem)
        return self._names[key]

    def _place(self) -> int:
        """Threads of a block, and the layout of each tile shape."""
        products = [s for s in statements(self.program.body) if isinstance(s, Mma)]
        threads = self._row_threads()
        grids = {self._warp_grid(s) for s in products}
        self.warps = grids.pop() if len(grids) == 1 else None
        for s in products:
            shape = (s.m.capacity, s.n.capacity)
            if self.warps is not None:
                loops = (self.fresh("mi"), self.fresh("ni"), self.fresh("e"))
                self.layouts[shape] = layouts.fragments(self.warps, self.warp, self.lane, loops)
                self.places = {self.warp.name: div(self.thread, 32), self.lane.name: rem(self.thread, 32)}
                threads = self.warps.threads
            elif not self.layouts:
                ty, tx = Var(self.fresh("ty")), Var(self.fresh("tx"))
                loops2 = (self.fresh("i"), self.fresh("j"))
                self.layouts[shape], (down, across) = layouts.block(shape, ty, tx, loops2)
                self.places = {ty.name: div(self.thread, across), tx.name: rem(self.thread, across)}
                threads = down * across
        for t in self.program.tiles:
            if t.shape and t.name not in self.operands and t.shape not in self.layouts:
                self.layouts[t.shape] = self._layout(t.shape, threads)
        return threads

    def _row_threads(self) -> int:
        """The threads that the schedule asks for, but no warp without an element."""
        widest = max(
            (lane.capacity for s in statements(self.program.body) for lane in getattr(s, "lanes", ())), default=1
        )
        unit = max(32, self.limits.warp)
        return min(self.program.threads or DEFAULT_THREADS, -(-widest // unit) * unit)

    def _layout(self, shape: tuple[int, ...], threads: int) -> Layout:
        if len(shape) == 1:
            return layouts.row(shape[0], threads, self.thread, self.fresh("i"))
        return layouts.linear((shape[0], shape[1]), 1, threads, self.thread, self.fresh("i"))

    def _warp_grid(self, s: Mma) -> layouts.WarpGrid | None:
        a, b, c = (self.program.tile[n].dtype for n in (s.a, s.b, s.c))
        if not self.limits.tensor_cores or a != b or a not in (F16, BF16) or c != F32:
            return None
        return layouts.warp_grid((s.m.capacity, s.n.capacity), s.k.capacity)

    def layout(self, shape: tuple[int, ...]) -> Layout:
        if shape not in self.layouts:
            self.layouts[shape] = self._layout(shape, self.threads)
        return self.layouts[shape]

    def _buffers(self) -> bool:
        """Declare the operands' arrays; two slots each when they fit. Gives whether they do."""
        for slots in (2, 1):
            self.shared = {t.name: self._operand(t, slots) for t in self.program.tiles if t.name in self.operands}
            needed = sum(s.nbytes for s in self.shared.values())
            if needed <= self.limits.shared_bytes:
                return slots == 2
        raise self._too_much(f"the operands of {self.program.name} take", needed)

    def _operand(self, t: Tile, slots: int) -> Shared:
        """a is kept k-major for the FMA loop, so that a thread's rows are neighbours; padding spreads banks."""
        rows, columns = t.shape
        pad = max(4, 16 // t.dtype.itemsize)  # rows keep starting on 16 bytes
        shape = (columns, rows + pad) if self.contiguous_lane(t.name) == 0 else (rows, columns + pad)
        return Shared(t.name, t.dtype, (slots, *shape))

    def contiguous_lane(self, name: str) -> int:
        """Which of an operand's lanes runs through neighbouring elements of its shared array."""
        return 0 if self.operands[name].a == name and self.warps is None else 1

    def place(self, name: str, coordinates: tuple[Expr, ...]) -> Load:
        """Element of an operand's shared array, in the slot that is current."""
        t = self.program.tile[name]
        y, x = coordinates
        at = (x, y) if self.contiguous_lane(name) == 0 else (y, x)
        return Load(name, (self.slots.get(name, index(0)), *at), t.dtype)

    def grouped(self, body: tuple[Stmt, ...]) -> tuple[Group | Stmt, ...]:
        """The statements of a block, neighbours over equal lanes together; waits of copies that are awaited at once drop."""
        items: list[Group | Stmt] = []
        for s in body:
            if isinstance(s, Copy | Map | Store):
                last = items[-1] if items else None
                alone = isinstance(s, Copy) and s.tile in self.operands
                if isinstance(last, Group) and last.lanes == s.lanes and not alone and not last.fills(self.operands):
                    items[-1] = Group(last.lanes, (*last.body, s))
                else:
                    items.append(Group(s.lanes, (s,)))
            elif not isinstance(s, Wait):
                items.append(s)
        return tuple(items)

    def contents(self, s: For | If) -> tuple[Group | Stmt, ...]:
        """The grouped body of a block statement."""
        if id(s) not in self._contents:
            self._contents[id(s)] = self.grouped(s.body)
        return self._contents[id(s)]

    # -- tiles

    def _local_tiles(self) -> frozenset[str]:
        """Tiles that live in one group only, written before they are read: scalars of the loop's body."""
        homes: dict[str, list[object]] = {}
        outside: set[str] = set()

        def visit(items: tuple[Group | Stmt, ...]) -> None:
            for item in items:
                if isinstance(item, Group):
                    for s in item.body:
                        for name in (*_reads(s), *_writes(s)):
                            homes.setdefault(name, []).append(id(item))
                elif isinstance(item, For | If):
                    visit(self.contents(item))
                    outside.update(_reads(item))
                else:
                    outside.update((*_reads(item), *_writes(item)))

        visit(self.plan)
        single = {n for n, h in homes.items() if len(set(h)) == 1 and n not in outside and n not in self.operands}
        return frozenset(n for n in single if self.program.tile[n].shape and self._starts_with_write(n, self.plan))

    def _starts_with_write(self, name: str, items: tuple[Group | Stmt, ...]) -> bool:
        for item in items:
            if isinstance(item, Group):
                for s in item.body:
                    if name in _reads(s):
                        return False
                    if name in _writes(s):
                        return True
            elif isinstance(item, For | If) and self._starts_with_write(name, self.contents(item)):
                return True
        return False

    def read(self, e: Expr, at: tuple[Expr, ...], lanes: tuple[Lane, ...]) -> Expr:
        """`e` with tile reads replaced by scalars and array elements; `at` are private subscripts."""

        def replaced(n: Expr) -> Expr | None:
            if not isinstance(n, Load) or n.tensor not in self.program.tile:
                return None
            return self.element(n.tensor, at, lanes if n.index else ())

        return transform(e, replaced)

    def element(self, name: str, at: tuple[Expr, ...], lanes: tuple[Lane, ...]) -> Expr:
        """The place of a tile's element: a scalar, a private array's or a shared array's element."""
        t = self.program.tile[name]
        if not lanes or name in self.local:
            return Var(name, t.dtype)
        if name in self.operands:
            return self.place(name, tuple(lane.var for lane in lanes))
        return Load(name, at, t.dtype)

    # -- statements

    def kernel(self) -> Kernel:
        body, _ = self.block(self.plan, Traffic())
        used = used_names(body)
        top: list[Node] = [Define(n, I64, e) for n, e in self.places.items() if n in used]
        top += self.facts.values()
        for t in self.program.tiles:
            if not t.shape and (t.name in self.read_tiles or not self._only_reduced(t.name)):
                top.append(Variable(t.name, t.dtype))
            elif t.shape and t.name not in self.local and t.name not in self.operands:
                top.append(Registers(t.name, t.dtype, self.layout(t.shape).shape))
        p = self.program
        made = Kernel(
            p.name,
            self.threads,
            p.reads,
            p.writes,
            self.module.sizes,
            p.grid,
            tuple(self.shared.values()),
            (*top, *body),
            self.thread.name,
        )
        if made.shared_bytes > self.limits.shared_bytes:
            raise self._too_much(f"{p.name} takes", made.shared_bytes)
        return made

    def _too_much(self, what: str, nbytes: int) -> KernelcatError:
        return KernelcatError(
            "KC-R001",
            f"{what} {nbytes} bytes of shared memory; a block has {self.limits.shared_bytes}",
            hint="choose smaller blocks (BM, BN, BK)",
        )

    def _only_reduced(self, name: str) -> bool:
        """Whether only reductions write a tile: a state that nobody reads, such as the maximum beside its position."""
        return all(isinstance(s, Reduce) for s in statements(self.program.body) if name in _writes(s))

    def block(self, items: tuple[Group | Stmt, ...], traffic: Traffic) -> tuple[tuple[Node, ...], Traffic]:
        """The nodes of a block and the traffic at its end."""
        nodes: list[Node] = []
        for item in items:
            made, traffic = self._item(item, traffic)
            nodes += made
        return tuple(nodes), traffic

    def guarded(
        self, nodes: list[Node], reads: frozenset[str], writes: frozenset[str], traffic: Traffic
    ) -> tuple[list[Node], Traffic]:
        """`nodes`, which touch shared arrays, behind a barrier if they need one."""
        needed, after = traffic.touch(reads, writes)
        return ([Barrier(), *nodes] if needed else nodes), after

    def _item(self, item: Group | Stmt, traffic: Traffic) -> tuple[list[Node], Traffic]:
        from kernelcat_core.codegen import simt_mma, simt_reduce

        match item:
            case Group():
                shared = frozenset(self.operands)
                reads = frozenset(n for s in item.body for n in _reads(s)) & shared
                writes = frozenset(n for s in item.body for n in _writes(s)) & shared
                return self.guarded(self.group(item), reads, writes, traffic)
            case Let():
                return [Define(item.name, I64, self.read(item.value, (), ()))], traffic
            case Wait():
                return [], traffic
            case Reduce():
                return simt_reduce.lower(self, item, traffic)
            case Mma():
                reads = frozenset((item.a, item.b))
                return self.guarded(simt_mma.multiply(self, item), reads, frozenset(), traffic)
            case For():
                if item.stages > 1 and self.double_buffered and (parts := simt_mma.staged(item, self.operands)):
                    return simt_mma.pipelined(self, item, parts, traffic)
                return self._loop(item, traffic)
            case If():
                body, after = self.block(self.contents(item), traffic)
                return [Branch(self.read(item.condition, (), ()), body)], after.either(traffic)
        raise AssertionError(f"not a statement here: {item}")

    def _loop(self, item: For, traffic: Traffic) -> tuple[list[Node], Traffic]:
        """The second turn starts where the first one ends: emit again until the traffic at the start holds for all."""
        start = traffic
        while True:
            body, end = self.block(self.contents(item), start)
            if start.either(end) == start:
                return [Loop(item.var, self.read(item.extent, (), ()), body)], start.either(end)
            start = start.either(end)

    def group(self, g: Group) -> list[Node]:
        """The loop over this thread's elements of a group."""
        if not g.lanes:
            return [n for s in g.body for n in self.elements(s, (), ())]
        layout = self.group_layout(g)
        changing = dict.fromkeys(n for s in g.body for n in _writes(s) if n in self.local and self.writes[n] > 1)
        body = (
            *(Variable(n, self.program.tile[n].dtype) for n in changing),
            *(n for s in g.body for n in self.elements(s, layout.items, g.lanes)),
        )
        otherwise = tuple(self.zero(s.tile, g.lanes) for s in g.body if isinstance(s, Copy) and s.tile in self.operands)
        return self.over(layout, g.lanes, body, otherwise, self.unrolling(g))

    def unrolling(self, g: Group) -> int:
        """Gathers of operands divide indices: side by side they would need more registers than there are."""
        return 1 if g.fills(self.operands) and not all(isinstance(s, Copy) and s.is_box for s in g.body) else 0

    def group_layout(self, g: Group) -> Layout:
        """That of the tiles' shape; what only fills shared memory goes in the order of the tensor's addresses."""
        shape = tuple(lane.capacity for lane in g.lanes)
        first = g.body[0]
        if (
            not isinstance(first, Copy)
            or not g.fills(self.operands)
            or any(self.program.tile[n].shape for n in _reads(first))
        ):
            return self.layout(shape)
        inner = 0 if lane_stride(first.offset, g.lanes[0]) == index(1) else 1
        return layouts.linear((shape[0], shape[1]), inner, self.threads, self.thread, self.named(("fill", shape), "i"))

    def over(
        self,
        layout: Layout,
        lanes: tuple[Lane, ...],
        body: tuple[Node, ...],
        otherwise: tuple[Node, ...] = (),
        unroll: int = 0,
    ) -> list[Node]:
        """`body` for every owned element below the extents; `otherwise` for the others of the capacity."""
        inside: Expr | None = None
        owned: Expr | None = None
        for lane, covers in zip(lanes, layout.covers, strict=True):
            if lane.extent != index(lane.capacity):
                inside = conjunction(inside, op("lt", lane.var, self.read(lane.extent, (), ())))
            elif not covers:
                inside = conjunction(inside, op("lt", lane.var, index(lane.capacity)))
            if not covers:
                owned = conjunction(owned, op("lt", lane.var, index(lane.capacity)))
        nodes: tuple[Node, ...] = body
        if inside is not None:
            rest = otherwise if owned is None or not otherwise else (Branch(owned, otherwise),)
            nodes = (Branch(inside, body, rest),)
        used = used_names(nodes)
        named = (
            Define(lane.name, I64, c) for lane, c in zip(lanes, layout.coordinates, strict=True) if lane.name in used
        )
        nodes = (*named, *nodes)
        for var, count in reversed(layout.loops):
            nodes = (Repeat(var, count, nodes, unroll),)
        return list(nodes)

    def zero(self, tile: str, lanes: tuple[Lane, ...]) -> Node:
        """Elements of an operand past its extents: a product must not see them."""
        dtype = self.program.tile[tile].dtype
        zero = Const(0.0, dtype) if dtype.is_float else Const(0, dtype)
        return Assign(self.element(tile, (), lanes), zero)

    def elements(self, s: Copy | Map | Store, at: tuple[Expr, ...], lanes: tuple[Lane, ...]) -> list[Node]:
        """What one element of a statement does."""
        match s:
            case Copy():
                value = self.loaded(s, at, lanes)
                return [self._write(s.tile, value, at, lanes)]
            case Map():
                values = [self.read(v, at, lanes) for v in s.values]
                made, results = self.together(id(s), values)
                return [*made, *(self._write(t, v, at, lanes) for t, v in zip(s.tiles, results, strict=True))]
            case Store():
                value = self.read(s.value, at, lanes)
                place = Load(s.tensor, (self.read(s.offset, at, lanes),), value.dtype)
                if s.combine is not None:
                    value = substitute(s.combine, {"a0": place, "b0": value})
                where = None if s.where is None else self.read(s.where, at, lanes)
                if not lanes:  # every thread holds a rank-0 value: one of them stores it
                    where = conjunction(op("eq", self.thread, index(0)), where)
                return [Assign(place, value)] if where is None else [Branch(where, (Assign(place, value),))]

    def together(self, key: object, values: list[Expr]) -> tuple[list[Node], list[Expr]]:
        """Values formed before any is written: one as it is, several by name; a condition that all share once."""
        if len(values) == 1:
            return [], values
        made: list[Node] = []
        first = values[0]
        if isinstance(first, Op) and all(
            isinstance(v, Op) and v.name == "where" and v.args[0] == first.args[0] for v in values
        ):
            take = self.named((key, "take"), "take")
            made.append(Define(take, BOOL, first.args[0]))
            values = [Op("where", (Var(take, BOOL), *v.args[1:]), v.dtype) for v in values if isinstance(v, Op)]
        names = [self.named((key, k), "next") for k in range(len(values))]
        made += [Define(n, v.dtype, v) for n, v in zip(names, values, strict=True)]
        return made, [Var(n, v.dtype) for n, v in zip(names, values, strict=True)]

    def loaded(self, s: Copy, at: tuple[Expr, ...], lanes: tuple[Lane, ...]) -> Expr:
        """The value that a copy brings."""
        dtype = self.program.tile[s.tile].dtype
        value: Expr = Load(s.tensor, (self.read(s.offset, at, lanes),), dtype)
        if s.where is None:
            return value
        zero = Const(0.0 if dtype.is_float else False if dtype.kind == "b" else 0, dtype)
        fill = zero if s.fill is None else cast(self.read(s.fill, at, lanes), dtype)
        return Op("where", (self.read(s.where, at, lanes), value, fill), dtype)

    def _write(self, name: str, value: Expr, at: tuple[Expr, ...], lanes: tuple[Lane, ...]) -> Node:
        t = self.program.tile[name]
        if name in self.local and self.writes[name] == 1:
            return Define(name, t.dtype, value)
        return Assign(self.element(name, at, lanes), value)


def _names(program: TileProgram) -> set[str]:
    found = {t.name for t in (*program.reads, *program.writes)} | {t.name for t in program.tiles}
    found |= {a.name for a in program.grid}
    for s in statements(program.body):
        found |= {x.name for x in getattr(s, "lanes", ())}
        if isinstance(s, Let):
            found.add(s.name)
        if isinstance(s, For):
            found.add(s.var)
        if isinstance(s, Mma):
            found |= {s.m.name, s.n.name, s.k.name}
    return found


def _expressions(s: Stmt) -> tuple[Expr, ...]:
    extents = tuple(lane.extent for lane in getattr(s, "lanes", ()))
    match s:
        case Let():
            return (s.value,)
        case Copy():
            return tuple(e for e in (s.offset, s.where, s.fill) if e is not None) + extents
        case Map():
            return s.values + extents
        case Reduce():
            return s.elements + extents
        case Store():
            return tuple(e for e in (s.offset, s.value, s.where) if e is not None) + extents
        case For():
            return (s.extent,)
        case If():
            return (s.condition,)
    return ()


def _reads(s: Stmt) -> tuple[str, ...]:
    """Tiles that a statement itself reads (not those of its body)."""
    own = tuple(n.tensor for e in _expressions(s) for n in loads(e))
    return (*own, s.a, s.b, s.c) if isinstance(s, Mma) else own


def _writes(s: Stmt) -> tuple[str, ...]:
    match s:
        case Copy():
            return (s.tile,)
        case Map() | Reduce():
            return s.tiles
        case Mma():
            return (s.c,)
    return ()
