"""Error bounds of primitives whose order counts: Scan, Scatter, Select. See stability for what a bound is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.evaluation import Array, Context, Grid, blocks
from kernelcat_core.ir.expr import Expr
from kernelcat_core.ir.graph import Monoid, Scan, Scatter, Select, monoid
from kernelcat_core.ir.ordered import along, back, last_of_each, row_ranges
from kernelcat_core.numerics.error_rules import DOUBT, difference, scaled, total
from kernelcat_core.numerics.tolerance import growth, roundoff, underflow

if TYPE_CHECKING:
    from kernelcat_core.numerics.stability import Errors

Parts = tuple[Array, ...]


class Over(Protocol):
    """Values and errors of expressions over a grid (stability's analysis in one context)."""

    def __call__(self, grid: Grid, roots: tuple[Expr, ...], states: Mapping[str, Array] | None = None,
                 state_errors: Mapping[str, Array] | None = None) -> Errors: ...


def scan(node: Scan, context: Context, over: Over, block: int) -> Array:
    """Errors of prefixes: those of reductions of as many terms as each prefix has."""
    shape, names = tuple(context.size(a.size) for a in node.axes), tuple(a.name for a in node.axes)
    out = np.zeros(shape)
    for ranges in row_ranges(shape, node.over, block):
        grid = Grid(names, ranges)
        part = over(grid, node.element)
        states = tuple(along(np.broadcast_to(part.value(e), grid.shape), node) for e in node.element)
        errors = tuple(along(np.broadcast_to(part.error(e), grid.shape), node) for e in node.element)
        m = node.monoid
        if m.name in PREFIXES and m == monoid(m.name, m.state[0]):
            states, errors = PREFIXES[m.name](states, errors, m.state[0])
        else:
            states, errors = _doubling(m, states, errors, over)
        if node.exclusive:
            states = tuple(_shifted(s, i.value) for s, i in zip(states, m.identity, strict=True))
            errors = tuple(_shifted(e, 0.0) for e in errors)
        box = tuple(slice(*r) for r in ranges)
        if node.finish is None:
            out[box] = back(errors[0], node)
            continue
        named, named_errors = ({f"s{k}": back(x, node) for k, x in enumerate(p)} for p in (states, errors))
        out[box] = over(grid, (node.finish,), named, named_errors).error(node.finish)
    return out


def _shifted(x: Array, first: bool | int | float) -> Array:
    return np.concatenate([np.full((*x.shape[:-1], 1), first, x.dtype), x[..., :-1]], axis=-1)


def _rounds(length: int, dtype: DType) -> Array:
    return np.array([growth(k + 1) for k in range(length)]) * roundoff(dtype)


def _sums(states: Parts, errors: Parts, dtype: DType) -> tuple[Parts, Parts]:
    x, e = states[0], errors[0]
    size = np.cumsum(np.abs(x), axis=-1)
    return (x.cumsum(axis=-1, dtype=x.dtype),), (e.cumsum(axis=-1) + scaled(size, _rounds(x.shape[-1], dtype)),)


def _products(states: Parts, errors: Parts, dtype: DType) -> tuple[Parts, Parts]:
    x, e = states[0], errors[0]
    most, least = np.cumprod(np.abs(x) + e, axis=-1), np.cumprod(np.abs(x), axis=-1)
    rounds = _rounds(x.shape[-1], dtype)
    steps = np.arange(1, x.shape[-1] + 1) * underflow(dtype)
    # what underflowed early may be multiplied by what follows: the largest product of a rest
    return (x.cumprod(axis=-1, dtype=x.dtype),), (difference(most, least) + rounds * most + steps * _tails(np.abs(x)),)


def _tails(x: Array) -> Array:
    """For every prefix the largest product of a run that ends it (1 at least)."""
    found = np.ones_like(x, dtype=np.float64)
    for k in range(1, x.shape[-1]):
        found[..., k] = np.maximum(1.0, found[..., k - 1] * x[..., k])
    return found


def _extremes(states: Parts, errors: Parts, largest: bool) -> tuple[Parts, Parts]:
    ufunc = np.maximum if largest else np.minimum
    return (ufunc.accumulate(states[0], axis=-1),), (np.maximum.accumulate(errors[0], axis=-1),)


def _logical(states: Parts, errors: Parts, any_of: bool) -> tuple[Parts, Parts]:
    x, doubt = states[0], errors[0] != 0
    ufunc = np.logical_or if any_of else np.logical_and
    decided = np.logical_or.accumulate((x == any_of) & ~doubt, axis=-1)
    return (ufunc.accumulate(x, axis=-1),), (np.where(decided, 0.0, np.logical_or.accumulate(doubt, axis=-1)),)


PREFIXES: dict[str, Callable[[Parts, Parts, DType], tuple[Parts, Parts]]] = {
    "sum": _sums,
    "prod": _products,
    "max": lambda s, e, _: _extremes(s, e, True),
    "min": lambda s, e, _: _extremes(s, e, False),
    "any": lambda s, e, _: _logical(s, e, True),
    "all": lambda s, e, _: _logical(s, e, False),
}


def _doubling(m: Monoid, states: Parts, errors: Parts, over: Over) -> tuple[Parts, Parts]:
    """Any monoid: prefixes in log2 steps, then an allowance for the deeper chains that kernels build."""
    length, step = states[0].shape[-1], 1
    while step < length:
        named, named_errors = (
            {**{f"a{k}": x[..., :-step] for k, x in enumerate(p)}, **{f"b{k}": x[..., step:] for k, x in enumerate(p)}}
            for p in (states, errors)
        )
        both = over(Grid((), ()), m.combine, named, named_errors)
        shape = (*states[0].shape[:-1], length - step)
        folded = [(both.value(e), both.error(e)) for e in m.combine]
        states, errors = (
            tuple(np.concatenate([old[..., :step], np.broadcast_to(f[side], shape)], axis=-1)
                  for f, old in zip(folded, p, strict=True))
            for side, p in enumerate((states, errors))
        )
        step *= 2
    depth = growth(length) / max(1.0, math.log2(max(length, 2)))
    return states, tuple(max(1.0, depth) * e for e in errors)


def scatter(node: Scatter, context: Context, over: Over, block: int) -> Array:
    """Errors of cells: of their base, of the updates that reach them, of folding these. In doubt where an uncertain update
    may fall."""
    shape = tuple(context.size(a.size) for a in node.axes)
    value, error = np.zeros(shape), np.zeros(shape)
    for ranges in blocks(shape, block):
        grid, box = Grid(tuple(a.name for a in node.axes), ranges), tuple(slice(*r) for r in ranges)
        part = over(grid, (node.base,))
        value[box], error[box] = part.value(node.base), part.error(node.base)
    cells: list[Array] = []
    doubtful: list[tuple[tuple[float, ...], tuple[float, ...]]] = []
    values: list[Array] = []
    errors: list[Array] = []
    names, inner = tuple(a.name for a in node.updates), tuple(context.size(a.size) for a in node.updates)
    guards = () if node.where is None else (node.where,)
    for ranges in blocks(inner, block):
        grid = Grid(names, ranges)
        part = over(grid, (*node.index, node.value, *guards))
        doubtful += _doubtful(node, grid, part)
        on, cell = np.ones((), np.bool_), np.zeros((), np.int64)
        for e in guards:
            on = part.value(e)
        for e, n in zip(node.index, shape, strict=True):
            place = part.value(e)
            on, cell = on & (place >= 0) & (place < n), cell * n + np.clip(place, 0, max(n - 1, 0))
        kept = np.broadcast_to(on, grid.shape).reshape(-1)
        cells.append(np.broadcast_to(cell, grid.shape).reshape(-1)[kept])
        values.append(np.broadcast_to(part.value(node.value), grid.shape).reshape(-1)[kept].astype(np.float64))
        errors.append(np.broadcast_to(part.error(node.value), grid.shape).reshape(-1)[kept])
    if not cells:
        return error
    found = _folded(node, value.reshape(-1), error.reshape(-1), *map(np.concatenate, (cells, values, errors)))
    found = found.reshape(shape)
    for low, high in doubtful:
        found[tuple(slice(max(int(a), 0), max(int(b) + 1, 0)) for a, b in zip(low, high, strict=True))] = DOUBT
    return found


def _doubtful(node: Scatter, grid: Grid, part: Errors) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """First and last places, along every axis of the output, of each update whose place or guard is uncertain."""
    flat = math.prod(grid.shape)
    errors = [np.broadcast_to(part.error(e), grid.shape).reshape(flat) for e in node.index]
    unsure = np.zeros(flat, np.bool_)
    for e in errors:
        unsure |= e != 0
    if node.where is not None:
        unsure |= np.broadcast_to(part.error(node.where), grid.shape).reshape(flat) != 0
    which = np.flatnonzero(unsure)
    reach = 2.0**40  # beyond every size
    ends = []
    for sign in (-1, 1):
        moved = [np.broadcast_to(part.value(e), grid.shape).reshape(flat)[which]
                 + sign * np.nan_to_num(error[which], nan=reach, posinf=reach)
                 for e, error in zip(node.index, errors, strict=True)]
        ends.append(np.stack(moved, axis=-1) if moved else np.zeros((len(which), 0)))
    return list(dict.fromkeys(zip(map(tuple, ends[0]), map(tuple, ends[1]), strict=True)))


def _folded(node: Scatter, base: Array, error: Array, cells: Array, value: Array, added: Array) -> Array:
    dtype, m = node.output.dtype, node.monoid
    if m is None:
        last = last_of_each(cells)
        error[cells[last]] = added[last]
        return error
    counts = np.bincount(cells, minlength=base.size)
    rounds = np.minimum(counts, 8 * np.sqrt(counts)) * roundoff(dtype)
    if m.name == "sum":
        size = np.abs(base)
        np.add.at(size, cells, np.abs(value))
        np.add.at(error, cells, added)
        return total(error, scaled(size, rounds))
    if m.name == "prod":
        least, most = np.abs(base), np.abs(base) + error
        np.multiply.at(least, cells, np.abs(value))
        np.multiply.at(most, cells, np.abs(value) + added)
        reach = np.maximum(1.0, np.abs(value)).max(initial=1.0)
        return np.asarray(difference(most, least) + rounds * most + counts * underflow(dtype) * reach)
    np.maximum.at(error, cells, added)  # max, min, any, all: no steeper than 1 in any operand
    return error


def select(node: Select, context: Context, over: Over, block: int) -> Array:
    """In doubt on rows in which an uncertain predicate or order may change the positions."""
    shape, n = tuple(context.size(a.size) for a in node.axes), context.size(node.over.size)
    out = np.zeros((*shape, context.size(node.count)))
    roots = (node.predicate,) if node.key is None else (node.predicate, node.key)
    for ranges in blocks(shape, max(1, block // max(n, 1))) if n else ():
        grid = Grid((*(a.name for a in node.axes), node.over.name), (*ranges, (0, n)))
        part = over(grid, roots)
        doubt = part.error(node.predicate)
        if node.key is not None:
            doubt = total(doubt, part.error(node.key))
        rows = np.broadcast_to(doubt != 0, grid.shape).any(axis=-1)
        out[tuple(slice(*r) for r in ranges)] = np.where(rows, DOUBT, 0.0)[..., None]
    return out
