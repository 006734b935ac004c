"""Outputs that are positions (argmax, selections): which answers are right when values are only known within
errors."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kernelcat_core.ir.evaluation import Array, Context, Grid, blocks
from kernelcat_core.ir.expr import Expr
from kernelcat_core.ir.graph import Compute, Select
from kernelcat_core.numerics.error_rules import EXACT
from kernelcat_core.numerics.stability import BLOCK, Errors
from kernelcat_core.numerics.tolerance import SAFETY, Approximations


def optimal_positions(
    node: Compute, actual: Array, tensors: Mapping[str, Array], bounds: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array:
    """Where the value at the position that `actual` names may be the best one within errors (argmax and argmin).

    Equal values without errors are no such case: there the position is defined, and the oracle has it.

    `tensors` holds values in f64 of every tensor that the node reads, `bounds` the errors of those that have
    one. The chosen element is found by value: it is the one that the node would have turned into `actual`.
    """
    assert node.monoid is not None
    context = Context(tensors, sizes, "float64")
    shape, inner = tuple(context.size(a.size) for a in node.axes), tuple(context.size(a.size) for a in node.reduce_axes)
    right = np.zeros(actual.shape, np.bool_)
    names = tuple(a.name for a in (*node.axes, *node.reduce_axes))
    for ranges in blocks(shape, max(1, BLOCK // max(1, math.prod(inner)))) if 0 not in inner else ():
        box = tuple(slice(*r) for r in ranges)
        grid = Grid(names, (*ranges, *((0, n) for n in inner)))
        part = _errors(context, bounds, grid, node.element)
        flat = (*(hi - lo for lo, hi in ranges), math.prod(inner))
        value, position = (np.broadcast_to(part.value(e), grid.shape).reshape(flat) for e in node.element)
        error = SAFETY * np.broadcast_to(part.error(node.element[0]), grid.shape).reshape(flat)
        error = np.nan_to_num(error, nan=np.inf, posinf=np.inf)
        answer = position
        if node.finish is not None:
            rows = Grid((*names[: len(shape)], "position of the element"), (*ranges, (0, flat[-1])))
            finish = _errors(context, bounds, rows, (node.finish,), {"s0": value, "s1": position})
            answer = np.broadcast_to(finish.value(node.finish), flat)
        value = np.asarray(value if node.monoid.name == "argmax" else -np.asarray(value, np.float64), np.float64)
        # with a NaN this is NaN and nothing is accepted: then the oracle must be met exactly
        best = (value - error).max(axis=-1, keepdims=True)
        right[box] = ((answer == actual[box][..., None]) & (value + error > best)).any(axis=-1)
    return right


def valid_selections(
    node: Select, actual: Array, tensors: Mapping[str, Array], bounds: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array:
    """Which rows of a selection (marked whole) are right for some decision of the uncertain predicates."""
    context = Context(tensors, sizes, "float64")
    shape, n = tuple(context.size(a.size) for a in node.axes), context.size(node.over.size)
    right = np.zeros(actual.shape, np.bool_)
    roots = (node.predicate,) if node.key is None else (node.predicate, node.key)
    for ranges in blocks(shape, max(1, BLOCK // max(1, n))) if n else ():
        grid = Grid((*(a.name for a in node.axes), node.over.name), (*ranges, (0, n)))
        part = _errors(context, bounds, grid, roots)
        hit = np.broadcast_to(part.value(node.predicate), grid.shape)
        doubt = np.broadcast_to(part.error(node.predicate), grid.shape) != 0
        key, error = np.arange(n, dtype=np.float64), EXACT
        if node.key is not None:
            key, error = part.value(node.key), SAFETY * part.error(node.key)
            if node.descending:
                key = -np.asarray(key, np.float64)
        key, error = np.broadcast_to(key, grid.shape), np.broadcast_to(error, grid.shape)
        box = tuple(slice(*r) for r in ranges)
        block, accepted = actual[box], right[box]
        for row in np.ndindex(grid.shape[:-1]):
            accepted[row] = _valid(block[row], hit[row], doubt[row], key[row], error[row])
    return right


def _valid(row: Array, hit: Array, doubt: Array, key: Array, error: Array) -> bool:
    """One row: distinct positions that hold, in the order of `key` within `error`, none left out that must
    come first."""
    certain = hit & ~doubt
    if len(row) == 0:
        return True
    if (row < 0).any() or (row >= len(hit)).any():
        return False
    repeats = np.flatnonzero(row[1:] == row[0])
    count = int(repeats[0]) + 1 if repeats.size else len(row)
    chosen, padding = row[:count].astype(np.int64), row[count:]
    if not (hit | doubt)[chosen].all():
        return bool((row == 0).all() and not certain.any())
    if len(set(chosen.tolist())) < count or (padding != row[0]).any():
        return False
    low, high = key - error, key + error
    ordered = bool((np.maximum.accumulate(low[chosen]) <= high[chosen]).all())
    left_out = certain.copy()
    left_out[chosen] = False
    if padding.size:
        return ordered and not left_out.any()
    return ordered and not (left_out & (high < low[chosen].max())).any()


def _errors(
    context: Context,
    bounds: Mapping[str, Array],
    grid: Grid,
    roots: tuple[Expr, ...],
    states: Mapping[str, Array] | None = None,
) -> Errors:
    return Errors(
        context, {**dict.fromkeys(context.tensors, EXACT), **bounds}, Approximations(), grid, states or {}, {}, roots
    )
