"""Whole-tensor reductions: with no axis left there is one result, so the work is split over `parts` cells first.

Part p takes every `parts`-th lane block and leaves its state in a workspace; a second program combines the states and
computes what follows from the result.
"""

from __future__ import annotations

from kernelcat_core.ir.expr import Expr, Var, add, cast, index, mul, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Tensor
from kernelcat_core.ir.tile import Lane, Let, TileProgram
from kernelcat_core.schedule.affine import merge_axes
from kernelcat_core.schedule.emit import Emitter, bind_states, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.common import accesses, accumulate, accumulators, blocks_of, place


def applies(kernel: Kernel) -> bool:
    """A reduction to a scalar, followed by nothing but scalars."""
    first = kernel.nodes[0]
    return isinstance(first, Compute) and first.monoid is not None and all(not n.axes for n in kernel.nodes)


def lower(kernel: Kernel, graph: Graph, lanes: int, parts: int) -> tuple[list[TileProgram], list[Tensor]]:
    """The two programs and the workspaces (one a state, of `parts` elements) between them."""
    node = kernel.nodes[0]
    assert isinstance(node, Compute) and node.monoid is not None
    stem = f"{node.output.name}_part"
    while any(name.startswith(stem) for name in graph.tensors):
        stem += "_"
    spaces = [Tensor(f"{stem}{k}", compute_dtype(d), (index(parts),)) for k, d in enumerate(node.monoid.state)]
    return [_partial(kernel, graph, lanes, parts, spaces), _combine(kernel, graph, parts, spaces)], spaces


def _partial(kernel: Kernel, graph: Graph, lanes: int, parts: int, spaces: list[Tensor]) -> TileProgram:
    e = Emitter(graph, f"{kernel.name}_parts", "row")
    _, (p, *_) = place(e, kernel)
    node = p.node
    assert node.monoid is not None
    offsets, predicates = accesses(p, graph, frozenset())
    axes, merges = merge_axes(list(p.reduce_axes), offsets, predicates, e.fresh)
    part = Axis(e.fresh("part"), index(parts))
    e.cell(part)
    full = (Lane(e.fresh("p"), lanes, index(lanes)),)
    tiles = accumulators(e, node, full)
    *serial, last = axes
    for axis in serial:
        e.open(axis.name)
    turn = Var(e.fresh("b"))
    e.open(turn.name)
    extent = e.fresh("n")
    start = mul(add(mul(turn, index(parts)), part.var), index(lanes))
    e.put(Let(extent, op("max", index(0), op("min", index(lanes), op("sub", last.size, start)))))
    lane = Lane(e.fresh("c"), lanes, Var(extent))
    values = tuple(e.value(x, (lane,), p.names, tuple(merges), {last.name: add(start, lane.var)}) for x in node.element)
    accumulate(e, node, tiles, (lane,), values)
    e.close_for(turn.name, blocks_of(blocks_of(last.size, lanes), parts), 2)
    for axis in reversed(serial):
        e.close_for(axis.name, axis.size)
    state = tuple(e.tile(f"s_{node.output.name}", t.dtype, ()) for t in tiles)
    e.reduce(state, node.monoid, full, tuple(t.at(full[0].var) for t in tiles))
    for t, space in zip(state, spaces):
        e.store(space, part.var, (), t.at())
    return e.program()


def _combine(kernel: Kernel, graph: Graph, parts: int, spaces: list[Tensor]) -> TileProgram:
    e = Emitter(graph, kernel.name, "row", {**graph.tensors, **{t.name: t for t in spaces}})
    _, placed = place(e, kernel)
    node = placed[0].node
    assert node.monoid is not None
    lane = Lane(e.fresh("p"), parts, index(parts))
    reads = tuple(e.load(t, lane.var, (lane,)) for t in spaces)
    state = tuple(e.tile(f"s_{node.output.name}", t.dtype, ()) for t in spaces)
    e.reduce(state, node.monoid, (lane,), reads)
    final: tuple[Expr, ...] = tuple(t.at() for t in state)
    for p in placed:
        if p.node.monoid is not None:
            value = final[0] if p.node.finish is None else bind_states(e.value(p.node.finish, (), p.names), "s", final)
        else:
            value = e.value(p.node.value, (), p.names)
        t = e.tile(p.node.output.name, compute_dtype(p.node.output.dtype), ())
        e.map((t,), (), (value,))
        e.intermediates[p.node.output.name] = t
        if p.node.output.name in kernel.stored:
            e.store(p.node.output, p.out_offset, (), cast(t.at(), p.node.output.dtype))
    return e.program()
