"""Names of one formula (or of one operator's body): declarations, inputs, assigned values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kernelcat_core.dtypes import DTYPES, F32, DType
from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import limits
from kernelcat_core.formula.builder import Builder
from kernelcat_core.formula.functions import FUNCTIONS
from kernelcat_core.formula.operators.definition import REGISTRY
from kernelcat_core.formula.shapes import TensorSpec
from kernelcat_core.formula.sizes import DECLARED, INFERRED
from kernelcat_core.formula.syntax import (
    Assign,
    Binary,
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
    parts,
)
from kernelcat_core.formula.values import Value
from kernelcat_core.ir.expr import Expr, index, sizes
from kernelcat_core.ir.graph import Tensor

CONSTANTS: dict[str, float | bool] = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793,
                                      "True": True, "False": False, "true": True, "false": False}


def walk(node: Node) -> Iterator[Node]:
    """Every node below and with `node`, parents first."""
    stack = [node]
    while stack:
        n = stack.pop()
        yield n
        stack.extend(reversed(parts(n)))


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """ "did you mean 'x'?" or nothing."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"did you mean '{found[0]}'?" if found else ""


@dataclass
class Scope:
    """`tensors` are inputs, parameters and assigned names; `size_names` declared sizes; `pending` are assigned later."""

    builder: Builder
    given: Mapping[str, TensorSpec] = field(default_factory=dict)
    tensors: dict[str, Value] = field(default_factory=dict)
    size_names: dict[str, Expr] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    inputs: set[str] = field(default_factory=set)

    # -- inputs

    def make_input(self, name: str, rank: int, dtype: DType | None, dims: tuple[Expr, ...] | None, span: Span) -> None:
        """Create the input `name`; a shape given from outside decides what the text leaves open, and must agree."""
        spec = self.given.get(name)
        if dims is None and spec is not None and len(spec.shape) != rank:
            raise KernelcatError("KC-F020", f"{name} is given {len(spec.shape)} axes but used with {rank}", span=span,
                                 hint=f"give a shape with {rank} sizes")
        if dims is None:
            names = [d if isinstance(d, str) else None for d in spec.shape] if spec is not None else [None] * rank
            dims = tuple(self.builder.sizes.symbol(n or f"{name}_{k}", DECLARED if n else INFERRED)
                         for k, n in enumerate(names))
        if spec is not None:
            self._agree(name, dims, dtype, spec, span)
            dtype = dtype or spec.dtype
        total = 1
        for d in dims:
            total *= max(1, self.builder.sizes.number(d) or 1)
        if total > limits.ELEMENTS:
            raise KernelcatError("KC-F003", f"{name} has more than 2^40 elements", span=span, hint="use smaller sizes")
        self.builder.input(Tensor(name, dtype or F32, dims))
        self.inputs.add(name)
        self.tensors[name] = self.builder.value_of(name)

    def _agree(self, name: str, dims: tuple[Expr, ...], dtype: DType | None, spec: TensorSpec, span: Span) -> None:
        store = self.builder.sizes

        def refuse(message: str, hint: str) -> KernelcatError:
            return KernelcatError("KC-F020", message, span=span, hint=hint)

        if len(spec.shape) != len(dims):
            raise refuse(f"{name} is given {len(spec.shape)} axes but declared with {len(dims)}",
                         "make the given shape agree with the declaration")
        if dtype is not None and spec.dtype is not None and dtype != spec.dtype:
            raise refuse(f"{name} is given as {spec.dtype} but declared as {dtype}",
                         "make the given type agree with the declaration")
        for k, (dim, value) in enumerate(zip(dims, spec.shape, strict=True)):
            if isinstance(value, str):
                continue
            known = store.number(dim)
            if known is None:
                for s in sizes(dim):
                    if dim == self.size_names.get(s, dim):
                        store.given.setdefault(s, value)
            elif known != value:
                raise refuse(f"axis {k} of {name} is given as {value} but is {known}", "make the sizes agree")

    def declare(self, d: Declaration) -> None:
        """An input from its declaration."""
        if d.name in self.tensors or d.name in self.size_names:
            raise KernelcatError("KC-F018", f"'{d.name}' is declared twice", span=d.span, hint="use another name")
        dims = tuple(self._size(n, d) for n in d.dims)
        self.make_input(d.name, len(dims), DTYPES[d.dtype] if d.dtype is not None else None, dims, d.span)

    def declare_sizes(self, d: Declaration) -> None:
        """The symbols that stand alone as sizes in a declaration."""
        for node in d.dims:
            name = node.first if isinstance(node, Compare) else node
            if isinstance(name, Name) and name.id not in self.size_names and name.id not in self.tensors:
                self.size_names[name.id] = self.builder.sizes.symbol(name.id, DECLARED)
            if isinstance(node, Compare):
                self._bound(node, d)

    def _bound(self, node: Compare, d: Declaration) -> None:
        """The declared size `N <= 64`."""
        limit = node.rest[0]
        if not isinstance(node.first, Name) or node.ops != ("<=",) or not isinstance(limit, Number) or not isinstance(
                limit.value, int):
            raise KernelcatError("KC-F018", "a bound of a size is a name, <= and a whole number", span=node.span,
                                 hint=f"write {d.name}: f32[N <= 64]")
        if node.first.id in self.size_names:  # else it is a tensor, which _size says
            self.builder.sizes.limit(node.first.id, limit.value, node.span)

    def _size(self, node: Node, d: Declaration) -> Expr:
        from kernelcat_core.formula.indexing import index_expression

        if isinstance(node, Compare):
            node = node.first
        if isinstance(node, Name) and node.id not in self.size_names:
            if node.id in self.tensors:
                raise KernelcatError("KC-F018", f"'{node.id}' is a tensor, not a size", span=node.span,
                                     hint="name the size differently")
            self.size_names[node.id] = self.builder.sizes.symbol(node.id, DECLARED)
        size = index_expression(node, self.size_names)
        if size is None:
            raise KernelcatError("KC-F018",
                                 "a size is a whole number, a name, or an expression of names that are sizes elsewhere",
                                 span=node.span, hint=f"write {d.name}: f32[64, K]; a name is a size where it stands alone in "
                                 "some declaration")
        number = self.builder.sizes.number(size)
        if number is not None and number < 0:
            raise KernelcatError("KC-F018", "a size is not negative", span=node.span, hint="")
        if number is not None and number > limits.ELEMENTS:
            raise KernelcatError("KC-F003", "a size is larger than 2^40", span=node.span, hint="use a smaller size")
        return index(number) if number is not None and not sizes(size) else size

    # -- names in expressions

    def unknown(self, name: str, span: Span) -> KernelcatError:
        if name in self.pending:
            return KernelcatError("KC-F006", f"'{name}' is read before it is assigned", span=span,
                                  hint="move its statement up")
        return KernelcatError("KC-F006", f"unknown name '{name}'", span=span,
                              hint=closest(name, [*self.tensors, *self.size_names]))


def undeclared_tensors(formula: Formula, known: set[str]) -> dict[str, tuple[int, Span]]:
    """Names that subscripts or operator calls make input tensors: name -> (rank, first use)."""
    subscripted: dict[str, tuple[int, Span]] = {}
    passed: dict[str, tuple[int, Span]] = {}
    for s in formula.statements:
        if not isinstance(s, Assign):
            continue
        indices = mentioned(s) | reducer_names(s)
        whole = s.subscripts is None and not indices
        for n in walk(s.value):
            if isinstance(n, Subscript) and isinstance(n.base, Name) and n.base.id not in known:
                rank, _ = subscripted.setdefault(n.base.id, (len(n.indices), n.span))
                if rank != len(n.indices):
                    raise KernelcatError("KC-F014", f"{n.base.id} has {len(n.indices)} subscripts here but {rank} earlier",
                                         span=n.span, hint=f"declare it: {n.base.id}: f32[...]")
            for name, rank in _passed(n, whole):
                if name.id not in known and name.id not in indices and name.id not in CONSTANTS:
                    passed.setdefault(name.id, (rank, name.span))
    return {**passed, **subscripted}


def _passed(n: Node, whole: bool) -> Iterator[tuple[Name, int]]:
    if isinstance(n, Binary) and n.op == "@":
        yield from ((x, 2) for x in (n.left, n.right) if isinstance(x, Name))
    if not isinstance(n, Call):
        return
    entry = REGISTRY.get(n.name)
    if entry is None or entry.elementwise:
        if whole and (entry is not None or n.name in FUNCTIONS or n.name in ("where",)):
            yield from ((x, 2) for x in n.args if isinstance(x, Name))
        return
    named = {k.name: k.value for k in n.keywords}
    for k, p in enumerate(entry.parameters):
        if p.kind == "tensors":
            rest = n.args[k:]
            if len(rest) == 1 and isinstance(rest[0], Sequence):
                rest = rest[0].items
            first = n.args[0] if k == 1 else None
            ranks = entry.operand_ranks(first.value) if entry.operand_ranks and isinstance(first, Text) else ()
            for position, x in enumerate(rest):
                if isinstance(x, Name):
                    yield x, ranks[position] if position < len(ranks) else p.rank
            return
        value = n.args[k] if k < len(n.args) else named.get(p.name)
        if value is None:
            value = next((v for a, v in named.items() if dict(entry.renames).get(a) == p.name), None)
        if p.kind == "tensor" and isinstance(value, Name):
            yield value, p.rank


def mentioned(s: Statement) -> frozenset[str]:
    """Names that some subscript of the statement uses, on either side."""
    if not isinstance(s, Assign):
        return frozenset()
    found = {b.name for b in s.subscripts or ()}
    for n in walk(s.value):
        if isinstance(n, Subscript):
            for i in n.indices:
                found |= {m.id for m in _plain_names(i)}
    return frozenset(found)


def _plain_names(node: Node) -> Iterator[Name]:
    """Names in a subscript, those of tensors that are subscripted themselves apart."""
    stack = [node]
    while stack:
        n = stack.pop()
        if isinstance(n, Name):
            yield n
        elif isinstance(n, Subscript):
            stack.extend(n.indices)
            if not isinstance(n.base, Name):
                stack.append(n.base)
        elif isinstance(n, Slice):
            continue
        else:
            stack.extend(parts(n))


def reducer_names(s: Assign) -> frozenset[str]:
    return frozenset(b.name for n in walk(s.value) if isinstance(n, Reduce) for b in n.binders)
