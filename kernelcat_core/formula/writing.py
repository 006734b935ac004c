"""Graphs as formulas: every primitive as a statement of the language.

`lower(parse(print_formula(written(g))))` is a graph that computes what `g` does; of a graph that came from a formula, or is
the gradient of one, it is the same graph up to names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kernelcat_core.dtypes import BOOL, DTYPES, F32, I64, STORAGE_ONLY, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import reducers
from kernelcat_core.formula.functions import TABLE
from kernelcat_core.formula.indexing import guard
from kernelcat_core.formula.ordered import SCANS
from kernelcat_core.formula.printer import print_formula
from kernelcat_core.formula.scope import CONSTANTS
from kernelcat_core.formula.syntax import (
    BINDING,
    Assign,
    Binary,
    Binder,
    Call,
    Compare,
    Declaration,
    Formula,
    Keyword,
    Name,
    Node,
    Number,
    Reduce,
    Sequence,
    Statement,
    Subscript,
    Text,
    Unary,
)
from kernelcat_core.formula.values import arrived, widen
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    Size,
    Var,
    conjunction,
    conjuncts,
    loads,
    op,
    substitute,
    variables,
)
from kernelcat_core.ir.expr import transform as rebuilt
from kernelcat_core.ir.graph import Axis, Compute, Graph, Primitive, Scan, Scatter, Select, Tensor

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "and", "or": "or",
          "and_bits": "&", "or_bits": "|", "xor_bits": "^", "shl": "<<", "shr": ">>"}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_CALLED = {f.op: f.name for f in reversed(TABLE)}


def print_graph_formula(graph: Graph) -> str:
    """The graph as the text of a formula. Raises KC-I001 for what the language cannot say."""
    return print_formula(written(graph))


def written(graph: Graph) -> Formula:
    """The graph as a formula: declarations of its inputs, a statement a primitive, its outputs."""
    return _Writer(graph).formula()


@dataclass
class _Writer:
    """Mutable while one graph is written. `names` are the names of tensors and sizes in the text."""

    graph: Graph
    names: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    statements: list[Statement] = field(default_factory=list)

    def formula(self) -> Formula:
        for name in (*self.graph.size_names, *self.graph.tensors):
            self.names[name] = self.name(name)
        for t in self.graph.inputs:
            dims = tuple(self.dimension(d) for d in t.shape)
            self.statements.append(Declaration(self.names[t.name], t.dtype.name, dims))
        for node in self.graph.nodes:
            self.node(node)
        outputs = []
        for name in self.graph.outputs:
            if name in {t.name for t in self.graph.inputs}:
                copied = self.name(f"{name}_out")
                self.statements.append(Assign(copied, None, "=", Name(self.names[name])))
                outputs.append(Name(copied))
            else:
                outputs.append(Name(self.names[name]))
        return Formula(tuple(self.statements), tuple(outputs))

    def dimension(self, d: Expr) -> Node:
        value = _Line(self, {}).value(d)
        return Compare(value, ("<=",), (Number(d.maximum),)) if isinstance(d, Size) and d.maximum is not None else value

    def name(self, wanted: str) -> str:
        """A name of the language close to `wanted` that nothing else has."""
        plain = re.sub(r"\W", "_", unicodedata.normalize("NFKC", wanted))
        base = plain if plain.isidentifier() else f"t{plain}"
        reserved = {*BINDING, *DTYPES, *CONSTANTS, "not", "and", "or", "in", "where", "grad"}
        found, count = base, 2
        while found in self.taken or found in reserved:
            found, count = f"{base}_{count}", count + 1
        self.taken.add(found)
        return found

    # -- primitives

    def node(self, node: Primitive) -> None:
        name = self.names[node.output.name]
        match node:
            case Compute() if node.monoid is None:
                self.assign(name, node.axes, node.element[0])
            case Compute():
                self.reduction(name, node)
            case Scan():
                self.scan(name, node)
            case Scatter():
                self.scatter(name, node)
            case Select():
                self.select(name, node)

    def assign(self, name: str, axes: tuple[Axis, ...], value: Expr) -> None:
        """`name[axes] = value`"""
        line = _Line.over(self, axes)
        ranged = _ranged(axes, [value], self.graph)
        self.statements.append(Assign(name, line.binders(axes, ranged) if axes else None, "=", line.typed(value)))

    def reduction(self, name: str, node: Compute) -> None:
        form = _form(node)
        if form is None:
            self.unfinished(name, node)
            return
        reducer, body, wanted = form
        line = _Line.over(self, (*node.axes, *node.reduce_axes))
        ranged = _ranged((*node.axes, *node.reduce_axes), [body], self.graph)
        value: Node = Reduce(reducer, line.binders(node.reduce_axes, ranged), line.typed(body))
        if wanted is not None:
            value = Call(wanted.name, (value,))
        self.statements.append(Assign(name, line.binders(node.axes, ranged) if node.axes else None, "=", value))

    def unfinished(self, name: str, node: Compute | Scan) -> None:
        """A fold whose finish is no reducer's: its state as a tensor of its own, and then the rest."""
        assert node.monoid is not None
        if node.finish is None or len(node.monoid.state) != 1:
            raise _unsaid(f"the reduction {node.monoid.name} of '{node.output.name}'")
        state = Tensor(self.graph_name(f"{node.output.name}_{node.monoid.name}"), node.monoid.state[0], node.output.shape)
        self.graph = replace(self.graph, nodes=(replace(node, output=state, finish=None), *self.graph.nodes))
        self.node(replace(node, output=state, finish=None))
        read = Load(state.name, tuple(a.var for a in node.axes), state.dtype)
        self.assign(name, node.axes, substitute(node.finish, {"s0": read}))

    def graph_name(self, wanted: str) -> str:
        """A fresh tensor of the graph, with its name in the text."""
        name, count = wanted, 2
        while name in self.graph.tensors:
            name, count = f"{wanted}_{count}", count + 1
        self.names[name] = self.name(name)
        return name

    def whole(self, value: Expr, axes: tuple[Axis, ...], wanted: str) -> Node:
        """A tensor over `axes`: an expression of whole tensors where it is one, else a name with a statement of its own."""
        read = loads(value)
        plain = rebuilt(value, lambda n: replace(n, index=()) if isinstance(n, Load) else None)
        if any(n.index for n in read) and all(self.is_whole(n, axes) for n in read) and not variables(plain):
            return _Line(self, {}, True).typed(plain)
        name = self.name(wanted)
        self.assign(name, axes, value)
        return Name(name)

    def is_whole(self, load: Load, axes: tuple[Axis, ...]) -> bool:
        """Whether a load reads a tensor of the shape of `axes` at its own place, or a scalar."""
        shape = self.graph.tensors[load.tensor].shape
        own = len(shape) == len(axes) and all(_same(d, a.size) for d, a in zip(shape, axes, strict=True))
        return load.where is None and (not load.index or (own and load.index == tuple(a.var for a in axes)))

    def scan(self, name: str, node: Scan) -> None:
        found = self.scanned(node)
        if found is None:
            if node.finish is None:
                raise _unsaid(f"the scan of '{node.output.name}'")
            self.unfinished(name, node)
            return
        reducer, body = found
        given = self.whole(body, node.axes, f"{name}_of")
        flags = tuple(Keyword(k, Name("True")) for k, v in (("reverse", node.reverse), ("exclusive", node.exclusive)) if v)
        value = Call("scan", (Text(reducer), given, Number(node.over)), flags)
        self.statements.append(Assign(name, None, "=", value))

    def scanned(self, node: Scan) -> tuple[str, Expr] | None:
        """The name and the scanned value of `scan(name, value, axis)`, or None."""
        last = node.monoid.name in ("argmax_last", "argmin_last")
        if last and node.finish == Var("s1") and node.element[1] == node.scanned.var:
            return node.monoid.name.removesuffix("_last"), node.element[0]
        if node.monoid.name == "logsumexp":
            return "logsumexp", node.element[0]
        if node.monoid.name not in SCANS:
            return None
        for body in _bodies(node.element[0]):
            r = reducers.plain(node.monoid.name, body, (node.scanned,), None)
            if (r.monoid, r.element, r.finish) == (node.monoid, node.element, node.finish):
                return node.monoid.name, body
        return None

    def scatter(self, name: str, node: Scatter) -> None:
        base = self.whole(node.base, node.axes, f"{name}_base")
        line = _Line.over(self, node.updates)
        parts = [*node.index, node.value, *([] if node.where is None else [node.where])]
        ranged = _ranged(node.updates, parts, self.graph)
        items: list[Node] = [base, Sequence(tuple(line.value(i) for i in node.index)), line.typed(node.value)]
        if node.monoid is not None or node.where is not None:
            items.append(Text("last" if node.monoid is None else node.monoid.name))
        if node.where is not None:
            items.append(line.value(node.where))
        self.statements.append(Assign(name, None, "=", Reduce("scatter", line.binders(node.updates, ranged),
                                                              Sequence(tuple(items)))))

    def select(self, name: str, node: Select) -> None:
        axes = (*node.axes, node.over)
        every = node.key is not None and isinstance(node.predicate, Const)
        items = [_literal(node.predicate) if isinstance(node.predicate, Const) and every else self.whole(
            node.predicate, axes, f"{name}_where")]
        count = poly.number(poly.of(node.count))
        if count is None and not _same(node.count, node.over.size):
            raise _unsaid(f"the count of '{node.output.name}'")
        items.append(Text("all") if count is None else Number(count))
        if node.key is not None:
            items.append(self.whole(node.key, axes, f"{name}_key"))
        flags = (Keyword("descending", Name("True")),) if node.descending else ()
        self.statements.append(Assign(name, None, "=", Call("first_true", tuple(items), flags)))


def _unsaid(what: str) -> KernelcatError:
    return KernelcatError("KC-I001", f"{what} has no form in the language", hint="see the graph stage instead")


# -- reducers


def _form(node: Compute) -> tuple[str, Expr, DType | None] | None:
    """Reducer, body and the cast around it that give exactly this reduction."""
    assert node.monoid is not None
    for reducer in (node.monoid.name, "mean"):
        if reducer not in BINDING or reducer == "logsumexp":
            continue
        for body in _bodies(node.element[0]):
            for wanted in (None, node.output.dtype):
                r = reducers.plain(reducer, body, node.reduce_axes, wanted)
                if (r.monoid, r.element, r.finish) == (node.monoid, node.element, node.finish):
                    return reducer, body, wanted
    return None


def _bodies(e: Expr) -> Iterable[Expr]:
    """Bodies that may have become the element `e` of a reduction."""
    if isinstance(e, Op) and e.name == "cast" and e.dtype == I64:
        yield e.args[0]
    if e.dtype == F32:
        for narrow in dict.fromkeys(n.dtype for n in loads(e) if n.dtype.is_float and n.dtype.bits == 16):
            body = _narrowed(e, narrow)
            if body is not None and body.dtype != F32 and widen(body, F32) == e:
                yield body
    yield e


def _narrowed(e: Expr, dtype: DType) -> Expr | None:
    """The 16-bit expression that `e` is the wide form of."""
    if isinstance(e, Op) and e.name == "cast" and e.args[0].dtype == dtype:
        return e.args[0]
    if isinstance(e, Const):
        return Const(e.value, dtype)
    if isinstance(e, Op) and e.dtype == F32:
        args = [a if a.dtype == BOOL else _narrowed(a, dtype) for a in e.args]
        return None if any(a is None for a in args) else op(e.name, *(a for a in args if a is not None))
    return None


# -- ranges


def _same(a: Expr, b: Expr) -> bool:
    return poly.of(a) == poly.of(b)


def _ranged(axes: tuple[Axis, ...], written_: list[Expr], graph: Graph) -> frozenset[str]:
    """Axes that need their range in the text: inference from the loads would not give their size."""
    bare: dict[str, list[bool]] = {a.name: [] for a in axes}
    sizes = {a.name: a.size for a in axes}
    shrunk: set[str] = set()
    for e in written_:
        for load in loads(e):
            for i, d in zip(load.index, graph.tensors[load.tensor].shape, strict=True):
                if isinstance(i, Var) and i.name in bare:
                    bare[i.name].append(_same(sizes[i.name], d))
                elif not loads(i):
                    shrunk |= variables(i)
    return frozenset(n for n, seen in bare.items() if n in shrunk or not seen or not all(seen))


# -- expressions


@dataclass(frozen=True)
class _Line:
    """Expressions of one statement; `indices` are the names of its axes in the text. In `whole` ones tensors have no
    subscripts."""

    writer: _Writer
    indices: Mapping[str, str]
    whole: bool = False

    @staticmethod
    def over(writer: _Writer, axes: tuple[Axis, ...]) -> _Line:
        indices: dict[str, str] = {}
        for a in axes:
            plain = re.sub(r"\W", "_", a.name)
            base = f"i{plain[1:]}" if a.name.startswith("@") else plain if plain.isidentifier() else f"i{plain}"
            while base in writer.taken or base in indices.values() or base in {*BINDING, *DTYPES, *CONSTANTS}:
                base += "_"
            indices[a.name] = base
        return _Line(writer, indices)

    def binders(self, axes: tuple[Axis, ...], ranged: frozenset[str]) -> tuple[Binder, ...]:
        return tuple(Binder(self.indices[a.name], self.value(a.size) if a.name in ranged else None) for a in axes)

    def typed(self, e: Expr) -> Node:
        """A value on its own: a literal says its type where it is not what a literal has anyway."""
        node = self.value(e)
        if _is_weak(e) and e.dtype not in (F32, I64):
            return Call(e.dtype.name, (node,))
        return node

    def value(self, e: Expr) -> Node:
        match e:
            case Const():
                return _literal(e)
            case Var():
                return Name(self.indices[e.name])
            case Size():
                return Name(self.writer.names[e.name])
            case Load():
                return self.load(e)
        return self.operation(e)

    def operation(self, e: Op) -> Node:
        if e.name == "cast":
            return self.cast(e)
        if e.name == "neg":
            return Unary("-", self.typed(e.args[0]))
        if e.name == "not":
            return Unary("not", self.value(e.args[0]))
        if e.name == "where":
            return self.choice(e)
        if e.name in _COMPARED:
            a, b = self.operands(e)
            return Compare(a, (_COMPARED[e.name],), (b,))
        if e.name in _INFIX and not (e.name in ("floordiv", "mod") and e.dtype.is_float):
            a, b = self.operands(e)
            if e.name == "add" and e.dtype == I64 and isinstance(e.args[1], Const) and int(e.args[1].value) < 0:
                return Binary("-", a, Number(-int(e.args[1].value)))
            return Binary(_INFIX[e.name], a, b)
        if e.name in ("floordiv", "mod"):
            a, b = self.operands(e)
            whole = Call("floor", (Binary("/", a, b),))
            return whole if e.name == "floordiv" else Binary("-", a, Binary("*", b, whole))
        if e.name not in _CALLED:
            raise _unsaid(f"the operation {e.name}")
        if len(e.args) == 1:
            return Call(_CALLED[e.name], (self.typed(e.args[0]) if not _is_weak(e.args[0]) else Call(
                e.dtype.name, (self.value(e.args[0]),)),))
        return Call(_CALLED[e.name], self.operands(e))

    def operands(self, e: Op) -> tuple[Node, ...]:
        """Two operands: a literal takes its type from the other side, so that one of them must say it."""
        a, b = e.args
        first = Call(a.dtype.name, (self.value(a),)) if _is_weak(a) and _is_weak(b) else self.value(a)
        return first, self.value(b)

    def cast(self, e: Op) -> Node:
        inner = e.args[0]
        if isinstance(inner, Load) and inner.dtype in STORAGE_ONLY and arrived(inner) == e:
            return self.load(inner)
        if e.dtype == BOOL:
            return Compare(self.value(inner), ("!=",), (Number(0.0 if inner.dtype.is_float else 0),))
        if e.dtype in STORAGE_ONLY:
            raise _unsaid(f"a cast to {e.dtype}")
        return Call(e.dtype.name, (self.typed(inner) if not _is_weak(inner) else Call(inner.dtype.name, (self.value(inner),)),))

    def choice(self, e: Op) -> Node:
        condition, a, b = e.args
        test = self.value(condition)
        if self.is_guard(test):
            test = Call("bool", (test,))  # or it would protect the loads of either side
        return Call("where", (test, self.value(a), self.value(b)))

    def is_guard(self, condition: Node) -> bool:
        names: dict[str, Expr] = {text: Var(text) for text in self.indices.values()}
        return guard(condition, {**names, **{self.writer.names[n]: Size(n) for n in self.writer.graph.size_names}}) is not None

    def load(self, e: Load) -> Node:
        name = Name(self.writer.names[e.tensor])
        if self.whole:
            return name
        shape = self.writer.graph.tensors[e.tensor].shape
        node: Node = name if not e.index else Subscript(name, tuple(self.value(i) for i in e.index))
        checks = {c for i, d in zip(e.index, shape, strict=True) if loads(i) for c in (
            op("le", Const(0, I64), i), op("lt", i, d))}
        parts = [c for c in conjuncts(e.where) if c not in checks]
        if not parts:
            return node
        test = self.value(conjunction(*parts) or e)
        if not self.is_guard(test):
            test = self.value(conjunction(self.tautology(), *parts) or e)
        return Call("where", (test, node, _literal(e.fill) if isinstance(e.fill, Const) else _literal(
            Const(0.0 if e.dtype.is_float else False if e.dtype == BOOL else 0, e.dtype))))

    def tautology(self) -> Expr:
        """An affine comparison that always holds: with it a condition protects loads."""
        return op("le", Const(0, I64), Var(next(iter(self.indices))))


def _is_weak(e: Expr) -> bool:
    """Whether the text of `e` has no type of its own."""
    if isinstance(e, Op) and e.name == "where":
        return _is_weak(e.args[1]) and _is_weak(e.args[2])
    return isinstance(e, Const) and e.dtype != BOOL


def _literal(e: Const) -> Node:
    if e.dtype == BOOL:
        return Name("True" if e.value else "False")
    if e.dtype.is_integer:
        return Number(int(e.value)) if e.value >= 0 else Unary("-", Number(-int(e.value)))
    value = float(e.value)
    if value != value:
        return Name("nan")
    magnitude: Node = Name("inf") if abs(value) == float("inf") else Number(abs(value))
    return Unary("-", magnitude) if value < 0 or str(value) == "-0.0" else magnitude


