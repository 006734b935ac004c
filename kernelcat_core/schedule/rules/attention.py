"""Attention: a softmax-weighted sum over keys (schedule/online.py) for a block of queries, without the matrix of scores.

A cell walks the keys in blocks. Scores and results lie transposed, [s, q] and [e, q], so that keys and values are read where
they lie, one element for all queries of the block, and the statistics of a query (greatest score m, sum l) are vectors over
queries. Key blocks that conditions on positions (causal, a window) rule out wholly are not visited; where such conditions
hold for a whole block they are not looked at; where conditions that read tensors hold nowhere the block is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kernelcat_core.dtypes import BOOL, I32
from kernelcat_core.ir.expr import (
    ZERO,
    Const,
    Expr,
    Load,
    Op,
    Var,
    add,
    cast,
    coefficient,
    conjunction,
    index,
    loads,
    mul,
    op,
    sub,
    substitute,
    variables,
)
from kernelcat_core.ir.graph import Axis, Graph, monoid
from kernelcat_core.ir.tile import Copy, Lane, Let, Mma, Reduce, Scope, Tile, TileProgram, Wait
from kernelcat_core.schedule.affine import constant, flatten, linear
from kernelcat_core.schedule.emit import Emitter, bind_states
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.knobs import Knob
from kernelcat_core.schedule.online import WeightedSum
from kernelcat_core.schedule.rules.common import blocks_of
from kernelcat_core.target import ExecutionModel

# Models whose lowering takes what these programs do: products of products, statistics read along either lane.
MODELS: frozenset[ExecutionModel] = frozenset({"vector"})
KNOBS = (Knob("BQ", (32, 64, 96, 128), 64), Knob("BS", (28, 56, 112, 224, 448), 112))
_DEPTH = 128  # features of a query (and of a value) that a cell holds when their number is known only at run time
_MOST = 512  # when it is known: more is walked in blocks


def lower(kernel: Kernel, found: WeightedSum, graph: Graph, values: Mapping[str, int]) -> TileProgram:
    """The program of a weighted sum with BQ queries a cell and BS keys a block."""
    e = Emitter(graph, kernel.name, "attention")
    w = _renamed(e, found)
    for axis in w.batch:
        e.cell(axis)
    return _Cell(e, w, graph, values).program()


def _renamed(e: Emitter, w: WeightedSum) -> WeightedSum:
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


@dataclass(frozen=True)
class _Bound:
    """A condition on positions: across*q + along*s + rest >= 0, with along 1 or -1."""

    across: int
    along: int
    rest: Expr


def _bounds(condition: Expr, q: str, s: str) -> tuple[_Bound, ...] | None:
    """A condition as bounds on s; None when it is of another form."""
    if not isinstance(condition, Op) or condition.name not in ("lt", "le", "gt", "ge") or loads(condition):
        return None
    left, right = condition.args
    if condition.name in ("gt", "ge"):
        left, right = right, left
    if isinstance(left, Op) and left.name == "abs":
        signs = [left.args[0], sub(ZERO, left.args[0])]
    else:
        signs = [left]
    strict = 1 if condition.name in ("lt", "gt") else 0
    found = []
    for one in signs:
        form = coefficient(add(sub(right, one), index(-strict)), s)
        rest = None if form is None else coefficient(form[1], q)
        along = None if form is None else constant(form[0])
        across = None if rest is None else constant(rest[0])
        if rest is None or across is None or along not in (1, -1):
            return None
        found.append(_Bound(across, along, rest[1]))
    return tuple(found)


class _Cell:
    """Emits the statements of one cell: its queries, its block of value features, and the loop over keys."""

    def __init__(self, e: Emitter, w: WeightedSum, graph: Graph, values: Mapping[str, int]) -> None:
        self.e, self.w, self.graph = e, w, graph
        self.bq, self.bs = values["BQ"], values["BS"]
        self.depth, self.width = _capacity(w.d.size), _capacity(w.e.size)
        self.last: dict[str, Expr] = {}
        self.q, self.first = self._block(w.q, self.bq)
        self.f, _ = self._block(w.e, self.width)
        every = (index(self.bq),)
        self.queries = (Lane(self.q.name, self.bq, *every),)
        self.top, self.total, self.factor, self.peak, self.more = (
            e.tile(stem, w.dtype, self.queries, "reg") for stem in ("m", "l", "factor", "peak", "more"))
        self.result = self._tile("acc", (self.f, self.q), "acc")

    def _tile(self, stem: str, lanes: tuple[Lane, ...], scope: Scope) -> Tile:
        return self.e.tile(stem, self.w.dtype, lanes, scope)

    def _block(self, axis: Axis, capacity: int) -> tuple[Lane, Expr]:
        """A grid axis over blocks of `axis`, the lane inside a block, and the block's start."""
        block = Var(self.e.fresh(f"{axis.name}b"))
        self.e.cell(Axis(block.name, blocks_of(axis.size, capacity)))
        start = mul(block, index(capacity))
        lane = Lane(self.e.fresh(f"{axis.name}l"), capacity, self._let("n", op("min", index(capacity), sub(axis.size, start))))
        self.last[axis.name] = add(start, lane.var)
        return lane, start

    def _let(self, stem: str, value: Expr) -> Expr:
        if isinstance(value, Const | Var):
            return value
        name = self.e.fresh(stem)
        self.e.put(Let(name, value))
        return Var(name)

    def program(self) -> TileProgram:
        e, w = self.e, self.w
        lowest = Const(float(np.finfo(w.dtype.numpy).min), w.dtype)
        e.map((self.top, self.total), self.queries, (lowest, Const(0.0, w.dtype)))
        self._clear(self.result, (self.f, self.q))
        self._limits()
        self.scores = self._tile("scores", (Lane("s", self.bs, ZERO), self.q), "acc")
        size = constant(w.d.size)
        if size is None:
            for name, whole in (("le", True), ("gt", False)):
                e.open()
                self._keys(whole)
                e.close_if(op(name, w.d.size, index(self.depth)))
        else:
            self._keys(size <= self.depth)
        self._finish()
        return e.program()

    def _clear(self, t: Tile, lanes: tuple[Lane, ...]) -> None:
        full = tuple(Lane(lane.name, lane.capacity, index(lane.capacity)) for lane in lanes)
        self.e.map((t,), full, (Const(0.0, self.w.dtype),))

    def _limits(self) -> None:
        """Keys that some query of the cell may use, [low, high), and keys that all of them may, [low_all, high_all)."""
        w = self.w
        self.bounds: list[_Bound] = []
        self.others: list[Expr] = []
        for c in w.conditions:
            found = _bounds(c, w.q.name, w.s.name)
            if found is None:
                self.others.append(c)
            else:
                self.bounds += found
        end = sub(add(self.first, self.q.extent), index(1))
        low, low_all, high, high_all = ZERO, ZERO, w.s.size, w.s.size
        for b in self.bounds:
            ends = [add(mul(index(b.across), x), b.rest) for x in (self.first, end)]
            least, most = ends if b.across >= 0 else ends[::-1]
            if b.along == -1:  # s <= across*q + rest
                high, high_all = op("min", high, add(most, index(1))), op("min", high_all, add(least, index(1)))
            else:  # s >= -(across*q + rest)
                low, low_all = op("max", low, sub(ZERO, most)), op("max", low_all, sub(ZERO, least))
        self.low, self.high = self._let("low", low), self._let("high", high)
        self.low_all, self.high_all = self._let("low", low_all), self._let("high", high_all)

    def _keys(self, whole: bool) -> None:
        """The loop over blocks of keys; `whole` if the cell holds all features of its queries."""
        e, w = self.e, self.w
        depth = Lane(e.fresh("d"), self.depth, self._let("n", op("min", index(self.depth), w.d.size)))
        if whole:
            self._operand(w.query, "mat_b", (depth, self.q), {w.d.name: depth.var})
        block = Var(e.fresh("kb"))
        e.open(block.name)
        start = self._let("start", add(self.low, mul(block, index(self.bs))))
        s = Lane(e.fresh("k"), self.bs, self._let("n", op("min", index(self.bs), sub(self.high, start))))
        self.last[w.s.name] = add(start, s.var)
        lanes = (s, self.q)
        allowed = self._allowed(lanes)
        if allowed is not None:
            e.open()
        self._clear(self.scores, lanes)
        if whole:
            self._product(s, depth, {w.d.name: depth.var})
        else:
            part = Var(e.fresh("db"))
            e.open(part.name)
            at = mul(part, index(self.depth))
            some = Lane(e.fresh("d"), self.depth, self._let("n", op("min", index(self.depth), sub(w.d.size, at))))
            where: dict[str, Expr] = {w.d.name: add(at, some.var)}
            self._operand(w.query, "mat_b", (some, self.q), where)
            self._product(s, some, where)
            e.close_for(part.name, blocks_of(w.d.size, self.depth), 2)
        self._softmax(lanes, start, allowed)
        v = self._operand(w.value, "mat_a", (self.f, s), {})
        e.put(Mma(self.result.name, v.name, self.scores.name, self.f, self.q, s))
        if allowed is not None:
            e.close_if(self.any.at())
        e.close_for(block.name, blocks_of(op("max", ZERO, sub(self.high, self.low)), self.bs), 2)

    def _operand(self, load: Load, scope: Scope, lanes: tuple[Lane, ...], names: dict[str, Expr]) -> Tile:
        """A copied operand of a product."""
        e = self.e
        flat = flatten(load, self.graph.tensors)
        assert isinstance(flat, Load)
        t = e.tile(f"t_{load.tensor}", load.dtype, lanes, scope)
        last = {**self.last, **names}
        where = None if flat.where is None else e.place(flat.where, (), last)
        fill = None if where is None else Const(0.0, load.dtype)
        token = e.fresh("q")
        e.reads.setdefault(load.tensor, self.graph.tensors[load.tensor])
        e.put(Copy(token, t.name, lanes, load.tensor, e.place(flat.index[0], (), last), where, fill))
        e.put(Wait(token))
        if scope == "mat_b":
            self.query = t
        return t

    def _product(self, s: Lane, depth: Lane, names: dict[str, Expr]) -> None:
        k = self._operand(self.w.key, "mat_a", (s, depth), names)
        self.e.put(Mma(self.scores.name, k.name, self.query.name, s, self.q, depth))

    def _allowed(self, lanes: tuple[Lane, ...]) -> Expr | None:
        """Where the conditions that read tensors hold, as a tile; `any` says whether they do anywhere."""
        e = self.e
        if not any(loads(c) for c in self.others):
            return None
        condition = conjunction(*self.others)
        assert condition is not None
        self.others = []
        t = e.tile("allowed", BOOL, lanes, "near")
        e.map((t,), lanes, (e.value(condition, lanes, {}, (), self.last),))
        read = t.at(*(lane.var for lane in lanes))
        each = e.tile("some", BOOL, (self.q,), "reg")
        self.any = e.tile("any", BOOL, ())
        e.put(Reduce((each.name,), monoid("any", BOOL), lanes, lanes[0].name, (read,)))
        e.put(Reduce((self.any.name,), monoid("any", BOOL), (self.q,), self.q.name, (each.at(self.q.var),)))
        return read

    def _softmax(self, lanes: tuple[Lane, ...], start: Expr, allowed: Expr | None) -> None:
        """scores := powers of the scores relative to the new greatest; m, l and the result are brought up to date."""
        e, w, q, dtype = self.e, self.w, (self.q,), self.w.dtype
        least = Const(float("-inf"), dtype)
        x = self.scores.at(*(lane.var for lane in lanes))
        value = bind_states(e.value(w.score, lanes, {}, (), self.last), "s", (x,))
        plain = [allowed, *(e.value(c, lanes, {}, (), self.last) for c in self.others)]

        def put(condition: Expr | None) -> None:
            chosen = value if condition is None else op("where", condition, value, least)
            if chosen != x:
                e.map((self.scores,), lanes, (chosen,))

        if not self.bounds:
            put(conjunction(*plain))
        else:
            inside = op("and", op("le", self.low_all, start), op("le", add(start, lanes[0].extent), self.high_all))
            e.open()
            put(conjunction(*plain, *(self._holds(b, lanes, start) for b in self.bounds)))
            e.close_if(op("not", inside))
            e.open()
            put(conjunction(*plain))
            e.close_if(inside)
        m, at = self.top.at(self.q.var), self.q.var
        e.put(Reduce((self.peak.name,), monoid("max", dtype), lanes, lanes[0].name, (x,)))
        greater = op("max", m, self.peak.at(at))
        e.map((self.top, self.factor), q, (greater, op(w.power, sub(m, greater))))
        e.map((self.scores,), lanes, (op(w.power, sub(x, m)),))
        e.put(Reduce((self.more.name,), monoid("sum", dtype), lanes, lanes[0].name, (x,)))
        e.map((self.total,), q, (add(mul(self.total.at(at), self.factor.at(at)), self.more.at(at)),))
        if w.lift != Var("w0", dtype):
            lifted = bind_states(e.value(w.lift, lanes, {}, (), self.last), "w", (x,))
            e.map((self.scores,), lanes, (lifted,))
        both = (self.f, self.q)
        e.map((self.result,), both, (mul(self.result.at(*(lane.var for lane in both)), self.factor.at(at)),))

    def _holds(self, b: _Bound, lanes: tuple[Lane, ...], start: Expr) -> Expr:
        """A bound at every element, on the query's place in the block where that is possible: it fits 32 bits."""
        s, q = lanes
        rest = add(add(b.rest, mul(index(b.across), self.first)), mul(index(b.along), add(start, s.var)))
        if b.across not in (1, -1):
            return op("ge", add(rest, mul(index(b.across), q.var)), ZERO)
        limit = sub(ZERO, rest) if b.across == 1 else rest
        clamped = op("max", index(-1), op("min", limit, index(self.bq)))
        return op("ge" if b.across == 1 else "le", cast(q.var, I32), cast(clamped, I32))

    def _finish(self) -> None:
        """Divide by the sum, as the formula does, and store."""
        e, w, dtype, at = self.e, self.w, self.w.dtype, self.q.var
        lanes, q = (self.f, self.q), (self.q,)
        empty = op("eq", self.total.at(at), Const(0.0, dtype))  # all scores were -inf: the greatest is, too
        if "s2" in variables(w.share):
            e.map((self.top,), q, (op("where", empty, Const(float("-inf"), dtype), self.top.at(at)),))
        if w.shift == Var("s2", dtype):  # then the formula subtracts that -inf from itself
            e.map((self.factor,), q, (op("where", empty, Const(float("nan"), dtype), Const(1.0, dtype)),))
            e.map((self.total,), q, (mul(self.total.at(at), self.factor.at(at)),))
        acc = self.result.at(*(lane.var for lane in lanes))
        value = bind_states(e.value(w.share, lanes, {}, (), self.last), "s", (acc, self.total.at(at), self.top.at(at)))
        if w.shift == Var("s2", dtype) and w.share == Var("s0", dtype):
            value = mul(value, self.factor.at(at))
        value = op("where", op("gt", w.s.size, ZERO), value, Const(0.0, dtype))
        if w.node.finish is not None:
            value = bind_states(e.value(w.node.finish, lanes, {}, (), self.last), "s", (value,))
        offset = e.place(linear(w.node.output.shape, tuple(a.var for a in w.node.axes)), (), self.last)
        e.store(w.node.output, offset, lanes, value)


def _capacity(size: Expr) -> int:
    """Features held at once, of an axis of `size`."""
    n = constant(size)
    return _DEPTH if n is None else min(_MOST, max(16, -(-n // 16) * 16))
