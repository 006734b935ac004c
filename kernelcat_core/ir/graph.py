"""Graphs of primitives: what a formula means, before any schedule.

The primitives are a closed list. `Compute` says elementwise, reduction, contraction, window, gather and broadcast in one
form; `Scan` says prefix folds, `Scatter` says writes at computed places, `Select` says first-k by predicate and sorting.
Named operators are formulas over these (formula/operators).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from kernelcat_core.dtypes import BOOL, I32, I64, DType
from kernelcat_core.ir.expr import Const, Expr, Op, Size, Var, loads, op, sizes


@dataclass(frozen=True)
class Tensor:
    """A named array: `shape` holds i64 expressions over Size and Const, () for a scalar. Row-major, contiguous."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Axis:
    """An index `name` that runs over 0 .. size-1."""

    name: str
    size: Expr

    @property
    def var(self) -> Var:
        return Var(self.name)


@dataclass(frozen=True)
class Monoid:
    """A reduction: `state` dtypes, `identity` values, and `combine` over Vars a0, a1.. (earlier) and b0, b1.. (later).

    `combine` is associative; argmax and argmin rely on the element index that their state carries, so order is free.
    """

    name: str
    state: tuple[DType, ...]
    identity: tuple[Const, ...]
    combine: tuple[Expr, ...]


@dataclass(frozen=True)
class Compute:
    """`output[axes] = finish(fold(monoid, element for reduce_axes))`, or `element` itself without reduce axes.

    `element` has one expression per state of the monoid (one in all without a reduction); it may use axes, reduce axes,
    Sizes and Loads. `finish` is over Vars s0, s1.. (the final state) and the axes; None means s0. The
    output's dtype is that of the result.
    """

    output: Tensor
    axes: tuple[Axis, ...]
    element: tuple[Expr, ...]
    reduce_axes: tuple[Axis, ...] = ()
    monoid: Monoid | None = None
    finish: Expr | None = None

    @property
    def value(self) -> Expr:
        """The element of a Compute that reduces nothing."""
        assert self.monoid is None
        return self.element[0]


@dataclass(frozen=True)
class Select:
    """First-k by predicate: for every point of `axes`, the first `count` positions of `over` where `predicate` holds.

    `output` is i32 of shape axes + (count,). With `key` the positions are ordered by it (ascending, ties by position),
    else by position. NaN is the greatest key and -0 equals +0; `descending` puts greater keys first, ties stay by position.
    Missing places repeat the first hit; with no hit they are 0.
    """

    output: Tensor
    axes: tuple[Axis, ...]
    over: Axis
    count: Expr
    predicate: Expr
    key: Expr | None = None
    descending: bool = False


@dataclass(frozen=True)
class Scan:
    """`output[axes] = finish(fold(monoid, element))` over the places from the start of axis number `over` to the point's own.

    `element` and `finish` are as in Compute, over `axes`. With `reverse` the fold starts at the end of the axis; with
    `exclusive` the point's own element is left out (the first point of the fold gets the identity).
    """

    output: Tensor
    axes: tuple[Axis, ...]
    over: int
    monoid: Monoid
    element: tuple[Expr, ...]
    reverse: bool = False
    exclusive: bool = False
    finish: Expr | None = None

    @property
    def scanned(self) -> Axis:
        return self.axes[self.over]


@dataclass(frozen=True)
class Scatter:
    """`output[axes] = base`, then for every point of `updates` in row-major order where `where` holds:
    `output[index] = combine(output[index], value)`, or `= value` without a monoid, so that the last update wins.

    `base` is over `axes`; `index` (one i64 expression an axis of the output), `value` and `where` are over `updates` and may
    load. An update whose index lies outside the output is dropped. The monoid has one state, of the output's dtype.
    """

    output: Tensor
    axes: tuple[Axis, ...]
    base: Expr
    updates: tuple[Axis, ...]
    index: tuple[Expr, ...]
    value: Expr
    monoid: Monoid | None = None
    where: Expr | None = None


Primitive = Compute | Select | Scan | Scatter


@dataclass(frozen=True)
class Graph:
    """`nodes` in an order in which every tensor is written before it is read; `outputs` are names of inputs or nodes.

    Each Size is an axis of some input (see `size_sources`).
    """

    inputs: tuple[Tensor, ...]
    nodes: tuple[Primitive, ...]
    outputs: tuple[str, ...]

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        return {t.name: t for t in (*self.inputs, *(n.output for n in self.nodes))}

    @cached_property
    def size_names(self) -> tuple[str, ...]:
        """Every Size of the graph, in order of first appearance in inputs, then nodes."""
        found: dict[str, None] = {}
        for t in self.inputs:
            for d in t.shape:
                found.update(dict.fromkeys(sizes(d)))
        for n in self.nodes:
            for e in expressions(n):
                found.update(dict.fromkeys(sizes(e)))
        return tuple(found)

    @cached_property
    def bounded_sizes(self) -> tuple[Size, ...]:
        """The Sizes that have a maximum, by axes of inputs."""
        found = {d.name: d for t in self.inputs for d in t.shape if isinstance(d, Size) and d.maximum is not None}
        return tuple(found.values())

    @cached_property
    def size_sources(self) -> dict[str, tuple[str, int]]:
        """Size name -> (input, axis) whose shape entry is exactly that Size."""
        return {d.name: (t.name, k) for t in reversed(self.inputs)
                for k, d in reversed(list(enumerate(t.shape))) if isinstance(d, Size)}

    @cached_property
    def text(self) -> str:
        from kernelcat_core.ir.printer import print_graph

        return print_graph(self)

    @cached_property
    def digest(self) -> str:
        """sha256 of the text form, which holds everything."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def inner_axes(node: Primitive) -> tuple[Axis, ...]:
    """The axes that a primitive walks beside those of its output."""
    match node:
        case Compute():
            return node.reduce_axes
        case Select():
            return (node.over,)
        case Scatter():
            return node.updates
    return ()


def values(node: Primitive) -> tuple[Expr, ...]:
    """The expressions that a primitive evaluates at points of its axes (sizes left out)."""
    match node:
        case Compute() | Scan():
            found: tuple[Expr | None, ...] = (*node.element, node.finish)
        case Select():
            found = (node.predicate, node.key)
        case Scatter():
            found = (node.base, *node.index, node.value, node.where)
    return tuple(e for e in found if e is not None)


def map_expressions(node: Primitive, f: Callable[[Expr], Expr]) -> Primitive:
    """The primitive with `f` applied to each of its `values` (sizes stay)."""
    def g(e: Expr | None) -> Expr | None:
        return None if e is None else f(e)

    match node:
        case Compute() | Scan():
            return replace(node, element=tuple(map(f, node.element)), finish=g(node.finish))
        case Select():
            return replace(node, predicate=f(node.predicate), key=g(node.key))
        case Scatter():
            return replace(node, base=f(node.base), index=tuple(map(f, node.index)), value=f(node.value), where=g(node.where))


def expressions(node: Primitive) -> list[Expr]:
    """Every expression of a primitive: sizes of axes, then its values."""
    found = [a.size for a in (*node.axes, *inner_axes(node))] + list(node.output.shape)
    return [*found, *([node.count] if isinstance(node, Select) else []), *values(node)]


def map_axes(node: Primitive, axis: Callable[[Axis], Axis], size: Callable[[Expr], Expr]) -> Primitive:
    """The primitive with `axis` applied to every axis and `size` to what else says how much (the output stays)."""
    axes = tuple(map(axis, node.axes))
    match node:
        case Compute():
            return replace(node, axes=axes, reduce_axes=tuple(map(axis, node.reduce_axes)))
        case Select():
            return replace(node, axes=axes, over=axis(node.over), count=size(node.count))
        case Scatter():
            return replace(node, axes=axes, updates=tuple(map(axis, node.updates)))
    return replace(node, axes=axes)


def mapped(node: Primitive, f: Callable[[Expr], Expr], tensor: Callable[[Tensor], Tensor]) -> Primitive:
    """The primitive with `f` applied to its values and sizes, and `tensor` to its output."""
    moved = map_axes(map_expressions(node, f), lambda a: Axis(a.name, f(a.size)), f)
    return replace(moved, output=tensor(node.output))


def reads(node: Primitive) -> list[str]:
    """Names of the tensors a primitive loads, in order of first appearance (found once, kept with the value)."""
    found: list[str] | None = node.__dict__.get("_reads")
    if found is None:
        found = list(dict.fromkeys(n.tensor for e in expressions(node) for n in loads(e)))
        node.__dict__["_reads"] = found
    return found


def _pair(dtype: DType) -> tuple[Var, Var]:
    return Var("a0", dtype), Var("b0", dtype)


def _least(dtype: DType) -> Const:
    if dtype.is_float:
        return Const(float("-inf"), dtype)
    return Const(False, BOOL) if dtype.kind == "b" else Const(-(1 << dtype.bits - 1) if dtype.kind == "i" else 0, dtype)


def _greatest(dtype: DType) -> Const:
    if dtype.is_float:
        return Const(float("inf"), dtype)
    return Const(True, BOOL) if dtype.kind == "b" else Const((1 << dtype.bits - (dtype.kind == "i")) - 1, dtype)


def monoid(name: str, dtype: DType) -> Monoid:
    """The reduction `name` over elements of `dtype`: sum prod max min any all argmax argmin, argmax_last argmin_last, logsumexp.

    sum and prod expect `dtype` to be the accumulator already. max and min propagate NaN. argmax and argmin have the
    state (value, i64 row-major position): lowest position on ties, the first NaN wins; of argmax_last and argmin_last the
    highest position and the last NaN. logsumexp has the state (m, l), which stands for m + log(l).
    """
    a, b = _pair(dtype)
    match name:
        case "sum":
            return Monoid(name, (dtype,), (Const(0.0 if dtype.is_float else 0, dtype),), (op("add", a, b),))
        case "prod":
            return Monoid(name, (dtype,), (Const(1.0 if dtype.is_float else 1, dtype),), (op("mul", a, b),))
        case "max":
            return Monoid(name, (dtype,), (_least(dtype),), (op("max", a, b),))
        case "min":
            return Monoid(name, (dtype,), (_greatest(dtype),), (op("min", a, b),))
        case "any":
            return Monoid(name, (BOOL,), (Const(False, BOOL),), (Op("or", _pair(BOOL), BOOL),))
        case "all":
            return Monoid(name, (BOOL,), (Const(True, BOOL),), (Op("and", _pair(BOOL), BOOL),))
        case "argmax" | "argmin" | "argmax_last" | "argmin_last":
            return _arg(name, dtype)
        case "logsumexp":
            return _logsumexp(dtype)
    raise AssertionError(f"unknown reduction {name}")


def _arg(name: str, dtype: DType) -> Monoid:
    """(value, position). The identity's position loses every tie, so that any element, even an infinite one, beats it."""
    a, b = _pair(dtype)
    p, q = Var("a1", I64), Var("b1", I64)
    largest, last = name.startswith("argmax"), name.endswith("_last")
    better = op("gt" if largest else "lt", b, a)
    tie = op("eq", a, b)
    if dtype.is_float:
        a_nan, b_nan = op("isnan", a), op("isnan", b)
        better = op("or", op("and", b_nan, op("not", a_nan)), better)
        tie = op("or", op("and", a_nan, b_nan), tie)
    take = op("or", better, op("and", tie, op("lt", p, q) if last else op("lt", q, p)))
    identity = _least(dtype) if largest else _greatest(dtype)
    nowhere = Const(-1 if last else (1 << 63) - 1, I64)
    return Monoid(name, (dtype, I64), (identity, nowhere), (op("where", take, b, a), op("where", take, q, p)))


def _logsumexp(dtype: DType) -> Monoid:
    """(m, l) for m + log(l); an element x comes as (x, 1). An infinite or NaN m is not subtracted."""
    a, b, c, d = Var("a0", dtype), Var("b0", dtype), Var("a1", dtype), Var("b1", dtype)
    m = op("max", a, b)
    shift = op("where", op("isfinite", m), m, Const(0.0, dtype))
    total = op("add", op("mul", c, op("exp", op("sub", a, shift))), op("mul", d, op("exp", op("sub", b, shift))))
    return Monoid("logsumexp", (dtype, dtype), (_least(dtype), Const(0.0, dtype)), (m, total))


SELECT_DTYPE = I32
