"""Index expressions and guards: the part of the language whose meaning is integer arithmetic over indices and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.syntax import Binary, Call, Compare, Name, Node, Number, Unary
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import Const, Expr, Var, index, op, walk
from kernelcat_core.ir.polynomial import Polynomial, Ranges

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}
_FLIPPED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_PICK = {"min": "min", "minimum": "min", "max": "max", "maximum": "max"}


def index_expression(node: Node, names: Mapping[str, Expr], inside: bool = True) -> Expr | None:
    """The i64 expression of a node made of indices, sizes and integers only; None for anything else.

    `inside` a subscript, `/` floors like `//`.
    """
    match node:
        case Number(value=int(value)):
            return index(value)
        case Name():
            return names.get(node.id)
        case Unary(op="-" | "+"):
            e = index_expression(node.operand, names, inside)
            return e if e is None or node.op == "+" else op("neg", e)
        case Binary():
            name = _ARITHMETIC.get("//" if inside and node.op == "/" else node.op)
            if name is None and node.op != "**":
                return None
            left = index_expression(node.left, names, inside)
            right = index_expression(node.right, names, inside)
            if left is None or right is None:
                return None
            if name is None:
                return _power(left, right)
            if name in ("floordiv", "mod") and isinstance(right, Const) and int(right.value) == 0:
                raise KernelcatError("KC-F015", "division by zero", span=node.span, hint="check the divisor")
            return op(name, left, right)
        case Call(keywords=()) if node.name in _PICK and len(node.args) == 2:
            a, b = (index_expression(n, names, inside) for n in node.args)
            return None if a is None or b is None else op(_PICK[node.name], a, b)
        case Call(keywords=()) if node.name in ("clip", "clamp") and len(node.args) == 3:
            x, low, high = (index_expression(n, names, inside) for n in node.args)
            return None if x is None or low is None or high is None else op("min", op("max", x, low), high)
    return None


def _power(a: Expr, b: Expr) -> Expr | None:
    if isinstance(a, Const) and isinstance(b, Const) and 0 <= int(b.value) < 64:
        value = int(a.value) ** int(b.value)
        return index(value) if abs(value) < 1 << 62 else None
    return None


def guard(node: Node, names: Mapping[str, Expr]) -> tuple[Guard, Guard] | None:
    """A conjunction of comparisons of index expressions, at least one of them affine, as (guard where it holds, guard
    where it does not), or None."""
    links = _links(node, names, False)
    if links is None or not any(poly.affine(poly.of(a)) and poly.affine(poly.of(b)) for _, a, b in links):
        return None
    condition: Expr | None = None
    facts: list[Polynomial] = []
    for sign, a, b in links:
        c = op(_COMPARE[sign], a, b)
        condition = c if condition is None else op("and", condition, c)
        facts += _facts(sign, a, b)
    assert condition is not None
    if len(links) == 1:
        sign, a, b = links[0]
        flipped = _FLIPPED[sign]
        return Guard(condition, tuple(facts)), Guard(op(_COMPARE[flipped], a, b), tuple(_facts(flipped, a, b)))
    return Guard(condition, tuple(facts)), Guard(op("not", condition), ())


class Guard:
    """A predicate that protects loads: `condition` (bool), and `facts`, polynomials that are >= 0 where it holds."""

    def __init__(self, condition: Expr, facts: tuple[Polynomial, ...]) -> None:
        self.condition = condition
        self.facts = facts


def _links(node: Node, names: Mapping[str, Expr], negated: bool) -> list[tuple[str, Expr, Expr]] | None:
    if isinstance(node, Binary) and node.op == "and" and not negated:
        left, right = _links(node.left, names, False), _links(node.right, names, False)
        return None if left is None or right is None else left + right
    if isinstance(node, Unary) and node.op == "not":
        return _links(node.operand, names, not negated)
    if not isinstance(node, Compare) or (negated and len(node.ops) != 1):
        return None
    sides = [index_expression(n, names, inside=False) for n in (node.first, *node.rest)]
    found: list[tuple[str, Expr, Expr]] = []
    for k, sign in enumerate(node.ops):
        a, b = sides[k], sides[k + 1]
        if a is None or b is None:
            return None
        found.append((_FLIPPED[sign] if negated else sign, a, b))
    return found


def _facts(sign: str, a: Expr, b: Expr) -> list[Polynomial]:
    p, q, one = poly.of(a), poly.of(b), poly.constant(1)
    up, down = poly.plus(q, p, -1), poly.plus(p, q, -1)
    match sign:
        case "<":
            return [poly.plus(up, one, -1)]
        case "<=":
            return [up]
        case ">":
            return [poly.plus(down, one, -1)]
        case ">=":
            return [down]
        case "==":
            return [up, down]
    return []


def holds(goal: Polynomial, facts: tuple[Polynomial, ...], ranges: Ranges) -> bool:
    """True when `goal >= 0` follows from the ranges of the indices, or from one of the facts with them."""
    for fact in ({}, *facts):
        found = poly.bounds(poly.plus(goal, fact, -1), ranges)
        if found is not None and poly.nonnegative(found[0]):
            return True
    return False


def exact(e: Expr) -> bool:
    """True when interval bounds of `e` are attained: it is affine, or no index occurs twice in it."""
    if poly.affine(poly.of(e)):
        return True
    count = Counter(n.name for n in walk(e) if isinstance(n, Var))
    return all(c == 1 for c in count.values())
