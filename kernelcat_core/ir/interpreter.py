"""The oracle: what a graph means, in NumPy.

Every primitive is evaluated over a grid of its axes with broadcasting, in blocks so that temporaries stay
small. The oracle runs twice: in "float64" (every float computed in f64 from the inputs as given) and at the
"declared" dtypes, each operation rounded once. Integers are exact with wrap-around in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcat_core.dtypes import DTYPES
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.contraction import contract, factors_of
from kernelcat_core.ir.evaluation import (
    Array,
    Context,
    Evaluation,
    Grid,
    Precision,
    Range,
    blocks,
    shared_nodes,
)
from kernelcat_core.ir.expr import Expr, Size
from kernelcat_core.ir.graph import Compute, Graph, Monoid, Primitive, Scan, Scatter, Select, Tensor, monoid
from kernelcat_core.ir.ordered import calculated, combined, scan, scatter, select, ufunc_of
from kernelcat_core.ir.scalar import SCALAR, constant, storage

__all__ = ["SCALAR", "Precision", "evaluate", "evaluate_tensors", "infer_sizes"]

BLOCK = 1 << 19  # grid points evaluated at once; a few f64 temporaries of it stay below 64 MiB


def infer_sizes(graph: Graph, inputs: Mapping[str, Array], sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Every Size of `graph`, read from the shapes of `inputs` and from `sizes`; raises KC-F020 when they
    disagree."""
    found: dict[str, int] = dict(sizes or {})
    for tensor in graph.inputs:
        if tensor.name not in inputs:
            raise KernelcatError("KC-F020", f"input '{tensor.name}' is missing")
        shape = np.shape(inputs[tensor.name])
        if len(shape) != tensor.rank:
            raise KernelcatError("KC-F020", f"'{tensor.name}' has rank {len(shape)}, the formula needs {tensor.rank}")
        for axis, (entry, actual) in enumerate(zip(tensor.shape, shape, strict=True)):
            if isinstance(entry, Size) and found.setdefault(entry.name, actual) != actual:
                raise KernelcatError(
                    "KC-F020",
                    f"axis {axis} of '{tensor.name}' has size {actual}, but {entry.name} is {found[entry.name]}",
                )
    for name in graph.size_names:
        if name not in found:
            raise KernelcatError("KC-F020", f"the size {name} is not given by any input", hint="pass it in sizes")
    for tensor in graph.inputs:
        expected = tuple(ex.evaluate(d, found) for d in tensor.shape)
        if expected != np.shape(inputs[tensor.name]):
            raise KernelcatError(
                "KC-F020",
                f"'{tensor.name}' has shape {np.shape(inputs[tensor.name])}, the formula needs {expected}",
            )
    return found


def evaluate(
    graph: Graph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    precision: Precision = "declared",
) -> dict[str, Array]:
    """The outputs of `graph` by name.

    `inputs` have the shapes and dtypes of `graph.inputs` (other dtypes of the same kind are converted);
    `sizes` binds what shapes do not. Floats of the result are f64 with precision "float64", else of the declared
    dtype. Raises KC-F020 for inputs that do not fit and KC-F013 for a load outside its tensor.
    """
    tensors = evaluate_tensors(graph, inputs, sizes, precision)
    return {name: tensors[name] for name in graph.outputs}


def evaluate_tensors(
    graph: Graph,
    inputs: Mapping[str, Array],
    sizes: Mapping[str, int] | None = None,
    precision: Precision = "declared",
) -> dict[str, Array]:
    """Like `evaluate`, for every tensor of the graph: inputs, intermediates and outputs."""
    bound = infer_sizes(graph, inputs, sizes)
    tensors = {t.name: _input(t, inputs[t.name], precision) for t in graph.inputs}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            tensors[node.output.name] = _node(node, Context(tensors, bound, precision))
    return tensors


def _node(node: Primitive, context: Context) -> Array:
    match node:
        case Compute():
            return _Nodes(context).compute(node)
        case Select():
            return select(node, context)
        case Scan():
            return scan(node, context)
        case Scatter():
            return scatter(node, context)


def _input(tensor: Tensor, given: Array, precision: Precision) -> Array:
    array = np.asarray(given)
    if array.dtype != tensor.dtype.numpy:
        if not _same_kind(array.dtype, tensor.dtype.kind):
            raise KernelcatError(
                "KC-F020", f"'{tensor.name}' has dtype {array.dtype}, the formula needs {tensor.dtype}"
            )
        array = array.astype(tensor.dtype.numpy)
    return np.ascontiguousarray(array.astype(storage(tensor.dtype, precision), copy=False)).reshape(array.shape)


def _same_kind(dtype: np.dtype[Any], kind: str) -> bool:
    if dtype.kind == "V":  # ml_dtypes' floats and 4-bit integers
        return kind in {t.kind for t in DTYPES.values() if t.numpy == dtype}
    return dtype.kind == kind or (dtype.kind in "iub" and kind in "iu")


@dataclass(frozen=True)
class _Nodes:
    """Evaluates primitives in one context."""

    context: Context

    def value(self, e: Expr, grid: Grid, states: Mapping[str, Array] | None = None) -> Array:
        """`e` over `grid`, as an array that broadcasts to `grid.shape`."""
        return Evaluation(self.context, grid, states or {}, shared_nodes((e,))).value(e)

    def compute(self, node: Compute) -> Array:
        shape = tuple(self.context.size(a.size) for a in node.axes)
        out = np.empty(shape, storage(node.output.dtype, self.context.precision))
        names = tuple(a.name for a in node.axes)
        if node.monoid is None:
            for ranges in blocks(shape, BLOCK):
                _store(out, ranges, self.value(node.element[0], Grid(names, ranges)))
            return out
        whole = Grid(
            names + tuple(a.name for a in node.reduce_axes),
            tuple((0, n) for n in (*shape, *(self.context.size(a.size) for a in node.reduce_axes))),
        )
        product = self._contraction(node, whole)
        if product is not None:
            for ranges in blocks(shape, BLOCK):
                here = Grid(names, ranges)
                block = product[tuple(slice(*r) for r in ranges)]
                _store(out, ranges, self._finish(node, (block,), here))
            return out
        inner = whole.shape[len(shape) :]
        for ranges in blocks(shape, max(1, BLOCK // max(1, math.prod(inner)))):
            here = Grid(names, ranges)
            states = self._fold(node, node.monoid, whole.names, ranges, inner)
            _store(out, ranges, self._finish(node, states, here))
        return out

    def _contraction(self, node: Compute, grid: Grid) -> Array | None:
        """A sum of products over two groups of factors as a matrix product; None when it is no such thing."""
        if node.monoid is None or node.monoid != monoid("sum", node.monoid.state[0]):
            return None
        dtype = node.monoid.state[0]
        factors = factors_of(node.element[0], dtype, self.context.precision)
        return contract(
            factors,
            grid.names,
            grid.shape,
            len(node.axes),
            storage(dtype, self.context.precision),
            lambda e, ranges: self.value(e, Grid(grid.names, ranges)),
        )

    def _fold(
        self,
        node: Compute,
        m: Monoid,
        names: tuple[str, ...],
        outer: tuple[Range, ...],
        inner: tuple[int, ...],
    ) -> tuple[Array, ...]:
        """The final states over the box `outer` of output indices, one array of its shape a state."""
        shape = tuple(hi - lo for lo, hi in outer)
        total: tuple[Array, ...] | None = None
        for ranges in blocks(inner, BLOCK):
            grid = Grid(names, outer + ranges)
            evaluation = Evaluation(self.context, grid, {}, shared_nodes(node.element))
            flat = tuple(
                np.broadcast_to(evaluation.value(e), grid.shape).reshape(*shape, math.prod(grid.shape[len(shape) :]))
                for e in node.element
            )
            part = self._reduce(m, flat)
            total = part if total is None else combined(self.context, m, total, part)
        if total is None:
            return tuple(np.broadcast_to(constant(c.value, c.dtype, self.context.precision), shape) for c in m.identity)
        return total

    def _reduce(self, m: Monoid, flat: tuple[Array, ...]) -> tuple[Array, ...]:
        """Fold the last axis (never empty) of every state, keeping the order of elements."""
        ufunc = ufunc_of(m)
        if ufunc is not None:
            dtype = storage(m.state[0], self.context.precision)
            wide = calculated(dtype)
            return (np.asarray(ufunc.reduce(flat[0].astype(wide, copy=False), axis=-1, dtype=wide)).astype(dtype),)
        if m.name in ("argmax", "argmin") and m == monoid(m.name, m.state[0]) and _increasing(flat[1]):
            values = flat[0] if flat[0].dtype.kind in "fiub" else flat[0].astype(np.float32)
            best = (np.argmax if m.name == "argmax" else np.argmin)(values, axis=-1)[..., None]
            return tuple(np.take_along_axis(f, best, axis=-1)[..., 0] for f in flat)
        states = flat
        while (n := states[0].shape[-1]) > 1:
            pairs = n // 2 * 2
            folded = combined(
                self.context, m, tuple(s[..., 0:pairs:2] for s in states), tuple(s[..., 1:pairs:2] for s in states)
            )
            states = tuple(np.concatenate([f, s[..., pairs:]], axis=-1) for f, s in zip(folded, states, strict=True))
        return tuple(s[..., 0] for s in states)

    def _finish(self, node: Compute, states: tuple[Array, ...], grid: Grid) -> Array:
        if node.finish is None:
            return states[0]
        return self.value(node.finish, grid, {f"s{k}": s for k, s in enumerate(states)})


def _store(out: Array, ranges: tuple[Range, ...], value: Array) -> None:
    out[tuple(slice(*r) for r in ranges)] = value


def _increasing(position: Array) -> bool:
    return bool((position[..., 1:] > position[..., :-1]).all())
