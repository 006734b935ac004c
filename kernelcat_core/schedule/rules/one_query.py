"""A softmax-weighted sum for few queries, one after the other: memory sets the pace, so keys and values are read once a query
and no product of matrices is formed. Decoding (one query, many keys) takes this way."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcat_core.ir.expr import ZERO, Const, Expr, Var, add, cast, conjunction, index, mul, op, sub
from kernelcat_core.ir.graph import monoid
from kernelcat_core.ir.tile import Lane, Reduce
from kernelcat_core.schedule.emit import Emitter, bind_states
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.online import WeightedSum
from kernelcat_core.schedule.rules.common import blocks_of
from kernelcat_core.schedule.rules.reach import Bound, bounds_of, reach
from kernelcat_core.schedule.rules.weighted import add_block, finish, let, start

FEW = 3  # queries up to which reading keys for each costs less than a product padded to whole vectors
_KEYS = 128  # of a block: its keys and values pass through the nearest cache


def one_by_one(e: Emitter, kernel: Kernel, w: WeightedSum, first: Expr, count: Expr, f: Lane, last: Mapping[str, Expr],
               depth: int) -> None:
    """Statements for queries first .. first + count - 1, the value features of lane `f`, and up to `depth` features a key."""
    turn = Var(e.fresh("j"))
    e.open(turn.name)
    query = let(e, "query", add(first, turn))
    at = {**last, w.q.name: query}
    d = Lane(e.fresh("d"), depth, let(e, "n", op("min", index(depth), w.d.size)))
    state = start(e, w, ())
    mixed = e.tile("mixed", w.dtype, (f,), "reg")
    e.map((mixed,), (f,), (Const(0.0, w.dtype),))
    asked = cast(e.value(w.query, (d,), {}, (), {**at, w.d.name: d.var}), w.dtype)
    bounds: list[Bound] = []
    others: list[Expr] = []
    for c in w.conditions:
        found = bounds_of(c, w.q.name, w.s.name)
        bounds += found or ()
        others += [c] if found is None else []
    reached = reach(bounds, query, query, w.s.size)
    low, high = let(e, "low", reached.low), let(e, "high", reached.high)
    block = Var(e.fresh("kb"))
    e.open(block.name)
    begin = let(e, "start", add(low, mul(block, index(_KEYS))))
    s = Lane(e.fresh("k"), _KEYS, let(e, "n", op("min", index(_KEYS), sub(high, begin))))
    at[w.s.name] = add(begin, s.var)
    scores = e.tile("scores", w.dtype, (s,), "near")
    key = cast(e.value(w.key, (s, d), {}, (), {**at, w.d.name: d.var}), w.dtype)
    e.put(Reduce((scores.name,), monoid("sum", w.dtype), (s, d), d.name, (mul(key, asked),)))
    value = bind_states(e.value(w.score, (s,), {}, (), at), "s", (scores.at(s.var),))
    condition = conjunction(*(e.value(c, (s,), {}, (), at) for c in others))
    if condition is not None:
        value = op("where", condition, value, Const(float("-inf"), w.dtype))
    e.map((scores,), (s,), (value,))
    add_block(e, w, state, scores, (s,), at)
    part = e.tile("part", w.dtype, (f,), "reg")
    weighted = mul(scores.at(s.var), cast(e.value(w.value, (s, f), {}, (), at), w.dtype))
    e.put(Reduce((part.name,), monoid("sum", w.dtype), (s, f), s.name, (weighted,)))
    e.map((mixed,), (f,), (add(mul(mixed.at(f.var), state.factor.at()), part.at(f.var)),))
    e.close_for(block.name, blocks_of(op("max", ZERO, sub(high, low)), _KEYS), 2)
    finish(e, kernel, w, state, mixed.at(f.var), (f,), at)
    e.close_for(turn.name, count)
