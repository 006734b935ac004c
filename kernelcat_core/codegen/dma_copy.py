"""Copies and stores in the `dma` model: boxes by the copy pipes, gathers and scatters by the scalar unit."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import (
    Assign,
    Block,
    Branch,
    Buffer,
    CopyIn,
    CopyOut,
    Loop,
    Put,
    Queue,
    Stmt,
    StoreOne,
    View,
)
from kernelcat_core.codegen.dma_context import Context
from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr, Load, Op, Var, add, cast, loads, op, substitute
from kernelcat_core.ir.tile import Copy, Store, lane_stride


def lower_copy(ctx: Context, s: Copy) -> list[Stmt]:
    if not s.lanes:
        before, value = ctx.uniform(
            _element_of(s.tensor, s.offset, ctx.program.tile[s.tile].dtype, s.where, s.fill)
        )
        return [*before, Assign(s.tile, value)]
    return _box(ctx, s) if ctx.is_box(s) else _gather(ctx, s)


def _element_of(tensor: str, offset: Expr, dtype: DType, where: Expr | None, fill: Expr | None) -> Expr:
    """One element of global memory, read only where `where` holds."""
    load: Expr = Load(tensor, (offset,), dtype)
    if where is None:
        return load
    return Op("where", (where, load, fill if fill is not None else Const(0, dtype)), dtype)


def _box(ctx: Context, s: Copy) -> list[Stmt]:
    """A rectangular copy by the copy pipe; where its (uniform) predicate fails, the fill value instead."""
    queued = ctx.buffers[s.tile].role == "in"
    origin = substitute(s.offset, {lane.name: ZERO for lane in s.lanes})
    before, offset = ctx.uniform(origin)
    rows: Expr = ONE
    stride: Expr = ZERO
    if len(s.lanes) == 2:
        found = lane_stride(s.offset, s.lanes[0])
        assert found is not None
        rows, stride = s.lanes[0].extent, found
    pitch = ctx.rooms[s.tile].pitch
    work: list[Stmt] = ctx.guarded(
        s.lanes,
        [CopyIn(ctx.view(s.tile, None, ZERO), s.tensor, offset, rows, s.lanes[-1].extent, stride, pitch)],
    )
    after: list[Stmt] = []
    if s.where is not None:
        more, where = ctx.uniform(s.where)
        before += more
        work = [Branch(where, tuple(work))]
        after = [Branch(op("not", where), tuple(_fill_tile(ctx, s)))]
    if not queued:
        return [*before, *work, *after]
    ctx.waits[s.token] = (Queue("dequeue", s.tile), *after)
    return [*before, Queue("alloc", s.tile), *work, Queue("enqueue", s.tile)]


def _fill_tile(ctx: Context, s: Copy) -> list[Stmt]:
    def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
        code = ctx.code(lane, start, count, row)
        code.assign(
            code.prepare(s.fill if s.fill is not None else Const(0, ctx.buffers[s.tile].dtype)),
            ctx.view(s.tile, row, start),
        )
        return code.close()

    return ctx.over(s.lanes, emit)


def _gather(ctx: Context, s: Copy) -> list[Stmt]:
    """One address an element: the scalar unit reads global memory and writes the tile."""
    dtype = ctx.program.tile[s.tile].dtype

    def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
        code = ctx.code(lane, start, count, row)
        at = Var(ctx.fresh("e"))
        parts = [
            None if e is None else code.element(code.prepare(e), at) for e in (s.offset, s.where, s.fill)
        ]
        offset, where, fill = parts
        assert offset is not None
        view = ctx.view(s.tile, row, add(start, at))
        loop = Loop(
            at.name, ZERO, count, ONE, (Put(view, _element_of(s.tensor, offset, dtype, where, fill)),)
        )
        return [*code.close(), loop]

    return ctx.over(s.lanes, emit)


def lower_store(ctx: Context, s: Store) -> list[Stmt]:
    tensor = next(t for t in ctx.program.writes if t.name == s.tensor)
    renew = _renewal(ctx, s, tensor.dtype)
    before: list[Stmt] = []
    if renew:
        if not s.lanes:
            before, value = ctx.uniform(cast(s.value, tensor.dtype))
            more, offset = ctx.uniform(s.offset)
            body = [*before, *more, StoreOne(s.tensor, offset, value, renew)]
        else:
            return ctx.over(
                s.lanes,
                lambda lane, start, count, row: _scatter(ctx, s, tensor.dtype, lane, start, count, row, renew),
            )
    elif not s.lanes:
        body = _store_one(ctx, s, tensor.dtype)
    elif _is_whole(ctx, s, tensor.dtype):
        body = _store_tile(ctx, s)
    elif s.is_box and not any(n.index for n in loads(s.offset)):
        body = ctx.over(
            s.lanes,
            lambda lane, start, count, row: _store_chunk(ctx, s, tensor.dtype, lane, start, count, row),
        )
    else:
        return ctx.over(
            s.lanes,
            lambda lane, start, count, row: _scatter(ctx, s, tensor.dtype, lane, start, count, row),
        )
    if s.where is None:
        return body
    before, where = ctx.uniform(s.where)
    return [*before, Branch(where, tuple(body))]


def _renewal(ctx: Context, s: Store, dtype: DType) -> str:
    """The operation by which a store folds into what global memory holds; "" for a plain store.

    Raises KC-R001 where the core has no instruction for it."""
    if s.combine is None:
        return ""
    e = s.combine.args[0] if isinstance(s.combine, Op) and s.combine.name == "cast" else s.combine
    folds = isinstance(e, Op) and set(e.args) == {Var("a0", e.dtype), Var("b0", e.dtype)}
    if isinstance(e, Op) and folds and ctx.table.find("renew", e.name, dtype.name) is not None:
        return e.name
    raise KernelcatError("KC-R001", f"{s.tensor}: an element in global memory cannot be renewed",
                         hint="choose another target")


def _is_whole(ctx: Context, s: Store, dtype: DType) -> bool:
    """Whether a store copies rows of a plain buffer as they are: then the copy pipe can take them from there."""
    if not (
        len(s.lanes) == 2
        and s.is_box
        and isinstance(s.value, Load)
        and not any(n.index for n in loads(s.offset))
    ):
        return False
    return (
        bool(s.value.index)
        and s.value.dtype == dtype
        and ctx.buffers[ctx.rooms[s.value.tensor].buffer].role == "calc"
    )


def _store_tile(ctx: Context, s: Store) -> list[Stmt]:
    """Copy out all rows of a rank-2 tile at once."""
    assert isinstance(s.value, Load)
    before, offset = ctx.uniform(substitute(s.offset, {lane.name: ZERO for lane in s.lanes}))
    stride = lane_stride(s.offset, s.lanes[0])
    assert stride is not None
    source = ctx.view(s.value.tensor, None, ZERO)
    pitch = ctx.rooms[s.value.tensor].pitch
    rows, columns = (lane.extent for lane in s.lanes)
    return [*before, *ctx.guarded(s.lanes, [CopyOut(s.tensor, offset, source, rows, columns, stride, pitch)])]


def _store_chunk(
    ctx: Context, s: Store, dtype: DType, lane: str, start: Expr, count: Expr, row: Expr | None
) -> list[Stmt]:
    """Compute into an output buffer and copy it out."""
    out = f"out_{dtype}"
    ctx.buffers.setdefault(out, Buffer(out, dtype, ctx.chunk, "out", ctx.slots, "out"))
    code = ctx.code(lane, start, count, row)
    code.assign(code.prepare(s.value), View(out, dtype, ZERO))
    offset = add(substitute(s.offset, {lane: ZERO}), start)
    more, place = ctx.uniform(offset)
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


def _stage(ctx: Context, dtype: DType) -> View:
    name = f"stage_{dtype}"
    ctx.buffers.setdefault(name, Buffer(name, dtype, max(1, ctx.memory.block_bytes // dtype.itemsize)))
    return View(name, dtype, ZERO)


def _store_one(ctx: Context, s: Store, dtype: DType) -> list[Stmt]:
    before, value = ctx.uniform(s.value)
    more, offset = ctx.uniform(s.offset)
    if ctx.table.scalar_stores:
        return [*before, *more, StoreOne(s.tensor, offset, value)]
    stage = _stage(ctx, dtype)
    return [*before, *more, Put(stage, value), CopyOut(s.tensor, offset, stage, ONE, ONE, ZERO, 0)]


def _scatter(
    ctx: Context, s: Store, dtype: DType, lane: str, start: Expr, count: Expr, row: Expr | None, renew: str = ""
) -> list[Stmt]:
    """One address an element: each goes through a staging block and a copy of its own, or is stored by the scalar unit."""
    code = ctx.code(lane, start, count, row)
    at = Var(ctx.fresh("e"))
    roots = [None if e is None else code.prepare(e) for e in (s.value, s.offset, s.where)]
    value, offset, where = (None if r is None else code.element(r, at) for r in roots)
    assert value is not None
    assert offset is not None
    body: tuple[Stmt, ...]
    if renew or ctx.table.scalar_stores:
        body = (StoreOne(s.tensor, offset, cast(value, dtype), renew),)
    else:
        stage = _stage(ctx, dtype)
        body = (Put(stage, value), CopyOut(s.tensor, offset, stage, ONE, ONE, ZERO, 0))
    if where is not None:
        body = (Branch(where, body),)
    return [*code.close(), Loop(at.name, ZERO, count, ONE, body)]
