"""Scalar expressions over a grid of indices, in NumPy: the inner part of the oracle.

An expression becomes an array with one axis an index of the grid, of length 1 where it does not vary with
that index, so that broadcasting forms the grid only where something depends on all of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var
from kernelcat_core.ir.scalar import apply, constant, convert

Array = npt.NDArray[Any]
Precision = Literal["declared", "float64"]
Range = tuple[int, int]


@dataclass(frozen=True)
class Grid:
    """Half-open ranges of named indices; arrays over it have one axis an index (length 1 where they do not
    vary)."""

    names: tuple[str, ...]
    ranges: tuple[Range, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(hi - lo for lo, hi in self.ranges)

    def index(self, name: str) -> Array:
        k = self.names.index(name)
        lo, hi = self.ranges[k]
        return np.arange(lo, hi, dtype=np.int64).reshape([-1 if a == k else 1 for a in range(len(self.names))])


def blocks(sizes: tuple[int, ...], budget: int) -> Iterator[tuple[Range, ...]]:
    """Cut an index space into boxes of at most `budget` points (or 1), last axes whole where possible."""
    steps = [1] * len(sizes)
    for k in reversed(range(len(sizes))):
        steps[k] = max(1, min(sizes[k], budget))
        budget //= steps[k]
    for starts in itertools.product(*(range(0, n, s) for n, s in zip(sizes, steps, strict=True))):
        yield tuple((a, min(a + s, n)) for a, s, n in zip(starts, steps, sizes, strict=True))


@dataclass(frozen=True)
class Context:
    """What an expression may refer to: arrays by tensor name, values of Sizes, and the precision of
    floats."""

    tensors: Mapping[str, Array]
    sizes: Mapping[str, int]
    precision: Precision

    def size(self, e: Expr) -> int:
        """The value of an i64 expression over Sizes."""
        return ex.evaluate(e, self.sizes)


def shared_nodes(roots: tuple[Expr, ...]) -> frozenset[int]:
    """ids of Op nodes that several parents hold: their values are kept, so that a DAG costs what it shows."""
    seen: set[int] = set()
    shared: set[int] = set()
    stack: list[Expr] = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            shared.add(id(node))
            continue
        seen.add(id(node))
        stack.extend(ex.children(node))
    return frozenset(shared)


@dataclass
class Evaluation:
    """One expression (or several that share parts) over one grid; `states` are arrays for the other Vars.

    Raises KC-F013 for a load outside its tensor.
    """

    context: Context
    grid: Grid
    states: Mapping[str, Array]
    shared: frozenset[int]

    def __post_init__(self) -> None:
        self.kept: dict[int, Array] = {}

    def value(self, e: Expr) -> Array:
        if id(e) in self.kept:
            return self.kept[id(e)]
        value = self._value(e)
        if id(e) in self.shared and isinstance(e, Op | Load):
            self.kept[id(e)] = value
        return value

    def _value(self, e: Expr) -> Array:
        precision = self.context.precision
        if isinstance(e, Const):
            return constant(e.value, e.dtype, precision)
        if isinstance(e, Size):
            return np.array(self.context.sizes[e.name], np.int64)
        if isinstance(e, Var):
            if e.name in self.states:
                return convert(self.states[e.name], e.dtype, precision)
            return self.grid.index(e.name)
        if isinstance(e, Op):
            return apply(e.name, [self.value(a) for a in e.args], e.dtype, precision)
        tensor = self.context.tensors[e.tensor]
        return self.load(e, tensor, np.zeros((), tensor.dtype) if e.fill is None else self.value(e.fill))

    def load(self, e: Load, tensor: Array, fill: Array) -> Array:
        """The elements of `tensor` (contiguous) at the places of `e`; `fill` where its predicate does not
        hold."""
        if e.where is None:
            view = self._view(e, tensor)
            return self._gather(e, tensor, None) if view is None else view
        inside = self.value(e.where)
        if not inside.any():
            return fill
        if inside.all():
            view = self._view(e, tensor)
            return self._gather(e, tensor, None) if view is None else view
        return np.where(inside, self._gather(e, tensor, inside), fill)

    def _view(self, e: Load, tensor: Array) -> Array | None:
        """The loaded elements as a strided view if every index is affine in the grid's indices, else None."""
        grid, strides, offset = self.grid, [0] * len(self.grid.names), 0
        for dimension, index in enumerate(e.index):
            low = high = 0
            rest = index
            for name in sorted(ex.variables(index)):
                found = ex.coefficient(rest, name) if name in grid.names and name not in self.states else None
                if found is None or any(isinstance(n, Var | Load) for n in ex.walk(found[0])):
                    return None
                step, rest = self.context.size(found[0]), found[1]
                k = grid.names.index(name)
                first, last = step * grid.ranges[k][0], step * (grid.ranges[k][1] - 1)
                low, high = low + min(first, last), high + max(first, last)
                strides[k] += step * tensor.strides[dimension]
                offset += first * tensor.strides[dimension]
            if any(isinstance(n, Var | Load) for n in ex.walk(rest)):
                return None
            start = self.context.size(rest)
            if 0 in grid.shape:
                continue
            self._inside(e, tensor, dimension, start + low, start + high)
            offset += start * tensor.strides[dimension]
        shape = tuple(n if s != 0 else min(n, 1) for n, s in zip(grid.shape, strides, strict=True))
        if 0 in shape:
            return np.empty(shape, tensor.dtype)
        base = tensor.reshape(-1)[offset // tensor.itemsize :]
        if tensor.dtype.isbuiltin == 1:
            return np.lib.stride_tricks.as_strided(base, shape, strides, writeable=False)
        words = base.view(f"u{tensor.itemsize}")  # NumPy strides its own types only
        return np.lib.stride_tricks.as_strided(words, shape, strides, writeable=False).view(tensor.dtype)

    def _gather(self, e: Load, tensor: Array, inside: Array | None) -> Array:
        flat: Array = np.zeros((), np.int64)
        for dimension, index in enumerate(e.index):
            position = self.value(index)
            if inside is not None:
                position = np.where(inside, position, 0)
            if position.size:
                self._inside(
                    e,
                    tensor,
                    dimension,
                    int(position.min()),
                    int(position.max()),
                    bool(inside is not None and tensor.shape[dimension] == 0),
                )
            flat = flat + position * (tensor.strides[dimension] // tensor.itemsize)
        if tensor.size == 0:  # then `inside` is false everywhere, or there is no grid point at all
            return np.zeros(flat.shape, tensor.dtype)
        return tensor.reshape(-1).take(flat, mode="clip")

    def _inside(self, e: Load, tensor: Array, dimension: int, low: int, high: int, empty: bool = False) -> None:
        if (low < 0 or high >= tensor.shape[dimension]) and not empty:
            raise KernelcatError(
                "KC-F013",
                f"axis {dimension} of '{e.tensor}' has size {tensor.shape[dimension]}, "
                f"but is loaded at {low if low < 0 else high}",
            )
