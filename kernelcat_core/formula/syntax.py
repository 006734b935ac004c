"""The syntax tree of a formula. Nodes are frozen; `span` says where they stand and takes no part in comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelcat_core.errors import Span

NOWHERE = Span(0, 0)
REDUCERS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "logsumexp")
"""The reserved names: `name[` starts a reducer."""
BINDING = (*REDUCERS, "scatter")
"""Names before whose `[` stand indices that they bind: reducers, and `scatter[u](base, (subscripts), value, op, where)`."""


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Number:
    value: int | float
    span: Span = _span()


@dataclass(frozen=True)
class Text:
    """A quoted string: only ever an argument (`padding="same"`)."""

    value: str
    span: Span = _span()


@dataclass(frozen=True)
class Name:
    id: str
    span: Span = _span()


@dataclass(frozen=True)
class Unary:
    """`op` is one of - + not ~."""

    op: str
    operand: Node
    span: Span = _span()


@dataclass(frozen=True)
class Binary:
    """`op` is one of + - * / // % @ ** & | ^ << >> and or."""

    op: str
    left: Node
    right: Node
    span: Span = _span()


@dataclass(frozen=True)
class Compare:
    """A chain `first ops[0] rest[0] ops[1] rest[1] ...`, which means the "and" of its links."""

    first: Node
    ops: tuple[str, ...]
    rest: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True)
class Keyword:
    name: str
    value: Node
    span: Span = _span()


@dataclass(frozen=True)
class Call:
    """A function, an operator or a cast, by name."""

    name: str
    args: tuple[Node, ...]
    keywords: tuple[Keyword, ...] = ()
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True)
class Slice:
    """`start:stop:step` in a subscript of a whole tensor."""

    start: Node | None
    stop: Node | None
    step: Node | None
    span: Span = _span()


@dataclass(frozen=True)
class Subscript:
    base: Node
    indices: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True)
class Binder:
    """An index, with its range (`in bound`) where one is written."""

    name: str
    bound: Node | None = None
    span: Span = _span()


@dataclass(frozen=True)
class Reduce:
    """`op[binders](body)`; the body of scatter is the Sequence of its arguments."""

    op: str
    binders: tuple[Binder, ...]
    body: Node
    span: Span = _span()


@dataclass(frozen=True)
class Sequence:
    """`(a, b)` or `[a, b]`: only ever an argument."""

    items: tuple[Node, ...]
    span: Span = _span()


Node = Number | Text | Name | Unary | Binary | Compare | Call | Slice | Subscript | Reduce | Sequence


@dataclass(frozen=True)
class Declaration:
    """`name: dtype[dims]`; without a dtype it is that of the array given from outside, else f32. No dims: a scalar."""

    name: str
    dtype: str | None
    dims: tuple[Node, ...]
    span: Span = _span()


@dataclass(frozen=True)
class Assign:
    """`name[subscripts] = value` or `+=`; `subscripts` is None for a whole-tensor statement.

    `name` is None for an expression that stands alone; its value is called `output`.
    """

    name: str | None
    subscripts: tuple[Binder, ...] | None
    op: str
    value: Node
    span: Span = _span()
    name_span: Span = _span()


Statement = Declaration | Assign


@dataclass(frozen=True)
class Formula:
    """`outputs` are the names after `->`, or None."""

    statements: tuple[Statement, ...]
    outputs: tuple[Name, ...] | None = None
    source: str = field(default="", compare=False, repr=False)


def parts(node: Node) -> tuple[Node, ...]:
    """Direct operands, in order of the text."""
    match node:
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Compare():
            return (node.first, *node.rest)
        case Call():
            return (*node.args, *(k.value for k in node.keywords))
        case Slice():
            return tuple(n for n in (node.start, node.stop, node.step) if n is not None)
        case Subscript():
            return (node.base, *node.indices)
        case Reduce():
            return (*(b.bound for b in node.binders if b.bound is not None), node.body)
        case Sequence():
            return node.items
    return ()
