"""Text forms of graphs: complete (the digest is taken over them) and meant to be read."""

from __future__ import annotations

from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var
from kernelcat_core.ir.graph import Axis, Compute, Graph, Monoid, Primitive, Scan, Scatter, Tensor

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "lt": "<", "le": "<=", "gt": ">",
          "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or", "xor": "^", "and_bits": "&", "or_bits": "|",
          "xor_bits": "^", "shl": "<<", "shr": ">>"}
_LEVEL = {"or": 1, "and": 2, "lt": 4, "le": 4, "gt": 4, "ge": 4, "eq": 4, "ne": 4, "or_bits": 5, "xor": 6, "xor_bits": 6,
          "and_bits": 7, "shl": 8, "shr": 8, "add": 9, "sub": 9, "mul": 10, "div": 10, "floordiv": 10, "mod": 10}


def print_expr(e: Expr, level: int = 0) -> str:
    """`e` as text; parentheses only where precedence asks for them."""
    if isinstance(e, Const):
        if e.dtype.kind == "b" or e.dtype.is_integer:
            return str(e.value)
        return repr(float(e.value))
    if isinstance(e, Var | Size):
        return e.name
    if isinstance(e, Load):
        text = f"{e.tensor}[{', '.join(print_expr(i) for i in e.index)}]"
        if e.where is not None:
            fill = f" else {print_expr(e.fill)}" if e.fill is not None else ""
            text = f"({text} if {print_expr(e.where)}{fill})"
        return text
    if e.name in _INFIX:
        mine = _LEVEL[e.name]
        text = f"{print_expr(e.args[0], mine)} {_INFIX[e.name]} {print_expr(e.args[1], mine + 1)}"
        return f"({text})" if mine < level else text
    if e.name == "cast":
        return f"{e.dtype}({print_expr(e.args[0])})"
    if e.name == "neg":
        return f"-{print_expr(e.args[0], 11)}"
    if e.name == "not":
        return f"(not {print_expr(e.args[0], 4)})"
    return f"{e.name}({', '.join(print_expr(a) for a in e.args)})"


def print_tensor(t: Tensor) -> str:
    return f"{t.name}: {t.dtype}[{', '.join(print_expr(d) for d in t.shape)}]"


def _axes(axes: tuple[Axis, ...]) -> str:
    return ", ".join(f"{a.name} in {print_expr(a.size)}" for a in axes)


def _typed(*found: Expr) -> str:
    return ", ".join(f"{e.dtype}: {print_expr(e)}" for e in found)


def _monoid(m: Monoid) -> str:
    return f"{m.name}<{', '.join(str(s) for s in m.state)}>"


def print_node(n: Primitive) -> str:
    """One primitive as one line."""
    head = f"{print_tensor(n.output)} = for ({_axes(n.axes)}) "
    match n:
        case Compute():
            if n.monoid is None:
                return head + _typed(*n.element)
            return head + f"{_monoid(n.monoid)} ({_axes(n.reduce_axes)}) {{ {_typed(*n.element)} }}" + _finish(n.finish)
        case Scan():
            words = ["scan"] + ["reverse"] * n.reverse + ["exclusive"] * n.exclusive
            body = f"{' '.join(words)} {n.scanned.name} {_monoid(n.monoid)} {{ {_typed(*n.element)} }}"
            return head + body + _finish(n.finish)
        case Scatter():
            how = "last" if n.monoid is None else _monoid(n.monoid)
            place = ", ".join(print_expr(i) for i in n.index)
            guard = "" if n.where is None else f" where {print_expr(n.where)}"
            return head + f"{_typed(n.base)} scatter {how} ({_axes(n.updates)}) {{ [{place}] <- {_typed(n.value)}{guard} }}"
    order = "position" if n.key is None else print_expr(n.key) + (" descending" if n.descending else "")
    return head + f"select {print_expr(n.count)} of ({_axes((n.over,))}) where {print_expr(n.predicate)} by {order}"


def _finish(e: Expr | None) -> str:
    return "" if e is None else f" -> {_typed(e)}"


def print_graph(g: Graph) -> str:
    """The whole graph: inputs, one line a primitive, outputs."""
    lines = [f"size {s.name} <= {s.maximum}" for s in g.bounded_sizes]
    lines += [f"input {print_tensor(t)}" for t in g.inputs]
    lines += [print_node(n) for n in g.nodes]
    return "\n".join([*lines, "-> " + ", ".join(g.outputs)]) + "\n"
