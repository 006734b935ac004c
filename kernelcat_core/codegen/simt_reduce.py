"""Reductions over threads: a thread folds its own elements, then lanes of a warp by exchange, then warps through shared
memory; where lanes cannot exchange, threads fold in halves through shared memory. Over the rows of a rank-2 tile, every
thread leaves one partial result a row and the row's owner folds those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcat_core.codegen.simt_ast import (
    Assign,
    Barrier,
    Branch,
    Define,
    Node,
    Registers,
    Repeat,
    Shared,
    Swap,
    Variable,
)
from kernelcat_core.codegen.simt_layout import div, rem
from kernelcat_core.dtypes import I64, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Var, add, cast, index, op, substitute
from kernelcat_core.ir.graph import Monoid
from kernelcat_core.ir.tile import Lane, Reduce

if TYPE_CHECKING:
    from kernelcat_core.codegen.simt import Lowering, Traffic


def lower(low: Lowering, s: Reduce, traffic: Traffic) -> tuple[list[Node], Traffic]:
    """The nodes of a reduction and the shared traffic after it."""
    return _over_block(low, s, traffic) if len(s.lanes) == 1 else _over_rows(low, s, traffic)


def _dtypes(low: Lowering, s: Reduce) -> tuple[DType, ...]:
    return tuple(low.program.tile[t].dtype for t in s.tiles)


def _combine(
    low: Lowering, key: object, monoid: Monoid, state: tuple[Expr, ...], later: tuple[Expr, ...]
) -> list[Node]:
    """state = combine(state, later); operands that are more than a name are computed once."""
    nodes: list[Node] = []
    operands: list[Expr] = []
    for k, (e, s) in enumerate(zip(later, state, strict=True)):
        if isinstance(e, Var | Const):
            operands.append(cast(e, s.dtype))
            continue
        name = low.named((key, "b", k), "b")
        nodes.append(Define(name, s.dtype, cast(e, s.dtype)))
        operands.append(Var(name, s.dtype))
    names: dict[str, Expr] = {f"a{k}": e for k, e in enumerate(state)} | {f"b{k}": e for k, e in enumerate(operands)}
    made, values = low.together(
        key, [cast(substitute(c, names), s.dtype) for c, s in zip(monoid.combine, state, strict=True)]
    )
    return [*nodes, *made, *(Assign(s, v) for s, v in zip(state, values, strict=True))]


def _scratch(low: Lowering, s: Reduce, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Shared arrays for partial results, one a state; reductions of one shape and dtype use the same ones."""
    names = []
    for k, dtype in enumerate(_dtypes(low, s)):
        name = low.named(("scratch", k, dtype, shape), "partial")
        low.shared.setdefault(name, Shared(name, dtype, shape))
        names.append(name)
    return tuple(names)


def _over_block(low: Lowering, s: Reduce, traffic: Traffic) -> tuple[list[Node], Traffic]:
    dtypes, key = _dtypes(low, s), id(s)
    names = tuple(low.named((key, "r", k), f"r_{t}") for k, t in enumerate(s.tiles))
    state = tuple(Var(n, d) for n, d in zip(names, dtypes, strict=True))
    nodes: list[Node] = [Variable(n, d, cast(i, d)) for n, d, i in zip(names, dtypes, s.monoid.identity, strict=True)]
    layout = low.layout((s.lanes[0].capacity,))
    values = tuple(low.read(e, layout.items, s.lanes) for e in s.elements)
    nodes += low.over(layout, s.lanes, tuple(_combine(low, (key, 0), s.monoid, state, values)))
    lanes = min(low.limits.warp, low.threads)
    if lanes > 1:
        nodes += _over_lanes(low, s, state, lanes)
    if low.threads > lanes:
        more, traffic = (_over_warps if lanes > 1 else _by_halves)(low, s, state, traffic)
        nodes += more
    return [
        *nodes,
        *(Assign(Var(t, d), r) for t, d, r in zip(s.tiles, dtypes, state, strict=True) if t in low.read_tiles),
    ], traffic


def _over_lanes(low: Lowering, s: Reduce, state: tuple[Var, ...], lanes: int) -> list[Node]:
    """Every lane of a warp ends with the warp's result."""
    bit = low.named("bit", "bit")
    others = tuple(low.named((id(s), "o", k), "other") for k in range(len(state)))
    swaps = [Swap(o, v.dtype, v.name, Var(bit)) for o, v in zip(others, state, strict=True)]
    merged = _combine(low, (id(s), 1), s.monoid, state, tuple(Var(o, v.dtype) for o, v in zip(others, state, strict=True)))
    return [Repeat(bit, lanes.bit_length() - 1, (*swaps, *merged))]


def _by_halves(low: Lowering, s: Reduce, state: tuple[Var, ...], traffic: Traffic) -> tuple[list[Node], Traffic]:
    """The upper half of what is left goes to the lower half until one partial result is left; all threads read that."""
    from kernelcat_core.codegen.simt import Traffic as Clean

    scratch = _scratch(low, s, (low.threads,))
    touched = frozenset(scratch)
    mine = tuple(Load(n, (low.thread,), v.dtype) for n, v in zip(scratch, state, strict=True))
    leave = tuple(Assign(place, v) for place, v in zip(mine, state, strict=True))
    nodes, _ = low.guarded(list(leave), frozenset(), touched, traffic)
    turn, reach = low.named("turn", "turn"), low.named("reach", "reach")

    def fold(distance: Expr, takers: Expr) -> tuple[Node, ...]:
        """Threads below `takers` take in what the thread `distance` further left."""
        theirs = tuple(Load(n, (add(low.thread, distance),), v.dtype) for n, v in zip(scratch, state, strict=True))
        merged = _combine(low, (id(s), 1), s.monoid, state, theirs)
        return Barrier(), Branch(op("lt", low.thread, takers), (*merged, *leave))

    half = 1 << (low.threads.bit_length() - 2)
    if low.threads > 2 * half:
        nodes += fold(index(2 * half), index(low.threads - 2 * half))
    body = (Define(reach, I64, op("shr", index(half), cast(Var(turn), I64))), *fold(Var(reach), Var(reach)))
    nodes.append(Repeat(turn, half.bit_length(), body))
    first = (Assign(v, Load(n, (index(0),), v.dtype)) for n, v in zip(scratch, state, strict=True))
    return [*nodes, Barrier(), *first], Clean(read=touched)


def _over_warps(low: Lowering, s: Reduce, state: tuple[Var, ...], traffic: Traffic) -> tuple[list[Node], Traffic]:
    """Lane 0 of each warp leaves its partial result; all threads fold them, in the same order."""
    warp = low.limits.warp
    warps = low.threads // warp
    scratch = _scratch(low, s, (warps,))
    touched = frozenset(scratch)
    writes = tuple(Assign(Load(n, (div(low.thread, warp),), v.dtype), v) for n, v in zip(scratch, state, strict=True))
    first = Branch(op("eq", rem(low.thread, warp), index(0)), writes)
    nodes, traffic = low.guarded([first], frozenset(), touched, traffic)
    w = low.named("warp", "w")

    def partial(at: Expr) -> tuple[Expr, ...]:
        return tuple(Load(n, (at,), v.dtype) for n, v in zip(scratch, state, strict=True))

    merged = _combine(low, (id(s), 2), s.monoid, state, partial(add(Var(w), index(1))))
    after: list[Node] = [
        *(Assign(v, p) for v, p in zip(state, partial(index(0)), strict=True)),
        Repeat(w, warps - 1, tuple(merged)),
    ]
    more, traffic = low.guarded(after, touched, frozenset(), traffic)
    return [*nodes, *more], traffic


def _over_rows(low: Lowering, s: Reduce, traffic: Traffic) -> tuple[list[Node], Traffic]:
    dtypes, key = _dtypes(low, s), id(s)
    kept: tuple[Lane, ...] = s.lanes[:-1]
    rows, columns = (lane.capacity for lane in s.lanes)
    layout = low.layout((rows, columns))
    counts = dict(layout.loops)
    shape = tuple(counts[v] for v in layout.row_loops)
    at = tuple(Var(v) if counts[v] > 1 else index(0) for v in layout.row_loops)
    names = tuple(low.named((key, "r", k), f"r_{t}") for k, t in enumerate(s.tiles))
    state = tuple(Load(n, at, d) for n, d in zip(names, dtypes, strict=True))
    nodes: list[Node] = [Registers(n, d, shape) for n, d in zip(names, dtypes, strict=True)]
    nodes += _each_row(
        layout.row_loops,
        counts,
        tuple(Assign(v, cast(i, v.dtype)) for v, i in zip(state, s.monoid.identity, strict=True)),
    )
    values = tuple(low.read(e, layout.items, s.lanes) for e in s.elements)
    nodes += low.over(layout, s.lanes, tuple(_combine(low, (key, 0), s.monoid, state, values)))
    scratch = _scratch(low, s, (rows, layout.columns))
    touched = frozenset(scratch)
    y = Define(kept[0].name, I64, layout.coordinates[0])
    leave: tuple[Node, ...] = tuple(
        Assign(Load(n, (kept[0].var, layout.column), v.dtype), v) for n, v in zip(scratch, state, strict=True)
    )
    if not layout.covers[0]:
        leave = (Branch(op("lt", kept[0].var, index(rows)), leave),)
    written, traffic = low.guarded(_each_row(layout.row_loops, counts, (y, *leave)), frozenset(), touched, traffic)
    owner = low.layout((rows,))
    column = low.named("column", "column")
    totals = tuple(Var(low.named((key, "s", k), "total"), d) for k, d in enumerate(dtypes))
    partials = tuple(Load(n, (kept[0].var, Var(column)), d) for n, d in zip(scratch, dtypes, strict=True))
    fold: tuple[Node, ...] = (
        *(Variable(r.name, r.dtype, cast(i, r.dtype)) for r, i in zip(totals, s.monoid.identity, strict=True)),
        Repeat(column, layout.columns, tuple(_combine(low, (key, 1), s.monoid, totals, partials)), 4),
        *(Assign(low.element(t, owner.items, kept), r) for t, r in zip(s.tiles, totals, strict=True)),
    )
    folded, traffic = low.guarded(low.over(owner, kept, fold), touched, frozenset(), traffic)
    return [*nodes, *written, *folded], traffic


def _each_row(loops: tuple[str, ...], counts: dict[str, int], body: tuple[Node, ...]) -> list[Node]:
    for v in reversed(loops):
        body = (Repeat(v, counts[v], body),)
    return list(body)
