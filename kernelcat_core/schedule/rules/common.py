"""What the row and column rules share: nodes over canonical axes, lane blocks, accumulation."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.ir.expr import Expr, Load, Var, ceil_div, index, mul, op, substitute, walk
from kernelcat_core.ir.graph import Axis, Compute, Graph, Scan, expressions
from kernelcat_core.ir.tile import Lane, Let, Tile
from kernelcat_core.schedule.affine import flatten, linear
from kernelcat_core.schedule.emit import Emitter, bind_states, widen_monoid
from kernelcat_core.schedule.kernel import Kernel


@dataclass(frozen=True)
class Placed:
    """A Compute of a kernel with its axes renamed: shared ones to r0.., others kept under fresh names.

    `names` maps the node's variables to the canonical ones; `inner` are the axes beside the rows (of an output node).
    """

    node: Compute
    names: dict[str, Expr]
    inner: tuple[Axis, ...]
    reduce_axes: tuple[Axis, ...]
    out_offset: Expr


def place(e: Emitter, kernel: Kernel) -> tuple[tuple[Axis, ...], list[Placed]]:
    """The shared axes (sizes from the first node) and the nodes over them."""
    first = kernel.nodes[0]
    rows = tuple(Axis(e.fresh(f"r{k}"), first.axes[p].size) for k, p in enumerate(kernel.rows[0]))
    placed: list[Placed] = []
    for number, (node, places) in enumerate(zip(kernel.nodes, kernel.rows)):
        assert isinstance(node, Compute)
        names: dict[str, Expr] = {node.axes[p].name: rows[k].var for k, p in enumerate(places)}
        inner = tuple(Axis(e.fresh(f"i{number}_{k}"), a.size) for k, a in enumerate(node.axes) if k not in places)
        names.update({a.name: i.var for a, i in zip((a for k, a in enumerate(node.axes) if k not in places), inner)})
        reduce_axes = tuple(Axis(e.fresh(f"k{number}_{k}"), a.size) for k, a in enumerate(node.reduce_axes))
        names.update({a.name: i.var for a, i in zip(node.reduce_axes, reduce_axes)})
        offset = substitute(linear(node.output.shape, tuple(a.var for a in node.axes)), names)
        placed.append(Placed(node, names, inner, reduce_axes, offset))
    return rows, placed


def accesses(p: Placed, graph: Graph, intermediates: frozenset[str]) -> tuple[list[Expr], list[Expr]]:
    """Flat offsets and predicates of a node's loads, over canonical axes (loads of intermediates left out)."""
    return loads_of([substitute(flatten(e, graph.tensors), p.names) for e in expressions(p.node)], intermediates)


def loads_of(found: list[Expr], intermediates: frozenset[str] = frozenset()) -> tuple[list[Expr], list[Expr]]:
    """Offsets and predicates of the loads in flattened expressions."""
    offsets: list[Expr] = []
    predicates: list[Expr] = []
    for e in found:
        for n in walk(e):
            if isinstance(n, Load) and n.tensor not in intermediates:
                offsets.append(n.index[0])
                predicates += [x for x in (n.where, n.fill) if x is not None]
    return offsets, predicates


def lane_block(e: Emitter, size: Expr, capacity: int, block: Var, stem: str) -> tuple[Lane, Expr]:
    """The lane over block number `block` of an axis of `size`: extent min(capacity, what is left), and its start."""
    name = e.fresh(f"n{stem}")
    start = mul(block, index(capacity))
    e.put(Let(name, op("min", index(capacity), op("sub", size, start))))
    return Lane(e.fresh(f"c{stem}"), capacity, Var(name)), start


def blocks_of(size: Expr, capacity: int) -> Expr:
    return ceil_div(size, capacity)


def accumulators(e: Emitter, node: Compute | Scan, lanes: tuple[Lane, ...]) -> tuple[Tile, ...]:
    """Tiles that hold the reduction's state, set to the identity over their whole capacity."""
    assert node.monoid is not None
    full = tuple(Lane(lane.name, lane.capacity, index(lane.capacity)) for lane in lanes)
    monoid = widen_monoid(node.monoid)
    tiles = tuple(e.tile(f"acc_{node.output.name}", d, full, "reg") for d in monoid.state)
    e.map(tiles, full, tuple(monoid.identity))
    return tiles


def accumulate(e: Emitter, node: Compute | Scan, tiles: tuple[Tile, ...], lanes: tuple[Lane, ...], values: tuple[Expr, ...]
               ) -> None:
    """state = combine(state, values), element by element."""
    assert node.monoid is not None
    reads = tuple(t.at(*(lane.var for lane in lanes)) for t in tiles)
    state = {f"a{k}": r for k, r in enumerate(reads)}
    combined = tuple(bind_states(substitute(c, state), "b", values) for c in widen_monoid(node.monoid).combine)
    e.map(tiles, lanes, combined)


