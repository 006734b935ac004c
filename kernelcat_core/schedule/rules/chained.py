"""Two chained reductions in one sweep (schedule/chains.py): what a block adds to the state, and what the state says at last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import ZERO, Const, Expr, add, cast, mul, op, sub
from kernelcat_core.ir.graph import Monoid, monoid
from kernelcat_core.ir.tile import Lane, Reduce, Tile
from kernelcat_core.schedule.chains import Chain
from kernelcat_core.schedule.emit import Emitter


@dataclass(frozen=True)
class Chained:
    """The state of a chain over `lanes` (none: one row): (m, l) of powers, (sum, squares) of squares, and what a block gives."""

    chain: Chain
    dtype: DType
    lanes: tuple[Lane, ...]
    one: Tile
    two: Tile
    block_one: Tile
    block_two: Tile
    correction: Tile

    def at(self, t: Tile) -> Expr:
        return t.at(*(lane.var for lane in self.lanes))


def begin(e: Emitter, chain: Chain, dtype: DType, lanes: tuple[Lane, ...]) -> Chained:
    """The state of no element."""
    tiles = [e.tile(stem, dtype, lanes, "reg") for stem in ("one", "two", "block_one", "block_two", "correction")]
    first = float(np.finfo(dtype.numpy).min) if chain.kind == "powers" else 0.0
    e.map((tiles[0], tiles[1]), lanes, (Const(first, dtype), Const(0.0, dtype)))
    return Chained(chain, dtype, lanes, *tiles)


def extend(e: Emitter, s: Chained, element: Callable[[], Expr], lanes: tuple[Lane, ...], over: Lane, before: Expr) -> None:
    """Add a block over `lanes`, of which `over` is reduced and `before` elements came earlier; `element` gives a value."""
    dtype, x = s.dtype, element()

    def fold(tile: Tile, how: Monoid, value: Expr) -> None:
        e.put(Reduce((tile.name,), how, lanes, over.name, (value,)))

    one, two, block_one, block_two = (s.at(t) for t in (s.one, s.two, s.block_one, s.block_two))
    if s.chain.kind == "powers":
        fold(s.block_one, monoid("max", dtype), x)
        greater = op("max", one, block_one)
        e.map((s.one, s.correction), s.lanes, (greater, op(s.chain.power, sub(one, greater))))
        e.forget()
        fold(s.block_two, monoid("sum", dtype), op(s.chain.power, sub(element(), one)))
        e.map((s.two,), s.lanes, (add(mul(two, s.at(s.correction)), block_two),))
        return
    earlier, count = cast(before, dtype), cast(over.extent, dtype)
    fold(s.block_one, monoid("sum", dtype), x)
    e.map((s.correction,), s.lanes, (op("div", block_one, count),))
    mean = s.at(s.correction)
    e.forget()
    x = element()
    fold(s.block_two, monoid("sum", dtype), mul(sub(x, mean), sub(x, mean)))
    apart = sub(mean, op("where", op("gt", before, ZERO), op("div", one, earlier), mean))
    weight = op("div", mul(earlier, count), add(earlier, count))
    e.map((s.one, s.two), s.lanes, (add(one, block_one), add(add(two, block_two), mul(mul(apart, apart), weight))))


def end(e: Emitter, s: Chained, count: Expr) -> tuple[Expr, Expr]:
    """The states of the two reductions, of `count` elements each."""
    one, two, dtype = s.at(s.one), s.at(s.two), s.dtype
    if s.chain.kind == "powers":
        empty = op("eq", two, Const(0.0, dtype))  # all elements were -inf: the greatest is, too
        infinite = Const(float("inf"), dtype)
        if s.chain.guarded:  # of an infinite element not itself was subtracted, but 0
            total = op("where", op("eq", one, infinite), infinite, two)
        else:  # -inf was subtracted from itself
            total = op("where", op("and", empty, op("gt", count, ZERO)), Const(float("nan"), dtype), two)
        e.map((s.one, s.two), s.lanes, (op("where", empty, Const(float("-inf"), dtype), one), total))
    return one, two
