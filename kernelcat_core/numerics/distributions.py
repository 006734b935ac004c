"""Seeded inputs for checks: several distributions, sensible for what a formula does with each input.

An input that is a subscript gets valid positions, a divisor is not zero, a shift count is below the width,
and operands of log, sqrt, asin and the like are inside their domain; everything else follows the
distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.evaluation import Array
from kernelcat_core.ir.expr import Expr, Load, Op
from kernelcat_core.ir.graph import Graph, Scatter, Tensor, expressions

Draw = Callable[[np.random.Generator, tuple[int, ...], DType], Array]


def _normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return rng.standard_normal(shape)


def _large(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return rng.standard_normal(shape) * (64.0 if dtype.bits < 16 or dtype.name == "f16" else 1e4)


def _tiny(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return rng.standard_normal(shape) * (2.0**-9 if dtype.bits < 16 or dtype.name == "f16" else 1e-12)


def _sorted(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    drawn = rng.standard_normal(shape)
    return np.sort(drawn, axis=-1) if shape else drawn


def _ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return rng.integers(-2, 3, shape) * 0.5


def _zeros(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    return np.zeros(shape)


def _special(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal, and about one element in sixteen NaN, an infinity or a negative zero."""
    drawn = rng.standard_normal(shape)
    values = np.array([np.nan, np.inf, -np.inf, -0.0])[rng.integers(0, 4, shape)]
    return np.where(rng.random(shape) < 1 / 16, values, drawn)


def _nan(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Normal with one NaN, so that a reduction to a scalar meets it."""
    drawn = rng.standard_normal(shape)
    if drawn.size:
        drawn.reshape(-1)[rng.integers(0, drawn.size)] = np.nan
    return drawn


DISTRIBUTIONS: dict[str, Draw] = {
    "normal": _normal,
    "large": _large,
    "tiny": _tiny,
    "sorted": _sorted,
    "ties": _ties,
    "zeros": _zeros,
    "special": _special,
    "nan": _nan,
}

_POSITIVE = frozenset({"log", "log2", "log10", "sqrt", "rsqrt"})
_UNIT = frozenset({"asin", "acos", "atanh"})


def distributions_of(graph: Graph) -> tuple[str, ...]:
    """The distributions on which `graph` is defined: a cast from float to integer excludes large and special
    values."""
    whole = any(
        isinstance(n, Op) and n.name == "cast" and n.dtype.is_integer and n.args[0].dtype.is_float
        for n in _nodes(graph)
    )
    return tuple(name for name in DISTRIBUTIONS if not (whole and name in ("large", "special", "nan")))


def make_inputs(
    graph: Graph, sizes: Mapping[str, int], seed: int = 0, distribution: str = "normal"
) -> dict[str, Array]:
    """Arrays for every input of `graph`, of its declared dtype and the shape that `sizes` gives it.

    The same arguments give the same arrays, and an input's values do not depend on the other inputs. Raises
    KC-F020 for an unknown distribution or a missing size.
    """
    if distribution not in DISTRIBUTIONS:
        raise KernelcatError("KC-F020", f"unknown distribution '{distribution}'", hint=", ".join(DISTRIBUTIONS))
    for name in graph.size_names:
        if name not in sizes:
            raise KernelcatError("KC-F020", f"the size {name} has no value")
    positions, roles = _positions(graph, sizes), _roles(graph)
    arrays = {}
    for number, tensor in enumerate(graph.inputs):
        rng = np.random.default_rng([seed, number])
        shape = tuple(ex.evaluate(d, sizes) for d in tensor.shape)
        if tensor.dtype.is_float:
            drawn = _in_domain(DISTRIBUTIONS[distribution](rng, shape, tensor.dtype), roles.get(tensor.name, ""))
        else:
            drawn = _integers(rng, shape, tensor, distribution, positions.get(tensor.name), roles.get(tensor.name, ""))
        with np.errstate(all="ignore"):
            arrays[tensor.name] = np.asarray(drawn).astype(tensor.dtype.numpy)
    return arrays


def _in_domain(drawn: Array, role: str) -> Array:
    if role == "positive":
        return np.abs(drawn)
    return np.tanh(drawn) if role == "unit" else np.abs(drawn) + 1 if role == "above one" else drawn


def _integers(
    rng: np.random.Generator, shape: tuple[int, ...], tensor: Tensor, distribution: str, bound: int | None, role: str
) -> Array:
    dtype = tensor.dtype
    if dtype.kind == "b":
        return np.zeros(shape, np.bool_) if distribution == "zeros" else rng.random(shape) < 0.5
    if bound is not None:  # valid positions; out of range only where values are special
        low, high = (-1, bound + 1) if distribution == "special" and dtype.kind == "i" else (0, max(bound, 1))
    elif role == "divisor":
        low, high = 1, 8
    elif role == "shift":
        low, high = 0, dtype.bits
    else:
        reach = (
            3
            if distribution == "ties"
            else 1
            << (
                dtype.bits - 1
                if distribution == "large" and dtype.bits < 32
                else min(dtype.bits - 1, 7)
                if distribution != "large"
                else 15
            )
        )
        low, high = (-reach if dtype.kind == "i" else 0), reach
    if distribution == "zeros" and role != "divisor":
        return np.zeros(shape, dtype.numpy)
    drawn = rng.integers(low, high, shape, np.int64)
    return np.sort(drawn, axis=-1) if distribution == "sorted" and shape else drawn


def _nodes(graph: Graph) -> Iterator[Expr]:
    for node in graph.nodes:
        for e in expressions(node):
            yield from ex.walk(e)


def _positions(graph: Graph, sizes: Mapping[str, int]) -> dict[str, int]:
    """Inputs that appear in subscripts -> the smallest size of the axes that they select from."""
    found: dict[str, int] = {}

    def see(index: tuple[Expr, ...], shape: tuple[Expr, ...]) -> None:
        for e, extent in zip(index, shape, strict=True):
            for inner in ex.loads(e):
                size = ex.evaluate(extent, sizes)
                found[inner.tensor] = min(size, found.get(inner.tensor, size))

    for load in (n for n in _nodes(graph) if isinstance(n, Load)):
        see(load.index, graph.tensors[load.tensor].shape)
    for node in graph.nodes:
        if isinstance(node, Scatter):
            see(node.index, node.output.shape)
    return found


def _roles(graph: Graph) -> dict[str, str]:
    """What the formula asks of an input: by the operation that takes it directly (or cast)."""
    found: dict[str, str] = {}
    for o in (n for n in _nodes(graph) if isinstance(n, Op)):
        first, second = _direct(o.args[0]), _direct(o.args[-1])
        if o.name in _POSITIVE and first:
            found[first] = "positive"
        elif o.name in _UNIT and first:
            found[first] = "unit"
        elif o.name == "acosh" and first:
            found[first] = "above one"
        elif o.name == "pow" and first and o.dtype.is_float:
            found[first] = "positive"
        elif o.name in ("floordiv", "mod") and second and not o.dtype.is_float:
            found[second] = "divisor"
        elif o.name in ("shl", "shr") and second:
            found[second] = "shift"
    return found


def _direct(e: Expr) -> str:
    while isinstance(e, Op) and e.name == "cast":
        e = e.args[0]
    return e.tensor if isinstance(e, Load) else ""
