"""Kernels of a network as graphs of their own, named so that equal layers are one kernel.

Names go away, and sizes that are large enough to be data rather than structure become run-time arguments: a kernel that
was compiled for one input shape serves the others. Of a tensor that a kernel reads at one place of its leading axes (the
step of a sequence), it gets only that part: the steps are one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import ZERO, Const, Expr, Load, Size, Var, evaluate, loads, transform
from kernelcat_core.ir.graph import Axis, Graph, Primitive, Tensor, expressions, map_axes, map_expressions, reads
from kernelcat_core.schedule.affine import linear

LEAST_SIZE = 32
"""Smaller sizes (windows, heads, channels of an image) stay numbers, which schedules use."""


@dataclass(frozen=True)
class Canonical:
    """`graph` with canonical names; `inputs` and `outputs` are the network's names in the graph's order; an input starts at
    element `starts` of the network's tensor; `sizes` are the values of its Sizes by name."""

    graph: Graph
    inputs: tuple[str, ...]
    starts: tuple[int, ...]
    outputs: tuple[str, ...]
    sizes: dict[str, int]


def canonical(nodes: tuple[Primitive, ...], stored: frozenset[str], tensors: dict[str, Tensor]) -> Canonical:
    """The graph of some nodes of a network whose sizes are numbers; what is `stored` are its outputs."""
    own = {n.output.name for n in nodes}
    inputs = tuple(dict.fromkeys(r for n in nodes for r in reads(n) if r not in own))
    outputs = tuple(n.output.name for n in nodes if n.output.name in stored)
    names = {name: f"x{k}" for k, name in enumerate(inputs)}
    names.update({n.output.name: f"y{k}" for k, n in enumerate(nodes)})
    places = {name: _place(name, nodes, tensors[name]) for name in inputs}
    parts = {n: replace(tensors[n], shape=tensors[n].shape[len(at):]) for n, at in places.items()}
    sizes: dict[int, str] = {}
    for t in (*parts.values(), *(n.output for n in nodes)):
        for d in t.shape:
            if isinstance(d, Const) and int(d.value) >= LEAST_SIZE:
                sizes.setdefault(int(d.value), f"n{len(sizes)}")

    def leaf(e: Expr) -> Expr | None:
        if isinstance(e, Load):
            return replace(e, tensor=names[e.tensor], index=e.index[len(places.get(e.tensor, ())):])
        if isinstance(e, Const) and e.dtype == I64 and int(e.value) in sizes:
            return Size(sizes[int(e.value)])
        return None

    made = tuple(_renamed(n, names, leaf) for n in nodes)
    graph = Graph(tuple(_tensor(t, names, leaf) for t in parts.values()), made, tuple(names[n] for n in outputs))
    starts = tuple(evaluate(linear(tensors[n].shape, _padded(at, tensors[n])), {}) for n, at in places.items())
    return Canonical(graph, inputs, starts, outputs, {name: value for value, name in sizes.items()})


def _place(name: str, nodes: tuple[Primitive, ...], tensor: Tensor) -> tuple[Const, ...]:
    """The leading subscripts that are the same number in every load of the tensor."""
    found: list[Const] = []
    every = [x for n in nodes for e in expressions(n) for x in loads(e) if x.tensor == name]
    for d, size in enumerate(tensor.shape):
        first = every[0].index[d]
        if not isinstance(first, Const) or any(x.index[d] != first for x in every) or not isinstance(size, Const):
            break
        if not 0 <= int(first.value) < int(size.value):  # where a predicate keeps it from being read
            break
        found.append(first)
    return tuple(found)


def _padded(place: tuple[Const, ...], tensor: Tensor) -> tuple[Expr, ...]:
    return (*place, *[ZERO] * (len(tensor.shape) - len(place)))


def _tensor(t: Tensor, names: dict[str, str], leaf: Callable[[Expr], Expr | None]) -> Tensor:
    return Tensor(names[t.name], t.dtype, tuple(transform(d, leaf) for d in t.shape))


def _renamed(node: Primitive, names: dict[str, str], leaf: Callable[[Expr], Expr | None]) -> Primitive:
    """The node with canonical axes, tensors and sizes."""
    axes: dict[str, str] = {}

    def axis(a: Axis) -> Axis:
        axes[a.name] = f"a{len(axes)}"
        return Axis(axes[a.name], transform(a.size, leaf))

    node = map_axes(node, axis, lambda e: transform(e, leaf))

    def value(e: Expr) -> Expr:
        return transform(e, lambda n: Var(axes[n.name], n.dtype) if isinstance(n, Var) and n.name in axes else leaf(n))

    return replace(map_expressions(node, value), output=_tensor(node.output, names, leaf))
