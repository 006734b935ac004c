"""Syntax trees back to text: `parse(print_formula(f)) == f`."""

from __future__ import annotations

from kernelcat_core.formula.parser import LEVEL, NOT_LEVEL, UNARY_LEVEL
from kernelcat_core.formula.syntax import (
    Assign,
    Binary,
    Binder,
    Call,
    Compare,
    Declaration,
    Formula,
    Name,
    Node,
    Number,
    Reduce,
    Sequence,
    Slice,
    Statement,
    Subscript,
    Text,
    Unary,
)

_PRIMARY = 13


def print_formula(formula: Formula) -> str:
    """The formula, one statement a line."""
    lines = [print_statement(s) for s in formula.statements]
    if formula.outputs is not None:
        lines.append("-> " + ", ".join(n.id for n in formula.outputs))
    return "\n".join(lines) + "\n"


def print_statement(s: Statement) -> str:
    if isinstance(s, Declaration):
        dims = f"[{', '.join(print_node(d) for d in s.dims)}]" if s.dims or s.dtype is None else ""
        return f"{s.name}: {s.dtype or ''}{dims}"
    assert isinstance(s, Assign)
    if s.name is None:
        return print_node(s.value)
    left = s.name + ("" if s.subscripts is None else f"[{_binders(s.subscripts)}]")
    return f"{left} {s.op} {print_node(s.value)}"


def _binders(binders: tuple[Binder, ...]) -> str:
    return ", ".join(b.name if b.bound is None else f"{b.name} in {print_node(b.bound)}" for b in binders)


def print_node(node: Node, level: int = 0) -> str:
    """`node`, in parentheses where it binds less tightly than `level`."""
    text, mine = _spelled(node)
    return f"({text})" if mine < level else text


def _spelled(node: Node) -> tuple[str, int]:
    match node:
        case Number():
            return (repr(node.value) if isinstance(node.value, float) else str(node.value)), _PRIMARY
        case Text():
            quote = "'" if '"' in node.value else '"'
            return f"{quote}{node.value}{quote}", _PRIMARY
        case Name():
            return node.id, _PRIMARY
        case Unary(op="not"):
            return f"not {print_node(node.operand, NOT_LEVEL)}", NOT_LEVEL
        case Unary():
            return f"{node.op}{print_node(node.operand, UNARY_LEVEL)}", UNARY_LEVEL
        case Binary(op="**"):
            return f"{print_node(node.left, _PRIMARY)}**{print_node(node.right, UNARY_LEVEL)}", LEVEL["**"]
        case Binary():
            mine = LEVEL[node.op]
            return f"{print_node(node.left, mine)} {node.op} {print_node(node.right, mine + 1)}", mine
        case Compare():
            tight = LEVEL["|"]
            links = [f" {op} {print_node(n, tight)}" for op, n in zip(node.ops, node.rest, strict=True)]
            return print_node(node.first, tight) + "".join(links), LEVEL["<"]
        case Call():
            given = [print_node(a) for a in node.args] + [f"{k.name}={print_node(k.value)}" for k in node.keywords]
            return f"{node.name}({', '.join(given)})", _PRIMARY
        case Slice():
            text = ":".join("" if n is None else print_node(n) for n in (node.start, node.stop))
            return text + ("" if node.step is None else f":{print_node(node.step)}"), _PRIMARY
        case Subscript():
            return f"{print_node(node.base, _PRIMARY)}[{', '.join(print_node(i) for i in node.indices)}]", _PRIMARY
        case Reduce(op="scatter", body=Sequence(items=items)):
            inner = ", ".join(print_node(i) for i in items)
            return f"{node.op}[{_binders(node.binders)}]({inner})", _PRIMARY
        case Reduce():
            return f"{node.op}[{_binders(node.binders)}]({print_node(node.body)})", _PRIMARY
        case Sequence():
            inner = ", ".join(print_node(i) for i in node.items)
            return f"({inner}{',' if len(node.items) == 1 else ''})", _PRIMARY
