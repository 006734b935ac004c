"""How C-like languages spell the kernels of the SIMT lowering: one home for CUDA C++, HIP C++ and OpenCL C.

A `Language` says what C has no words for: how a kernel starts, which thread and block this is, shared memory, barriers,
exchanges between lanes. What only one language has (asynchronous copies, tensor cores) its backend adds in a subclass of
`KernelText`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelcat_core.codegen.cstyle import Dialect, Speller, identifier
from kernelcat_core.codegen.simt_ast import (
    Assign,
    Barrier,
    Branch,
    Define,
    Kernel,
    Loop,
    Node,
    Note,
    Registers,
    Repeat,
    Shared,
    Swap,
    Variable,
    used_names,
)
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.printer import print_expr

STORAGE_ONLY = "typedef uint8_t kc_f8e4m3, kc_f8e5m2, kc_u4; // kept in memory only\ntypedef int8_t kc_i4;"


@dataclass(frozen=True)
class Language:
    """Templates of one language. `head` takes {threads} {name} {parameters}; `read` and `write`, a kernel's pointers,
    {type} {name}; `shared` {type} {place}; `exchange`, a value of the lane whose number differs in bit {bit}, {value} {bit};
    "" where there is none. `thread` and `block` are expressions, `barrier` a statement.
    """

    dialect: Dialect
    head: str
    read: str
    write: str
    thread: str
    block: str
    shared: str
    barrier: str
    exchange: str = ""

    def name(self, text: str) -> str:
        """An identifier for `text`."""
        return identifier(text, self.dialect.reserved)

    def type(self, dtype: DType) -> str:
        """The type of an element, in memory and in a register; KC-R001 where there is none."""
        return self.dialect.type(dtype)

    def kernel_name(self, kernel: Kernel) -> str:
        return self.name(f"{kernel.name}_kernel")

    def parameters(self, k: Kernel) -> list[str]:
        """The parameters of a kernel, in the order in which the host passes them."""

        def pointer(template: str, t: Tensor) -> str:
            return template.format(type=self.type(t.dtype), name=self.name(t.name))

        return [
            *(pointer(self.read, t) for t in k.reads),
            *(pointer(self.write, t) for t in k.writes),
            *(f"const int64_t {self.name(s)}" for s in k.sizes),
        ]


class IndexSpeller(Speller):
    """Plain / and % where the dividend cannot be negative and the divisor is a positive literal."""

    def __init__(self, language: Language, dialect: Dialect | None = None) -> None:
        super().__init__(dialect or language.dialect, self._leaf)
        self.language = language
        self.natural: set[str] = set()

    def _leaf(self, e: Load | Var | Size) -> str:
        if isinstance(e, Load):
            return self.language.name(e.tensor) + "".join(f"[{self.text(i)}]" for i in e.index)
        return self.language.name(e.name)

    def _operation(self, e: Op) -> tuple[str, int]:
        if e.name in ("floordiv", "mod") and self.is_natural(e.args[0]) and _is_positive(e.args[1]):
            sign = "/" if e.name == "floordiv" else "%"
            return f"{self.text(e.args[0], 13)} {sign} {self.text(e.args[1], 14)}", 13
        if e.name == "add" and isinstance(e.args[1], Const) and -(1 << 31) < e.args[1].value < 0:
            return f"{self.text(e.args[0], 12)} - {-e.args[1].value}", 12
        return super()._operation(e)

    def is_natural(self, e: Expr) -> bool:
        """Whether the value is certainly >= 0."""
        if isinstance(e, Const):
            return e.value >= 0
        if isinstance(e, Size):
            return True
        if isinstance(e, Var):
            return e.name in self.natural
        return (
            isinstance(e, Op)
            and e.name in ("add", "mul", "floordiv", "mod", "min", "max")
            and all(self.is_natural(a) for a in e.args)
        )


def _is_positive(e: Expr) -> bool:
    return isinstance(e, Const) and e.value > 0


class KernelText:
    """The text of one kernel. `speller` is shared by a module, so that helper functions are defined once."""

    def __init__(self, kernel: Kernel, speller: IndexSpeller) -> None:
        self.kernel = kernel
        self.e = speller
        self.language = speller.language
        speller.natural = {kernel.thread, *(a.name for a in kernel.grid)}

    def name(self, text: str) -> str:
        return self.language.name(text)

    def type(self, dtype: DType) -> str:
        return self.language.type(dtype)

    def text(self) -> str:
        k = self.kernel
        body = list(self._body())
        head = self.language.head.format(
            threads=k.threads, name=self.language.kernel_name(k), parameters=", ".join(self.language.parameters(k))
        )
        return "\n".join([head, *(f"  {line}" for line in body), "}"])

    def _body(self) -> Iterator[str]:
        yield from self.shared()
        yield f"const int {self.name(self.kernel.thread)} = {self.language.thread};"
        yield from self._cell()
        yield from self.nodes(self.kernel.body)

    def shared(self) -> Iterator[str]:
        """Declarations of the block's shared arrays."""
        for s in self.kernel.shared:
            place = self.name(s.name) + _dimensions(s)
            yield self.language.shared.format(type=self.type(s.dtype), place=place)

    def _cell(self) -> Iterator[str]:
        """The block's place in the grid; the last axis is the fastest."""
        grid = self.kernel.grid
        if not grid:
            return
        if len(grid) == 1:
            yield f"const int64_t {self.name(grid[0].name)} = {self.language.block};"
            return
        yield f"unsigned cell = {self.language.block};"  # there are fewer than 2^31 cells, so each axis fits
        for axis in reversed(grid[1:]):
            size = f"(unsigned)({self.e.text(axis.size)})"
            yield f"const int64_t {self.name(axis.name)} = cell % {size};"
            yield f"cell /= {size};"
        yield f"const int64_t {self.name(grid[0].name)} = cell;"

    def nodes(self, nodes: Iterable[Node]) -> Iterator[str]:
        for n in nodes:
            yield from self.node(n)

    def _inner(self, nodes: Iterable[Node]) -> Iterator[str]:
        for line in self.nodes(nodes):
            yield "  " + line

    def node(self, n: Node) -> Iterator[str]:
        match n:
            case Note():
                yield f"// {n.text}"
            case Define():
                if n.dtype.name == "i64" and self.e.is_natural(n.value):
                    self.e.natural.add(n.name)
                yield f"const {self.type(n.dtype)} {self.name(n.name)} = {self.e.text(n.value)};"
            case Variable():
                value = "" if n.value is None else f" = {self.e.text(n.value)}"
                yield f"{self.type(n.dtype)} {self.name(n.name)}{value};"
            case Registers():
                yield f"{self.type(n.dtype)} {self.name(n.name)}{''.join(f'[{k}]' for k in n.shape)};"
            case Assign():
                yield f"{self.e.text(n.place)} = {self.e.text(n.value)};"
            case Repeat():
                yield from self._repeat(n)
            case Loop():
                self.e.natural.add(n.var)
                v = self.name(n.var)
                yield f"for (int64_t {v} = 0; {v} < {self.e.text(n.extent, 11)}; ++{v}) {{"
                yield from self._inner(n.body)
                yield "}"
            case Branch():
                yield from self._branch(n)
            case _:
                yield from self._together(n)

    def _repeat(self, n: Repeat) -> Iterator[str]:
        self.e.natural.add(n.var)
        if n.count == 1:
            yield "{"
            if n.var in used_names(n.body):
                yield f"  const int {self.name(n.var)} = 0;"
        else:
            yield f"#pragma unroll {n.unroll}" if n.unroll else "#pragma unroll"
            yield f"for (int {self.name(n.var)} = 0; {self.name(n.var)} < {n.count}; ++{self.name(n.var)}) {{"
        yield from self._inner(n.body)
        yield "}"

    def _branch(self, n: Branch) -> Iterator[str]:
        yield f"if ({self.e.text(n.condition)}) {{"
        yield from self._inner(n.body)
        if n.otherwise:
            yield "} else {"
            yield from self._inner(n.otherwise)
        yield "}"

    def _together(self, n: Node) -> Iterator[str]:
        """What threads do with each other."""
        match n:
            case Barrier():
                yield self.language.barrier
            case Swap():
                value = self.language.exchange.format(value=self.name(n.source), bit=self.e.text(n.bit, 12))
                yield f"const {self.type(n.dtype)} {self.name(n.name)} = {value};"
            case _:
                yield from self.special(n)

    def special(self, n: Node) -> Iterator[str]:
        """Statements that only some languages have; which ones a target gets its limits say."""
        raise AssertionError(f"no spelling for {n}")


def _dimensions(s: Shared) -> str:
    return "".join(f"[{n}]" for n in s.shape)


def storage_types(body: str) -> str:
    """Definitions of the types that are kept in memory only, where a text uses one."""
    return STORAGE_ONLY if re.search(r"kc_(f8|[iu]4\b)", body) else ""


def launch_words(k: Kernel) -> str:
    """A launch as people read it."""
    cells = " x ".join(print_expr(a.size) for a in k.grid) or "1"
    shared = f", {k.shared_bytes} bytes of shared memory" if k.shared else ""
    return f"{cells} blocks of {k.threads} threads{shared}"
