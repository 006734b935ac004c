"""Arguments of an operator call: matched with the parameters, evaluated by kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelcat_core.dtypes import DTYPES
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.context import Context
from kernelcat_core.formula.evaluate import evaluate
from kernelcat_core.formula.operators.definition import Operator, Parameter, Tensor
from kernelcat_core.formula.scope import closest
from kernelcat_core.formula.syntax import Binary, Call, Name, Node, Number, Sequence, Text, Unary
from kernelcat_core.formula.values import Value, fold_binary, free_indices, literal

if TYPE_CHECKING:
    from kernelcat_core.formula.lower import Lowering

_ITEMS = 64
_FOLD = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}


@dataclass
class Bound:
    """`arguments` go to the operator's writer; `values` are the tensors and scalars its body may name.

    `inputs`: tensor parameter -> input name (None: left out); `plain`: every tensor argument is an input as it is.
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    inputs: dict[str, str | None] = field(default_factory=dict)
    plain: bool = True


def bind(node: Call, entry: Operator, low: Lowering, c: Context) -> Bound:
    """Match a call with its operator. Raises KC-F005, KC-F015."""
    given = _match(node, entry)
    bound = Bound()
    for p in entry.parameters:
        _one(node, entry, p, given.get(p.name), bound, low, c)
    return bound


def _match(node: Call, entry: Operator) -> dict[str, Any]:
    """Parameter name -> argument node (a tuple of nodes for a variadic one)."""
    given: dict[str, Any] = {}
    for k, p in enumerate(entry.parameters):
        if p.kind == "tensors":
            rest = node.args[k:]
            if rest:
                given[p.name] = rest
            break
        if k < len(node.args):
            given[p.name] = node.args[k]
    else:
        if len(node.args) > len(entry.parameters):
            raise _wrong(node, entry, f"{entry.name} takes {len(entry.parameters)} arguments, got {len(node.args)}")
    for word in node.keywords:
        name = dict(entry.renames).get(word.name, word.name)
        if entry.parameter(name) is None:
            raise KernelcatError("KC-F005", f"{entry.name} has no argument '{word.name}'", span=word.span,
                                 hint=closest(word.name, [p.name for p in entry.parameters]) or entry.signature)
        if name in given:
            raise KernelcatError("KC-F005", f"argument '{name}' is given twice", span=word.span, hint=entry.signature)
        given[name] = word.value
    return given


def _wrong(node: Node, entry: Operator, message: str) -> KernelcatError:
    return KernelcatError("KC-F005", message, span=node.span, hint=entry.signature)


def _one(node: Call, entry: Operator, p: Parameter, given: Any, bound: Bound, low: Lowering, c: Context) -> None:
    if p.kind == "static":
        if given is None and p.required:
            raise _wrong(node, entry, f"{entry.name} needs the argument '{p.name}'")
        bound.arguments[p.name] = p.default if given is None else static(given, entry)
        return
    if p.kind == "tensors":
        _several(node, entry, p, given, bound, low, c)
        return
    if (isinstance(given, Name) and given.id in ("None", "False")) or (given is None and not p.required):
        bound.inputs[p.name] = None
        if p.kind == "scalar" and p.default is not None and given is None:
            bound.values[p.name] = literal(p.default)
            bound.arguments[p.name] = p.default
        else:
            bound.arguments[p.name] = None
        return
    asked = isinstance(given, Name) and given.id == "True" and p.kind == "tensor"
    if given is None or asked:
        if not low.alone or low.call_span is not None or p.kind == "scalar":
            raise _wrong(node, entry, f"{entry.name} needs the argument '{p.name}'")
        value = _missing(node, entry, p, bound, low)
    else:
        value = evaluate(given, low, c)
        if p.kind == "tensor":  # a scalar's number is known to the operator, see _scalar
            bound.plain = bound.plain and isinstance(given, Name) and given.id in low.scope.inputs
        bound.inputs[p.name] = given.id if isinstance(given, Name) else None
    if p.kind == "scalar":
        _scalar(node, entry, p, value, bound)
        return
    _accept(node if given is None else given, entry, p.name, value, bound, low)


def _scalar(node: Call, entry: Operator, p: Parameter, value: Value, bound: Bound) -> None:
    if value.rank and not entry.elementwise:
        raise _wrong(node, entry, f"'{p.name}' of {entry.name} is a number, not a tensor")
    bound.values[p.name] = value
    bound.arguments[p.name] = value.literal
    if value.literal is None:
        bound.plain = False


def _accept(place: Node, entry: Operator, name: str, value: Value, bound: Bound, low: Lowering) -> None:
    if not entry.elementwise and free_indices(value):
        raise KernelcatError("KC-F005", f"{entry.name} takes whole tensors, and '{name}' uses an index", span=place.span,
                             hint=f"pass the tensor, and subscript the result: {entry.name}(X)[i, j]")
    bound.values[name] = value
    shape = tuple(_static_size(a.size, low) for a in value.axes)
    bound.arguments[name] = Tensor(name, value.dtype, shape)


def _static_size(size: Any, low: Lowering) -> int | None:
    from kernelcat_core.ir.expr import Const

    size = low.sizes.resolve(size)
    return int(size.value) if isinstance(size, Const) else None


def _missing(node: Call, entry: Operator, p: Parameter, bound: Bound, low: Lowering) -> Value:
    """A tensor that a call alone lacks becomes an input with the parameter's name."""
    scope = low.scope
    if p.name in scope.pending or (p.name in scope.tensors and p.name not in scope.inputs):
        raise _wrong(node, entry, f"{entry.name} needs the argument '{p.name}'")
    if p.name not in scope.inputs:
        spec = scope.given.get(p.name)
        scope.make_input(p.name, p.rank if spec is None else len(spec.shape), None, None, node.span)
    bound.inputs[p.name] = p.name
    return scope.tensors[p.name]


def _several(node: Call, entry: Operator, p: Parameter, given: Any, bound: Bound, low: Lowering, c: Context) -> None:
    items: tuple[Node, ...] = given if isinstance(given, tuple) else () if given is None else (given,)
    if len(items) == 1 and isinstance(items[0], Sequence):
        items = items[0].items
    if not items:
        raise _wrong(node, entry, f"{entry.name} needs tensors")
    if len(items) > _ITEMS:
        raise KernelcatError("KC-F003", f"more than {_ITEMS} tensors", span=node.span, hint="do it in several steps")
    found: list[Tensor] = []
    for k, item in enumerate(items):
        name = f"{p.name}{k}"
        value = evaluate(item, low, c)
        bound.plain = bound.plain and isinstance(item, Name) and item.id in low.scope.inputs
        bound.inputs[name] = item.id if isinstance(item, Name) else None
        _accept(item, entry, name, value, bound, low)
        found.append(bound.arguments.pop(name))
    bound.arguments[p.name] = tuple(found)


def static(node: Node, entry: Operator) -> Any:
    """A number, string, tuple, None, True or False, known when the formula is written; a dtype's name as a string."""
    match node:
        case Number() | Text():
            return node.value
        case Sequence():
            if len(node.items) > _ITEMS:
                raise KernelcatError("KC-F003", f"more than {_ITEMS} items", span=node.span, hint="use a shorter tuple")
            return tuple(static(i, entry) for i in node.items)
        case Name(id="None"):
            return None
        case Name(id="True" | "true"):
            return True
        case Name(id="False" | "false"):
            return False
        case Name(id="inf"):
            return float("inf")
        case Name() if node.id in DTYPES:
            return node.id
        case Unary(op="-" | "+"):
            value = static(node.operand, entry)
            if isinstance(value, int | float):
                return -value if node.op == "-" else value
        case Binary() if node.op in _FOLD:
            a, b = static(node.left, entry), static(node.right, entry)
            if isinstance(a, int | float) and isinstance(b, int | float):
                return fold_binary(_FOLD[node.op], a, b, node.span).literal
    raise KernelcatError("KC-F005", f"{entry.name} needs a number here, known without running", span=node.span,
                         hint=entry.signature)
