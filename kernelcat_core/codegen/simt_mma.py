"""Contractions on a block of threads: operands in shared memory, results in private arrays.

A staged loop overlaps the copies of one step with the products of the step before, in two slots of shared memory; one
barrier a step says that the copies have arrived and that the slot to be filled next is no longer read.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcat_core.codegen import simt_fill
from kernelcat_core.codegen.simt_ast import (
    Assign,
    AsyncCommit,
    AsyncWait,
    Barrier,
    Branch,
    Define,
    FragmentLoad,
    FragmentMma,
    Loop,
    Node,
    Registers,
    Repeat,
    used_names,
)
from kernelcat_core.codegen.simt_layout import WarpGrid, div, rem
from kernelcat_core.dtypes import I64, U32
from kernelcat_core.ir.expr import Expr, Load, Var, add, cast, index, mul, op, variables
from kernelcat_core.ir.tile import Copy, For, Let, Mma, Stmt, Wait

if TYPE_CHECKING:
    from kernelcat_core.codegen.simt import Lowering, Traffic


@dataclass(frozen=True)
class Parts:
    """The body of a staged loop: uniform values, copies of operands, the rest."""

    lets: tuple[Let, ...]
    copies: tuple[Copy, ...]
    rest: tuple[Stmt, ...]


def staged(s: For, operands: Container[str]) -> Parts | None:
    """The parts of a loop that fills operands first and uses them then; None when it is not of that form."""
    lets: list[Let] = []
    copies: list[Copy] = []
    first = next((k for k, x in enumerate(s.body) if not _prepares(x, operands)), len(s.body))
    for inner in s.body[:first]:
        if isinstance(inner, Let):
            lets.append(inner)
        elif isinstance(inner, Copy):
            copies.append(inner)
    rest = s.body[first:]
    refilled = any(isinstance(x, Copy) and x.tile in operands for x in rest)
    return Parts(tuple(lets), tuple(copies), rest) if copies and rest and not refilled else None


def _prepares(s: Stmt, operands: Container[str]) -> bool:
    return isinstance(s, Let | Wait) or (isinstance(s, Copy) and s.tile in operands)


def pipelined(low: Lowering, s: For, parts: Parts, traffic: Traffic) -> tuple[list[Node], Traffic]:
    """Turn `step` fills the slot of iteration `step` and computes iteration `step` - 1."""
    from kernelcat_core.codegen.simt import Traffic as Clean

    step = Var(low.named((id(s), "step"), "step"))
    extent = low.read(s.extent, (), ())
    tiles = [c.tile for c in parts.copies]
    low.slots.update({t: rem(Var(s.var), 2) for t in tiles})
    fetch: list[Node] = []
    asynchronous = False
    for c in parts.copies:
        nodes, waits = simt_fill.fill(low, c)
        fetch += nodes
        asynchronous |= waits
    if asynchronous:
        fetch.append(AsyncCommit())
    body, after = low.block(low.grouped(parts.rest), Clean())
    lets = [Define(x.name, I64, low.read(x.value, (), ())) for x in parts.lets]
    before = Define(s.var, I64, step), Define(s.var, I64, add(step, index(-1)))
    fetch, compute = ([at, *_needed(lets, nodes), *nodes] for at, nodes in zip(before, (fetch, body), strict=True))
    for t in tiles:
        del low.slots[t]
    turn: tuple[Node, ...] = (
        *((AsyncWait(0),) if asynchronous else ()),
        Barrier(),
        Branch(op("lt", step, extent), tuple(fetch)),
        Branch(op("gt", step, index(0)), tuple(compute)),
    )
    return [Loop(step.name, add(extent, index(1)), turn)], after.either(Clean(read=frozenset(tiles)))


def _needed(lets: list[Define], nodes: Iterable[Node]) -> list[Define]:
    """Those of `lets` that `nodes`, or later ones of them, use."""
    used = set(used_names(nodes))
    kept: list[Define] = []
    for x in reversed(lets):
        if x.name in used:
            used |= variables(x.value)
            kept.insert(0, x)
    return kept


def multiply(low: Lowering, s: Mma) -> list[Node]:
    """c += a * b over the whole capacity of k: operands are zero past their extents."""
    if low.warps is not None:
        return _tensor_cores(low, s, low.warps)
    layout = low.layout((s.m.capacity, s.n.capacity))
    if len(layout.loops) != 2 or not all(layout.covers):
        return _by_element(low, s)
    (i, rows), (j, columns) = layout.loops
    y, x = layout.coordinates
    k = low.named("k", "k")
    c, a, b = (low.program.tile[n] for n in (s.c, s.a, s.b))
    left, right = low.named("left", "left"), low.named("right", "right")
    at_i, at_j = layout.items
    product = op("mul", cast(Load(left, (at_i,), a.dtype), c.dtype), cast(Load(right, (at_j,), b.dtype), c.dtype))
    target = Load(c.name, (at_i, at_j), c.dtype)
    body: tuple[Node, ...] = (
        Registers(left, a.dtype, (rows,)),
        Registers(right, b.dtype, (columns,)),
        Repeat(i, rows, (Assign(Load(left, (at_i,), a.dtype), low.place(s.a, (y, Var(k)))),)),
        Repeat(j, columns, (Assign(Load(right, (at_j,), b.dtype), low.place(s.b, (Var(k), x))),)),
        Repeat(i, rows, (Repeat(j, columns, (Assign(target, op("add", target, product)),)),)),
    )
    return [Repeat(k, s.k.capacity, body, 0 if rows * columns * s.k.capacity <= 256 else 8)]


def _by_element(low: Lowering, s: Mma) -> list[Node]:
    """Any layout: one sum over k an element."""
    layout = low.layout((s.m.capacity, s.n.capacity))
    c = low.program.tile[s.c]
    k = Var(low.named("k", "k"))
    factors = (cast(low.place(s.a, (s.m.var, k)), c.dtype), cast(low.place(s.b, (k, s.n.var)), c.dtype))
    target = Load(c.name, layout.items, c.dtype)
    body = Repeat(k.name, s.k.capacity, (Assign(target, op("add", target, op("mul", *factors))),), 8)
    return low.over(layout, (s.m, s.n), (body,))


def _tensor_cores(low: Lowering, s: Mma, grid: WarpGrid) -> list[Node]:
    """ldmatrix and mma.m16n8k16, fragments of a row of the warp's tile at a time."""
    layout = low.layout((s.m.capacity, s.n.capacity))
    (mi, rows), (ni, columns), _ = layout.loops
    at_mi, at_ni, _ = layout.items
    dtype = low.program.tile[s.a].dtype
    lane = low.lane
    top, left = grid.corner(low.warp)
    kk, nj = Var(low.named("kk", "kk")), Var(low.named("nj", "nj"))
    fa, fb = low.named("fa", "fa"), low.named("fb", "fb")
    depth = mul(kk, index(16)) if s.k.capacity > 16 else index(0)
    wide = mul(nj, index(16)) if columns > 2 else index(0)

    def row(start: Expr, block: Expr) -> Expr:
        return add(add(start, block), rem(lane, 16))

    eight = mul(div(lane, 16), index(8))
    a_place = low.place(s.a, (row(top, mul(at_mi, index(16))), add(depth, eight)))
    b_place = low.place(s.b, (row(depth, index(0)), add(add(left, wide), eight)))
    at_nj = nj if columns > 2 else index(0)
    body: tuple[Node, ...] = (
        Registers(fa, U32, (rows, 4)),
        Registers(fb, U32, (columns // 2, 4)),
        Repeat(mi, rows, (FragmentLoad(Load(fa, (at_mi,), U32), a_place, False),)),
        Repeat(nj.name, columns // 2, (FragmentLoad(Load(fb, (at_nj,), U32), b_place, True),)),
        Repeat(
            mi,
            rows,
            (
                Repeat(
                    ni,
                    columns,
                    (
                        FragmentMma(
                            Load(s.c, (at_mi, at_ni, index(0)), low.program.tile[s.c].dtype),
                            Load(fa, (at_mi, index(0)), U32),
                            Load(fb, (div(at_ni, 2), mul(rem(at_ni, 2), index(2))), U32),
                            dtype,
                        ),
                    ),
                ),
            ),
        ),
    )
    return [Repeat(kk.name, s.k.capacity // 16, body)]
