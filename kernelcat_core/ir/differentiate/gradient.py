"""The walk backwards over a graph: every tensor's shares are added up once all that read it are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelcat_core.dtypes import STORAGE_ONLY
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.differentiate.algebra import computed, core, is_plain, times, total
from kernelcat_core.ir.differentiate.placing import Share, share, summed, used_axes
from kernelcat_core.ir.differentiate.reverse import Tape, received
from kernelcat_core.ir.differentiate.shifts import shifts
from kernelcat_core.ir.expr import Const, Expr, Load, Var, cast, substitute
from kernelcat_core.ir.graph import Axis, Graph, Primitive, Select, Tensor, reads


@dataclass(frozen=True)
class Gradients:
    """`nodes` are primitives beside those of the graph; `names` gives the tensor that holds each gradient."""

    nodes: tuple[Primitive, ...]
    names: Mapping[str, str]


def gradient(graph: Graph, outputs: Sequence[str], wrt: Sequence[str], cotangents: Mapping[str, str] | None = None) -> Graph:
    """The graph of the gradients of `outputs` by each tensor of `wrt`, in that order, as its outputs.

    `cotangents` names, for an output, the tensor of the graph that it is weighted by (of its shape and type); ones if left
    out. A gradient has the shape and type of its tensor, and is zero where nothing depends on it. The graph's own nodes
    stay; those that nothing needs any more are left out. Raises KC-G002 for tensors that have no gradient.
    """
    found = gradients(graph, outputs, wrt, cotangents or {})
    made = tuple(found.names[t] for t in wrt)
    nodes = (*graph.nodes, *found.nodes)
    wanted = set(made)
    alive: list[Primitive] = []
    for node in reversed(nodes):
        if node.output.name in wanted:
            wanted.update(reads(node))
            alive.append(node)
    return Graph(graph.inputs, tuple(reversed(alive)), made)


def gradients(graph: Graph, outputs: Sequence[str], wrt: Sequence[str], cotangents: Mapping[str, str]) -> Gradients:
    """Like `gradient`, as primitives that may follow those of the graph."""
    for name in (*outputs, *wrt):
        dtype = graph.tensors[name].dtype
        if not dtype.is_float or dtype in STORAGE_ONLY:
            raise KernelcatError("KC-G002", f"'{name}' is {dtype}: only tensors of f64, f32, f16 and bf16 have gradients",
                                 hint="cast it to a float type first")
    walk = _Walk(graph, frozenset(wrt), Tape(set(graph.tensors) | set(graph.size_names)))
    return walk.run(outputs, cotangents)


@dataclass
class _Walk:
    """Mutable while one gradient is formed. `shares` are what each tensor has received so far."""

    graph: Graph
    wrt: frozenset[str]
    tape: Tape
    shares: dict[str, list[Share]] = field(default_factory=dict)
    axes: dict[str, tuple[Axis, ...]] = field(default_factory=dict)

    def run(self, outputs: Sequence[str], cotangents: Mapping[str, str]) -> Gradients:
        affected = self._affected()
        self.axes = {n.output.name: _named(n.axes) for n in self.graph.nodes if not isinstance(n, Select)}
        quiet = shifts(self.graph, outputs)
        for name in outputs:
            tensor = self.graph.tensors[name]
            given = cotangents.get(name)
            at = tuple(a.var for a in self._axes(tensor))
            self._add(name, Share(Const(1.0, tensor.dtype) if given is None else Load(given, at, tensor.dtype)))
        names: dict[str, str] = {}
        for node in reversed(self.graph.nodes):
            name = node.output.name
            if name not in affected or name not in self.shares or name in quiet:
                continue
            if name in self.wrt:
                names[name] = self._stored(name)
            if not any(r in affected for r in reads(node)):
                continue
            own: dict[str, Expr] = {a.name: b.var for a, b in zip(self._axes(node.output), node.axes, strict=True)}
            element = substitute(self._settled(name), own)
            for r in received(node, element, self.tape):
                if r.load.tensor in affected and r.load.tensor not in quiet:
                    self._receive(r.load, r.axes, r.value)
        for name in self.wrt:
            if name not in names:
                names[name] = self._stored(name)
        return Gradients(tuple(self.tape.nodes), names)

    def _affected(self) -> set[str]:
        """Float tensors that depend on what gradients are taken by."""
        found = set(self.wrt)
        for node in self.graph.nodes:
            if node.output.dtype.is_float and any(r in found for r in reads(node)):
                found.add(node.output.name)
        return found

    def _axes(self, tensor: Tensor, load: Load | None = None) -> tuple[Axis, ...]:
        """The axes of a tensor's gradient: those of its primitive; of an input, named as where it is first read."""
        if tensor.name not in self.axes:
            taken: set[str] = set()
            found: list[Axis] = []
            for k, size in enumerate(tensor.shape):
                e = load.index[k] if load is not None else None
                name = e.name if isinstance(e, Var) and e.name not in taken else f"i{k}"
                while name in taken or name in self.graph.tensors or name in self.graph.size_names:
                    name += "_"
                taken.add(name)
                found.append(Axis(name, size))
            self.axes[tensor.name] = tuple(found)
        return self.axes[tensor.name]

    def _receive(self, load: Load, axes: tuple[Axis, ...], value: Expr) -> None:
        tensor = self.graph.tensors[load.tensor]
        found = share(load, axes, value, tensor, self._axes(tensor, load))
        if found is not None:
            self._add(load.tensor, found)

    def _add(self, name: str, found: Share) -> None:
        self.shares.setdefault(name, []).append(found)

    # -- sums

    def _settled(self, name: str) -> Expr:
        """The cotangent of a tensor over its axes: a literal, an element of another tensor, or of its own."""
        tensor = self.graph.tensors[name]
        axes = self._axes(tensor)
        shares = self.shares[name]
        if len(shares) == 1 and shares[0].reduced and shares[0].factor is None:
            (only,) = shares
            if used_axes(only.element, axes) == axes:
                load = self._put(summed(f"d{name}", only, axes, _rounded(only.element, tensor)))
                self.shares[name] = [Share(load)]
                return load
        element = total([self._term(name, s, axes) for s in shares])
        assert element is not None
        same = core(element) if isinstance(core(element), Const | Load) else element
        if isinstance(same, Const):
            same = Const(float(same.value), tensor.dtype)
        if not (is_plain(same) and same.dtype == tensor.dtype):
            same = self.tape.compute(f"d{name}", axes, cast(element, tensor.dtype))
        self.shares[name] = [Share(same)]
        return same

    def _put(self, node: Primitive) -> Load:
        return self.tape.put(node)

    def _term(self, name: str, s: Share, axes: tuple[Axis, ...]) -> Expr:
        tensor = self.graph.tensors[name]
        wide = computed(tensor.dtype)
        if s.scattered is not None:
            zero = self.tape.compute(f"d{name}_zero", s.scattered.axes, Const(0.0, wide))
            alone = len(self.shares[name]) == 1 and wide == tensor.dtype
            label = f"d{name}" if alone else f"d{name}_scatter"
            node: Primitive = replace(s.scattered, base=zero, output=replace(s.scattered.output, name=label))
            return self.tape.put(node)
        if not s.reduced:
            return cast(s.element, wide)
        load = self._put(summed(f"d{name}_sum", s, used_axes(s.element, axes)))
        return cast(load if s.factor is None else times(load, s.factor), wide)

    def _stored(self, name: str) -> str:
        """The tensor that holds a gradient in full."""
        tensor = self.graph.tensors[name]
        axes = self._axes(tensor)
        if name not in self.shares:
            return self.tape.compute(f"d{name}", axes, Const(0.0, tensor.dtype)).tensor
        element = self._settled(name)
        own = {n.output.name for n in self.tape.nodes}
        if isinstance(element, Load) and element.tensor in own and element.index == tuple(a.var for a in axes) and (
                self._shape(element.tensor) == tensor.shape):
            return element.tensor
        return self.tape.compute(f"d{name}", axes, element).tensor

    def _shape(self, name: str) -> tuple[Expr, ...]:
        return next(n.output.shape for n in self.tape.nodes if n.output.name == name)


def _named(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Axes of whole-tensor values under names that can be written."""
    return tuple(Axis(f"i{a.name[1:]}" if a.name.startswith("@") else a.name, a.size) for a in axes)


def _rounded(element: Expr, tensor: Tensor) -> Expr | None:
    """The finish that rounds a sum to the type of its tensor, once."""
    return None if element.dtype == tensor.dtype else cast(Var("s0", element.dtype), tensor.dtype)

