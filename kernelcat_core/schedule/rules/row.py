"""Rows: the grid walks the shared axes, lanes walk the last reduced (or output) axis; each reduction is a sweep.

Softmax, layer_norm, rms_norm, row sums and argmax over a contiguous axis are of this class.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelcat_core.ir.expr import Expr, Var, add, cast, index
from kernelcat_core.ir.graph import Axis, Graph
from kernelcat_core.ir.tile import Lane, TileProgram
from kernelcat_core.schedule.affine import Merge, constant, merge_axes
from kernelcat_core.schedule.emit import Emitter, bind_states, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.common import (
    Placed,
    accesses,
    accumulate,
    accumulators,
    blocks_of,
    lane_block,
    place,
)


def lower(kernel: Kernel, graph: Graph, lanes: int) -> TileProgram:
    """The program of a row kernel with `lanes` elements a block."""
    e = Emitter(graph, kernel.name, "row")
    rows, placed = place(e, kernel)
    for axis in rows:
        e.cell(axis)
    inside = frozenset(p.node.output.name for p in placed)
    for p in placed:
        if p.node.monoid is not None:
            _reduction(e, p, graph, kernel, inside, lanes)
        else:
            _output(e, p, graph, kernel, inside, lanes)
    return e.program()


def _sweep(e: Emitter, axes: list[Axis], lanes: int, stem: str, body: Callable[[Lane, dict[str, Expr]], None]) -> None:
    """Serial loops over all axes but the last, lane blocks over the last; `body` gets the lane and the last axis' value."""
    *serial, last = axes
    for axis in serial:
        e.open(axis.name)
    size = constant(last.size)
    capacity = lanes if size is None else min(lanes, max(16, -(-size // 16) * 16))
    block = Var(e.fresh(f"b{stem}"))
    e.open(block.name)
    lane, start = lane_block(e, last.size, capacity, block, stem)
    body(lane, {last.name: add(start, lane.var)})
    e.close_for(block.name, blocks_of(last.size, capacity), 2)
    for axis in reversed(serial):
        e.close_for(axis.name, axis.size)


def _merged(e: Emitter, p: Placed, graph: Graph, axes: tuple[Axis, ...], inside: frozenset[str], outputs: list[Expr]
            ) -> tuple[list[Axis], tuple[Merge, ...]]:
    offsets, predicates = accesses(p, graph, inside)
    merged, merges = merge_axes(list(axes), offsets + outputs, predicates, e.fresh)
    return merged, tuple(merges)


def _reduction(e: Emitter, p: Placed, graph: Graph, kernel: Kernel, inside: frozenset[str], lanes: int) -> None:
    node = p.node
    assert node.monoid is not None
    axes, merges = _merged(e, p, graph, p.reduce_axes, inside, [])
    size = constant(axes[-1].size)
    capacity = lanes if size is None else min(lanes, max(16, -(-size // 16) * 16))
    full = (Lane(e.fresh("p"), capacity, index(capacity)),)
    tiles = accumulators(e, node, full)

    def body(lane: Lane, last: dict[str, Expr]) -> None:
        values = tuple(e.value(x, (lane,), p.names, merges, last) for x in node.element)
        accumulate(e, node, tiles, (lane,), values)

    _sweep(e, axes, lanes, "", body)
    state = tuple(e.tile(f"s_{node.output.name}", t.dtype, ()) for t in tiles)
    e.reduce(state, node.monoid, full, tuple(t.at(full[0].var) for t in tiles))
    _finish(e, p, kernel, tuple(t.at() for t in state))


def _finish(e: Emitter, p: Placed, kernel: Kernel, state: tuple[Expr, ...]) -> None:
    """The rank-0 value of a reduction: kept for later nodes, stored when it leaves the kernel."""
    node = p.node
    value = state[0] if node.finish is None else bind_states(e.value(node.finish, (), p.names), "s", state)
    t = e.tile(node.output.name, compute_dtype(node.output.dtype), ())
    e.map((t,), (), (value,))
    e.intermediates[node.output.name] = t
    if node.output.name in kernel.stored:
        e.store(node.output, p.out_offset, (), cast(t.at(), node.output.dtype))


def _output(e: Emitter, p: Placed, graph: Graph, kernel: Kernel, inside: frozenset[str], lanes: int) -> None:
    node = p.node
    if not p.inner:
        _finish(e, p, kernel, (e.value(node.value, (), p.names),))
        return
    axes, merges = _merged(e, p, graph, p.inner, inside, [p.out_offset])

    def body(lane: Lane, last: dict[str, Expr]) -> None:
        value = e.value(node.value, (lane,), p.names, merges, last)
        offset = e.place(p.out_offset, merges, last)
        e.store(node.output, offset, (lane,), value)

    _sweep(e, axes, lanes, "", body)
