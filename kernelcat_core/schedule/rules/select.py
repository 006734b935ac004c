"""Select: lanes walk the rows, candidates are a serial loop, hits are scattered to their places.

By position: one pass, a counter a lane. By key: one pass a place, each finding the least (key, position) above the last;
that is for few places, many are sorted (rules/order).
"""

from __future__ import annotations

from kernelcat_core.dtypes import BOOL
from kernelcat_core.ir.expr import Expr, Var, add, cast, index, op
from kernelcat_core.ir.graph import Axis, Graph, Select
from kernelcat_core.ir.tile import Lane, Tile, TileProgram
from kernelcat_core.schedule.affine import linear
from kernelcat_core.schedule.emit import Emitter, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.common import blocks_of, lane_block
from kernelcat_core.schedule.rules.order import less


def lower(kernel: Kernel, graph: Graph, lanes: int) -> TileProgram:
    """The program of a Select with `lanes` rows a cell."""
    node = kernel.nodes[0]
    assert isinstance(node, Select)
    e = Emitter(graph, kernel.name, "select")
    *outer, inner = node.axes or (Axis("one", index(1)),)
    for axis in outer:
        e.cell(axis)
    block = Var(e.fresh("b"))
    e.cell(Axis(block.name, blocks_of(inner.size, lanes)))
    lane, start = lane_block(e, inner.size, lanes, block, "")
    row = add(start, lane.var)
    names: dict[str, Expr] = {inner.name: row}
    position = tuple(names.get(a.name, a.var) for a in node.axes)
    first_place = linear(node.output.shape, (*position, index(0)))
    if node.key is None:
        _by_position(e, node, lane, names, first_place)
    else:
        _by_key(e, node, lane, names, first_place)
    return e.program()


def _tile(e: Emitter, stem: str, lane: Lane, value: Expr) -> Tile:
    t = e.tile(stem, value.dtype, (lane,), "reg")
    e.map((t,), (lane,), (value,))
    return t


def _pad(e: Emitter, node: Select, lane: Lane, place: Expr, count: Tile, first: Tile) -> None:
    """Repeat the first hit (0 without one) in the places past `count`."""
    s = Var(e.fresh("s"))
    e.open(s.name)
    at = lane.var
    missing = op("ge", s, count.at(at))
    e.store(node.output, add(place, s), (lane,), cast(first.at(at), node.output.dtype), missing)
    e.close_for(s.name, node.count)


def _by_position(e: Emitter, node: Select, lane: Lane, names: dict[str, Expr], place: Expr) -> None:
    count, first = _tile(e, "count", lane, index(0)), _tile(e, "first", lane, index(0))
    hit = e.tile("hit", BOOL, (lane,), "reg")
    at, j = lane.var, node.over.var
    e.open(node.over.name)
    wanted = e.value(node.predicate, (lane,), names)
    e.map((hit,), (lane,), (op("and", wanted, op("lt", count.at(at), node.count)),))
    e.store(node.output, add(place, count.at(at)), (lane,), cast(j, node.output.dtype), hit.at(at))
    is_first = op("and", hit.at(at), op("eq", count.at(at), index(0)))
    e.map((first, count), (lane,), (op("where", is_first, j, first.at(at)),
                                    op("where", hit.at(at), add(count.at(at), index(1)), count.at(at))))
    e.close_for(node.over.name, node.over.size)
    _pad(e, node, lane, place, count, first)


def _by_key(e: Emitter, node: Select, lane: Lane, names: dict[str, Expr], place: Expr) -> None:
    """Each pass takes the first element, in the order of (key, position), that comes after the last one taken."""
    assert node.key is not None
    dtype = compute_dtype(node.key.dtype)
    at, j = lane.var, node.over.var
    count, first = _tile(e, "count", lane, index(0)), _tile(e, "first", lane, index(0))
    nothing = cast(index(0), dtype)
    last_key, last_at = _tile(e, "last_key", lane, nothing), _tile(e, "last_at", lane, index(-1))
    s = Var(e.fresh("s"))
    e.open(s.name)
    best_key, best_at = _tile(e, "best_key", lane, nothing), _tile(e, "best_at", lane, index(-1))
    e.open(node.over.name)
    key = e.tile("key", dtype, (lane,), "reg")
    e.map((key,), (lane,), (e.value(node.key, (lane,), names),))
    k, last, best = key.at(at), last_key.at(at), best_key.at(at)
    same_later = op("and", op("not", less(k, last, node.descending)), op("gt", j, last_at.at(at)))
    later = op("or", op("lt", last_at.at(at), index(0)), op("or", less(last, k, node.descending), same_later))
    nearer = op("or", op("lt", best_at.at(at), index(0)), less(k, best, node.descending))
    take = op("and", e.value(node.predicate, (lane,), names), op("and", later, nearer))
    e.map((best_key, best_at), (lane,), (op("where", take, k, best), op("where", take, j, best_at.at(at))))
    e.close_for(node.over.name, node.over.size)
    found = op("ge", best_at.at(at), index(0))
    e.store(node.output, add(place, s), (lane,), cast(best_at.at(at), node.output.dtype), found)
    is_first = op("and", found, op("eq", s, index(0)))
    e.map((last_key, last_at, first, count), (lane,), (
        op("where", found, best, last), op("where", found, best_at.at(at), last_at.at(at)),
        op("where", is_first, best_at.at(at), first.at(at)),
        add(count.at(at), op("where", found, index(1), index(0)))))
    e.close_for(s.name, node.count)
    _pad(e, node, lane, place, count, first)
