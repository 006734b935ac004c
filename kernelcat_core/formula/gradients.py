"""`grad(Y, X)` and `grad(Y, X, dY)`: the reverse mode of what was written so far, as further primitives of the formula."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula.context import Context
from kernelcat_core.formula.scope import closest
from kernelcat_core.formula.syntax import Call, Name, Node
from kernelcat_core.formula.values import Value, free_indices, strong
from kernelcat_core.ir.differentiate import gradients
from kernelcat_core.ir.expr import Expr, Load, loads, transform
from kernelcat_core.ir.graph import Graph, Primitive, Tensor, map_expressions, mapped

if TYPE_CHECKING:
    from kernelcat_core.formula.lower import Lowering


def grad(node: Call, low: Lowering, c: Context) -> Value:
    """The gradient of a tensor, weighted by `dY` (ones if left out) and summed, by an input or an assigned tensor X: of X's
    shape and type. What Y was made of is not made again; several calls share what they have in common."""
    if node.keywords or len(node.args) not in (2, 3):
        raise KernelcatError("KC-F005", "grad takes a tensor, what it is differentiated by, and perhaps a cotangent",
                             span=node.span, hint="G = grad(L, W)")
    y = _whole(node.args[0], low, c)
    by = _tensor(node.args[1], low)
    output = low.builder.materialise(y, f"{low.label}_of")
    outputs = {output: None if len(node.args) == 2 else _cotangent(node.args[2], output, low, c)}
    graph = _graph([output, by, *(w for w in outputs.values() if w is not None)], low)
    try:
        found = gradients(graph, (output,), (by,), {k: w for k, w in outputs.items() if w is not None})
    except KernelcatError as error:
        raise KernelcatError(error.code, _named(error.message, low), hint=error.hint, span=low.place(node.span)) from None
    working: dict[str, str] = {}
    for n in found.nodes:
        moved = map_expressions(n, lambda e: transform(e, lambda x: _moved(x, working)))
        working[n.output.name] = low.builder.add(moved, _named(n.output.name, low))
    return low.builder.value_of(working[found.names[by]])


def _moved(x: Expr, working: dict[str, str]) -> Expr | None:
    return replace(x, tensor=working[x.tensor]) if isinstance(x, Load) and x.tensor in working else None


def _named(text: str, low: Lowering) -> str:
    """`text` with the names that people gave instead of working names."""
    b = low.builder
    return re.sub(r"%\d+", lambda m: b.claimed.get(m[0]) or b.labels.get(m[0], "t"), text)


def _whole(node: Node, low: Lowering, c: Context) -> Value:
    from kernelcat_core.formula.evaluate import evaluate

    value = strong(evaluate(node, low, c))
    if free_indices(value):
        raise KernelcatError("KC-F014", "grad takes whole tensors", span=node.span, hint="leave subscripts out")
    return value


def _tensor(node: Node, low: Lowering) -> str:
    """The input or assigned tensor that a gradient is taken by."""
    known = low.scope.tensors
    if not isinstance(node, Name) or node.id not in known:
        raise KernelcatError("KC-F006", "a gradient is taken by an input or an assigned tensor", span=low.place(node.span),
                             hint=closest(node.id, known) if isinstance(node, Name) else "give it a name first")
    (load,) = loads(known[node.id].expr)
    return load.tensor


def _cotangent(node: Node, output: str, low: Lowering, c: Context) -> str:
    """The tensor that weights `output`; an unknown name becomes an input of its shape."""
    b = low.builder
    like = b.nodes[output].output if output in b.nodes else b.inputs[output]
    shape = tuple(b.sizes.resolve(d) for d in like.shape)
    if isinstance(node, Name) and node.id not in low.scope.tensors and node.id not in low.scope.size_names and low.open:
        low.scope.make_input(node.id, like.rank, like.dtype, shape, node.span)
    value = _whole(node, low, c)
    place = low.place(node.span)
    if value.rank != like.rank or value.dtype != like.dtype:
        raise _unlike(f"the cotangent is {value.dtype} with {value.rank} axes, the tensor {like.dtype} with {like.rank}", place)
    for k, (a, d) in enumerate(zip(value.axes, shape, strict=True)):
        b.sizes.equate(d, a.size, lambda p, q, k=k: _unlike(  # type: ignore[misc]
            f"axis {k} of the cotangent has size {q}, that of the tensor {p}", place))
    return b.materialise(value, f"{low.label}_cotangent")


def _unlike(message: str, span: Span) -> KernelcatError:
    return KernelcatError("KC-F017", message, span=span, hint="a cotangent has the shape and type of its tensor")


def _graph(wanted: list[str], low: Lowering) -> Graph:
    """What was lowered so far, as a graph of working names with the sizes that are known by now."""
    b = low.builder

    def tensor(t: Tensor) -> Tensor:
        return replace(t, shape=tuple(b.sizes.resolve(d) for d in t.shape))

    nodes: list[Primitive] = [mapped(b.nodes[n], b.sizes.substituted, tensor) for n in b.alive(wanted)]
    return Graph(tuple(tensor(t) for t in b.inputs.values()), tuple(nodes), tuple(wanted))
