"""Gathers before products: an operand with a computed subscript becomes a tensor of its own.

`sum[d](E[ids[t], d] * W[d, f])` walks rows of E that only the data know. Copied once, side by side, they are the operand of
a fast matrix product; the copy is as large as what the product reads anyway.
"""

from __future__ import annotations

from dataclasses import replace

from kernelcat_core.ir.expr import Expr, Load, loads, transform, variables
from kernelcat_core.ir.graph import Compute, Graph, Primitive, Tensor
from kernelcat_core.schedule.rules import contraction


def gathered(graph: Graph) -> Graph:
    """`graph` with the gathers of every product that is a contraction without them made tensors."""
    nodes: list[Primitive] = []
    taken = set(graph.tensors)
    for node in graph.nodes:
        found = _hoisted(node, graph, taken) if isinstance(node, Compute) and node.monoid is not None else None
        nodes += [node] if found is None else found
    return replace(graph, nodes=tuple(nodes))


def _hoisted(node: Compute, graph: Graph, taken: set[str]) -> list[Primitive] | None:
    computed = [n for e in node.element for n in loads(e) if contraction.is_computed(n)]
    outer = [n for n in computed if not any(n in loads(i) for m in computed if m is not n for i in m.index)]
    if not outer:
        return None
    made: list[Primitive] = []
    moved: dict[Load, Expr] = {}
    axes = {a.name: a for a in (*node.axes, *node.reduce_axes)}
    for load in dict.fromkeys(outer):
        used = variables(_everything(load))
        own = tuple(a for name, a in axes.items() if name in used)
        tensor = Tensor(_fresh(f"{load.tensor}_at", taken), load.dtype, tuple(a.size for a in own))
        made.append(Compute(tensor, own, (load,)))
        moved[load] = Load(tensor.name, tuple(a.var for a in own), load.dtype)
    element = tuple(transform(e, lambda n: moved.get(n) if isinstance(n, Load) else None) for e in node.element)
    plain = replace(node, element=element)
    return [*made, plain] if contraction.match(plain, graph) is not None else None


def _everything(load: Load) -> Expr:
    """One expression that holds all of a load's parts."""
    return Load(load.tensor, load.index, load.dtype, load.where, load.fill)


def _fresh(stem: str, taken: set[str]) -> str:
    name, count = stem, 0
    while name in taken:
        count += 1
        name = f"{stem}{count}"
    taken.add(name)
    return name


