"""Attention: a softmax-weighted sum over keys (schedule/online.py) for a block of queries, without the matrix of scores.

A cell walks the keys in blocks. Scores and results lie transposed, [s, q] and [e, q], so that keys and values are read where
they lie, one element for all queries of the block, and the statistics of a query (greatest score m, sum l) are vectors over
queries. Key blocks that conditions on positions (causal, a window) rule out wholly are not visited; where such conditions
hold for a whole block they are not looked at; where conditions that read tensors hold nowhere the block is left out.

A key that is left out has weight 0; a NaN or an infinity among its values, which the formula would multiply by that 0, does
not reach the result.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcat_core.dtypes import BOOL, I32
from kernelcat_core.ir.expr import (
    TRUE,
    ZERO,
    Const,
    Expr,
    Load,
    Var,
    add,
    cast,
    conjunction,
    index,
    loads,
    mul,
    op,
    sub,
)
from kernelcat_core.ir.graph import Axis, Graph, monoid
from kernelcat_core.ir.tile import Copy, Lane, Mma, Reduce, Scope, Tile, TileProgram, Wait
from kernelcat_core.schedule.affine import constant, flatten
from kernelcat_core.schedule.emit import Emitter, bind_states
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.knobs import Knob
from kernelcat_core.schedule.online import WeightedSum
from kernelcat_core.schedule.rules.common import blocks_of
from kernelcat_core.schedule.rules.one_query import FEW, one_by_one
from kernelcat_core.schedule.rules.reach import Bound, bounds_of, reach
from kernelcat_core.schedule.rules.weighted import add_block, capacity, finish, let, renamed, start
from kernelcat_core.target import ExecutionModel

# Models whose lowering takes what these programs do: products of products, statistics read along either lane.
MODELS: frozenset[ExecutionModel] = frozenset({"vector"})
KNOBS = (Knob("BQ", (32, 64, 96, 128), 64), Knob("BS", (28, 56, 112, 224, 448), 224))
def lower(kernel: Kernel, found: WeightedSum, graph: Graph, values: Mapping[str, int]) -> TileProgram:
    """The program of a weighted sum with BQ queries a cell and BS keys a block."""
    e = Emitter(graph, kernel.name, "attention")
    w = renamed(e, found)
    for axis in w.batch:
        e.cell(axis)
    return _Cell(e, kernel, w, graph, values).program()


class _Cell:
    """Emits the statements of one cell: its queries, its block of value features, and the loop over keys."""

    def __init__(self, e: Emitter, kernel: Kernel, w: WeightedSum, graph: Graph, values: Mapping[str, int]) -> None:
        self.e, self.kernel, self.w, self.graph = e, kernel, w, graph
        self.bq, self.bs = values["BQ"], values["BS"]
        self.depth, self.width = capacity(w.d.size), capacity(w.e.size)
        self.last: dict[str, Expr] = {}
        self.q, self.first = self._block(w.q, self.bq)
        self.f, _ = self._block(w.e, self.width)
        self.result = self._tile("acc", (self.f, self.q), "acc")

    def _tile(self, stem: str, lanes: tuple[Lane, ...], scope: Scope) -> Tile:
        return self.e.tile(stem, self.w.dtype, lanes, scope)

    def _block(self, axis: Axis, most: int) -> tuple[Lane, Expr]:
        """A grid axis over blocks of `axis`, the lane inside a block, and the block's start."""
        e = self.e
        block = Var(e.fresh(f"{axis.name}b"))
        e.cell(Axis(block.name, blocks_of(axis.size, most)))
        begin = mul(block, index(most))
        lane = Lane(e.fresh(f"{axis.name}l"), most, let(e, "n", op("min", index(most), sub(axis.size, begin))))
        self.last[axis.name] = add(begin, lane.var)
        return lane, begin

    def program(self) -> TileProgram:
        e, w = self.e, self.w
        size, known = constant(w.d.size), []
        holds = op("le", w.d.size, index(self.depth))
        few = op("and", op("le", self.q.extent, index(FEW)), holds)
        if size is None or size <= self.depth:
            e.open()
            one_by_one(e, self.kernel, w, self.first, self.q.extent, self.f, self.last, self.depth)
            e.close_if(few)
            known.append(op("not", few))
        e.open()
        self.state = start(e, w, (Lane(self.q.name, self.bq, self.q.extent),))
        self._clear(self.result, (self.f, self.q))
        self._limits()
        self.scores = self._tile("scores", (Lane("s", self.bs, ZERO), self.q), "acc")
        self._keys()
        lanes = (self.f, self.q)
        finish(e, self.kernel, w, self.state, self.result.at(*(lane.var for lane in lanes)), lanes, self.last)
        e.close_if(conjunction(*known) or TRUE)
        return e.program()

    def _clear(self, t: Tile, lanes: tuple[Lane, ...]) -> None:
        full = tuple(Lane(lane.name, lane.capacity, index(lane.capacity)) for lane in lanes)
        self.e.map((t,), full, (Const(0.0, self.w.dtype),))

    def _limits(self) -> None:
        """What conditions on positions say of the keys."""
        e, w = self.e, self.w
        self.bounds: list[Bound] = []
        self.others: list[Expr] = []
        for c in w.conditions:
            found = bounds_of(c, w.q.name, w.s.name)
            if found is None:
                self.others.append(c)
            else:
                self.bounds += found
        reached = reach(self.bounds, self.first, sub(add(self.first, self.q.extent), index(1)), w.s.size)
        self.low, self.high = let(e, "low", reached.low), let(e, "high", reached.high)
        self.low_all, self.high_all = let(e, "low", reached.low_all), let(e, "high", reached.high_all)

    def _keys(self) -> None:
        """The loop over blocks of keys."""
        e, w = self.e, self.w
        self._queries()
        block = Var(e.fresh("kb"))
        e.open(block.name)
        begin = let(e, "start", add(self.low, mul(block, index(self.bs))))
        s = Lane(e.fresh("k"), self.bs, let(e, "n", op("min", index(self.bs), sub(self.high, begin))))
        self.last[w.s.name] = add(begin, s.var)
        lanes = (s, self.q)
        allowed = self._allowed(lanes)
        if allowed is not None:
            e.open()
        self._clear(self.scores, lanes)
        self._products(s)
        self._softmax(lanes, begin, allowed)
        v = self._tile_of(w.value, "mat_a", (self.f, s))
        self._copy(v, w.value, (self.f, s), {})
        e.put(Mma(self.result.name, v.name, self.scores.name, self.f, self.q, s))
        if allowed is not None:
            e.close_if(self.any.at())
        e.close_for(block.name, blocks_of(op("max", ZERO, sub(self.high, self.low)), self.bs), 2)

    def _part(self, part: Expr) -> tuple[Lane, dict[str, Expr]]:
        """The lane over block `part` of the features of queries and keys, and what it stands for."""
        e, w = self.e, self.w
        begin = mul(part, index(self.depth))
        lane = Lane(e.fresh("d"), self.depth, let(e, "n", op("min", index(self.depth), sub(w.d.size, begin))))
        return lane, {w.d.name: add(begin, lane.var)}

    def _queries(self) -> None:
        """Load the queries before the loop, if the cell holds all their features."""
        e, w = self.e, self.w
        whole = op("le", w.d.size, index(self.depth))
        e.open()
        lane, names = self._part(ZERO)
        self.query = self._tile_of(w.query, "mat_b", (lane, self.q))
        self._copy(self.query, w.query, (lane, self.q), names)
        e.close_if(whole)

    def _products(self, s: Lane) -> None:
        """scores += key * query over all features."""
        e, w = self.e, self.w
        part = Var(e.fresh("db"))
        e.open(part.name)
        lane, names = self._part(part)
        e.open()
        self._copy(self.query, w.query, (lane, self.q), names)
        e.close_if(op("gt", w.d.size, index(self.depth)))
        key = self._tile_of(w.key, "mat_a", (s, lane))
        self._copy(key, w.key, (s, lane), names)
        e.put(Mma(self.scores.name, key.name, self.query.name, s, self.q, lane))
        e.close_for(part.name, blocks_of(w.d.size, self.depth), 2)

    def _tile_of(self, load: Load, scope: Scope, lanes: tuple[Lane, ...]) -> Tile:
        return self.e.tile(f"t_{load.tensor}", load.dtype, lanes, scope)

    def _copy(self, t: Tile, load: Load, lanes: tuple[Lane, ...], names: dict[str, Expr]) -> None:
        """An operand of a product, awaited."""
        e = self.e
        flat = flatten(load, self.graph.tensors)
        assert isinstance(flat, Load)
        last = {**self.last, **names}
        where = None if flat.where is None else e.place(flat.where, (), last)
        fill = None if where is None else Const(0.0, load.dtype)
        token = e.fresh("q")
        e.reads.setdefault(load.tensor, self.graph.tensors[load.tensor])
        e.put(Copy(token, t.name, lanes, load.tensor, e.place(flat.index[0], (), last), where, fill))
        e.put(Wait(token))

    def _allowed(self, lanes: tuple[Lane, ...]) -> Expr | None:
        """Where the conditions that read tensors hold, as a tile; `any` says whether they do anywhere."""
        e = self.e
        if not any(loads(c) for c in self.others):
            return None
        condition = conjunction(*self.others)
        assert condition is not None
        t = e.tile("allowed", BOOL, lanes, "near")
        e.map((t,), lanes, (e.value(condition, lanes, {}, (), self.last),))
        read = t.at(*(lane.var for lane in lanes))
        each = e.tile("some", BOOL, (self.q,), "reg")
        self.any = e.tile("any", BOOL, ())
        e.put(Reduce((each.name,), monoid("any", BOOL), lanes, lanes[0].name, (read,)))
        e.put(Reduce((self.any.name,), monoid("any", BOOL), (self.q,), self.q.name, (each.at(self.q.var),)))
        return read

    def _softmax(self, lanes: tuple[Lane, ...], begin: Expr, allowed: Expr | None) -> None:
        """scores := powers of the scores relative to the new greatest; m, l and the result are brought up to date."""
        e, w = self.e, self.w
        least = Const(float("-inf"), w.dtype)
        x = self.scores.at(*(lane.var for lane in lanes))
        value = bind_states(e.value(w.score, lanes, {}, (), self.last), "s", (x,))
        plain = [allowed] if allowed is not None else [e.value(c, lanes, {}, (), self.last) for c in self.others]

        def put(condition: Expr | None) -> None:
            chosen = value if condition is None else op("where", condition, value, least)
            if chosen != x:
                e.map((self.scores,), lanes, (chosen,))

        if not self.bounds:
            put(conjunction(*plain))
        else:
            inside = op("and", op("le", self.low_all, begin), op("le", add(begin, lanes[0].extent), self.high_all))
            e.open()
            put(conjunction(*plain, *(self._holds(b, lanes, begin) for b in self.bounds)))
            e.close_if(op("not", inside))
            e.open()
            put(conjunction(*plain))
            e.close_if(inside)
        add_block(e, w, self.state, self.scores, lanes, self.last)
        both = (self.f, self.q)
        e.map((self.result,), both, (mul(self.result.at(*(lane.var for lane in both)), self.state.at(self.state.factor)),))

    def _holds(self, b: Bound, lanes: tuple[Lane, ...], begin: Expr) -> Expr:
        """A bound at every element, on the query's place in the block where that is possible: it fits 32 bits."""
        s, q = lanes
        rest = add(add(b.rest, mul(index(b.across), self.first)), mul(index(b.along), add(begin, s.var)))
        if b.across not in (1, -1):
            return op("ge", add(rest, mul(index(b.across), q.var)), ZERO)
        limit = sub(ZERO, rest) if b.across == 1 else rest
        clamped = op("max", index(-1), op("min", limit, index(self.bq)))
        return op("ge" if b.across == 1 else "le", cast(q.var, I32), cast(clamped, I32))
