"""Formula to graph: statements in order, operator calls through their own formulas, outputs.

Sizes stay symbols where the text does not give numbers. Shapes from outside check the formula (with the errors that
numbers in the text would give) and give the bindings of the symbols; they do not specialise the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kernelcat_core.dtypes import BF16, F16, F32, DType
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import limits
from kernelcat_core.formula.arguments import Bound, bind
from kernelcat_core.formula.builder import Builder
from kernelcat_core.formula.collect import Collector
from kernelcat_core.formula.context import EMPTY, Context, Index
from kernelcat_core.formula.elementwise import binary
from kernelcat_core.formula.evaluate import evaluate, fold, free_index, shared, stored
from kernelcat_core.formula.hints import complete, explained
from kernelcat_core.formula.indexing import index_expression
from kernelcat_core.formula.operators.definition import REGISTRY, Operator, Tensor
from kernelcat_core.formula.parser import parse_cached
from kernelcat_core.formula.ranges import solve
from kernelcat_core.formula.scope import Scope, closest, mentioned, undeclared_tensors
from kernelcat_core.formula.shapes import TensorSpec
from kernelcat_core.formula.sizes import Requirement, Sizes
from kernelcat_core.formula.slicing import sliced
from kernelcat_core.formula.syntax import Assign, Call, Declaration, Formula, Name, Node, Subscript
from kernelcat_core.formula.values import Value, at, convert, free_indices, rename_axes, strong
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, index, sizes, sub, transform
from kernelcat_core.ir.expr import evaluate as number_of
from kernelcat_core.ir.graph import Axis, Graph


class OperatorCall(NamedTuple):
    """A formula that is one operator call on inputs: the ONNX exporter may use the operator's standard node.

    `tensors`: parameter -> input name, or None where it is left out; `arguments`: static arguments, and a Tensor for
    each tensor argument.
    """

    operator: Operator
    tensors: dict[str, str | None]
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Lowered:
    """`bindings` are the sizes known from given shapes; `requirements` must hold of the sizes of every run."""

    formula: Formula
    graph: Graph
    bindings: Mapping[str, int]
    requirements: tuple[Requirement, ...]
    call: OperatorCall | None

    def check(self, bindings: Mapping[str, int]) -> None:
        """Raise the located error of the first requirement that these sizes (all of them) break."""
        for r in self.requirements:
            if not r.holds(bindings):
                raise complete(explained(r.error(bindings), self.formula), self.formula.source)


def lower(formula: Formula, shapes: Mapping[str, TensorSpec] | None = None) -> Lowered:
    """The graph of a formula. Raises KernelcatError (KC-F...) located in the formula's text."""
    limits.ensure_stack()
    try:
        return _Top(formula, shapes or {}).lowered()
    except KernelcatError as error:
        raise complete(explained(error, formula), formula.source) from None


@dataclass
class Lowering:
    """Lowers statements in one scope: a whole formula, or the body of one operator (`call_span`: where it is called)."""

    builder: Builder
    scope: Scope
    label: str
    open: bool
    """Whether unknown names become inputs."""
    call_span: Span | None = None
    at: Span = Span(0, 1)
    alone: bool = False
    """Whether the statement is an operator call alone, so that missing tensors become inputs."""
    depth: int = 0
    single: OperatorCall | None = None
    memo: dict[int, Value] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()
    """Names that subscripts of the statement at hand make indices."""

    @property
    def sizes(self) -> Sizes:
        return self.builder.sizes

    def place(self, span: Span) -> Span:
        """The span to report: inside an operator's body, the call."""
        return span if self.call_span is None else self.call_span

    # -- statements

    def statement(self, s: Assign) -> Value:
        """The value of an assignment, with its axes in order of the left side."""
        self.at, self.memo = s.span, {}
        left = s.subscripts
        names = mentioned(s)
        collector = Collector(self._tensor, self.bound)
        self._check_left(s)
        visible: dict[str, Expr] = {n: self.sizes.resolve(e) for n, e in self.scope.size_names.items()}
        keys: dict[str, str] = {}
        for b in left or ():
            keys[b.name] = collector.fresh(b)
            visible[b.name] = Var(keys[b.name])
        known = frozenset(names - set(self.scope.size_names) - set(self.scope.tensors) | set(keys))
        self.mentioned = known
        collector.walk(s.value, visible, known, False)
        free = {n: name for n, name in collector.free.items() if n not in keys}
        if free and s.op == "=":
            name = next(iter(free.values()))
            raise free_index(name, f"reduce it, e.g. sum[{name.id}](...), or write += to sum over it")
        for n, name in free.items():
            collector.uses.spans[n] = name.span
        old = self.scope.tensors.get(s.name or "") if s.op == "+=" else None
        if old is not None and left is not None:
            self._use_left(s, old, collector, keys)
        whole = frozenset(keys.values()) if s.op == "=" else frozenset()
        ranges = solve(collector.uses, self.sizes, optional=whole, naming=self.call_span is None)
        indices = {n: Index(k, ranges.get(k)) for n, k in keys.items()}
        over = {n: Index(n, ranges[n]) for n in free}
        c = Context({**indices, **over}, ranges, collector.keys, known)
        value = strong(stored(s.value, self, c))
        if value.rank:
            if over:
                raise KernelcatError("KC-F014", "a tensor stands where += needs an element", span=s.value.span,
                                     hint="subscript it")
            value = self._name_axes(s, value, indices)
        else:
            value = self._element(s, value, indices, over, c)
        if old is not None:
            value = binary("+", rename_axes(old, [a.name for a in value.axes]), value, self.sizes, self.place(s.span))
            if left is not None:
                value = rename_axes(value, list(keys.values()))
        return _safe_names(value)

    def _check_left(self, s: Assign) -> None:
        for b in s.subscripts or ():
            if b.name in self.scope.size_names or b.name in self.scope.tensors:
                kind = "a size" if b.name in self.scope.size_names else "a tensor"
                raise KernelcatError("KC-F008", f"'{b.name}' is {kind}, not an index", span=b.span,
                                     hint="use another name for the index")

    def _use_left(self, s: Assign, old: Value, collector: Collector, keys: Mapping[str, str]) -> None:
        """`Y[i] += e` with an assigned Y: its axes give the ranges of the left indices."""
        from kernelcat_core.formula.ranges import Use

        if old.rank != len(keys):
            raise KernelcatError("KC-F014", f"{s.name} has {old.rank} axes but {len(keys)} subscripts", span=s.name_span,
                                 hint="write one subscript an axis")
        for k, (a, key) in enumerate(zip(old.axes, keys.values(), strict=True)):
            collector.uses.found.insert(0, Use(s.name or "", k, a.size, Var(key), False, s.name_span))

    def _element(self, s: Assign, value: Value, indices: Mapping[str, Index], over: Mapping[str, Index],
                 c: Context) -> Value:
        for name, i in indices.items():
            if i.size is None:
                span = next(b.span for b in s.subscripts or () if b.name == name)
                raise KernelcatError("KC-F011", f"index '{name}' has no size", span=span,
                                     hint=f"give its range: {name} in N")
        e = value.expr
        if s.op == "+=":
            if over:
                axes = tuple(Axis(i.var, self.sizes.resolve(i.size)) for i in over.values() if i.size is not None)
                e = fold("sum", e, axes, self, Context(indices), None, s.value.span)
            elif not e.dtype.is_float:
                from kernelcat_core.dtypes import I64

                e = convert(e, I64, False, s.span)
        return Value(e, tuple(Axis(i.var, self.sizes.resolve(i.size)) for i in indices.values() if i.size is not None))

    def _name_axes(self, s: Assign, value: Value, indices: Mapping[str, Index]) -> Value:
        """`output[i] = tensor`: the left indices name the leading axes, the rest stay."""
        if s.subscripts is None:
            return value
        used = free_indices(value)
        clash = next((n for n, i in indices.items() if i.var in used), None)
        if clash is not None:
            raise KernelcatError("KC-F014", f"index '{clash}' meets a whole tensor here", span=s.value.span,
                                 hint="subscript every tensor of the statement")
        if len(indices) > value.rank:
            raise KernelcatError("KC-F014", f"the value has {value.rank} axes but {len(indices)} left subscripts",
                                 span=s.name_span, hint="write at most one subscript an axis")
        for (name, i), a in zip(indices.items(), value.axes, strict=False):
            if i.size is not None:
                self.sizes.equate(i.size, a.size, lambda p, q, name=name: KernelcatError(  # type: ignore[misc]
                    "KC-F012", f"index '{name}' ranges over {p} but the axis has {q}", span=s.value.span,
                    hint="leave the range out"))
        names = [i.var for i in indices.values()] + [a.name for a in value.axes[len(indices):]]
        return rename_axes(value, names)

    # -- values that expressions ask for

    def _tensor(self, node: Node) -> tuple[str, Value] | None:
        if isinstance(node, Name):
            value = self.scope.tensors.get(node.id)
            return None if value is None else (node.id, value)
        if isinstance(node, Call):
            return node.name, self.base_value(node, EMPTY)
        return None

    def base_value(self, node: Node, c: Context) -> Value:
        """The value of a subscripted expression (operator calls are evaluated once)."""
        if isinstance(node, Name) and node.id not in c.indices:
            value = self.scope.tensors.get(node.id)
            if value is None:
                raise self.scope.unknown(node.id, node.span)
            return value
        if id(node) not in self.memo:
            whole = isinstance(node, Call) and node.name in REGISTRY
            value = self._whole(node) if whole else evaluate(node, self, c)
            if free_indices(value):
                raise KernelcatError("KC-F014", "only whole tensors are subscripted", span=node.span,
                                     hint="leave the inner subscripts out")
            self.memo[id(node)] = value
        return self.memo[id(node)]

    def _whole(self, node: Node) -> Value:
        """The value of an expression in which no index of the statement is visible."""
        collector = Collector(self._tensor, self.bound)
        sizes_ = {n: self.sizes.resolve(e) for n, e in self.scope.size_names.items()}
        collector.walk(node, sizes_, self.mentioned, False)
        for name in collector.free.values():
            raise free_index(name, "pass a whole tensor, and subscript the result")
        ranges = solve(collector.uses, self.sizes)
        return evaluate(node, self, Context({}, ranges, collector.keys, self.mentioned))

    def sliced(self, node: Subscript, c: Context) -> Value:
        return sliced(node, self.base_value(node.base, c), self, c)

    def bound(self, node: Node) -> Expr:
        """The bound of a range: an expression of sizes and integers."""
        names = {n: self.sizes.resolve(e) for n, e in self.scope.size_names.items()}
        e = index_expression(node, names)
        if e is None:
            from kernelcat_core.formula.scope import walk

            name = next((n for n in walk(node) if isinstance(n, Name) and n.id not in names), None)
            if name is not None:
                raise KernelcatError("KC-F006", f"'{name.id}' is not a size", span=name.span,
                                     hint=closest(name.id, names) or f"sizes come from declarations, e.g. X: f32[{name.id}]")
            raise KernelcatError("KC-F018", "a range is an expression of sizes and integers", span=node.span,
                                 hint="write i in 66")
        e = poly.normal(self.sizes.resolve(e))
        number = self.sizes.number(e)
        if number is not None and not 0 <= number <= limits.ELEMENTS:
            code = "KC-F018" if number < 0 else "KC-F003"
            raise KernelcatError(code, f"a range of {number} is not possible", span=self.place(node.span),
                                 hint="ranges are 0 to 2^40 long")
        if number is None or not isinstance(e, Const):
            self.sizes.require(e, "KC-F018", lambda _: "a range is negative with these sizes",
                               "make the sizes larger", self.place(node.span))
        return e

    # -- operators

    def operator(self, node: Call, c: Context) -> Value:
        """A named operator: its own formula, lowered in a scope of its own."""
        entry = REGISTRY[node.name]
        bound = bind(node, entry, self, c)
        if self.depth > 20:
            raise KernelcatError("KC-F003", "operators are nested too deep", span=self.place(node.span), hint="")
        place = self.place(node.span)
        try:
            text = entry.build(**bound.arguments)
            body = parse_cached(text)
            narrow = _narrow(entry, bound)
            values = {n: self._prepared(entry, n, v, narrow, c) for n, v in bound.values.items()}
            inner = Scope(self.builder, tensors=dict(values))
            child = Lowering(self.builder, inner, entry.name.lower(), False, place, place, depth=self.depth + 1)
            value = child.body(body, c if entry.elementwise else EMPTY, entry.elementwise)
        except KernelcatError as error:
            span = error.span if error.span is not None and error.span == place else place
            raise KernelcatError(error.code, error.message, hint=error.hint, span=span) from None
        if narrow is not None and value.dtype.is_float:
            value = Value(convert(value.expr, narrow, False, place), value.axes)
        self.single = OperatorCall(entry, dict(bound.inputs), dict(bound.arguments)) if bound.plain else None
        return value

    def _prepared(self, entry: Operator, name: str, value: Value, narrow: DType | None, c: Context) -> Value:
        if entry.elementwise:
            value = shared(value, self, c)
        elif value.rank and not isinstance(value.expr, Load):
            working = self.builder.materialise(value, f"{entry.name.lower()}_{name}")
            value = self.builder.value_of(working)
        if narrow is not None and value.dtype in (F16, BF16):
            value = Value(convert(value.expr, F32, False, Span(0, 0)), value.axes)
        return value

    def body(self, formula: Formula, outer: Context, elementwise: bool = False) -> Value:
        """The value of an operator's body: that of its last statement, not yet a tensor of its own.

        What an elementwise operator assigns before stays an expression where it is short.
        """
        value: Value | None = None
        assigns = [s for s in formula.statements if isinstance(s, Assign)]
        for s in formula.statements:
            if isinstance(s, Declaration):
                self._match(s)
                continue
            if outer.indices and s.subscripts is None:
                value = stored(s.value, self, outer)
            else:
                value = self.statement(s)
            if s is assigns[-1] or s.name is None:
                continue
            if elementwise:
                self.scope.tensors[s.name] = shared(value, self, outer)
            else:
                working = self.builder.materialise(value, f"{self.label}_{s.name}")
                self.scope.tensors[s.name] = self.builder.value_of(working)
        assert value is not None
        return value

    def _match(self, d: Declaration) -> None:
        """`x: [N, C, 3]` in a body names the sizes of the parameter x and demands numbers."""
        if d.name == "_":
            self._equal_sizes(d)
            return
        value = self.scope.tensors[d.name]
        if value.rank != len(d.dims):
            raise KernelcatError("KC-F014", f"{d.name} has {value.rank} axes, {len(d.dims)} are needed",
                                 hint="see the operator's signature")
        for k, (dim, axis) in enumerate(zip(d.dims, value.axes, strict=True)):
            if isinstance(dim, Name) and dim.id not in self.scope.size_names:
                self.scope.size_names[dim.id] = axis.size
                continue
            size = index_expression(dim, self.scope.size_names)
            assert size is not None

            def error(p: int | None, q: int | None, k: int = k, dim: Node = dim) -> KernelcatError:
                from kernelcat_core.formula.printer import print_node

                wanted = p if p is not None else print_node(dim)
                return KernelcatError("KC-F017", f"axis {k} of {d.name} has size {q if q is not None else '?'}, "
                                      f"{wanted} is needed", span=self.call_span, hint="make the shapes agree")

            self.sizes.equate(size, axis.size, error)

    def _equal_sizes(self, d: Declaration) -> None:
        """`_: [a, b]` in a body demands that the sizes a and b are equal."""
        a, b = (index_expression(n, self.scope.size_names) for n in d.dims)
        assert a is not None and b is not None
        self.sizes.require(sub(a, b), "KC-F017", lambda _: "the number of elements does not fit the shape",
                           "make the shapes agree", self.call_span, exact=True)


def _narrow(entry: Operator, bound: Bound) -> DType | None:
    """The 16-bit type to round to at the end, when every float argument has it."""
    if entry.name == "cast":
        return None
    floats = {v.dtype for v in bound.values.values() if v.dtype.is_float and not v.weak and (v.rank or entry.elementwise)}
    return next(iter(floats)) if len(floats) == 1 and floats <= {F16, BF16} else None


def _safe_names(value: Value) -> Value:
    """Names i0, i1.. for the axes of whole tensors, which have working names while they are combined."""
    taken: set[str] = set()
    names: list[str] = []
    for k, a in enumerate(value.axes):
        name = f"i{a.name[1:]}" if a.name.startswith("@") else a.name
        if name in taken:
            name = f"i{k}_"
        taken.add(name)
        names.append(name)
    return rename_axes(value, names)


class _Top:
    def __init__(self, formula: Formula, shapes: Mapping[str, TensorSpec]) -> None:
        self.formula = formula
        self.shapes = shapes
        self.builder = Builder(Sizes())
        self.scope = Scope(self.builder, shapes)
        self.current: dict[str, str] = {}
        self.unnamed = 0

    def lowered(self) -> Lowered:
        assigns = [s for s in self.formula.statements if isinstance(s, Assign)]
        if not assigns:
            raise KernelcatError("KC-F019", "nothing to compute", span=Span(0, 1), hint="write a statement: Y[i] = 2*X[i]")
        declarations = [s for s in self.formula.statements if isinstance(s, Declaration)]
        for d in declarations:  # first, so that `W: f32[2*M]` may come before `X: f32[M]`
            self.scope.declare_sizes(d)
        for d in declarations:
            self.scope.declare(d)
        for s in assigns:
            if s.name is not None:
                self.scope.pending[s.name] = self.scope.pending.get(s.name, 0) + 1
        known = set(self.scope.tensors) | set(self.scope.pending) | set(self.scope.size_names)
        for name, (rank, span) in undeclared_tensors(self.formula, known).items():
            self._undeclared(name, rank, span)
        call: OperatorCall | None = None
        for s in assigns:
            call = self._assign(s, len(assigns) == 1)
        for name in self.shapes:
            if name not in self.scope.inputs:
                raise KernelcatError("KC-F020", f"no input is called '{name}'", span=Span(0, 1),
                                     hint=closest(name, self.scope.inputs) or "inputs are " + ", ".join(sorted(
                                         self.scope.inputs)))
        outputs = self._outputs(assigns)
        return self._finish(outputs, call)

    def _undeclared(self, name: str, rank: int, span: Span) -> None:
        spec = self.shapes.get(name)
        subscripted = any(isinstance(n, Subscript) and isinstance(n.base, Name) and n.base.id == name
                          for s in self.formula.statements if isinstance(s, Assign) for n in _walk(s.value))
        if spec is not None and not subscripted:
            rank = len(spec.shape)
        self.scope.make_input(name, rank, None, None, span)

    def _assign(self, s: Assign, only: bool) -> OperatorCall | None:
        name = s.name or "output"
        if s.name is None:
            self.unnamed += 1
            if self.unnamed > 1 or name in self.scope.pending:
                raise KernelcatError("KC-F002", "a second value without a name", span=s.span, hint="write Y = ...")
        if name in self.scope.inputs or name in self.scope.size_names:
            raise KernelcatError("KC-F007", f"'{name}' is an input, and inputs are not assigned", span=s.name_span,
                                 hint="assign to a new name")
        if s.op == "=" and name in self.current:
            raise KernelcatError("KC-F007", f"'{name}' is assigned twice", span=s.name_span,
                                 hint="use another name, or += to add to it")
        low = Lowering(self.builder, self.scope, name, True, alone=isinstance(s.value, Call))
        value = low.statement(s)
        working = self.builder.claim(name, value)
        self.current[name] = working
        self.scope.pending.pop(name, None)
        self.scope.tensors[name] = self.builder.value_of(working)
        whole = only and isinstance(s.value, Call) and s.op == "=" and s.subscripts is None
        return low.single if whole else None

    def _outputs(self, assigns: list[Assign]) -> list[str]:
        if self.formula.outputs is not None:
            found: list[str] = []
            for n in self.formula.outputs:
                if n.id not in self.current:
                    known = "an input" if n.id in self.scope.inputs else "not assigned"
                    raise KernelcatError("KC-F006", f"'{n.id}' is {known}", span=n.span,
                                         hint=closest(n.id, self.current) or "outputs are assigned names")
                if n.id in found:
                    raise KernelcatError("KC-F007", f"'{n.id}' is named twice", span=n.span, hint="name it once")
                found.append(n.id)
            return found
        read = {n.id for s in assigns for n in _walk(s.value) if isinstance(n, Name) and n.id != s.name}
        names = list(dict.fromkeys(s.name or "output" for s in assigns))
        return [n for n in names if n not in read] or names[-1:]

    def _finish(self, outputs: list[str], call: OperatorCall | None) -> Lowered:
        final = {self.current[n]: n for n in self.current}
        graph, size_names = self.builder.graph([self.current[n] for n in outputs], final)
        store = self.builder.sizes

        def renamed(e: Expr) -> Expr:
            return transform(store.resolve(e), lambda n: Size(size_names[n.name]) if isinstance(n, Size) else None)

        bindings = {size_names[s]: v for s, v in store.given.items() if s in size_names}
        kept = tuple(Requirement(renamed(r.value), r.exact, r.code, r.message, r.hint, r.span)
                     for r in store.requirements)
        self._agree(graph, bindings)
        for r in kept:
            if all(n in bindings for n in sizes(r.value)) and not r.holds(bindings):
                raise r.error(bindings)
        missing = [n for n in graph.size_names if n not in graph.size_sources]
        if missing:
            raise KernelcatError("KC-F018", f"size '{missing[0]}' is not the size of any axis", span=Span(0, 1),
                                 hint=f"give it an axis of its own, e.g. X: f32[{missing[0]}], or name the whole axis "
                                 "(f32[E]) and write E//2")
        for t in graph.tensors.values():
            total = 1
            for d in t.shape:
                if all(n in bindings for n in sizes(d)):
                    total *= max(1, number_of(d, bindings))
            if total > limits.ELEMENTS:
                raise KernelcatError("KC-F003", f"{t.name} has more than 2^40 elements", span=Span(0, 1),
                                     hint="use smaller sizes")
        return Lowered(self.formula, graph, bindings, kept, call)

    def _agree(self, graph: Graph, bindings: Mapping[str, int]) -> None:
        """Every given shape fits the sizes that inference found."""
        for t in graph.inputs:
            spec = self.shapes.get(t.name)
            for k, (d, given) in enumerate(zip(t.shape, spec.shape if spec is not None else (), strict=False)):
                if isinstance(given, int) and all(n in bindings for n in sizes(d)):
                    wanted = number_of(d, bindings)
                    if wanted != given:
                        raise KernelcatError("KC-F020", f"axis {k} of {t.name} is given as {given}, {wanted} is needed",
                                             span=Span(0, 1), hint="make the shapes agree")


def _walk(node: Node) -> Any:
    from kernelcat_core.formula.scope import walk

    return walk(node)


__all__ = ["Lowered", "Lowering", "OperatorCall", "Tensor", "at", "index", "lower"]
