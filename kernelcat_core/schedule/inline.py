"""Graph rewrites before partition: elementwise producers move into their consumers, unit axes of intermediates go."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Expr,
    Load,
    Op,
    cast,
    conjunction,
    loads,
    op,
    substitute,
    transform,
    variables,
    walk,
)
from kernelcat_core.ir.graph import Compute, Graph, Primitive, Select, expressions, map_expressions


def squeeze(graph: Graph) -> Graph:
    """Drop axes of constant size one from tensors that only live between nodes (kept dimensions of reductions)."""
    dropped: dict[str, tuple[int, ...]] = {}
    nodes: list[Primitive] = []
    for node in graph.nodes:
        node = map_expressions(node, lambda e: transform(e, lambda n: _reindex(n, dropped)))
        places = tuple(k for k, a in enumerate(node.axes) if a.size == ONE)
        if places and isinstance(node, Compute) and node.output.name not in graph.outputs:
            dropped[node.output.name] = places
            gone = {node.axes[k].name: ZERO for k in places}
            node = map_expressions(node, partial(substitute, names=gone))
            keep = [k for k in range(len(node.axes)) if k not in places]
            node = replace(node, axes=tuple(node.axes[k] for k in keep),
                           output=replace(node.output, shape=tuple(node.output.shape[k] for k in keep)))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _reindex(n: Expr, dropped: dict[str, tuple[int, ...]]) -> Expr | None:
    if isinstance(n, Load) and n.tensor in dropped:
        return replace(n, index=tuple(i for k, i in enumerate(n.index) if k not in dropped[n.tensor]))
    return None


def inline(graph: Graph) -> Graph:
    """Replace loads of elementwise intermediates by their value, where that repeats little work.

    A value moves into every consumer or into none. It stays a tensor when it is an output, when a consumer would repeat
    costly operations for several points (its axes are not all in the index), or when the text would grow too much.
    """
    nodes = list(graph.nodes)
    place = 0
    while place < len(nodes):
        node = nodes[place]
        if isinstance(node, Compute) and node.monoid is None and node.output.name not in graph.outputs:
            consumers = [k for k in range(place + 1, len(nodes)) if _loads_of(nodes[k], node.output.name)]
            if consumers and all(_worth(node, nodes[k]) for k in consumers):
                for k in consumers:
                    nodes[k] = map_expressions(nodes[k], partial(_expanded, producer=node))
                del nodes[place]
                continue
        place += 1
    return replace(graph, nodes=tuple(nodes))


def _expanded(e: Expr, producer: Compute) -> Expr:
    return transform(e, lambda n: _expand(n, producer))


def _loads_of(node: Primitive, name: str) -> list[Load]:
    return [n for e in expressions(node) for n in loads(e) if n.tensor == name]


def _is_cheap(e: Expr) -> bool:
    """Loads, casts and a little arithmetic."""
    costs = Counter(n.name for n in walk(e) if isinstance(n, Op) and n.name != "cast" and n.dtype.name != "i64")
    heavy = set(costs) - {"add", "sub", "mul", "neg", "abs", "min", "max", "where", "lt", "le", "gt", "ge", "eq", "ne", "and",
                          "or", "not"}
    return not heavy and sum(costs.values()) <= 4


def _worth(producer: Compute, consumer: Primitive) -> bool:
    found = _loads_of(consumer, producer.output.name)
    if isinstance(consumer, Select):
        return _is_cheap(producer.value)
    if not isinstance(consumer, Compute):  # every point is visited once
        return len(found) <= 2 or _is_cheap(producer.value)
    names = {a.name for a in consumer.axes} | {a.name for a in consumer.reduce_axes}
    repeats = any(not names <= variables(Op("add", n.index, n.dtype)) for n in found) and bool(consumer.reduce_axes)
    plain = isinstance(_core(producer.value), Load)
    if plain:
        return True
    if repeats or (consumer.reduce_axes and _is_product(consumer)):
        return False
    return len(found) <= 2 or _is_cheap(producer.value)


def _core(e: Expr) -> Expr:
    while isinstance(e, Op) and e.name == "cast":
        e = e.args[0]
    return e


def _is_product(consumer: Compute) -> bool:
    """A sum of products of plain loads: keep it one, so that it is seen as a contraction."""
    if consumer.monoid is None or consumer.monoid.name != "sum":
        return False
    e = _core(consumer.element[0])
    return isinstance(e, Op) and e.name == "mul" and all(isinstance(_core(a), Load) for a in e.args)


def _expand(n: Expr, producer: Compute) -> Expr | None:
    if not isinstance(n, Load) or n.tensor != producer.output.name:
        return None
    value = substitute(producer.value, {a.name: i for a, i in zip(producer.axes, n.index)})
    value = cast(value, producer.output.dtype)
    if n.where is None:
        return value
    where = n.where

    def guard(x: Expr) -> Expr | None:
        if not isinstance(x, Load):
            return None
        fill = x.fill if x.fill is not None else cast(ZERO, x.dtype)
        return replace(x, where=conjunction(where, x.where), fill=fill)

    guarded = transform(value, guard)
    return op("where", where, guarded, n.fill if n.fill is not None else cast(ZERO, n.dtype))
