"""Columns: lanes walk output elements; every reduced axis is a serial loop.

Elementwise chains, windows (pooling, stencils, depthwise convolution), reductions over an axis that is not the last and
whatever no other rule takes are of this class: it has no conditions, so it is also the fallback.
"""

from __future__ import annotations

from kernelcat_core.ir.expr import Expr, Var, add
from kernelcat_core.ir.graph import Axis, Graph
from kernelcat_core.ir.tile import Lane, TileProgram
from kernelcat_core.schedule.affine import Merge, fitted, merge_axes
from kernelcat_core.schedule.chains import Chain, chains_of
from kernelcat_core.schedule.emit import Emitter, bind_states, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.chained import begin, end, extend
from kernelcat_core.schedule.rules.common import (
    Placed,
    accesses,
    accumulate,
    accumulators,
    blocks_of,
    lane_block,
    place,
)


def lower(kernel: Kernel, graph: Graph, lanes: int, online: bool = False) -> TileProgram:
    """The program of a column kernel with `lanes` elements a cell; with `online`, chained reductions are one."""
    e = Emitter(graph, kernel.name, kernel.kernel_class)
    rows, placed = place(e, kernel)
    inside = frozenset(p.node.output.name for p in placed)
    offsets: list[Expr] = []
    predicates: list[Expr] = []
    for p in placed:
        found = accesses(p, graph, inside)
        offsets += found[0] + ([p.out_offset] if p.node.output.name in kernel.stored else [])
        predicates += found[1]
    axes, merges = merge_axes(list(rows), offsets, predicates, e.fresh)
    if not axes:
        lane_axes: tuple[Lane, ...] = ()
        last: dict[str, Expr] = {}
    else:
        *outer, inner = axes
        for axis in outer:
            e.cell(axis)
        capacity = fitted(inner.size, lanes)
        block = Var(e.fresh("b"))
        e.cell(Axis(block.name, blocks_of(inner.size, capacity)))
        lane, start = lane_block(e, inner.size, capacity, block, "")
        lane_axes, last = (lane,), {inner.name: add(start, lane.var)}
    together = chains_of(placed) if online and lane_axes else {}
    for number, p in enumerate(placed):
        if number in together:
            _together(e, p, placed[number + 1], together[number], kernel, lane_axes[0], tuple(merges), last)
        elif number - 1 not in together:
            _node(e, p, kernel, lane_axes, tuple(merges), last)
    return e.program()


def _node(e: Emitter, p: Placed, kernel: Kernel, lanes: tuple[Lane, ...], merges: tuple[Merge, ...], last: dict[str, Expr]
          ) -> None:
    node = p.node
    if node.monoid is not None:
        tiles = accumulators(e, node, lanes)
        for axis in p.reduce_axes:
            e.open(axis.name)
        values = tuple(e.value(x, lanes, p.names, merges, last) for x in node.element)
        accumulate(e, node, tiles, lanes, values)
        for axis in reversed(p.reduce_axes):
            e.close_for(axis.name, axis.size)
        state = tuple(t.at(*(lane.var for lane in lanes)) for t in tiles)
        value: Expr = state[0]
        if node.finish is not None:
            value = bind_states(e.value(node.finish, lanes, p.names, merges, last), "s", state)
        _keep(e, p, kernel, lanes, merges, last, value)
        return
    for axis in p.inner:
        e.open(axis.name)
    computed = e.value(node.value, lanes, p.names, merges, last)
    if p.inner:
        e.store(node.output, e.place(p.out_offset, merges, last), lanes, computed)
    else:
        _keep(e, p, kernel, lanes, merges, last, computed)
    for axis in reversed(p.inner):
        e.close_for(axis.name, axis.size)


_CHAINED = 8192  # elements that stay in the nearest caches while both reductions of a chain look at them


def _together(e: Emitter, p: Placed, q: Placed, pair: Chain, kernel: Kernel, lane: Lane, merges: tuple[Merge, ...],
              last: dict[str, Expr]) -> None:
    """Both reductions of a chain in one walk down the columns, some rows at a time."""
    assert p.node.monoid is not None
    axis, rows = p.reduce_axes[0], max(4, min(64, _CHAINED // lane.capacity))
    state = begin(e, pair, compute_dtype(p.node.monoid.state[0]), (lane,))
    block = Var(e.fresh("kb"))
    e.open(block.name)
    down, start = lane_block(e, axis.size, rows, block, "k")
    both = (down, lane)
    at = {**last, axis.name: add(start, down.var)}
    extend(e, state, lambda: e.value(p.node.element[0], both, p.names, merges, at), both, down, start)
    e.close_for(block.name, blocks_of(axis.size, rows), 2)
    for node, value in zip((p, q), end(e, state, axis.size), strict=True):
        if node.node.finish is not None:
            value = bind_states(e.value(node.node.finish, (lane,), node.names, merges, last), "s", (value,))
        _keep(e, node, kernel, (lane,), merges, last, value)


def _keep(e: Emitter, p: Placed, kernel: Kernel, lanes: tuple[Lane, ...], merges: tuple[Merge, ...], last: dict[str, Expr],
          value: Expr) -> None:
    """Hold the node's value for later nodes; store it when it leaves the kernel."""
    node = p.node
    t = e.tile(node.output.name, compute_dtype(node.output.dtype), lanes, "reg")
    e.map((t,), lanes, (value,))
    e.intermediates[node.output.name] = t
    if node.output.name in kernel.stored:
        e.store(node.output, e.place(p.out_offset, merges, last), lanes, t.at(*(lane.var for lane in lanes)))
