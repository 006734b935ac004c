"""Graph rewrites before partition: elementwise producers move into their consumers, unit axes of intermediates go."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import islice

from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Expr,
    Load,
    Op,
    cast,
    coefficient,
    conjunction,
    loads,
    op,
    substitute,
    transform,
    variables,
    walk,
)
from kernelcat_core.ir.graph import Compute, Graph, Primitive, Select, expressions, map_expressions, reads, values
from kernelcat_core.schedule.affine import linear
from kernelcat_core.schedule.simplify import recombined


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
    nodes: dict[int, Primitive] = dict(enumerate(graph.nodes))
    users: dict[str, set[int]] = {}
    for place, node in nodes.items():
        for name in reads(node):
            users.setdefault(name, set()).add(place)
    for place, node in enumerate(graph.nodes):
        node = nodes[place]
        if not isinstance(node, Compute) or node.monoid is not None or node.output.name in graph.outputs:
            continue
        consumers = sorted(users.get(node.output.name, ()))
        targets = [nodes[k] for k in consumers]
        if (targets and _stays_short(node, targets) and _saves_memory(node, targets)
                and all(_worth(node, c, graph) for c in targets)):
            for k in consumers:
                nodes[k] = map_expressions(nodes[k], partial(_expanded, producer=node))
                for name in reads(node):
                    users.setdefault(name, set()).add(k)
            del nodes[place]
            for name in reads(node):
                users[name].discard(place)
    return replace(graph, nodes=tuple(nodes.values()))


_LONGEST = 400
"""Nodes of an expression that a consumer may grow to: x = x*x, repeated, doubles the text each time."""


def _stays_short(producer: Compute, consumers: list[Primitive]) -> bool:
    own = sum(1 for _ in islice(walk(producer.value), _LONGEST))
    return all(own * len(_loads_of(c, producer.output.name)) + sum(1 for e in values(c) for _ in islice(walk(e), _LONGEST))
               <= max(_LONGEST, 2 * own) for c in consumers)


def _saves_memory(producer: Compute, consumers: list[Primitive]) -> bool:
    """Whether reading what the producer reads in every consumer is no more than writing its value and reading that."""
    names = {a.name for a in producer.axes}
    sources = len({n for n in loads(producer.value) if names <= variables(Op("add", n.index, n.dtype))})
    count = sum(len(set(_loads_of(c, producer.output.name))) for c in consumers)
    return count * sources <= sources + 1 + count


def _expanded(e: Expr, producer: Compute) -> Expr:
    return transform(e, lambda n: expanded_load(n, producer))


def _keeps_strides(producer: Compute, consumer: Compute, found: list[Load], graph: Graph) -> bool:
    """Whether loads of the consumer that walk memory in fixed strides still do so after a plain load moved in."""
    source = _core(producer.value)
    assert isinstance(source, Load)
    names = [a.name for a in (*consumer.axes, *consumer.reduce_axes)]

    def strided(n: Load) -> bool:
        offset = linear(graph.tensors[n.tensor].shape, n.index)
        return all(coefficient(offset, name) is not None for name in names)

    for load in found:
        moved = substitute(source, {a.name: i for a, i in zip(producer.axes, load.index, strict=True)})
        assert isinstance(moved, Load)
        if not any(loads(i) for i in moved.index) and strided(load) and not strided(moved):
            return False
    return True


def _loads_of(node: Primitive, name: str) -> list[Load]:
    return [n for e in expressions(node) for n in loads(e) if n.tensor == name]


def _is_cheap(e: Expr) -> bool:
    """Loads, casts and a little arithmetic."""
    costs = Counter(n.name for n in walk(e) if isinstance(n, Op) and n.name != "cast" and n.dtype.name != "i64")
    heavy = set(costs) - {"add", "sub", "mul", "neg", "abs", "min", "max", "where", "lt", "le", "gt", "ge", "eq", "ne", "and",
                          "or", "not"}
    return not heavy and sum(costs.values()) <= 4


def _worth(producer: Compute, consumer: Primitive, graph: Graph) -> bool:
    found = _loads_of(consumer, producer.output.name)
    if isinstance(consumer, Select):
        return _is_cheap(producer.value)
    if not isinstance(consumer, Compute):  # every point is visited once
        return len(found) <= 2 or _is_cheap(producer.value)
    names = {a.name for a in consumer.axes} | {a.name for a in consumer.reduce_axes}
    repeats = any(not names <= variables(Op("add", n.index, n.dtype)) for n in found) and bool(consumer.reduce_axes)
    plain = isinstance(_core(producer.value), Load)
    if plain:
        return _keeps_strides(producer, consumer, found, graph)
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


def expanded_load(n: Expr, producer: Compute) -> Expr | None:
    if not isinstance(n, Load) or n.tensor != producer.output.name:
        return None
    value = substitute(producer.value, {a.name: i for a, i in zip(producer.axes, n.index)})
    value = transform(value, lambda m: replace(m, index=tuple(map(recombined, m.index))) if isinstance(m, Load) else None)
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
