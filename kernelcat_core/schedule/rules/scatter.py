"""Scatter: one program writes the base, a second renews cells by the updates.

An update axis that is itself a subscript (distinct values, distinct cells) may run in parallel: as lanes where it is the last
subscript, else as grid cells. All other update axes are serial loops in their order, so that the updates of one element
happen in row-major order, by one lane of one cell.
"""

from __future__ import annotations

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ZERO, Const, Expr, Var, add, conjunction, op, walk
from kernelcat_core.ir.graph import Axis, Compute, Graph, Scatter
from kernelcat_core.ir.normal_form import same
from kernelcat_core.ir.tile import Lane, TileProgram
from kernelcat_core.schedule.affine import constant, fitted, linear
from kernelcat_core.schedule.emit import Emitter
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules import column
from kernelcat_core.schedule.rules.common import blocks_of, lane_block
from kernelcat_core.target import Target


def lower(kernel: Kernel, graph: Graph, lanes: int, target: Target) -> list[TileProgram]:
    """The two programs of a Scatter. Raises KC-R001 for updates that would be folded in a 16-bit type."""
    node = kernel.nodes[0]
    assert isinstance(node, Scatter)
    start = Compute(node.output, node.axes, (node.base,))
    base = Kernel(f"{kernel.name}_base", "elementwise", (start,), (tuple(range(len(node.axes))),), kernel.stored)
    return [column.lower(base, graph, lanes), _renew(kernel.name, node, graph, lanes, target)]


def parallel(node: Scatter) -> dict[str, int]:
    """Update axis -> the output axis that it is the subscript of, for axes that are a subscript by themselves."""
    own = {a.name for a in node.updates}
    return {i.name: d for d, i in enumerate(node.index) if isinstance(i, Var) and i.name in own}


def _renew(name: str, node: Scatter, graph: Graph, lanes: int, target: Target) -> TileProgram:
    e = Emitter(graph, name, "scatter")
    fresh = {a.name: Axis(e.fresh(f"u{k}"), a.size) for k, a in enumerate(node.updates)}
    names: dict[str, Expr] = {n: a.var for n, a in fresh.items()}
    places = parallel(node)
    inmost = max(places, key=lambda n: places[n], default=None)
    if inmost is not None and target.model == "vector" and places[inmost] != len(node.axes) - 1:
        inmost = None
    for n in places:
        if n != inmost:
            e.cell(fresh[n])
    lane_axes: tuple[Lane, ...] = ()
    if inmost is not None:
        axis = fresh[inmost]
        capacity = fitted(axis.size, lanes)
        block = Var(e.fresh("b"))
        e.cell(Axis(block.name, blocks_of(axis.size, capacity)))
        lane, start = lane_block(e, axis.size, capacity, block, "")
        lane_axes, names[inmost] = (lane,), add(start, lane.var)
    serial = [fresh[a.name] for a in node.updates if a.name not in places]
    for axis in serial:
        e.open(axis.name)
    at = tuple(e.value(i, lane_axes, names) for i in node.index)
    checks = [c for d in range(len(at)) for c in _inside(node, d, at[d], places)]
    guard = None if node.where is None else e.value(node.where, lane_axes, names)
    old, value = Var("a0", node.output.dtype), e.value(node.value, lane_axes, names)
    combine: Expr = Var("b0", node.output.dtype) if node.monoid is None else node.monoid.combine[0]
    if combine.dtype.is_float and combine.dtype.bits < 32 and old in _leaves(combine):
        raise KernelcatError("KC-R001", f"{node.output.name}: updates are not folded in {combine.dtype}", hint="fold in f32")
    e.store(node.output, linear(node.output.shape, at), lane_axes, value, conjunction(guard, *checks), combine)
    for axis in reversed(serial):
        e.close_for(axis.name, axis.size)
    return e.program()


def _leaves(e: Expr) -> set[Expr]:
    return {n for n in walk(e) if isinstance(n, Var)}


def _inside(node: Scatter, d: int, at: Expr, places: dict[str, int]) -> list[Expr]:
    """The conditions under which subscript number `d` lies in the output."""
    size = node.output.shape[d]
    if isinstance(at, Const) and constant(size) is not None:
        return [] if 0 <= int(at.value) < int(constant(size) or 0) else [op("lt", at, size), op("ge", at, ZERO)]
    if d in places.values():
        own = next(a for a in node.updates if places.get(a.name) == d)
        return [] if same(own.size, size) else [op("lt", at, size)]
    return [op("ge", at, ZERO), op("lt", at, size)]


