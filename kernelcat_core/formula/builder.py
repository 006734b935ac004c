"""The graph under construction: tensors, hoisting of reducers into primitives, common subexpressions, final names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import limits
from kernelcat_core.formula.sizes import Sizes
from kernelcat_core.formula.values import Value, arrived
from kernelcat_core.ir.expr import Expr, Load, Size, Var, children, substitute, transform
from kernelcat_core.ir.graph import (
    Axis,
    Compute,
    Graph,
    Monoid,
    Primitive,
    Scan,
    Scatter,
    Select,
    Tensor,
    inner_axes,
    map_expressions,
    mapped,
    reads,
)


@dataclass
class Builder:
    """Mutable while one formula is lowered. `nodes` maps working names (`%1`) to primitives, in order."""

    sizes: Sizes
    inputs: dict[str, Tensor] = field(default_factory=dict)
    nodes: dict[str, Primitive] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    claimed: dict[str, str] = field(default_factory=dict)
    _known: dict[Any, str] = field(default_factory=dict)
    _weights: dict[int, tuple[Expr, int, int]] = field(default_factory=dict)

    # -- sizes of expressions

    def weight(self, e: Expr) -> tuple[int, int]:
        """(nodes of the tree, its depth), remembered for each object."""
        found = self._weights.get(id(e))
        if found is not None:
            return found[1], found[2]
        total, depth = 1, 0
        for c in children(e):
            n, d = self.weight(c)
            total, depth = total + n, max(depth, d)
        self._weights[id(e)] = (e, total, depth + 1)
        return total, depth + 1

    def heavy(self, e: Expr) -> bool:
        nodes, depth = self.weight(e)
        return nodes > limits.EXPRESSION_NODES or depth > limits.EXPRESSION_DEPTH

    # -- tensors

    def input(self, tensor: Tensor) -> None:
        self.inputs[tensor.name] = tensor

    def value_of(self, name: str) -> Value:
        """The tensor `name` (an input or a working name) as a value."""
        t = self.inputs[name] if name in self.inputs else self.nodes[name].output
        axes = tuple(Axis(f"@{k}", self.sizes.resolve(d)) for k, d in enumerate(t.shape))
        return Value(arrived(Load(t.name, tuple(a.var for a in axes), t.dtype)), axes)

    def add(self, node: Primitive, label: str) -> str:
        """Append a primitive (its output's name is replaced) unless an equal one exists; returns its working name."""
        key = _key(node, self.sizes)
        if key in self._known:
            return self._known[key]
        if len(self.nodes) >= limits.NODES:
            raise KernelcatError("KC-F003", f"the formula gives more than {limits.NODES} primitives",
                                 hint="split the formula")
        name = f"%{len(self.nodes)}"
        self.nodes[name] = replace(node, output=replace(node.output, name=name))
        self.labels[name] = label
        self._known[key] = name
        return name

    def compute(self, axes: tuple[Axis, ...], element: Expr, label: str) -> str:
        """A Compute without reduction."""
        tensor = Tensor("", element.dtype, tuple(a.size for a in axes))
        return self.add(Compute(tensor, axes, (element,)), label)

    def reduce(self, axes: tuple[Axis, ...], reduce_axes: tuple[Axis, ...], monoid: Monoid, element: tuple[Expr, ...],
               finish: Expr | None, label: str) -> Expr:
        """A reduction as a primitive of its own; returns the load of its result at `axes`."""
        dtype = monoid.state[0] if finish is None else finish.dtype
        tensor = Tensor("", dtype, tuple(a.size for a in axes))
        name = self.add(Compute(tensor, axes, element, reduce_axes, monoid, finish), label)
        return Load(name, tuple(a.var for a in axes), dtype)

    def materialise(self, value: Value, label: str) -> str:
        """The tensor that holds a whole-tensor value: itself when it is one, else a new Compute."""
        e = value.expr
        if isinstance(e, Load) and e.where is None and e.index == tuple(a.var for a in value.axes):
            t = self.inputs.get(e.tensor) or self.nodes[e.tensor].output
            if t.rank == value.rank and all(self.sizes.resolve(a) == self.sizes.resolve(b.size)
                                            for a, b in zip(t.shape, value.axes, strict=True)):
                return e.tensor
        return self.compute(value.axes, e, label)

    def claim(self, name: str, value: Value) -> str:
        """The working name of the tensor called `name` from now on."""
        working = self.materialise(value, name)
        if working in self.inputs or working in self.claimed:
            node = Compute(Tensor("", value.dtype, tuple(a.size for a in value.axes)), value.axes, (value.expr,))
            working = f"%{len(self.nodes)}"
            self.nodes[working] = replace(node, output=replace(node.output, name=working))
        self.claimed[working] = name
        return working

    # -- the end

    def graph(self, outputs: list[str], final: dict[str, str]) -> tuple[Graph, dict[str, str]]:
        """The finished graph. `outputs` are working names, `final` maps working names to the names people gave.

        Returns it with the map from the symbols used while lowering to their final names.
        """
        alive = self.alive(outputs)
        names = self._names(alive, final)
        size_names = self._size_names(set(names.values()))
        bounds = self.sizes.bounds()
        final_sizes = {s: Size(n, bounds.get(s)) for s, n in size_names.items()}

        def finished(e: Expr) -> Expr:
            return transform(self.sizes.substituted(e), lambda n: _renamed(n, names, final_sizes))

        def tensor(t: Tensor) -> Tensor:
            return Tensor(names.get(t.name, t.name), t.dtype, tuple(finished(d) for d in t.shape))

        nodes = tuple(mapped(self.nodes[n], finished, tensor) for n in alive)
        inputs = tuple(tensor(t) for t in self.inputs.values())
        return Graph(inputs, nodes, tuple(names.get(o, o) for o in outputs)), size_names

    def alive(self, outputs: list[str]) -> list[str]:
        """Working names of the primitives that `outputs` need, in order."""
        wanted = set(outputs)
        for name in reversed(self.nodes):
            if name in wanted:
                wanted.update(reads(self.nodes[name]))
        return [n for n in self.nodes if n in wanted]

    def _names(self, alive: list[str], final: dict[str, str]) -> dict[str, str]:
        names = {n: f for n, f in final.items() if n in alive}
        taken = set(names.values()) | set(self.inputs) | set(final.values())
        for working in alive:
            if working in names:
                continue
            base = self.claimed.get(working) or self.labels.get(working, "t")
            name, count = base, 2
            while name in taken:
                name, count = f"{base}_{count}", count + 1
            taken.add(name)
            names[working] = name
        return names

    def _size_names(self, taken: set[str]) -> dict[str, str]:
        taken = taken | set(self.inputs)
        used: dict[str, str] = {}
        symbols = [s for s in self.sizes.rank if s not in self.sizes.bound]
        declared = {s for s in symbols if self.sizes.rank[s] == 0}
        for s in symbols:
            if s in declared:
                used[s] = s
        for s in symbols:
            if s in declared:
                continue
            nick = self.sizes.nickname.get(s, "").upper()
            free = nick.isidentifier() and nick not in taken and nick not in used.values()
            used[s] = nick if free else s
        return used


def _renamed(n: Expr, names: dict[str, str], final_sizes: dict[str, Size]) -> Expr | None:
    if isinstance(n, Load) and n.tensor in names:
        return replace(n, tensor=names[n.tensor])
    if isinstance(n, Size):
        return final_sizes.get(n.name)
    return None


def _key(node: Primitive, sizes: Sizes) -> Any:
    """What makes two primitives equal: everything but the names of their indices and of their output."""
    every = node.axes + inner_axes(node)
    places: dict[str, Expr] = {a.name: Var(f"_{k}") for k, a in enumerate(every)}

    def plain(e: Expr) -> Expr:
        return substitute(e, places)

    ranges = tuple(sizes.resolve(a.size) for a in every)
    same = map_expressions(node, plain)
    match same:
        case Compute():
            return "compute", len(node.axes), ranges, same.element, same.monoid, same.finish
        case Scan():
            return "scan", ranges, same.over, same.monoid, same.element, same.reverse, same.exclusive, same.finish
        case Scatter():
            return "scatter", len(node.axes), ranges, same.base, same.index, same.value, same.monoid, same.where
        case Select():
            return "select", ranges, sizes.resolve(same.count), same.predicate, same.key, same.descending
