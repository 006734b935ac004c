"""Primitives whose order counts (Scan, Scatter, Select) in the oracle: prefix folds, writes in turn, orders of keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kernelcat_core.ir.evaluation import Array, Context, Evaluation, Grid, Range, blocks, shared_nodes
from kernelcat_core.ir.expr import Expr
from kernelcat_core.ir.graph import Monoid, Scan, Scatter, Select, monoid
from kernelcat_core.ir.scalar import constant, storage

UFUNC: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}
BLOCK = 1 << 19  # grid points evaluated at once


def value_over(context: Context, e: Expr, grid: Grid, states: Mapping[str, Array] | None = None) -> Array:
    """`e` over `grid`, as an array that broadcasts to `grid.shape`."""
    return Evaluation(context, grid, states or {}, shared_nodes((e,))).value(e)


def combined(context: Context, m: Monoid, a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
    """combine(a, b), element by element."""
    env = {**{f"a{k}": v for k, v in enumerate(a)}, **{f"b{k}": v for k, v in enumerate(b)}}
    evaluation = Evaluation(context, Grid((), ()), env, shared_nodes(m.combine))
    return tuple(np.broadcast_to(evaluation.value(e), a[0].shape) for e in m.combine)


def ufunc_of(m: Monoid) -> Any | None:
    """The NumPy function that is the monoid, if it is one of the plain ones."""
    return UFUNC[m.name] if m.name in UFUNC and m == monoid(m.name, m.state[0]) else None


def calculated(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which NumPy folds values of `dtype`: f32 for narrower floats."""
    return np.dtype(np.float32) if dtype.kind not in "iub" and dtype.itemsize < 4 else dtype


def row_ranges(sizes: tuple[int, ...], over: int, budget: int) -> list[tuple[Range, ...]]:
    """Boxes that cover an index space, whole along axis `over`."""
    n = sizes[over]
    outer = (*sizes[:over], 1, *sizes[over + 1:])
    return [(*r[:over], (0, n), *r[over + 1:]) for r in blocks(outer, max(1, budget // max(n, 1)))] if n else []


def scan(node: Scan, context: Context) -> Array:
    """Prefix folds along one axis, see graph.Scan."""
    shape = tuple(context.size(a.size) for a in node.axes)
    out = np.empty(shape, storage(node.output.dtype, context.precision))
    names = tuple(a.name for a in node.axes)
    for ranges in row_ranges(shape, node.over, BLOCK):
        grid = Grid(names, ranges)
        evaluation = Evaluation(context, grid, {}, shared_nodes(node.element))
        states = tuple(along(np.broadcast_to(evaluation.value(e), grid.shape), node) for e in node.element)
        states = _prefixes(context, node.monoid, states)
        if node.exclusive:
            states = tuple(
                np.concatenate(
                    [np.full((*s.shape[:-1], 1), constant(i.value, i.dtype, context.precision)), s[..., :-1]], axis=-1
                )
                for s, i in zip(states, node.monoid.identity, strict=True)
            )
        found = {f"s{k}": back(s, node) for k, s in enumerate(states)}
        finish = found["s0"] if node.finish is None else value_over(context, node.finish, grid, found)
        out[tuple(slice(*r) for r in ranges)] = finish
    return out


def along(x: Array, node: Scan) -> Array:
    """`x` with the scanned axis last, in the order of the fold."""
    x = np.moveaxis(x, node.over, -1)
    return x[..., ::-1] if node.reverse else x


def back(x: Array, node: Scan) -> Array:
    """The inverse of `along`."""
    return np.moveaxis(x[..., ::-1] if node.reverse else x, -1, node.over)


def _prefixes(context: Context, m: Monoid, states: tuple[Array, ...]) -> tuple[Array, ...]:
    """Inclusive prefixes along the last axis; any monoid in log2 steps (Hillis and Steele, "Data parallel algorithms",
    1986)."""
    ufunc = ufunc_of(m)
    if ufunc is not None:
        dtype = storage(m.state[0], context.precision)
        wide = calculated(dtype)
        return (np.asarray(ufunc.accumulate(states[0].astype(wide, copy=False), axis=-1, dtype=wide)).astype(dtype),)
    step = 1
    while step < states[0].shape[-1]:
        folded = combined(context, m, tuple(s[..., :-step] for s in states), tuple(s[..., step:] for s in states))
        states = tuple(np.concatenate([s[..., :step], f], axis=-1) for s, f in zip(states, folded, strict=True))
        step *= 2
    return states


def scatter(node: Scatter, context: Context) -> Array:
    """Updates in row-major order, see graph.Scatter."""
    shape = tuple(context.size(a.size) for a in node.axes)
    out = np.empty(shape, storage(node.output.dtype, context.precision))
    names = tuple(a.name for a in node.axes)
    for ranges in blocks(shape, BLOCK):
        out[tuple(slice(*r) for r in ranges)] = value_over(context, node.base, Grid(names, ranges))
    flat = out.reshape(-1)
    for cells, grid, evaluation in updates(node, context, shape):
        kept = cells >= 0
        value = np.broadcast_to(evaluation.value(node.value), grid.shape).reshape(-1)[kept]
        _fold_into(context, node.monoid, flat, cells[kept], value.astype(out.dtype, copy=False))
    return out


def updates(node: Scatter, context: Context, shape: tuple[int, ...]) -> Iterator[tuple[Array, Grid, Evaluation]]:
    """Blocks of updates in row-major order: the flat cell of each (-1: dropped), its grid and its evaluation."""
    inner = tuple(context.size(a.size) for a in node.updates)
    names = tuple(a.name for a in node.updates)
    roots = (*node.index, node.value, *((node.where,) if node.where is not None else ()))
    for ranges in blocks(inner, BLOCK):
        grid = Grid(names, ranges)
        evaluation = Evaluation(context, grid, {}, shared_nodes(roots))
        on = np.ones((), np.bool_) if node.where is None else evaluation.value(node.where)
        cell: Array = np.zeros((), np.int64)
        for e, n in zip(node.index, shape, strict=True):
            place = evaluation.value(e)
            on = on & (place >= 0) & (place < n)
            cell = cell * n + np.clip(place, 0, max(n - 1, 0))
        yield np.broadcast_to(np.where(on, cell, -1), grid.shape).reshape(-1), grid, evaluation


def last_of_each(cells: Array) -> Array:
    """Positions of the last occurrence of every distinct value."""
    _, first = np.unique(cells[::-1], return_index=True)
    return len(cells) - 1 - first


def _fold_into(context: Context, m: Monoid | None, flat: Array, cells: Array, value: Array) -> None:
    """flat[cell] = combine(flat[cell], value) in turn; every round takes the first update that is left of each cell."""
    if m is None:
        last = last_of_each(cells)
        flat[cells[last]] = value[last]
        return
    ufunc = ufunc_of(m)
    if ufunc is not None and calculated(flat.dtype) == flat.dtype:
        ufunc.at(flat, cells, value)
        return
    while cells.size:
        _, first = np.unique(cells, return_index=True)
        at = cells[first]
        flat[at] = combined(context, m, (flat[at],), (value[first],))[0]
        rest = np.ones(cells.size, np.bool_)
        rest[first] = False
        cells, value = cells[rest], value[rest]


def select(node: Select, context: Context) -> Array:
    """First-`count` positions, see graph.Select."""
    shape = tuple(context.size(a.size) for a in node.axes)
    n, count = context.size(node.over.size), context.size(node.count)
    out = np.zeros((*shape, count), node.output.dtype.numpy)
    names = (*(a.name for a in node.axes), node.over.name)
    if n == 0 or count == 0 or math.prod(shape) == 0:
        return out
    for ranges in blocks(shape, max(1, BLOCK // n)):
        grid = Grid(names, (*ranges, (0, n)))
        hit = np.broadcast_to(value_over(context, node.predicate, grid), grid.shape)
        if node.key is None:
            order = np.argsort(~hit, axis=-1, kind="stable")
        else:
            ranks = key_ranks(np.broadcast_to(value_over(context, node.key, grid), grid.shape))
            order = np.lexsort((-ranks if node.descending else ranks, ~hit), axis=-1)
        hits = np.count_nonzero(hit, axis=-1)[..., None]
        first = np.where(hits > 0, order[..., :1], 0)
        picked = np.broadcast_to(first, (*first.shape[:-1], count)).copy()
        taken = order[..., :count]
        picked[..., : taken.shape[-1]] = np.where(np.arange(taken.shape[-1]) < hits, taken, first)
        out[tuple(slice(*r) for r in ranges)] = picked
    return out


def key_ranks(key: Array) -> Array:
    """Integers in the order of the keys: equal for equal keys, NaN above everything."""
    wide = key if key.dtype.kind in "iubf" else key.astype(np.float32)
    _, inverse = np.unique(wide, return_inverse=True)
    return np.asarray(inverse).reshape(key.shape)
