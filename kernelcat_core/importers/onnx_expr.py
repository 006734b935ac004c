"""Scalar expressions over a grid of indices as ONNX values: broadcasting stands for the grid, Gather for loads.

A value over a grid has one dimension an index, of size 1 where it does not vary (or no dimension at all for scalars).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelcat_core.dtypes import F32, I32, I64, STORAGE_ONLY
from kernelcat_core.importers.onnx_nodes import Nodes
from kernelcat_core.importers.onnx_scalar import cast, spell
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.expr import ZERO, Const, Expr, Load, Op, Size, Var
from kernelcat_core.ir.graph import Axis, Graph, Tensor


@dataclass(frozen=True)
class Value:
    """An ONNX value and the indices it varies with; `scalar` values have rank 0, others the rank of their grid."""

    name: str
    varies: frozenset[str]
    scalar: bool


@dataclass
class Sizes:
    """Sizes of a graph as ONNX values, read from the shapes of its inputs."""

    nodes: Nodes
    graph: Graph

    def vector(self, *dims: Expr) -> str:
        """A 1-d value that holds `dims`."""
        if all(isinstance(d, Const) for d in dims):
            return self.nodes.vector(*(int(d.value) for d in dims if isinstance(d, Const)))
        parts = [self._entry(d) for d in dims]
        return parts[0] if len(parts) == 1 else self.nodes.emit("Concat", *parts, axis=0)

    def scalar(self, e: Expr) -> str:
        """A 0-d value that holds an i64 expression over Sizes."""
        if isinstance(e, Const):
            return self.nodes.constant(e.value, I64)
        if isinstance(e, Size):
            return self.nodes.emit("Squeeze", self._entry(e))
        if isinstance(e, Op):
            return spell(self.nodes, e.name, [self.scalar(a) for a in e.args], e.args[-1].dtype, e.dtype)
        raise AssertionError(f"not a size: {e}")

    def _entry(self, e: Expr) -> str:
        if isinstance(e, Const):
            return self.nodes.vector(int(e.value))
        if isinstance(e, Size):
            tensor, axis = self.graph.size_sources[e.name]
            return self.nodes.emit("Shape", tensor, start=axis, end=axis + 1)
        return self.nodes.emit("Unsqueeze", self.scalar(e), self.nodes.vector(0))


@dataclass
class GridWriter:
    """Writes expressions over `axes` (in this order) into a list of nodes; `states` are values of other Vars."""

    nodes: Nodes
    sizes: Sizes
    tensors: Mapping[str, Tensor]
    axes: tuple[Axis, ...]
    states: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._done: dict[int, tuple[Expr, Value]] = {}  # by id, with the expression so that it stays alive
        self._place = {a.name: k for k, a in enumerate(self.axes)}

    def value(self, e: Expr) -> Value:
        """`e` over the grid."""
        if id(e) not in self._done:
            self._done[id(e)] = e, self._value(e)
        return self._done[id(e)][1]

    def expanded(self, e: Expr) -> str:
        """`e` with every dimension of the grid at its full size."""
        value = self.value(e)
        if not self.axes or (value.varies == frozenset(self._place) and not value.scalar):
            return value.name
        return self.nodes.emit("Expand", value.name, self.sizes.vector(*(a.size for a in self.axes)))

    def _value(self, e: Expr) -> Value:
        if isinstance(e, Const):
            return Value(self.nodes.constant(e.value, e.dtype), frozenset(), True)
        if isinstance(e, Size):
            return Value(self.sizes.scalar(e), frozenset(), True)
        if isinstance(e, Var):
            return self.states[e.name] if e.name in self.states else self._index(e.name)
        if isinstance(e, Op):
            parts = [self.value(a) for a in e.args]
            operand = e.args[-1].dtype
            name = spell(self.nodes, e.name, [p.name for p in parts], operand, e.dtype)
            return Value(name, frozenset().union(*(p.varies for p in parts)), all(p.scalar for p in parts))
        return self._load(e)

    def _index(self, name: str) -> Value:
        axis = self.axes[self._place[name]]
        steps = self.nodes.emit(
            "Range", self.sizes.scalar(ZERO), self.sizes.scalar(axis.size), self.sizes.scalar(ex.ONE)
        )
        return Value(self._unsqueezed(steps, [name]), frozenset({name}), False)

    def _unsqueezed(self, value: str, order: list[str]) -> str:
        """`value`, whose dimensions are the indices `order` (in the order of the grid), with the grid's rank."""
        missing = [k for k, a in enumerate(self.axes) if a.name not in order]
        return self.nodes.emit("Unsqueeze", value, self.nodes.vector(*missing)) if missing else value

    def _load(self, e: Load) -> Value:
        if e.dtype in STORAGE_ONLY:  # Gather and Where do not take these types: read a wide copy, give the type back
            wide = F32 if e.dtype.is_float else I32
            copy = replace(self.tensors[e.tensor], name=cast(self.nodes, e.tensor, e.dtype, wide), dtype=wide)
            fill = None if e.fill is None else ex.cast(e.fill, wide)
            grid = GridWriter(self.nodes, self.sizes, {**self.tensors, copy.name: copy}, self.axes, self.states)
            read = grid.value(replace(e, tensor=copy.name, dtype=wide, fill=fill))
            return replace(read, name=cast(self.nodes, read.name, wide, e.dtype))
        if e.where is None and not any(ex.loads(i) for i in e.index):
            used = [sorted(ex.variables(i) & set(self._place)) for i in e.index]
            names = [n for part in used for n in part]
            if len(names) == len(set(names)) and not any(ex.variables(i) & set(self.states) for i in e.index):
                return self._separable(e, used)
        return self._gathered(e)

    def _separable(self, e: Load, used: list[list[str]]) -> Value:
        """No index of the grid is used by two subscripts: each dimension is sliced or gathered on its own."""
        value, tensor = e.tensor, self.tensors[e.tensor]
        order: list[str] = []
        for d in reversed(range(len(e.index))):
            names = used[d]
            if (
                len(names) == 1
                and (sliced := self._sliced(value, d, e.index[d], names[0], tensor.shape[d])) is not None
            ):
                value, order = sliced, names + order
                continue
            part = GridWriter(self.nodes, self.sizes, self.tensors, tuple(self.axes[self._place[n]] for n in names))
            value = self.nodes.emit("Gather", value, part.expanded(e.index[d]), axis=d)
            order = names + order
        wanted = sorted(order, key=lambda n: self._place[n])
        if wanted != order:
            value = self.nodes.emit("Transpose", value, perm=tuple(order.index(n) for n in wanted))
        return Value(self._unsqueezed(value, wanted) if order else value, frozenset(order), not order)

    def _sliced(self, value: str, dimension: int, index: Expr, name: str, extent: Expr) -> str | None:
        """The dimension read at step * name + start with a positive constant step: whole, or as a Slice."""
        axis, found = self.axes[self._place[name]], ex.coefficient(index, name)
        if found is None or not isinstance(found[0], Const) or int(found[0].value) < 1:
            return None
        step, start = found
        if step == ex.ONE and start == ZERO and axis.size == extent:
            return value
        last = ex.add(ex.mul(step, ex.sub(axis.size, ex.ONE)), ex.add(start, ex.ONE))
        bounds = (self.sizes.vector(start), self.sizes.vector(ex.op("max", last, ZERO)))
        return self.nodes.emit("Slice", value, *bounds, self.nodes.vector(dimension), self.sizes.vector(step))

    def _gathered(self, e: Load) -> Value:
        """Gather from the flattened tensor at row-major positions, `fill` where the predicate does not hold."""
        n, tensor = self.nodes, self.tensors[e.tensor]
        flat: Expr = ZERO
        for index, extent in zip(e.index, tensor.shape, strict=True):
            flat = ex.add(ex.mul(flat, extent), index)
        position, source = self.value(flat), n.emit("Reshape", e.tensor, n.vector(-1))
        if e.where is None:
            return Value(n.emit("Gather", source, position.name, axis=0), position.varies, position.scalar)
        inside = self.value(e.where)
        fill = self.value(e.fill if e.fill is not None else ex.cast(ZERO, e.dtype))
        zero = n.emit("Reshape", self.value(ex.cast(ZERO, e.dtype)).name, n.vector(1))
        source = n.emit("Concat", source, zero, axis=0)  # so that there is an element 0 to read where nothing is
        safe = n.emit("Where", inside.name, position.name, self.sizes.scalar(ZERO))
        value = n.emit("Where", inside.name, n.emit("Gather", source, safe, axis=0), fill.name)
        parts = (position, inside, fill)
        return Value(value, frozenset().union(*(p.varies for p in parts)), all(p.scalar for p in parts))
