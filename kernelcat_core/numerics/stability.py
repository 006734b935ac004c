"""Running error analysis of a graph: how far from the exact value a correct kernel may end, element by
element.

The graph is evaluated in f64; beside every value goes an absolute bound of its error (error_rules). The bound
knows the data: a sum that cancels gets a wide one, a test that is close to its threshold makes what depends
on it uncertain. Kernels may add in any order, contract a*b+c and keep wider intermediates: the bounds allow
for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.contraction import contract, factors_of
from kernelcat_core.ir.evaluation import Array, Context, Evaluation, Grid, Range, blocks
from kernelcat_core.ir.expr import Expr, Load, Op, Var
from kernelcat_core.ir.graph import Compute, Graph, Monoid, Primitive, Scan, Scatter, Select, monoid
from kernelcat_core.ir.interpreter import evaluate_tensors, infer_sizes
from kernelcat_core.numerics import ordered
from kernelcat_core.numerics.error_rules import DOUBT, EXACT, difference, propagate, scaled
from kernelcat_core.numerics.tolerance import SAFETY, Approximations, growth, roundoff, underflow

Parts = tuple[Array, ...]

BLOCK = 1 << 16  # grid points at once; every intermediate of an expression is kept meanwhile


def error_bounds(
    graph: Graph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    approximations: Approximations | None = None,
    tensors: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Bounds (f64, the shape of the tensor) of the error of every node's output, by name.

    Infinite where an intermediate may overflow its declared dtype, NaN where an index or a test is uncertain.
    `tensors` are the values of `evaluate_tensors(graph, inputs, sizes, "float64")` where the caller has them already.
    """
    bound = infer_sizes(graph, inputs, sizes)
    values = tensors if tensors is not None else evaluate_tensors(graph, inputs, bound, "float64")
    errors: dict[str, Array] = {t.name: EXACT for t in graph.inputs}
    analysis = _Analysis(Context(values, bound, "float64"), errors, approximations or Approximations())
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            found = analysis.node(node)
            errors[node.output.name] = found if found.any() else EXACT
    return {n.output.name: np.full(values[n.output.name].shape, SAFETY) * errors[n.output.name] for n in graph.nodes}


class Errors:
    """Values and errors of expressions over one grid; `states` and `state_errors` belong to Vars that are no
    index."""

    def __init__(
        self,
        context: Context,
        tensors: Mapping[str, Array],
        approximations: Approximations,
        grid: Grid,
        states: Mapping[str, Array],
        state_errors: Mapping[str, Array],
        roots: tuple[Expr, ...],
    ) -> None:
        everything = frozenset(id(n) for e in roots for n in _distinct(e))
        self._evaluation = Evaluation(context, grid, states, everything)
        self._tensors = tensors
        self._approximations = approximations
        self._state_errors = state_errors
        self._kept: dict[int, Array] = {}

    def value(self, e: Expr) -> Array:
        """The exact value (f64 for floats), broadcastable to the grid."""
        return self._evaluation.value(e)

    def error(self, e: Expr) -> Array:
        """A bound of its error."""
        if id(e) not in self._kept:
            self._kept[id(e)] = self._error(e)
        return self._kept[id(e)]

    def _error(self, e: Expr) -> Array:
        if isinstance(e, Var):
            return self._state_errors.get(e.name, EXACT)
        if isinstance(e, Op):
            values, errors = [self.value(a) for a in e.args], [self.error(a) for a in e.args]
            return propagate(e, values, errors, self.value(e), self._approximations)
        return self._loaded(e) if isinstance(e, Load) else EXACT

    def _loaded(self, e: Load) -> Array:
        places = [self.error(i) for i in e.index] + ([] if e.where is None else [self.error(e.where)])
        tensor = self._tensors[e.tensor]
        found = tensor
        if tensor is not EXACT:
            found = self._evaluation.load(e, tensor, EXACT if e.fill is None else self.error(e.fill))
        for place in places:
            if place is not EXACT:
                found = np.where(place != 0, DOUBT, found)
        return found


@dataclass(frozen=True)
class _Analysis:
    context: Context
    errors: Mapping[str, Array]
    approximations: Approximations

    def over(
        self,
        grid: Grid,
        roots: tuple[Expr, ...],
        states: Mapping[str, Array] | None = None,
        state_errors: Mapping[str, Array] | None = None,
    ) -> Errors:
        return Errors(self.context, self.errors, self.approximations, grid, states or {}, state_errors or {}, roots)

    def node(self, node: Primitive) -> Array:
        match node:
            case Compute():
                return self.compute(node)
            case Select():
                return ordered.select(node, self.context, self.over, BLOCK)
            case Scan():
                return ordered.scan(node, self.context, self.over, BLOCK)
            case Scatter():
                return ordered.scatter(node, self.context, self.over, BLOCK)

    def compute(self, node: Compute) -> Array:
        names, shape = tuple(a.name for a in node.axes), tuple(self.context.size(a.size) for a in node.axes)
        out = np.zeros(shape)
        if node.monoid is None:
            for ranges in blocks(shape, BLOCK):
                out[_box(ranges)] = self.over(Grid(names, ranges), node.element).error(node.element[0])
            return out
        inner = tuple(self.context.size(a.size) for a in node.reduce_axes)
        if 0 in inner or 0 in shape:
            return out
        product = self._product(node, node.monoid, (*shape, *inner))
        for ranges in blocks(shape, max(1, BLOCK // math.prod(inner)) if product is None else BLOCK):
            box = _box(ranges)
            if product is None:
                states, errors = self._fold(node, node.monoid, ranges, inner)
            else:
                states, errors = (product[0][box],), (product[1][box],)
            out[box] = errors[0] if node.finish is None else self._finish(node, node.finish, ranges, states, errors)
        return out

    def _finish(self, node: Compute, finish: Expr, ranges: tuple[Range, ...], states: Parts, errors: Parts) -> Array:
        grid = Grid(tuple(a.name for a in node.axes), ranges)
        named, named_errors = ({f"s{k}": x for k, x in enumerate(part)} for part in (states, errors))
        return self.over(grid, (finish,), named, named_errors).error(finish)

    def _product(self, node: Compute, m: Monoid, sizes: tuple[int, ...]) -> tuple[Array, Array] | None:
        """Value and error of a sum of products, from matrix products of magnitudes; None for other
        reductions."""
        dtype = m.state[0]
        if m != monoid("sum", dtype) or not dtype.is_float:
            return None
        names = tuple(a.name for a in (*node.axes, *node.reduce_axes))
        roots, outer = (node.element[0],), len(node.axes)
        factors = factors_of(node.element[0], dtype, "float64")
        exact = [True]

        def signed(e: Expr, ranges: tuple[Range, ...]) -> Array:
            return self.over(Grid(names, ranges), roots).value(e)

        def largest(e: Expr, ranges: tuple[Range, ...]) -> Array:
            part = self.over(Grid(names, ranges), roots)
            error = part.error(e)
            exact[0] &= error is EXACT or not error.any()
            return np.asarray(np.abs(part.value(e)) + error)

        def magnitude(e: Expr, ranges: tuple[Range, ...]) -> Array:
            return np.abs(self.over(Grid(names, ranges), roots).value(e))

        f64 = np.dtype(np.float64)
        most = contract(factors, names, sizes, outer, f64, largest)
        value = None if most is None else contract(factors, names, sizes, outer, f64, signed)
        if most is None or value is None:
            return None
        length = math.prod(sizes[outer:])
        rounds = growth(length) * roundoff(dtype) + _roundoffs(node.element[0], dtype)
        error = (rounds + 2 * self.approximations.product) * most + length * underflow(dtype)
        least = None if exact[0] else contract(factors, names, sizes, outer, f64, magnitude)
        if least is not None:
            error = error + difference(most, least)
        return value, error

    def _fold(self, node: Compute, m: Monoid, outer: tuple[Range, ...], inner: tuple[int, ...]) -> tuple[Parts, Parts]:
        """Final states over a box of output indices, and their errors."""
        names = tuple(a.name for a in (*node.axes, *node.reduce_axes))
        grid = Grid(names, (*outer, *((0, n) for n in inner)))
        part, flat = self.over(grid, node.element), (*(hi - lo for lo, hi in outer), math.prod(inner))
        states = tuple(np.broadcast_to(part.value(e), grid.shape).reshape(flat) for e in node.element)
        errors = tuple(np.broadcast_to(part.error(e), grid.shape).reshape(flat) for e in node.element)
        if m.name in REDUCTIONS and m == monoid(m.name, m.state[0]):
            return REDUCTIONS[m.name](states, errors, m.state[0])
        return self._tree(m, states, errors)

    def _tree(self, m: Monoid, states: Parts, errors: Parts) -> tuple[Parts, Parts]:
        """Any monoid: fold pairs, then allow for the deeper trees that kernels build."""
        length = states[0].shape[-1]
        while (n := states[0].shape[-1]) > 1:
            pairs = n // 2 * 2
            named, named_errors = (
                {
                    f"{side}{k}": x[..., first:pairs:2]
                    for k, x in enumerate(part)
                    for side, first in (("a", 0), ("b", 1))
                }
                for part in (states, errors)
            )
            both = self.over(Grid((), ()), m.combine, named, named_errors)
            shape = (*states[0].shape[:-1], n // 2)
            folded = [(both.value(e), both.error(e)) for e in m.combine]
            states, errors = (
                tuple(
                    np.concatenate([np.broadcast_to(f[side], shape), old[..., pairs:]], axis=-1)
                    for f, old in zip(folded, part, strict=True)
                )
                for side, part in enumerate((states, errors))
            )
        depth = growth(length) / max(1.0, math.log2(length))
        return tuple(s[..., 0] for s in states), tuple(depth * e[..., 0] for e in errors)


def _box(ranges: tuple[Range, ...]) -> tuple[slice, ...]:
    return tuple(slice(*r) for r in ranges)


def _distinct(e: Expr) -> list[Expr]:
    found: dict[int, Expr] = {}
    stack = [e]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(ex.children(node))
    return list(found.values())


def _roundoffs(e: Expr, dtype: DType) -> float:
    """Relative error of forming the product that factors_of takes apart."""
    if isinstance(e, Op) and e.dtype.is_float and (e.name == "mul" or (e.name == "cast" and e.args[0].dtype.is_float)):
        narrowing = e.name == "mul" or roundoff(e.dtype) > roundoff(e.args[0].dtype)
        return (roundoff(e.dtype) if narrowing else 0.0) + sum(_roundoffs(a, dtype) for a in e.args)
    return 0.0


def _sum(states: Parts, errors: Parts, dtype: DType) -> tuple[Parts, Parts]:
    x, e = states[0], errors[0]
    rounds = growth(x.shape[-1]) * roundoff(dtype)
    return (x.sum(axis=-1, dtype=x.dtype),), (e.sum(axis=-1) + scaled(np.abs(x).sum(axis=-1), np.asarray(rounds)),)


def _prod(states: Parts, errors: Parts, dtype: DType) -> tuple[Parts, Parts]:
    x, e = states[0], errors[0]
    most, least = np.prod(np.abs(x) + e, axis=-1), np.prod(np.abs(x), axis=-1)
    rounds = growth(x.shape[-1]) * roundoff(dtype)
    return (x.prod(axis=-1, dtype=x.dtype),), (difference(most, least) + rounds * most + underflow(dtype),)


def _extreme(states: Parts, errors: Parts, largest: bool) -> tuple[Parts, Parts]:
    x = states[0]
    return ((x.max if largest else x.min)(axis=-1),), (errors[0].max(axis=-1),)


def _logical(states: Parts, errors: Parts, any_of: bool) -> tuple[Parts, Parts]:
    """`any` is certain where one element certainly holds; `all` is its dual."""
    x, doubt = states[0], errors[0] != 0
    decided = ((x == any_of) & ~doubt).any(axis=-1)
    return (np.asarray((x.any if any_of else x.all)(axis=-1)),), (np.where(decided, 0.0, doubt.any(axis=-1)),)


def _position(states: Parts, errors: Parts, largest: bool) -> tuple[Parts, Parts]:
    """The position is uncertain where another element may, within its error, be better than the best one."""
    x = np.asarray(states[0], np.float64)
    x = x if largest else -x
    best = x.argmax(axis=-1)[..., None]
    least = np.take_along_axis(x - errors[0], best, axis=-1)
    rivals = x + errors[0] > least
    np.put_along_axis(rivals, best, False, axis=-1)
    doubt = (rivals.any(axis=-1) & errors[0].any(axis=-1)) | np.isnan(errors[0]).any(axis=-1)
    picked = tuple(np.take_along_axis(s, best, axis=-1)[..., 0] for s in states)
    return picked, (errors[0].max(axis=-1), np.where(doubt, DOUBT, 0.0))


REDUCTIONS: dict[str, Callable[[Parts, Parts, DType], tuple[Parts, Parts]]] = {
    "sum": _sum,
    "prod": _prod,
    "max": lambda s, e, _: _extreme(s, e, True),
    "min": lambda s, e, _: _extreme(s, e, False),
    "any": lambda s, e, _: _logical(s, e, True),
    "all": lambda s, e, _: _logical(s, e, False),
    "argmax": lambda s, e, _: _position(s, e, True),
    "argmin": lambda s, e, _: _position(s, e, False),
}
