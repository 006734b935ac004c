"""Expressions to values: the meaning of each syntax node, given names, visible indices and guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcat_core.dtypes import BF16, BOOL, DTYPES, F16, F32, I64, STORAGE_ONLY, DType
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import elementwise, functions, gradients, hints, ordered, reducers
from kernelcat_core.formula.context import EMPTY, Context, Index
from kernelcat_core.formula.indexing import exact, guard, holds, index_expression
from kernelcat_core.formula.operators.definition import REGISTRY
from kernelcat_core.formula.scope import CONSTANTS, closest
from kernelcat_core.formula.syntax import (
    REDUCERS,
    Binary,
    Call,
    Compare,
    Name,
    Node,
    Number,
    Reduce,
    Sequence,
    Slice,
    Subscript,
    Text,
    Unary,
)
from kernelcat_core.formula.values import (
    Value,
    arrived,
    at,
    convert,
    free_indices,
    literal,
    strong,
    to_bool,
    type_error,
    widen,
)
from kernelcat_core.ir import polynomial
from kernelcat_core.ir.expr import (
    ZERO,
    Const,
    Expr,
    Load,
    Op,
    Var,
    conjunction,
    conjuncts,
    loads,
    mul,
    op,
    sub,
    substitute,
    variables,
)
from kernelcat_core.ir.graph import Axis, monoid

if TYPE_CHECKING:
    from kernelcat_core.formula.lower import Lowering


def evaluate(node: Node, low: Lowering, c: Context) -> Value:
    """The value of a node, in a type that computes. Raises KernelcatError with a span in the text of `low`."""
    value = stored(node, low, c)
    return Value(arrived(value.expr), value.axes) if value.dtype in STORAGE_ONLY else value


def stored(node: Node, low: Lowering, c: Context) -> Value:
    """The same for what is assigned as it is: a cast to a storage type keeps that type."""
    value = _evaluate(node, low, c)
    if low.builder.heavy(value.expr):
        return hoist(value, low, c, low.label)
    return value


def _evaluate(node: Node, low: Lowering, c: Context) -> Value:
    match node:
        case Number():
            return literal(node.value)
        case Name():
            return name_value(node, low, c)
        case Unary():
            return _unary(node, low, c)
        case Binary(op="@"):
            return low.operator(Call("matmul", (node.left, node.right), (), node.span, node.span), c)
        case Binary():
            a, b = evaluate(node.left, low, c), evaluate(node.right, low, c)
            if node.op == "^" and (strong(a).dtype.is_float or strong(b).dtype.is_float):
                raise type_error("^ is the exclusive or of integers", node.span, "a power is written **, e.g. X**2")
            return elementwise.binary(node.op, a, b, low.sizes, low.place(node.span))
        case Compare():
            return _compare(node, low, c)
        case Call():
            return _call(node, low, c)
        case Subscript():
            return subscript(node, low, c)
        case Reduce():
            return reduce(node, low, c, None)
        case Text() | Sequence() | Slice():
            kind = "a string" if isinstance(node, Text) else "a tuple" if isinstance(node, Sequence) else "a slice"
            raise KernelcatError("KC-F015", f"{kind} is not a value here", span=node.span,
                                 hint="it can only be an argument of an operator")


def name_value(node: Name, low: Lowering, c: Context) -> Value:
    """An index, a size, a tensor, a constant, or a scalar input that appears here."""
    if node.id in c.indices:
        return Value(Var(c.indices[node.id].var))
    scope = low.scope
    if node.id in scope.tensors:
        return scope.tensors[node.id]
    if node.id in scope.size_names:
        return Value(low.sizes.resolve(scope.size_names[node.id]))
    if node.id in CONSTANTS:
        return literal(CONSTANTS[node.id])
    if node.id in c.mentioned:
        raise free_index(node, "reduce it, or put it on the left")
    if node.id in scope.pending or not low.open:
        raise scope.unknown(node.id, node.span)
    spec = scope.given.get(node.id)
    scope.make_input(node.id, 0 if spec is None else len(spec.shape), None, None, node.span)
    return scope.tensors[node.id]


def free_index(node: Name, hint: str) -> KernelcatError:
    return KernelcatError("KC-F009", f"index '{node.id}' is neither on the left nor reduced", span=node.span, hint=hint)


def _unary(node: Unary, low: Lowering, c: Context) -> Value:
    v = evaluate(node.operand, low, c)
    place = low.place(node.span)
    match node.op:
        case "-":
            return elementwise.negate(v, low.sizes, place)
        case "not":
            return elementwise.apply("logical_not", [v], low.sizes, place)
        case "~":
            return elementwise.apply("bitwise_not", [strong(v)], low.sizes, place)
    return v


def _compare(node: Compare, low: Lowering, c: Context) -> Value:
    values = [evaluate(n, low, c) for n in (node.first, *node.rest)]
    total: Value | None = None
    for k, sign in enumerate(node.ops):
        link = elementwise.apply(functions.COMPARE[sign].name, values[k:k + 2], low.sizes, low.place(node.span))
        total = link if total is None else elementwise.binary("and", total, link, low.sizes, low.place(node.span))
    assert total is not None
    return total


# -- calls


def _call(node: Call, low: Lowering, c: Context) -> Value:
    if node.name in DTYPES:
        return _cast(node, low, c)
    if node.name == "where":
        return _where(node, low, c)
    if node.name in functions.FUNCTIONS:
        f = functions.FUNCTIONS[node.name]
        values = [evaluate(n, low, c) for n in arguments(node, f.arity)]
        values = [shared(v, low, c) for v in values] if f.op == "pow" else values
        return elementwise.apply(f.name, values, low.sizes, low.place(node.span))
    if node.name in ("max", "min") and len(node.args) == 2 and not node.keywords:
        values = [evaluate(n, low, c) for n in node.args]
        if values[0].rank == 0 or not isinstance(values[1].literal, int) or isinstance(values[1].literal, bool):
            return elementwise.apply(f"{node.name}imum", values, low.sizes, low.place(node.span))
    if node.name == "first_true":
        return first_true(node, low, c)
    if node.name == "scan":
        return scan(node, low, c)
    if node.name == "grad":
        return gradients.grad(node, low, c)
    if node.name in REGISTRY:
        return low.operator(node, c)
    known = [*functions.FUNCTIONS, *REGISTRY, *DTYPES, *REDUCERS, "where", "first_true", "scan", "grad"]
    raise KernelcatError("KC-F004", f"unknown function or operator '{node.name}'", span=node.name_span,
                         hint=hints.unknown_function(node.name, closest(node.name, known, 0.78),
                                                     {*low.scope.tensors, *low.scope.size_names}))


def arguments(node: Call, arity: int) -> tuple[Node, ...]:
    """Exactly `arity` positional arguments."""
    if node.keywords or len(node.args) != arity:
        raise KernelcatError("KC-F005", f"{node.name} takes {arity} argument{'s' * (arity != 1)}, "
                             f"got {len(node.args) + len(node.keywords)}", span=node.span,
                             hint=f"write {node.name}({', '.join('xyz'[:arity])})")
    return node.args


def _cast(node: Call, low: Lowering, c: Context) -> Value:
    (inner,) = arguments(node, 1)
    dtype = DTYPES[node.name]
    v = reduce(inner, low, c, dtype) if isinstance(inner, Reduce) else evaluate(inner, low, c)
    if isinstance(v.literal, float) and not dtype.is_float:
        value = v.literal
        if value != value or value in (float("inf"), float("-inf")):
            raise type_error(f"{value} has no {dtype} value", node.span, "")
        v = literal(int(value))
    if dtype == BOOL and not v.weak:
        return Value(to_bool(v), v.axes)
    return Value(convert(v.expr, dtype, v.weak, low.place(node.span)), v.axes)


def _where(node: Call, low: Lowering, c: Context) -> Value:
    condition, a, b = arguments(node, 3)
    sizes = {n: low.sizes.resolve(e) for n, e in low.scope.size_names.items()}
    found = guard(condition, {**sizes, **c.names()})
    chosen = evaluate(condition, low, c)
    if found is None:
        x, y = evaluate(a, low, c), evaluate(b, low, c)
        return elementwise.where(chosen, x, y, low.sizes, low.place(node.span))
    x, y = evaluate(a, low, c.guarded(found[0])), evaluate(b, low, c.guarded(found[1]))
    value = elementwise.where(chosen, x, y, low.sizes, low.place(node.span))
    return Value(_filled(value.expr, conjunction(c.condition, found[0].condition)), value.axes, value.weak)


def _filled(e: Expr, condition: Expr | None) -> Expr:
    """`where(c, load if c else 0, constant)` as one load with that constant elsewhere."""
    if isinstance(e, Op) and e.name == "where" and isinstance(e.args[1], Load) and isinstance(e.args[2], Const):
        load = e.args[1]
        if load.where is not None and load.where == condition and not any(isinstance(i, Load) for i in load.index):
            return Load(load.tensor, load.index, load.dtype, load.where, e.args[2])
        if load.fill == e.args[2] and set(conjuncts(condition)) <= set(conjuncts(load.where)):
            return load
    return e


def first_true(node: Call, low: Lowering, c: Context) -> Value:
    """`first_true(P, n)`: i32 positions of the first n true elements along P's last axis, the first hit repeated.

    `first_true(P, n, key)` orders the positions by the key, `descending=True` greater keys first; n may be "all".
    Positions are 0 where nothing is true.
    """
    words = {k.name: k.value for k in node.keywords}
    if words.keys() - {"descending"} or len(node.args) not in (2, 3):
        raise KernelcatError("KC-F005", "first_true takes a condition, a count and perhaps a key", span=node.span,
                             hint="first_true(distance < 1, 16)")
    values = [evaluate(n, low, EMPTY) for n in (node.args[0], *node.args[2:])]
    count = None
    if node.args[1] != Text("all"):
        count = _integer(node.args[1], low)
        if not 0 <= count <= 1 << 24:
            raise KernelcatError("KC-F005", "the count of first_true is a number from 0 to 2^24", span=node.args[1].span,
                                 hint="write a number")
    return ordered.select(values, count, _flag(words.get("descending"), low), low, low.place(node.span))


def scan(node: Call, low: Lowering, c: Context) -> Value:
    """`scan("sum", X, axis, reverse=False, exclusive=False)`: prefix folds of a whole tensor."""
    words = {k.name: k.value for k in node.keywords}
    if words.keys() - {"reverse", "exclusive"} or len(node.args) != 3 or not isinstance(node.args[0], Text):
        raise KernelcatError("KC-F005", "scan takes the name of a reducer, a tensor and an axis", span=node.span,
                             hint='scan("sum", X, 0)')
    value = evaluate(node.args[1], low, c)
    if free_indices(value):
        raise KernelcatError("KC-F005", "scan takes a whole tensor", span=node.args[1].span, hint="leave subscripts out")
    return ordered.scan(node.args[0].value, value, _integer(node.args[2], low), _flag(words.get("reverse"), low),
                        _flag(words.get("exclusive"), low), low, low.place(node.span))


def scatter(node: Reduce, low: Lowering, c: Context) -> Value:
    """`scatter[u, v](base, (i, j), value, "sum", where)`: see graph.Scatter; the last two may be left out."""
    items = node.body.items if isinstance(node.body, Sequence) else ()
    if not 3 <= len(items) <= 5 or not isinstance(items[1], Sequence) or (len(items) > 3 and not isinstance(items[3], Text)):
        raise KernelcatError("KC-F005", "scatter takes a base, its subscripts, a value, and perhaps an operation and a guard",
                             span=node.span, hint='scatter[u](base, (I[u],), V[u], "sum")')
    keys = c.keys[id(node)]
    inner = c.bind({name: Index(key, low.sizes.resolve(c.ranges[key])) for name, key in keys.items()})
    base = evaluate(items[0], low, c)
    if free_indices(base):
        raise KernelcatError("KC-F014", "the base of scatter is a whole tensor", span=items[0].span, hint="leave subscripts out")
    subscripts = tuple(_computed(i, low, inner) for i in items[1].items)
    value = evaluate(items[2], low, inner)
    if value.rank:
        raise KernelcatError("KC-F014", "the value of scatter is a tensor", span=items[2].span, hint="subscript it")
    where = to_bool(evaluate(items[4], low, inner)) if len(items) == 5 else None
    name = items[3].value if len(items) > 3 and isinstance(items[3], Text) else "last"
    over = tuple(Axis(key, low.sizes.resolve(c.ranges[key])) for key in keys.values())
    return ordered.scatter(base, over, subscripts, value, name, where, low, low.place(node.span))


def _integer(node: Node, low: Lowering) -> int:
    value = evaluate(node, low, EMPTY).literal
    if isinstance(value, bool) or not isinstance(value, int):
        raise KernelcatError("KC-F005", "a whole number is needed here", span=node.span, hint="write a number")
    return value


def _flag(node: Node | None, low: Lowering) -> bool:
    value = None if node is None else evaluate(node, low, EMPTY).expr
    return isinstance(value, Const) and bool(value.value)


# -- subscripts


def subscript(node: Subscript, low: Lowering, c: Context) -> Value:
    """An element of a tensor, guarded by the guards around it and, where an index is computed, by its own bounds."""
    if any(isinstance(i, Slice) for i in node.indices):
        return low.sliced(node, c)
    base = low.base_value(node.base, c)
    label = node.base.id if isinstance(node.base, Name) else "this value"
    if base.rank != len(node.indices):
        axes = f"{base.rank} ax{'is' if base.rank == 1 else 'es'}"
        raise KernelcatError("KC-F014", f"{label} has {axes} but {len(node.indices)} "
                             f"subscript{'s' * (len(node.indices) != 1)}", span=node.span,
                             hint="a scalar is used without [ ]" if base.rank == 0 else "write one subscript an axis")
    index: list[Expr] = []
    checks: list[Expr] = []
    sizes = {n: low.sizes.resolve(e) for n, e in low.scope.size_names.items()}
    names = {**sizes, **c.names()}
    for axis, i in zip(base.axes, node.indices, strict=True):
        e = index_expression(i, names)
        if e is None:
            e = _computed(i, low, c)
            checks += [op("le", ZERO, e), op("lt", e, low.sizes.resolve(axis.size))]
        else:
            checks += _unproved(e, axis.size, low, c)
        index.append(e)
    where = conjunction(c.condition, *checks)
    if where is None:
        return Value(at(base, tuple(index)))
    load = base.expr
    if not isinstance(load, Load) or load.where is not None:
        load = low.builder.value_of(low.builder.materialise(base, low.label)).expr
        base = Value(load, tuple(Axis(f"@{k}", a.size) for k, a in enumerate(base.axes)))
    if not isinstance(load, Load):  # a storage type that is converted on arrival
        (inner,) = loads(load)
        guarded = Load(inner.tensor, tuple(index), inner.dtype, where, Const(_zero(inner.dtype), inner.dtype))
        return Value(Op("cast", (guarded,), load.dtype))
    place = dict(zip((a.name for a in base.axes), index, strict=True))
    moved = tuple(substitute(i, place) for i in load.index)
    return Value(Load(load.tensor, moved, load.dtype, where, Const(_zero(load.dtype), load.dtype)))


def _zero(dtype: DType) -> bool | int | float:
    return 0.0 if dtype.is_float else False if dtype.kind == "b" else 0


def _computed(node: Node, low: Lowering, c: Context) -> Expr:
    v = strong(evaluate(node, low, c))
    if v.rank != 0:
        raise KernelcatError("KC-F014", "a subscript is a single integer, not a tensor", span=node.span,
                             hint="subscript the inner tensor too, e.g. T[I[i]]")
    if v.dtype.is_float or v.dtype == BOOL:
        raise type_error(f"a subscript is an integer, not {v.dtype}", node.span, _integer_hint(node, low))
    return convert(v.expr, I64, False, node.span)


def _integer_hint(node: Node, low: Lowering) -> str:
    """An input that nobody declared is f32 by default: then its declaration is what is missing."""
    base = node.base if isinstance(node, Subscript) else node
    if isinstance(base, Name) and base.id in low.scope.inputs:
        axes = ", ".join("NMKL"[: len(node.indices)]) if isinstance(node, Subscript) else ""
        return f"declare it: {base.id}: i64" + (f"[{axes}]" if axes else "")
    return "cast it: i64(...)"


def _unproved(e: Expr, size: Expr, low: Lowering, c: Context) -> list[Expr]:
    """The bounds checks that an index needs at run time: under a guard, or when it has no exact bounds."""
    if not c.guards and exact(e):
        return []  # ranges.solve has proved it, or holds it as a requirement on sizes
    size = low.sizes.resolve(size)
    p = polynomial.of(e)
    ranges = {k: low.sizes.resolve(v) for k, v in c.sizes.items()}
    checks: list[Expr] = []
    end = size
    if isinstance(e, Op) and e.name == "floordiv" and isinstance(e.args[1], Const) and int(e.args[1].value) > 0:
        p, end = polynomial.of(e.args[0]), mul(size, e.args[1])  # f // c lies in 0..n-1 where f lies in 0..c*n-1
    if not holds(p, c.facts, ranges):
        checks.append(op("le", ZERO, e))
    room = polynomial.plus(polynomial.of(sub(end, Const(1, I64))), p, -1)
    if not holds(room, c.facts, ranges):
        checks.append(op("lt", e, size))
    return checks


# -- reducers


def reduce(node: Reduce, low: Lowering, c: Context, wanted: DType | None) -> Value:
    """A reducer becomes a primitive over the indices that its body leaves free."""
    if node.op == "scatter":
        return scatter(node, low, c)
    keys = c.keys[id(node)]
    inner = c.bind({name: Index(key, low.sizes.resolve(c.ranges[key])) for name, key in keys.items()})
    body = strong(evaluate(node.body, low, inner))
    if body.rank:
        raise KernelcatError("KC-F014", f"the body of {node.op}[...] is a tensor with {body.rank} axes",
                             span=node.body.span, hint="subscript it, or reduce it whole: sum(X, axis=0)")
    over = tuple(Axis(key, low.sizes.resolve(c.ranges[key])) for key in keys.values())
    return Value(fold(node.op, body.expr, over, low, c, wanted, node.span))


def fold(name: str, body: Expr, over: tuple[Axis, ...], low: Lowering, c: Context, wanted: DType | None,
         span: Span) -> Expr:
    """The load of a reduction's result at the visible indices that its body uses."""
    if name in ("argmax", "argmin"):
        for a in over:
            low.sizes.require(sub(a.size, Const(1, I64)), "KC-F016", lambda _: f"{name} over an empty range has no value",
                              "give it at least one element", low.place(span))
    axes = free_axes(body, {a.name for a in over}, low, c)
    label = f"{low.label}_{name}"
    if name == "logsumexp":
        return _logsumexp(body, over, axes, low, label)
    r = reducers.plain(name, body, over, wanted)
    return low.builder.reduce(axes, over, r.monoid, r.element, r.finish, label)


def _logsumexp(body: Expr, over: tuple[Axis, ...], axes: tuple[Axis, ...], low: Lowering, label: str) -> Expr:
    """max + log(sum(exp(x - max))), where an infinite or NaN maximum is not subtracted."""
    dtype = body.dtype if body.dtype.is_float else F32
    wide = F32 if dtype in (F16, BF16) else dtype
    body = widen(body, wide) if body.dtype.is_float else convert(body, wide, False, Span(0, 0))
    greatest = low.builder.reduce(axes, over, monoid("max", wide), (body,), None, f"{label}_max")
    shift = op("where", op("isfinite", greatest), greatest, Const(0.0, wide))
    total = low.builder.reduce(axes, over, monoid("sum", wide), (op("exp", op("sub", body, shift)),), None, f"{label}_sum")
    return convert(op("add", op("log", total), shift), dtype, False, Span(0, 0))


def free_axes(e: Expr, bound: set[str], low: Lowering, c: Context) -> tuple[Axis, ...]:
    used = variables(e) - bound
    found: list[Axis] = []
    for name, i in c.indices.items():
        if i.var in used:
            if i.size is None:
                raise KernelcatError("KC-F011", f"index '{name}' has no size", span=low.place(low.at),
                                     hint=f"give its range: {name} in N")
            found.append(Axis(i.var, low.sizes.resolve(i.size)))
    return tuple(found)


def hoist(value: Value, low: Lowering, c: Context, label: str) -> Value:
    """The same value read from a tensor of its own, over its axes and the indices it uses."""
    outer = free_axes(value.expr, {a.name for a in value.axes}, low, c)
    axes = (*outer, *value.axes)
    if not axes and not variables(value.expr) and isinstance(value.expr, Const):
        return value
    name = low.builder.compute(axes, value.expr, label)
    return Value(Load(name, tuple(a.var for a in axes), value.dtype), value.axes)


def shared(value: Value, low: Lowering, c: Context) -> Value:
    """A value about to be used several times: large ones get a tensor of their own."""
    return hoist(value, low, c, low.label) if low.builder.weight(value.expr)[0] > 40 else value
