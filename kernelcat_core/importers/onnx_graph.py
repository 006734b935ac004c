"""Any graph of primitives as standard ONNX nodes: its definition in terms that other tools know.

Compute becomes elementwise nodes over broadcast grids, then Einsum (for sums of products) or a Reduce node; Select
becomes TopK. For Scan and Scatter see onnx_ordered.
"""

from __future__ import annotations

from kernelcat_core.dtypes import BOOL, I32, I64, U8, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers import onnx_ordered
from kernelcat_core.importers.onnx_expr import GridWriter, Sizes, Value
from kernelcat_core.importers.onnx_nodes import Node, Nodes
from kernelcat_core.importers.onnx_scalar import cast
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.contraction import factors_of
from kernelcat_core.ir.expr import ZERO, Const, Expr, Load, Var
from kernelcat_core.ir.graph import Axis, Compute, Graph, Monoid, Primitive, Scan, Scatter, Select, monoid

_REDUCE = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FREE = 1 << 31  # beyond every position of a selection (i32)


def graph_nodes(graph: Graph) -> list[Node]:
    """Nodes that compute every output of `graph` from its inputs, by name.

    Raises KC-R001 for a reduction that standard nodes cannot say.
    """
    nodes = Nodes(set(graph.tensors))
    writer = GraphWriter(graph, nodes, Sizes(nodes, graph))
    for node in graph.nodes:
        nodes.name(writer.value(node), node.output.name)
    return _needed(nodes.list, graph.outputs)


def _needed(nodes: list[Node], outputs: tuple[str, ...]) -> list[Node]:
    """The nodes on which an output depends, in order."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted & set(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    return kept[::-1]


class GraphWriter:
    """Writes primitives of one graph into one list of nodes."""

    def __init__(self, graph: Graph, nodes: Nodes, sizes: Sizes) -> None:
        self.graph, self.nodes, self.sizes = graph, nodes, sizes

    def grid(self, axes: tuple[Axis, ...], states: dict[str, Value] | None = None) -> GridWriter:
        return GridWriter(self.nodes, self.sizes, self.graph.tensors, axes, states or {})

    def value(self, node: Primitive) -> str:
        match node:
            case Compute():
                return self.compute(node)
            case Select():
                return self.select(node)
            case Scan():
                return onnx_ordered.scan(self, node)
            case Scatter():
                return onnx_ordered.scatter(self, node)

    def compute(self, node: Compute) -> str:
        if node.monoid is None:
            return self.grid(node.axes).expanded(node.element[0])
        states = self.reduction(node, node.monoid)
        if node.finish is None:
            return states[0]
        every = frozenset(a.name for a in node.axes)
        named = {f"s{k}": Value(s, every, not node.axes) for k, s in enumerate(states)}
        return self.grid(node.axes, named).expanded(node.finish)

    def reduction(self, node: Compute, m: Monoid) -> list[str]:
        """The final states over the axes of the node."""
        n, dtype = self.nodes, m.state[0]
        if m.name not in (*_REDUCE, "any", "all", "argmax", "argmin") or not onnx_ordered.known(m):
            raise KernelcatError("KC-R001", f"standard ONNX nodes cannot say the reduction {m.name}")
        if m.name == "sum" and (product := self.einsum(node, dtype)) is not None:
            return [product]
        grid = self.grid((*node.axes, *node.reduce_axes))
        elements = [grid.expanded(e) for e in node.element]
        inner = n.vector(*range(len(node.axes), len(grid.axes)))
        if m.name in _REDUCE:
            return [n.emit(_REDUCE[m.name], elements[0], inner, keepdims=0)]
        if m.name in ("any", "all"):
            return [n.emit("ReduceMax" if m.name == "any" else "ReduceMin", elements[0], inner, keepdims=0)]
        return self.position(node, m.name, elements)

    def position(self, node: Compute, name: str, elements: list[str]) -> list[str]:
        """argmax and argmin: over one flattened axis, then the value and the position of the element chosen."""
        n, last = self.nodes, len(node.axes)
        if len(node.reduce_axes) > 1:
            shape = self.sizes.vector(*(a.size for a in node.axes), Const(-1, I64))
            elements = [n.emit("Reshape", e, shape) for e in elements]
        chosen = n.emit("ArgMax" if name == "argmax" else "ArgMin", elements[0], axis=last, keepdims=0)
        value = n.emit("ReduceMax" if name == "argmax" else "ReduceMin", elements[0], n.vector(last), keepdims=0)
        if len(node.reduce_axes) == 1 and node.element[1] == node.reduce_axes[0].var:
            return [value, chosen]
        place = n.emit("Unsqueeze", chosen, n.vector(last))
        picked = n.emit("GatherElements", elements[1], place, axis=last)
        return [value, n.emit("Squeeze", picked, n.vector(last))]

    def einsum(self, node: Compute, dtype: DType) -> str | None:
        """A sum of at least two factors as Einsum over the axes that each factor has; None for other sums."""
        factors = factors_of(node.element[0], dtype, "declared")
        axes = (*node.axes, *node.reduce_axes)
        uses = [_axes_of(f, axes) for f in factors]
        if len(factors) < 2 or len(axes) > len(_LETTERS) or not dtype.is_float:
            return None
        covered = {a.name for use in uses for a in use}
        if covered != {a.name for a in axes} or sum(1 for use in uses if use) < 2:
            return None
        letter = _letters([a.name for a in axes])
        values = [self.grid(tuple(use)).expanded(f) for use, f in zip(uses, factors, strict=True)]
        terms = ["".join(letter[a.name] for a in use) for use in uses]
        equation = ",".join(terms) + "->" + "".join(letter[a.name] for a in node.axes)
        return self.nodes.emit("Einsum", *values, equation=equation)

    def select(self, node: Select) -> str:
        """First-k positions: TopK of the positions that hold, or of their keys."""
        n, last = self.nodes, len(node.axes)
        grid = self.grid((*node.axes, node.over))
        hit, count = grid.expanded(node.predicate), self.sizes.vector(node.count)
        if node.key is None:
            position = grid.value(node.over.var).name
            ranked = n.emit("Where", hit, position, n.constant(_FREE, I64))
            found, _ = self.top(ranked, n.constant(_FREE, I64), count, last)
            held = n.emit("Less", found, n.constant(_FREE, I64))
        else:
            ordered = node.key if node.key.dtype != BOOL else ex.cast(node.key, U8)
            final = monoid("max" if node.descending else "min", ordered.dtype).identity[0]
            worst = n.constant(final.value, final.dtype)
            ranked = n.emit("Where", hit, grid.value(ordered).name, worst)
            _, found = self.top(ranked, worst, count, last, int(node.descending))
            hits = n.emit("ReduceSum", cast(n, hit, BOOL, I64), n.vector(last), keepdims=1)
            place = self.grid((Axis("place", node.count),)).value(Axis("place", node.count).var).name
            held = n.emit("Less", place, hits)
        nearest = n.emit("Slice", found, n.vector(0), n.vector(1), n.vector(last))
        any_held = n.emit("Slice", held, n.vector(0), n.vector(1), n.vector(last))
        fallback = n.emit("Where", any_held, nearest, self.sizes.scalar(ZERO))
        return cast(n, n.emit("Where", held, found, fallback), I64, I32)

    def top(self, ranked: str, worst: str, count: str, last: int, largest: int = 0) -> tuple[str, str]:
        """The `count` smallest (or largest) along the last axis, which is first made long enough, and their positions."""
        n = self.nodes
        none = n.vector(0)
        padding = n.emit("Concat", *[none] * (2 * last + 1), count, axis=0)
        long_enough = n.emit("Pad", ranked, padding, worst, mode="constant")
        values, positions = n.fresh(), n.fresh()
        n.call("TopK", (long_enough, count), (values, positions), axis=last, largest=largest, sorted=1)
        return values, positions


def _axes_of(factor: Expr, axes: tuple[Axis, ...]) -> list[Axis]:
    """The axes that a factor varies with: in the order of a load's subscripts where these are plain indices."""
    used = [a for a in axes if a.name in ex.variables(factor)]
    if isinstance(factor, Load) and {i for i in factor.index if isinstance(i, Var)} == {a.var for a in used}:
        order = [i.name for i in factor.index if isinstance(i, Var)]
        used.sort(key=lambda a: order.index(a.name))
    return used


def _letters(names: list[str]) -> dict[str, str]:
    """A letter an index for an equation: its own name where that is a letter."""
    plain = [n for n in names if n in _LETTERS and len(n) == 1]
    rest = iter(c for c in _LETTERS if c not in plain)
    return {n: n if n in plain else next(rest) for n in names}


def shape_text(e: Expr) -> str | int:
    """A dimension for a value's type: a number, or the text of its expression."""
    from kernelcat_core.ir.printer import print_expr

    return int(e.value) if isinstance(e, Const) else print_expr(e)
