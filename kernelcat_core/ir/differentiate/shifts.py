"""Maxima that are only subtracted to keep exponentials small, as in softmax: outputs do not depend on them.

For each such tensor m, every other value is classed by how it varies with m: not at all, shifted by a*m (`+ a*m[row]`) or
scaled (`* exp(d*m[row])`). Where all outputs turn out not to vary, the gradient by m is zero and need not be formed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, children, substitute, variables
from kernelcat_core.ir.graph import Compute, Graph, Primitive, Scan, values


@dataclass(frozen=True)
class Way:
    """How a value varies: `kind` is "shifted" by `by`*m[row] or "scaled" by exp(by*m[row]), the element of m at `row`."""

    kind: str
    by: float
    row: tuple[Expr, ...]

    def moved(self, names: Mapping[str, Expr]) -> Way:
        return Way(self.kind, self.by, tuple(substitute(i, names) for i in self.row))


Class = Way | bool
"""A Way, True for a value that does not vary, False for one of which nothing is known."""


def shifts(graph: Graph, outputs: Sequence[str]) -> frozenset[str]:
    """Tensors made by a max or min whose value does not change any of `outputs`."""
    found = [n.output.name for n in graph.nodes if isinstance(n, Compute) and n.monoid is not None
             and n.monoid.name in ("max", "min") and n.output.dtype.is_float and n.output.name not in outputs]
    return frozenset(m for m in found if _is_shift(m, graph, outputs))


def _is_shift(name: str, graph: Graph, outputs: Sequence[str]) -> bool:
    known: dict[str, Class] = {t.name: True for t in graph.inputs}
    for node in graph.nodes:
        if node.output.name == name:
            known[name] = Way("shifted", 1.0, tuple(a.var for a in node.axes))
        else:
            known[node.output.name] = _node(node, known, graph)
    return all(known[o] is True for o in outputs)


def _node(node: Primitive, known: Mapping[str, Class], graph: Graph) -> Class:
    classes = [_class(e, known, graph, {}) for e in values(node) if not (isinstance(node, Compute | Scan) and e is node.finish)]
    if isinstance(node, Compute) and node.monoid is None:
        return classes[0]
    state: Class = all(c is True for c in classes)
    if isinstance(node, Compute | Scan) and len(classes) == 1 and isinstance(way := classes[0], Way):
        inner = {a.name for a in node.reduce_axes} if isinstance(node, Compute) else {node.scanned.name}
        folds = {"sum": ("scaled",), "max": ("scaled", "shifted"), "min": ("scaled", "shifted")}
        if way.kind in folds.get(node.monoid.name if node.monoid else "", ()) and not any(variables(i) & inner for i in way.row):
            state = way
    if isinstance(node, Compute | Scan) and node.finish is not None:
        return _class(node.finish, known, graph, {"s0": state})
    return state


def _class(e: Expr, known: Mapping[str, Class], graph: Graph, states: Mapping[str, Class]) -> Class:
    if isinstance(e, Var):
        return states.get(e.name, True)
    if isinstance(e, Load):
        return _load(e, known, graph, states)
    if not isinstance(e, Op):
        return True
    if e.name == "where" and _is_guard(e):
        return _class(e.args[1], known, graph, states)
    c = [_class(a, known, graph, states) for a in e.args]
    if False in c:
        return False
    if all(x is True for x in c):
        return True
    match e.name:
        case "cast":
            return c[0]
        case "neg" if isinstance(c[0], Way):
            return _way(c[0].kind, -c[0].by if c[0].kind == "shifted" else c[0].by, c[0].row)
        case "add" | "sub":
            return _added(e, c)
        case "mul" | "div":
            return _multiplied(e, c)
        case "exp" if isinstance(c[0], Way) and c[0].kind == "shifted":
            return _way("scaled", c[0].by, c[0].row)
        case "log" if isinstance(c[0], Way) and c[0].kind == "scaled":
            return _way("shifted", c[0].by, c[0].row)
        case "where" if c[0] is True:
            return _met(e.args[1], c[1], e.args[2], c[2])
    return False


def _load(e: Load, known: Mapping[str, Class], graph: Graph, states: Mapping[str, Class]) -> Class:
    if any(_class(x, known, graph, states) is not True for x in children(e)):
        return False
    found = known[e.tensor]
    if not isinstance(found, Way):
        return found
    if e.where is not None and not (found.kind == "scaled" and _is_zero(e.fill)):
        return False
    node = next(n for n in graph.nodes if n.output.name == e.tensor)
    return found.moved({a.name: i for a, i in zip(node.axes, e.index, strict=False)})


def _is_zero(e: Expr | None) -> bool:
    return isinstance(e, Const) and e.value == 0


def _is_guard(e: Op) -> bool:
    """where(isfinite(m), m, 0): m, but for infinities."""
    test = e.args[0]
    return isinstance(test, Op) and test.name == "isfinite" and test.args[0] == e.args[1] and _is_zero(e.args[2])


def _way(kind: str, by: float, row: tuple[Expr, ...]) -> Class:
    return True if by == 0.0 else Way(kind, by, row)


def _met(a: Expr, x: Class, b: Expr, y: Class) -> Class:
    """The class of either of two values."""
    if isinstance(x, Way) and x.kind == "scaled" and _is_zero(b):
        return x
    if isinstance(y, Way) and y.kind == "scaled" and _is_zero(a):
        return y
    return x if x == y else False


def _added(e: Op, c: list[Class]) -> Class:
    x, y = c
    sign = 1.0 if e.name == "add" else -1.0
    shifted = [w for w in c if isinstance(w, Way) and w.kind == "shifted"]
    if len(shifted) == sum(isinstance(w, Way) for w in c):
        if len({w.row for w in shifted}) != 1:
            return False
        by = (x.by if isinstance(x, Way) else 0.0) + sign * (y.by if isinstance(y, Way) else 0.0)
        return _way("shifted", by, shifted[0].row)
    return _met(e.args[0], x, e.args[1], y)


def _multiplied(e: Op, c: list[Class]) -> Class:
    ways = [w for w in c if isinstance(w, Way)]
    if any(w.kind != "scaled" for w in ways):
        constant = e.args[1] if isinstance(c[0], Way) else e.args[0]
        if len(ways) == 1 and isinstance(constant, Const) and e.name == "mul":
            return _way("shifted", ways[0].by * float(constant.value), ways[0].row)
        return False
    if len({w.row for w in ways}) != 1:
        return False
    x, y = (w.by if isinstance(w, Way) else 0.0 for w in c)
    return _way("scaled", x + y if e.name == "mul" else x - y, ways[0].row)
