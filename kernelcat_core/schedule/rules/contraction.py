"""Contractions: a sum of products of two loads, found by which axes each factor uses.

Axes in both factors that are kept are batch axes, those of one factor are m or n, reduced ones are k. Matrix products,
einsums and convolutions (as an implicit matrix product with guarded gathers) are all of this class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcat_core.ir.expr import (
    ONE,
    Const,
    Expr,
    Load,
    Op,
    Var,
    add,
    cast,
    coefficient,
    index,
    loads,
    mul,
    op,
    product,
    substitute,
    variables,
)
from kernelcat_core.ir.graph import Axis, Compute, Graph, Primitive, Tensor
from kernelcat_core.ir.tile import Copy, Lane, Let, Mma, TileProgram, Wait
from kernelcat_core.schedule.affine import Merge, flatten, linear, most
from kernelcat_core.schedule.emit import Emitter, bind_states, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.knobs import Knob
from kernelcat_core.schedule.rules.common import blocks_of
from kernelcat_core.target import Target


@dataclass(frozen=True)
class Match:
    """The classes of a contraction's axes; `a` holds m and k, `b` holds n and k; n has the last output axis."""

    a: Load
    b: Load
    batch: tuple[Axis, ...]
    m: tuple[Axis, ...]
    n: tuple[Axis, ...]
    k: tuple[Axis, ...]


_THIN = 4
"""Up to so many rows, packing the other operand costs more than it saves (f32 on one core with AVX-512, 1024 x 1024: 53 us
without and 225 us with packing for one row, 168 and 212 us for four, 317 and 251 us for eight)."""


def _core(e: Expr) -> Expr:
    while isinstance(e, Op) and e.name == "cast":
        e = e.args[0]
    return e


def _used(load: Load) -> frozenset[str]:
    parts = [*load.index, *(x for x in (load.where, load.fill) if x is not None)]
    return frozenset().union(*(variables(p) for p in parts))


def is_computed(load: Load) -> bool:
    """Whether where a load goes depends on data: a computed subscript, or a predicate that loads."""
    return any(loads(e) for e in (*load.index, *(x for x in (load.where, load.fill) if x is not None)))


def match(node: Primitive, graph: Graph) -> Match | None:
    """The contraction that `node` is, or None."""
    if not isinstance(node, Compute) or node.monoid is None or node.monoid.name != "sum":
        return None
    body = _core(node.element[0])
    if not isinstance(body, Op) or body.name != "mul":
        return None
    a, b = _core(body.args[0]), _core(body.args[1])
    if not isinstance(a, Load) or not isinstance(b, Load):
        return None
    for x in (a, b):
        if x.fill is not None and not (isinstance(x.fill, Const) and x.fill.value == 0):
            return None
        if is_computed(x):
            return None
    use_a, use_b = _used(a), _used(b)
    if not any(axis.name in use_a and axis.name in use_b for axis in node.reduce_axes):
        return None
    only_a = [x for x in node.axes if x.name in use_a and x.name not in use_b]
    only_b = [x for x in node.axes if x.name in use_b and x.name not in use_a]
    batch = [x for x in node.axes if x not in only_a and x not in only_b]
    if not only_a or not only_b:
        return None
    if _is_thin(node, a, b, only_a, only_b, graph):
        return None
    if only_a[-1] == node.axes[-1] or (only_b[-1] != node.axes[-1] and node.axes.index(only_a[-1]) > node.axes.index(
            only_b[-1])):
        a, b, only_a, only_b = b, a, only_b, only_a
    return Match(a, b, tuple(batch), tuple(only_a), tuple(only_b), node.reduce_axes)


def _is_thin(node: Compute, a: Load, b: Load, only_a: list[Axis], only_b: list[Axis], graph: Graph) -> bool:
    """Whether this is a matrix times a few vectors, bound by reading the matrix once: sweeps do that without a copy."""
    if any(x.where is not None or not all(isinstance(i, Var | Const) for i in x.index) for x in (a, b)):
        return False
    few = [(most(product([x.size for x in side])) or _THIN + 1) <= _THIN for side in (only_a, only_b)]
    for thin, wide in zip(few, (only_b, only_a)):
        if thin and node.axes[-1] in wide:  # whose lanes a sweep takes
            return True
    return any(few) and all(_steps_by_one(x, node.reduce_axes[-1], graph) for x in (a, b))


def _steps_by_one(load: Load, axis: Axis, graph: Graph) -> bool:
    flat = flatten(load, graph.tensors)
    assert isinstance(flat, Load)
    form = coefficient(flat.index[0], axis.name)
    return form is not None and form[0] == ONE


def knobs(found: Match, target: Target) -> tuple[Knob, ...]:
    """Block sizes of the three matrix axes."""
    if target.model == "dma":
        return (Knob("BM", (4, 8, 16, 32), 16), Knob("BN", (64, 128, 256, 512), 128), Knob("BK", (8, 16, 32, 64), 32))
    if target.model == "vector":
        return (Knob("BM", (14, 28, 56, 84, 168, 252), 84), Knob("BN", (32, 64, 128, 256, 512), 256),
                Knob("BK", (16, 32, 64, 128, 256, 384), 256))
    return (Knob("BM", (16, 32, 64, 128), 64), Knob("BN", (16, 32, 64, 128), 64), Knob("BK", (8, 16, 32), 16))


def _flat(e: Emitter, axes: tuple[Axis, ...]) -> tuple[Axis, tuple[Merge, ...]]:
    """One axis over the row-major product of `axes`, and the merges that express them by it."""
    merges: list[Merge] = []
    inner = axes[-1]
    for outer in reversed(axes[:-1]):
        m = Merge(outer.name, inner.name, inner.size, e.fresh("f"))
        merges.append(m)
        inner = Axis(m.merged, mul(outer.size, inner.size))
    return inner, tuple(merges)


def _block(e: Emitter, axis: Axis, capacity: int, stem: str, block: Var) -> tuple[Lane, Expr]:
    start = mul(block, index(capacity))
    extent = e.fresh(f"n{stem}")
    e.put(Let(extent, op("min", index(capacity), op("sub", axis.size, start))))
    lane = Lane(e.fresh(stem), capacity, Var(extent))
    return lane, add(start, lane.var)


def _renamed(e: Emitter, node: Compute, found: Match) -> tuple[Compute, Match]:
    """The contraction with axis names that meet no tensor, size or tile."""
    axes = (*node.axes, *node.reduce_axes)
    fresh = {a.name: Axis(e.fresh(a.name), a.size) for a in axes}
    names: dict[str, Expr] = {k: v.var for k, v in fresh.items()}

    def over(group: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(fresh[a.name] for a in group)

    a, b = substitute(found.a, names), substitute(found.b, names)
    assert isinstance(a, Load) and isinstance(b, Load)
    finish = None if node.finish is None else substitute(node.finish, names)
    renamed = replace(node, axes=over(node.axes), reduce_axes=over(node.reduce_axes), finish=finish,
                      element=tuple(substitute(x, names) for x in node.element))
    return renamed, Match(a, b, over(found.batch), over(found.m), over(found.n), over(found.k))


@dataclass(frozen=True)
class _Split:
    """The axes that lanes walk (each group as one), and those left to the grid and to serial loops.

    A group's axes lie side by side in memory for everything that uses them, and no guard looks inside: so its copies are
    boxes. What a convolution adds up over (its window) becomes serial loops around the product over channels.
    """

    m: tuple[Axis, ...]
    n: tuple[Axis, ...]
    k: tuple[Axis, ...]
    grid: tuple[Axis, ...]
    serial: tuple[Axis, ...]


_SHORT = 16  # a constant axis below this is not worth lanes of its own


def _split(node: Compute, found: Match, graph: Graph) -> _Split:
    a, b = flatten(found.a, graph.tensors), flatten(found.b, graph.tensors)
    assert isinstance(a, Load) and isinstance(b, Load)
    guards = [x for x in (a.where, b.where) if x is not None]
    out = linear(node.output.shape, tuple(axis.var for axis in node.axes))
    grid: list[Axis] = []
    sides: list[tuple[Axis, ...]] = []
    for axes, offset in ((found.m, a.index[0]), (found.n, b.index[0])):
        groups = _groups(axes, [offset, out], guards)
        last = groups[-1]
        if _is_short(last) and len(groups) > 1:  # short rows: walk everything at once, one address an element
            sides.append(axes)
            continue
        sides.append(last)
        grid += [axis for group in groups[:-1] for axis in group]
    groups = _groups(found.k, [a.index[0], b.index[0]], guards)
    used = frozenset().union(*(variables(g) for g in guards)) if guards else frozenset()
    free = [g for g in groups if not used & {axis.name for axis in g} and not _is_short(g)]
    if not free:
        return _Split(sides[0], sides[1], found.k, tuple(grid), ())
    lanes = free[-1]
    return _Split(sides[0], sides[1], lanes, tuple(grid), tuple(x for g in groups if g is not lanes for x in g))


def _is_short(group: tuple[Axis, ...]) -> bool:
    size = most(product([axis.size for axis in group]))
    return size is not None and size < _SHORT


def _groups(axes: tuple[Axis, ...], offsets: list[Expr], guards: list[Expr]) -> list[tuple[Axis, ...]]:
    """Runs of neighbouring axes that everything walks as one."""
    groups: list[tuple[Axis, ...]] = []
    for axis in reversed(axes):
        if groups:
            inner = groups[0][0]
            joined = Merge(axis.name, inner.name, product([x.size for x in groups[0]]), "")
            whole = [_with_tail(o, groups[0]) for o in offsets]
            guarded = any({axis.name, *(x.name for x in groups[0])} & variables(g) for g in guards)
            if not guarded and all(o is not None and joined.fits(o) for o in whole):
                groups[0] = (axis, *groups[0])
                continue
        groups.insert(0, (axis,))
    return groups


def _with_tail(offset: Expr, group: tuple[Axis, ...]) -> Expr | None:
    """`offset` over a group that is already one axis, written over the name of the group's first axis."""
    names = [axis.name for axis in group]
    stride = coefficient(offset, names[-1])
    if stride is None:
        return None
    rest: Expr = offset
    for name in names:
        form = coefficient(rest, name)
        if form is None:
            return None
        rest = form[1]
    return add(rest, mul(Var(names[0]), stride[0]))


def lower(kernel: Kernel, found: Match, graph: Graph, values: Mapping[str, int], target: Target
          ) -> tuple[tuple[TileProgram, ...], tuple[Tensor, ...]]:
    """The programs of a contraction with its fused epilogue, and the workspaces between them (none here)."""
    node = kernel.nodes[0]
    assert isinstance(node, Compute) and node.monoid is not None
    e = Emitter(graph, kernel.name, "contraction")
    monoid = node.monoid
    node, found = _renamed(e, node, found)
    split = _split(node, found, graph)
    for axis in (*found.batch, *split.grid):
        e.cell(axis)
    (m, m_merges), (n, n_merges), (k, k_merges) = (_flat(e, x) for x in (split.m, split.n, split.k))
    merges = m_merges + n_merges + k_merges
    bm, bn, bk = values["BM"], values["BN"], values["BK"]
    yb, xb, zb = Var(e.fresh("yb")), Var(e.fresh("xb")), Var(e.fresh("zb"))
    e.cell(Axis(yb.name, blocks_of(m.size, bm)))
    e.cell(Axis(xb.name, blocks_of(n.size, bn)))
    y, y_value = _block(e, m, bm, "y", yb)
    x, x_value = _block(e, n, bn, "x", xb)
    last = {m.name: y_value, n.name: x_value}
    acc_dtype = monoid.state[0]
    full = (Lane(y.name, bm, index(bm)), Lane(x.name, bn, index(bn)))
    acc = e.tile("acc", acc_dtype, full, "acc")
    e.map((acc,), full, (monoid.identity[0],))
    for axis in split.serial:
        e.open(axis.name)
    e.open(zb.name)
    z, z_value = _block(e, k, bk, "z", zb)
    last_k = {**last, k.name: z_value}
    operands = []
    for load, lanes, scope in ((found.a, (y, z), "mat_a"), (found.b, (z, x), "mat_b")):
        flat = flatten(load, graph.tensors)
        assert isinstance(flat, Load)
        t = e.tile(scope[-1], load.dtype, lanes, "mat_a" if scope == "mat_a" else "mat_b")
        where = None if flat.where is None else e.place(flat.where, merges, last_k)
        token = e.fresh("q")
        e.reads.setdefault(load.tensor, graph.tensors[load.tensor])
        fill = cast(Const(0.0 if load.dtype.is_float else 0, load.dtype), load.dtype) if where is not None else None
        e.put(Copy(token, t.name, lanes, load.tensor, e.place(flat.index[0], merges, last_k), where, fill))
        operands.append((t, token))
    for _, token in operands:
        e.put(Wait(token))
    e.put(Mma(acc.name, operands[0][0].name, operands[1][0].name, y, x, z))
    e.close_for(zb.name, blocks_of(k.size, bk), 2)
    for axis in reversed(split.serial):
        e.close_for(axis.name, axis.size)
    lanes = (y, x)
    state = (acc.at(y.var, x.var),)
    value: Expr = state[0]
    if node.finish is not None:
        value = bind_states(e.value(node.finish, lanes, {}, merges, last), "s", state)
    _epilogue(e, kernel, node, lanes, value, merges, last)
    return (e.program(),), ()


def _epilogue(e: Emitter, kernel: Kernel, first: Compute, lanes: tuple[Lane, ...], value: Expr, merges: tuple[Merge, ...],
              last: dict[str, Expr]) -> None:
    """Keep and store the contraction's value, then compute the fused elementwise nodes over the same lanes."""
    at = tuple(lane.var for lane in lanes)
    nodes = (first, *kernel.nodes[1:])
    for node, places in zip(nodes, kernel.rows):
        assert isinstance(node, Compute)
        names: dict[str, Expr] = {node.axes[p].name: first.axes[k].var for k, p in enumerate(places)}
        if node is not first:
            value = e.value(node.value, lanes, names, merges, last)
        t = e.tile(node.output.name, compute_dtype(node.output.dtype), lanes, "acc")
        e.map((t,), lanes, (value,))
        e.intermediates[node.output.name] = t
        if node.output.name in kernel.stored:
            position = tuple(names[a.name] for a in node.axes)
            offset = e.place(linear(node.output.shape, position), merges, last)
            e.store(node.output, offset, lanes, t.at(*at))
