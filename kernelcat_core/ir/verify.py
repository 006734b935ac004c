"""Legality of graphs, as one table of rules; checked between hops in tests and on demand.

`verify_graph` raises KC-G001 with the rule that is broken and the node that breaks it. Tile programs have
their own table in tile_verify.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kernelcat_core.dtypes import BOOL, I32, I64, STORAGE_ONLY, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import OPS, Const, Expr, Load, Op, Var, children
from kernelcat_core.ir.graph import (
    Compute,
    Graph,
    Monoid,
    Primitive,
    Scan,
    Scatter,
    Select,
    Tensor,
    expressions,
    inner_axes,
)

Problems = Iterator[str]
Types = Mapping[str, DType]

_FLOAT_ONLY = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "div", "atan2", "hypot", "copysign",
    "signbit", "isnan", "isinf", "isfinite",
))  # fmt: skip
_INTEGER_ONLY = frozenset(("not_bits", "and_bits", "or_bits", "xor_bits", "shl", "shr"))
_BOOL_ONLY = frozenset(("not", "and", "or", "xor"))
_ANY = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "where", "cast", "min", "max"])


def verify_graph(graph: Graph) -> None:
    """Raise KC-G001 for the first rule that `graph` breaks."""
    for rule in GRAPH_RULES:
        for problem in rule(graph):
            raise KernelcatError("KC-G001", problem)


def names_are_unique(graph: Graph) -> Problems:
    """A tensor is written once; axes of a node, and sizes against tensors, are told apart by name."""
    seen: set[str] = set()
    for tensor in (*graph.inputs, *(n.output for n in graph.nodes)):
        if tensor.name in seen:
            yield f"the name '{tensor.name}' stands for two tensors"
        seen.add(tensor.name)
    for node in graph.nodes:
        names = _axis_names(node)
        for name in sorted({n for n in names if names.count(n) > 1}):
            yield f"{node.output.name}: the axis '{name}' occurs twice"
    for name in sorted(seen & set(graph.size_names)):
        yield f"the name '{name}' stands for a tensor and a size"


def outputs_exist(graph: Graph) -> Problems:
    """There is an output, each is a tensor of the graph, none is listed twice."""
    if not graph.outputs:
        yield "the graph has no output"
    for name in graph.outputs:
        if name not in graph.tensors:
            yield f"the output '{name}' is no tensor of the graph"
        if graph.outputs.count(name) > 1:
            yield f"the output '{name}' is listed twice"


def sizes_are_known(graph: Graph) -> Problems:
    """Every Size can be read from the shape of an input; shapes of inputs use constants and sizes only."""
    for tensor in graph.inputs:
        for entry in tensor.shape:
            yield from _index_problems(entry, {}, f"shape of '{tensor.name}'")
    for name in graph.size_names:
        if name not in graph.size_sources:
            yield f"the size {name} is not an axis of any input"


def reads_follow_writes(graph: Graph) -> Problems:
    """A load names an earlier tensor and has its dtype and one index a dimension."""
    known: dict[str, Tensor] = {t.name: t for t in graph.inputs}
    for node in graph.nodes:
        for e in expressions(node):
            for load in (n for n in _nodes(e) if isinstance(n, Load)):
                place, tensor = f"{node.output.name}: the load of '{load.tensor}'", known.get(load.tensor)
                if tensor is None:
                    yield f"{place} comes before it is written"
                elif len(load.index) != tensor.rank:
                    yield f"{place} has {len(load.index)} subscripts for rank {tensor.rank}"
                elif load.dtype != tensor.dtype:
                    yield f"{place} has type {load.dtype}, the tensor {tensor.dtype}"
        known[node.output.name] = node.output


def types_agree(graph: Graph) -> Problems:
    """Every operation is known and gets operands of the types it takes; every variable is bound."""
    for node in graph.nodes:
        place = node.output.name
        outer, types = {a.name: I64 for a in node.axes}, dict.fromkeys(_axis_names(node), I64)
        match node:
            case Select():
                checked = [(node.predicate, types), (node.key, types)]
            case Scatter():
                inner = {a.name: I64 for a in node.updates}
                checked = [(node.base, outer), *((e, inner) for e in (*node.index, node.value, node.where))]
            case _:
                checked = [(e, types) for e in node.element]
        for e, bound in checked:
            if e is not None:
                yield from _expr_problems(e, bound, place)
        m = None if isinstance(node, Select) else node.monoid
        if m is None:
            continue
        pairs = {f"{side}{k}": state for k, state in enumerate(m.state) for side in "ab"}
        for e in m.combine:
            yield from _expr_problems(e, pairs, f"{place}: combine")
        if isinstance(node, Compute | Scan) and node.finish is not None:
            states = {f"s{k}": t for k, t in enumerate(m.state)}
            yield from _expr_problems(node.finish, {**outer, **states}, f"{place}: finish")


def shapes_match_axes(graph: Graph) -> Problems:
    """An output has one dimension an axis (and `count` for Select), of the axis's size."""
    for node in graph.nodes:
        for e in (a.size for a in (*node.axes, *inner_axes(node))):
            yield from _index_problems(e, {}, f"{node.output.name}: axis size")
        expected = tuple(a.size for a in node.axes) + ((node.count,) if isinstance(node, Select) else ())
        if node.output.shape != expected:
            yield f"{node.output.name}: its shape is not that of its axes"


def primitives_are_whole(graph: Graph) -> Problems:
    """States, identities and elements of a reduction correspond; results have the dtype of the output."""
    for node in graph.nodes:
        where = node.output.name
        if isinstance(node, Select):
            if node.output.dtype != I32:
                yield f"{where}: a selection gives i32, not {node.output.dtype}"
            if node.predicate.dtype != BOOL:
                yield f"{where}: the predicate has type {node.predicate.dtype}"
            yield from _index_problems(node.count, {}, f"{where}: count")
        elif isinstance(node, Scatter):
            yield from _scatter_problems(node)
        else:
            if isinstance(node, Scan) and not 0 <= node.over < len(node.axes):
                yield f"{where}: a scan along axis {node.over} of {len(node.axes)}"
            yield from _fold_problems(node)


def _scatter_problems(node: Scatter) -> Problems:
    where, dtype = node.output.name, node.output.dtype
    if node.base.dtype != dtype or node.value.dtype != dtype:
        yield f"{where}: base has type {node.base.dtype}, the updates {node.value.dtype}, the output {dtype}"
    if len(node.index) != len(node.axes):
        yield f"{where}: {len(node.index)} subscripts for {len(node.axes)} axes"
    if any(i.dtype != I64 for i in node.index):
        yield f"{where}: a subscript is not i64"
    if node.where is not None and node.where.dtype != BOOL:
        yield f"{where}: the predicate has type {node.where.dtype}"
    if node.monoid is not None:
        yield from _state_problems(node.monoid, (node.value,), where)
        if len(node.monoid.state) != 1:
            yield f"{where}: {node.monoid.name} has {len(node.monoid.state)} states"


def _fold_problems(node: Compute | Scan) -> Problems:
    where, m = node.output.name, node.monoid
    if m is None:
        assert isinstance(node, Compute)
        if node.reduce_axes or node.finish is not None or len(node.element) != 1:
            yield f"{where}: reduce axes, finish or several elements without a monoid"
            return
        value_type = node.element[0].dtype
    else:
        if isinstance(node, Compute) and not node.reduce_axes:
            yield f"{where}: a monoid without reduce axes"
        yield from _state_problems(m, node.element, where)
        if len(m.state) != len(node.element):
            return
        value_type = m.state[0] if node.finish is None else node.finish.dtype
    if value_type != node.output.dtype:
        yield f"{where}: the value has type {value_type}, the output {node.output.dtype}"


def _state_problems(m: Monoid, element: tuple[Expr, ...], where: str) -> Problems:
    if not len(m.state) == len(m.identity) == len(m.combine) == len(element):
        yield f"{where}: {m.name} has {len(m.state)} states, but {len(element)} elements"
        return
    for k, state in enumerate(m.state):
        if {m.identity[k].dtype, m.combine[k].dtype, element[k].dtype} != {state}:
            yield f"{where}: state {k} of {m.name} has type {state}, its element {element[k].dtype}"


def _axis_names(node: Primitive) -> list[str]:
    return [a.name for a in (*node.axes, *inner_axes(node))]


def _nodes(e: Expr) -> Iterator[Expr]:
    """Every distinct node object once (shared subtrees are not walked again)."""
    seen: set[int] = set()
    stack = [e]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(children(node))


def _index_problems(e: Expr, types: Types, place: str) -> Problems:
    if e.dtype != I64:
        yield f"{place}: a size has type {e.dtype}"
    if any(isinstance(n, Load) for n in _nodes(e)):
        yield f"{place}: a size depends on a tensor"
    yield from _expr_problems(e, types, place)


def _expr_problems(e: Expr, types: Types, place: str) -> Problems:
    for node in _nodes(e):
        if isinstance(node, Const):
            yield from _const_problems(node, place)
        elif isinstance(node, Var):
            if node.name not in types:
                yield f"{place}: the variable '{node.name}' is not bound"
            elif types[node.name] != node.dtype:
                yield f"{place}: the variable '{node.name}' has type {types[node.name]}, used as {node.dtype}"
        elif isinstance(node, Load):
            if any(i.dtype != I64 for i in node.index):
                yield f"{place}: a subscript of '{node.tensor}' is not i64"
            if node.where is not None and node.where.dtype != BOOL:
                yield f"{place}: the predicate of a load of '{node.tensor}' is not bool"
            if node.fill is not None and (node.fill.dtype != node.dtype or node.where is None):
                yield f"{place}: the fill of a load of '{node.tensor}' does not fit"
        elif isinstance(node, Op):
            yield from _op_problems(node, place)


def _const_problems(c: Const, place: str) -> Problems:
    if c.dtype.is_integer:
        low = -(1 << c.dtype.bits - 1) if c.dtype.kind == "i" else 0
        if isinstance(c.value, float) or not low <= c.value < low + (1 << c.dtype.bits):
            yield f"{place}: {c.value} is no {c.dtype}"
    elif c.dtype.kind == "b" and c.value not in (True, False):
        yield f"{place}: {c.value} is no bool"


def _op_problems(o: Op, place: str) -> Problems:
    rule = OPS.get(o.name)
    if rule is None:
        yield f"{place}: unknown operation '{o.name}'"
        return
    if len(o.args) != rule.arity:
        yield f"{place}: {o.name} has {len(o.args)} operands, it takes {rule.arity}"
        return
    operands = o.args[1:] if rule.gives == "arg1" else o.args
    if rule.gives == "arg1" and o.args[0].dtype != BOOL:
        yield f"{place}: the condition of where has type {o.args[0].dtype}"
    kinds = {a.dtype for a in operands}
    if len(kinds) != 1:
        yield f"{place}: the operands of {o.name} have types {', '.join(str(a.dtype) for a in operands)}"
        return
    (kind,) = kinds
    if rule.gives != "cast" and o.dtype != (BOOL if rule.gives == "bool" else kind):
        yield f"{place}: {o.name} of {kind} has type {o.dtype}"
    if not _takes(o.name, kind):
        yield f"{place}: {o.name} does not take {kind}"


def _takes(name: str, dtype: DType) -> bool:
    if name == "cast":
        return True
    if dtype in STORAGE_ONLY:
        return name == "where"
    if name in _FLOAT_ONLY:
        return dtype.is_float
    if name in _INTEGER_ONLY:
        return dtype.is_integer
    if name in _BOOL_ONLY:
        return dtype == BOOL
    return name in _ANY or dtype != BOOL


GRAPH_RULES: tuple[Callable[[Graph], Problems], ...] = (
    names_are_unique,
    outputs_exist,
    reads_follow_writes,
    types_agree,
    primitives_are_whole,
    shapes_match_axes,
    sizes_are_known,
)
