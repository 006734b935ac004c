"""Rows: the grid walks the shared axes, lanes walk the last reduced (or output) axis; each reduction is a sweep.

Softmax, layer_norm, rms_norm, row sums and argmax over a contiguous axis are of this class.
"""

from __future__ import annotations

from collections.abc import Callable

from kernelcat_core.ir.expr import Expr, Op, Var, add, cast, index, op, product, substitute, transform, walk
from kernelcat_core.ir.graph import Axis, Graph
from kernelcat_core.ir.normal_form import same
from kernelcat_core.ir.tile import Lane, Let, TileProgram
from kernelcat_core.schedule.affine import Merge, constant, fitted, merge_axes
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


def lower(kernel: Kernel, graph: Graph, lanes: int, resident: int = 0, online: bool = False) -> TileProgram:
    """The program of a row kernel with `lanes` elements a block.

    With `resident`, a row of at most that many elements takes another way: it is loaded once, and what a reduction
    computed of it (the exponentials of a softmax) is kept on chip for the nodes that need it again. With `online`, chained
    reductions of longer rows take one sweep together.
    """
    e = Emitter(graph, kernel.name, "row")
    rows, placed = place(e, kernel)
    for axis in rows:
        e.cell(axis)
    inside = frozenset(p.node.output.name for p in placed)
    size = _common_size(e, placed, graph, inside) if resident else None
    if size is not None:
        e.open()
        _resident(e, placed, graph, kernel, inside, size, resident)
        e.close_if(op("le", size, index(resident)))
        e.intermediates.clear()
        e.open()
        _sweeps(e, placed, graph, kernel, inside, lanes, online)
        e.close_if(op("gt", size, index(resident)))
    else:
        _sweeps(e, placed, graph, kernel, inside, lanes, online)
    return e.program()


def _axes_of(p: Placed) -> tuple[Axis, ...]:
    return p.reduce_axes if p.node.monoid is not None else p.inner


def _common_size(e: Emitter, placed: list[Placed], graph: Graph, inside: frozenset[str]) -> Expr | None:
    """The size of the one axis that every node walks beside the rows; None when they differ or have several."""
    found: Expr | None = None
    for p in placed:
        if not _axes_of(p):
            continue
        outputs = [] if p.node.monoid is not None else [p.out_offset]
        axes, _ = _merged(e, p, graph, _axes_of(p), inside, outputs)
        if len(axes) != 1 or (found is not None and not same(found, axes[0].size)):
            return None
        found = axes[0].size
    several = sum(bool(_axes_of(p)) for p in placed) > 1
    return found if several and constant(found or index(0)) is None else None


def _resident(e: Emitter, placed: list[Placed], graph: Graph, kernel: Kernel, inside: frozenset[str], size: Expr,
              capacity: int) -> None:
    """Every node over one lane that holds the whole row."""
    extent = e.fresh("n")
    e.put(Let(extent, op("min", index(capacity), size)))
    lane = Lane(e.fresh("c"), capacity, Var(extent))
    kept: dict[Expr, Expr] = {}
    for p in placed:
        node = p.node
        if not _axes_of(p):
            _finish(e, p, kernel, (e.value(node.value, (), p.names),))
            continue
        outputs = [] if node.monoid is not None else [p.out_offset]
        axes, merges = _merged(e, p, graph, _axes_of(p), inside, outputs)
        last: dict[str, Expr] = {axes[0].name: lane.var}
        values = tuple(transform(e.value(x, (lane,), p.names, merges, last), kept.get) for x in node.element)
        if node.monoid is None:
            e.store(node.output, e.place(p.out_offset, merges, last), (lane,), values[0])
            continue
        values = tuple(_keep_on_chip(e, v, lane, kept) for v in values)
        state = tuple(e.tile(f"s_{node.output.name}", compute_dtype(d), ()) for d in node.monoid.state)
        e.reduce(state, node.monoid, (lane,), values)
        _finish(e, p, kernel, tuple(t.at() for t in state))


def _keep_on_chip(e: Emitter, value: Expr, lane: Lane, kept: dict[Expr, Expr]) -> Expr:
    """`value` in a tile of its own when computing it again would cost more than reading it."""
    if not any(isinstance(n, Op) and n.name in _COSTLY for n in walk(value)):
        return value
    t = e.tile("kept", value.dtype, (lane,), "near")
    e.map((t,), (lane,), (value,))
    kept[value] = t.at(lane.var)
    return kept[value]


# Operations of a dozen instructions and more on vector registers.
_COSTLY = frozenset("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf pow "
                    "cbrt atan2".split())


def _sweeps(e: Emitter, placed: list[Placed], graph: Graph, kernel: Kernel, inside: frozenset[str], lanes: int, online: bool
            ) -> None:
    together = chains_of(placed) if online else {}
    for number, p in enumerate(placed):
        if number in together:
            _together(e, p, placed[number + 1], together[number], graph, kernel, inside)
        elif number - 1 in together:
            continue
        elif p.node.monoid is not None:
            _reduction(e, p, graph, kernel, inside, lanes)
        else:
            _output(e, p, graph, kernel, inside, lanes)


def _sweep(e: Emitter, axes: list[Axis], lanes: int, stem: str, body: Callable[[Lane, dict[str, Expr]], None]) -> None:
    """Serial loops over all axes but the last, lane blocks over the last; `body` gets the lane and the last axis' value."""
    *serial, last = axes
    for axis in serial:
        e.open(axis.name)
    capacity = fitted(last.size, lanes)
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
    capacity = fitted(axes[-1].size, lanes)
    full = (Lane(e.fresh("p"), capacity, index(capacity)),)
    tiles = accumulators(e, node, full)

    def body(lane: Lane, last: dict[str, Expr]) -> None:
        values = tuple(e.value(x, (lane,), p.names, merges, last) for x in node.element)
        accumulate(e, node, tiles, (lane,), values)

    _sweep(e, axes, lanes, "", body)
    state = tuple(e.tile(f"s_{node.output.name}", t.dtype, ()) for t in tiles)
    e.reduce(state, node.monoid, full, tuple(t.at(full[0].var) for t in tiles))
    _finish(e, p, kernel, tuple(t.at() for t in state))


_CHAINED = 1024  # elements of a row that stay in the nearest cache while both reductions of a chain look at them


def _together(e: Emitter, p: Placed, q: Placed, pair: Chain, graph: Graph, kernel: Kernel, inside: frozenset[str]) -> None:
    """Both reductions of a chain in one sweep."""
    assert p.node.monoid is not None
    axes, merges = _merged(e, p, graph, p.reduce_axes, inside, [])
    state = begin(e, pair, compute_dtype(p.node.monoid.state[0]), ())

    def body(lane: Lane, last: dict[str, Expr]) -> None:
        before = substitute(last[axes[-1].name], {lane.name: index(0)})
        extend(e, state, lambda: e.value(p.node.element[0], (lane,), p.names, merges, last), (lane,), lane, before)

    _sweep(e, axes, _CHAINED, "", body)
    one, two = end(e, state, product([a.size for a in axes]))
    _finish(e, p, kernel, (one,))
    _finish(e, q, kernel, (two,))


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
