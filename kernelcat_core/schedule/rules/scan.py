"""Scan: a serial loop along the scanned axis, state in tiles; lanes walk axes that memory has inside it.

Where the scanned axis itself is the contiguous one, a CPU cell takes one row and its state is a scalar (a strided vector
would load element by element anyway); other models put rows on lanes.
"""

from __future__ import annotations

from kernelcat_core.ir.expr import Expr, Var, add, index, sub, substitute
from kernelcat_core.ir.graph import Axis, Graph, Scan
from kernelcat_core.ir.tile import Lane, TileProgram
from kernelcat_core.schedule.affine import fitted, flatten, linear, merge_axes
from kernelcat_core.schedule.emit import Emitter, bind_states
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.common import accumulate, accumulators, blocks_of, lane_block, loads_of
from kernelcat_core.target import Target


def lower(kernel: Kernel, graph: Graph, lanes: int, target: Target) -> TileProgram:
    """The program of a Scan with at most `lanes` rows a cell."""
    node = kernel.nodes[0]
    assert isinstance(node, Scan)
    e = Emitter(graph, kernel.name, kernel.kernel_class)
    fresh = tuple(Axis(e.fresh(f"r{k}"), a.size) for k, a in enumerate(node.axes))
    turn = fresh[node.over].var
    along = sub(sub(node.scanned.size, index(1)), turn) if node.reverse else turn
    names: dict[str, Expr] = {a.name: f.var for a, f in zip(node.axes, fresh)} | {node.scanned.name: along}
    out = substitute(linear(node.output.shape, tuple(a.var for a in node.axes)), names)
    found = [substitute(flatten(x, graph.tensors), names) for x in (*node.element, node.finish) if x is not None]
    offsets, predicates = loads_of(found)
    offsets.append(out)
    outer, merges = merge_axes(list(fresh[:node.over]), offsets, predicates, e.fresh)
    offsets = [e.place(o, tuple(merges), {}) for o in offsets]
    inner, more = merge_axes(list(fresh[node.over + 1:]), offsets, predicates, e.fresh)
    merged = (*merges, *more)
    lane_axis = inner.pop() if inner else outer.pop() if outer and target.model != "vector" else None
    for axis in (*outer, *inner):
        e.cell(axis)
    lane_axes: tuple[Lane, ...] = ()
    last: dict[str, Expr] = {}
    if lane_axis is not None:
        capacity = fitted(lane_axis.size, lanes)
        block = Var(e.fresh("b"))
        e.cell(Axis(block.name, blocks_of(lane_axis.size, capacity)))
        lane, start = lane_block(e, lane_axis.size, capacity, block, "")
        lane_axes, last = (lane,), {lane_axis.name: add(start, lane.var)}
    tiles = accumulators(e, node, lane_axes)
    state = tuple(t.at(*(lane.var for lane in lane_axes)) for t in tiles)
    e.open(turn.name)
    values = tuple(e.value(x, lane_axes, names, merged, last) for x in node.element)
    if not node.exclusive:
        accumulate(e, node, tiles, lane_axes, values)
    finish: Expr = state[0]
    if node.finish is not None:
        finish = bind_states(e.value(node.finish, lane_axes, names, merged, last), "s", state)
    e.store(node.output, e.place(out, merged, last), lane_axes, finish)
    if node.exclusive:
        accumulate(e, node, tiles, lane_axes, values)
    e.close_for(turn.name, node.scanned.size)
    return e.program()
