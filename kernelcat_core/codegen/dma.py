"""Lowers tile programs to the `dma` execution model (see dma_ast): tiles become buffers and queues, copies go through
queues, maps become whole-tile instructions, and what has no instruction is done by the scalar unit, element by element.
"""

from __future__ import annotations

from dataclasses import replace

from kernelcat_core.codegen.dma_ast import Block, Branch, Declare, DmaProgram, Loop, Memory, NextCell, Queue, Stmt
from kernelcat_core.codegen.dma_compute import lower_map, lower_mma, lower_reduce, lower_scalar_map
from kernelcat_core.codegen.dma_context import Context
from kernelcat_core.codegen.dma_copy import lower_copy, lower_store
from kernelcat_core.codegen.dma_pipeline import Pipelined, next_name, pipelined
from kernelcat_core.codegen.dma_sync import insert_syncs
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ONE, ZERO, Var
from kernelcat_core.ir.tile import (
    Copy,
    For,
    If,
    Let,
    Map,
    Mma,
    Reduce,
    Store,
    TileModule,
    TileProgram,
    Wait,
    statements,
)
from kernelcat_core.ir.tile import Stmt as TileStmt


def lower(module: TileModule, table: Table, memory: Memory) -> tuple[DmaProgram, ...]:
    """The programs of a module for a core with `memory` and the instructions of `table`.

    Raises KC-R001 for operations that the core cannot do and KC-S002 when the tiles do not fit its memory.
    """
    return tuple(_fit(p, module.sizes, table, memory) for p in module.programs)


def _fit(program: TileProgram, sizes: tuple[str, ...], table: Table, memory: Memory) -> DmaProgram:
    """Lower with the longest vectors for which everything fits, then with single instead of double buffers."""
    widest = max([1, *(t.shape[-1] for t in program.tiles if t.shape), *_capacities(program)])
    chunk = -(-widest // 128) * 128
    most, slots = chunk, 2
    while True:
        found = _run(Context(program, table, memory, chunk, slots), sizes)
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


def _run(ctx: Context, sizes: tuple[str, ...]) -> DmaProgram:
    scalars = tuple(Declare(t.name, t.dtype, None, False) for t in ctx.program.tiles if not t.shape)
    body = (*scalars, *_block(ctx, ctx.program.body))
    buffers = (*ctx.buffers.values(), *ctx.temps.buffers(ctx.memory))
    staged = Pipelined(body, (), (), (), frozenset())
    if not ctx.memory.order.queues:
        if ctx.slots > 1:
            outs = frozenset(b.name for b in buffers if b.role == "out")
            staged = pipelined(body, tuple(a.name for a in ctx.program.grid), ctx.memory.order, outs)
        buffers = tuple(replace(b, role="calc", queue="", slots=1 + (b.name in staged.turned)) for b in buffers)
    body = insert_syncs(staged.body, buffers, ctx.memory.order)
    queues = {b.queue: 0 for b in buffers if b.queue}
    total = 0
    for b in buffers:
        room = -(-b.bytes // ctx.memory.block_bytes) * ctx.memory.block_bytes * b.slots
        if b.queue:
            queues[b.queue] = max(queues[b.queue], room)
        else:
            total += room
    return DmaProgram(
        ctx.program.name,
        ctx.program.reads,
        ctx.program.writes,
        ctx.program.grid,
        buffers,
        body,
        sizes,
        ctx.program.kernel_class,
        total + sum(queues.values()),
        _naturals(ctx, body),
        staged.first,
        staged.state,
        staged.last,
    )


def _naturals(ctx: Context, body: tuple[Stmt, ...]) -> frozenset[str]:
    """Grid and loop variables, and extents: statements over them are guarded against empty ones."""
    found = {name for a in ctx.program.grid for name in (a.name, next_name(a.name))}
    for s in statements(ctx.program.body):
        if isinstance(s, Copy | Map | Reduce | Store):
            found |= {lane.extent.name for lane in s.lanes if isinstance(lane.extent, Var)}
    stack = list(body)
    while stack:
        s_ = stack.pop()
        if isinstance(s_, Loop):
            found.add(s_.var)
        if isinstance(s_, Declare) and s_.name.startswith(("n__", "m__")):
            found.add(s_.name)
        if isinstance(s_, Loop | Branch | Block | NextCell):
            stack += s_.body
    return frozenset(found)


def _block(ctx: Context, body: tuple[TileStmt, ...]) -> tuple[Stmt, ...]:
    """A block; queue buffers that it allocates are freed at its end."""
    out: list[Stmt] = []
    for s in body:
        out += _statement(ctx, s)
    out += [
        Queue("free", s.tile)
        for s in body
        if isinstance(s, Copy) and s.lanes and ctx.buffers[s.tile].role == "in"
    ]
    return tuple(out)


def _statement(ctx: Context, s: TileStmt) -> list[Stmt]:
    match s:
        case Let():
            ctx.lets[s.name] = s.value
            before, value = ctx.uniform(s.value)
            return [*before, Declare(s.name, I64, value)]
        case Copy():
            return lower_copy(ctx, s)
        case Wait():
            return list(ctx.waits.get(s.token, ()))
        case Map():
            return lower_map(ctx, s) if s.lanes else lower_scalar_map(ctx, s)
        case Reduce():
            return lower_reduce(ctx, s)
        case Mma():
            return lower_mma(ctx, s)
        case Store():
            return lower_store(ctx, s)
        case For():
            ctx.ranges[s.var] = s.extent
            before, extent = ctx.uniform(s.extent)
            return [*before, Loop(s.var, ZERO, extent, ONE, _block(ctx, s.body), ahead=s.stages > 1)]
        case If():
            before, condition = ctx.uniform(s.condition)
            return [*before, Branch(condition, _block(ctx, s.body))]
