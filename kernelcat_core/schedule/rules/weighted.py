"""What every way to compute a softmax-weighted sum shares: its names, the state (m, l) of a query, and the end of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernelcat_core.ir.expr import ZERO, Const, Expr, Load, Var, add, mul, op, sub, substitute, variables
from kernelcat_core.ir.graph import Axis, Compute, monoid
from kernelcat_core.ir.tile import Lane, Let, Reduce, Tile
from kernelcat_core.schedule.affine import fitted, linear, most
from kernelcat_core.schedule.emit import Emitter, bind_states, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.online import WeightedSum


def renamed(e: Emitter, w: WeightedSum) -> WeightedSum:
    """The same with axis names that meet no tensor, size or tile."""
    fresh = {a.name: Axis(e.fresh(a.name.partition(" ")[0]), a.size) for a in (*w.batch, w.q, w.e, w.s, w.d)}
    names: dict[str, Expr] = {k: a.var for k, a in fresh.items()}

    def load(x: Load) -> Load:
        renamed = substitute(x, names)
        assert isinstance(renamed, Load)
        return renamed

    finish = None if w.node.finish is None else substitute(w.node.finish, names)
    node = replace(w.node, axes=tuple(fresh[a.name] for a in w.node.axes), finish=finish)
    return replace(w, node=node, query=load(w.query), key=load(w.key), value=load(w.value),
                   batch=tuple(fresh[a.name] for a in w.batch), q=fresh[w.q.name], e=fresh[w.e.name], s=fresh[w.s.name],
                   d=fresh[w.d.name], conditions=tuple(substitute(c, names) for c in w.conditions),
                   score=substitute(w.score, names), lift=substitute(w.lift, names), share=substitute(w.share, names))


_DEPTH = 128  # features of a query (and of a value) that a cell holds when their number is known only at run time
_MOST = 512  # when it is known: more is walked in blocks


def capacity(size: Expr) -> int:
    """Features held at once, of an axis of `size`."""
    return _DEPTH if most(size) is None else fitted(size, _MOST)


@dataclass(frozen=True)
class State:
    """Tiles of the queries' lanes (none: one query): m is the greatest score so far, l the sum of powers relative to it,
    `factor` what earlier sums are multiplied by as m grows; `peak` and `more` are those of the block at hand."""

    lanes: tuple[Lane, ...]
    m: Tile
    l: Tile  # noqa: E741
    factor: Tile
    peak: Tile
    more: Tile

    def at(self, t: Tile) -> Expr:
        return t.at(*(lane.var for lane in self.lanes))


def start(e: Emitter, w: WeightedSum, lanes: tuple[Lane, ...]) -> State:
    """The state of queries that have seen no key. The least finite m: no infinity is subtracted from itself."""
    m, total, factor, peak, more = (e.tile(stem, w.dtype, lanes, "reg") for stem in ("m", "l", "factor", "peak", "more"))
    e.map((m, total), lanes, (Const(float(np.finfo(w.dtype.numpy).min), w.dtype), Const(0.0, w.dtype)))
    return State(lanes, m, total, factor, peak, more)


def add_block(e: Emitter, w: WeightedSum, state: State, scores: Tile, lanes: tuple[Lane, ...], last: Mapping[str, Expr]
              ) -> None:
    """Bring m, l and factor up to date with a block of scores (keys are the first lane), which become weights."""
    x = scores.at(*(lane.var for lane in lanes))
    keys = lanes[0].name
    e.put(Reduce((state.peak.name,), monoid("max", w.dtype), lanes, keys, (x,)))
    m = state.at(state.m)
    greater = op("max", m, state.at(state.peak))
    e.map((state.m, state.factor), state.lanes, (greater, op(w.power, sub(m, greater))))
    e.map((scores,), lanes, (op(w.power, sub(x, m)),))
    e.put(Reduce((state.more.name,), monoid("sum", w.dtype), lanes, keys, (x,)))
    total = add(mul(state.at(state.l), state.at(state.factor)), state.at(state.more))
    e.map((state.l,), state.lanes, (total,))
    if w.lift != Var("w0", w.dtype):
        e.map((scores,), lanes, (bind_states(e.value(w.lift, lanes, {}, (), last), "w", (x,)),))


def finish(e: Emitter, kernel: Kernel, w: WeightedSum, state: State, mixed: Expr, lanes: tuple[Lane, ...],
           last: Mapping[str, Expr]) -> None:
    """Divide by the sum, as the formula does, and go on with the elementwise nodes of the kernel.

    `mixed` is the weighted sum over `lanes`.
    """
    dtype, total, m = w.dtype, state.at(state.l), state.at(state.m)
    empty = op("eq", total, Const(0.0, dtype))  # all scores were -inf: the greatest is, too
    if "s2" in variables(w.share):
        e.map((state.m,), state.lanes, (op("where", empty, Const(float("-inf"), dtype), m),))
    itself = w.shift == Var("s2", dtype)  # then the formula subtracts that -inf from itself
    if itself:
        e.map((state.factor,), state.lanes, (op("where", empty, Const(float("nan"), dtype), Const(1.0, dtype)),))
        e.map((state.l,), state.lanes, (mul(total, state.at(state.factor)),))
    value = bind_states(e.value(w.share, lanes, {}, (), last), "s", (mixed, total, m))
    if itself and "s1" not in variables(w.share):
        value = mul(value, state.at(state.factor))
    value = op("where", op("gt", w.s.size, ZERO), value, Const(0.0, dtype))
    if w.node.finish is not None:
        value = bind_states(e.value(w.node.finish, lanes, {}, (), last), "s", (value,))
    first = next(k for k, n in enumerate(kernel.nodes) if n.output.name == w.node.output.name)
    nodes = (w.node, *kernel.nodes[first + 1:])
    for node, places in zip(nodes, kernel.rows[first:], strict=True):
        assert isinstance(node, Compute)
        names: dict[str, Expr] = {node.axes[p].name: w.node.axes[k].var for k, p in enumerate(places)}
        if node is not w.node:
            value = e.value(node.value, lanes, names, (), last)
        if node is not nodes[-1]:
            t = e.tile(node.output.name, compute_dtype(node.output.dtype), lanes, "reg")
            e.map((t,), lanes, (value,))
            e.intermediates[node.output.name] = t
            value = t.at(*(lane.var for lane in lanes))
        if node.output.name in kernel.stored:
            offset = e.place(linear(node.output.shape, tuple(names[a.name] for a in node.axes)), (), last)
            e.store(node.output, offset, lanes, value)


def let(e: Emitter, stem: str, value: Expr) -> Expr:
    """`value` by a name of its own, unless it is short."""
    if isinstance(value, Const | Var):
        return value
    name = e.fresh(stem)
    e.put(Let(name, value))
    return Var(name)
