"""What renderers of the `dma` model share: names and scalar expressions, control flow, and the loop over cells.

A renderer derives from both classes and spells what is left: buffers, copies, queue steps, syncs and instructions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from kernelcat_core.codegen.cstyle import Dialect, Speller, identifier
from kernelcat_core.codegen.dma_ast import (
    Assign,
    Block,
    Branch,
    Buffer,
    CopyIn,
    CopyOut,
    Declare,
    DmaProgram,
    Loop,
    NextCell,
    Put,
    Queue,
    Stmt,
    StoreOne,
    Sync,
    Turn,
    Vector,
)
from kernelcat_core.ir.expr import ONE, Const, Expr, Load, Op, Size, Var, product, transform


class ProgramNames(ABC):
    """Spells scalar expressions of one program in `dialect`."""

    def __init__(self, program: DmaProgram, dialect: Dialect) -> None:
        self.buffers: dict[str, Buffer] = {b.name: b for b in program.buffers}
        self.naturals = program.naturals
        self.dialect = dialect
        self.speller = Speller(dialect, self._leaf)

    def of(self, name: str) -> str:
        """The identifier for a buffer, tensor or variable."""
        return identifier(name, self.dialect.reserved)

    def text(self, e: Expr, level: int = 0) -> str:
        """`e` in C++; parenthesised when it binds weaker than `level` (see cstyle.Speller)."""
        text = self.speller.text(transform(e, self._plain), level)
        self.speller.used.update((name, None) for name in ("kc_infinity", "kc_nan") if name in text)
        return text

    def _plain(self, e: Expr) -> Expr | None:
        """Division by a positive constant truncates as well as it floors where the dividend cannot be negative."""
        if (
            isinstance(e, Op)
            and e.name == "floordiv"
            and isinstance(e.args[1], Const)
            and e.args[1].value > 0
        ):
            return Op("div", e.args, e.dtype) if self._natural(e.args[0]) else None
        return None

    def _natural(self, e: Expr) -> bool:
        """Whether an i64 expression is known not to be negative."""
        if isinstance(e, Const):
            return e.value >= 0
        if isinstance(e, Var):
            return e.name in self.naturals
        if isinstance(e, Op) and e.name in ("add", "mul", "div", "floordiv", "min", "max"):
            return all(self._natural(a) for a in e.args)
        return isinstance(e, Size)

    def _leaf(self, e: Load | Var | Size) -> str:
        if isinstance(e, Var | Size):
            return self.of(e.name)
        if not e.index:
            return self.of(e.tensor)
        value = self.element(e)
        return f"({value} != 0)" if e.dtype.kind == "b" else value

    @abstractmethod
    def element(self, e: Load) -> str:
        """One element of a buffer or of global memory, in its storage type."""


class ProgramLines(ABC):
    """Lines for the statements of one program."""

    def __init__(self, names: ProgramNames) -> None:
        self.names = names

    def lines(self, body: Iterable[Stmt], indent: str) -> Iterator[str]:
        for s in body:
            yield from self._lines(s, indent)

    def _lines(self, s: Stmt, indent: str) -> Iterator[str]:
        text = self.names.text
        match s:
            case Declare():
                kind = "const " if s.constant else ""
                value = "" if s.value is None else f" = {text(s.value)}"
                yield f"{indent}{kind}{self.names.dialect.type(s.dtype)} {self.names.of(s.name)}{value};"
            case Assign():
                yield f"{indent}{self.names.of(s.name)} = {text(s.value)};"
            case Loop():
                var = self.names.of(s.var)
                step = f"++{var}" if s.step == ONE else f"{var} += {text(s.step)}"
                yield f"{indent}for (int64_t {var} = {text(s.start)}; {var} < {text(s.stop, 11)}; {step}) {{"
                yield from self.lines(s.body, indent + "    ")
                yield indent + "}"
            case Branch():
                yield f"{indent}if ({text(s.condition)}) {{"
                yield from self.lines(s.body, indent + "    ")
                if s.otherwise:
                    yield indent + "} else {"
                    yield from self.lines(s.otherwise, indent + "    ")
                yield indent + "}"
            case Block():
                yield indent + "{" + (f"  // {s.note}" if s.note else "")
                yield from self.lines(s.body, indent + "    ")
                yield indent + "}"
            case Put() | StoreOne():
                value = text(s.value)
                dtype = s.target.dtype if isinstance(s, Put) else s.value.dtype
                if dtype.kind == "b":
                    value = f"static_cast<uint8_t>({value})"
                yield f"{indent}{self.put(s, value) if isinstance(s, Put) else self.store_one(s, value)};"
            case _:
                yield from (indent + line for line in self.special(s))

    @abstractmethod
    def put(self, s: Put, value: str) -> str: ...

    @abstractmethod
    def store_one(self, s: StoreOne, value: str) -> str: ...

    @abstractmethod
    def special(self, s: Queue | Sync | Turn | NextCell | CopyIn | CopyOut | Vector) -> Iterator[str]: ...


def cell_lines(
    p: DmaProgram, names: ProgramNames, indent: str, cell: str = "cell", name: Callable[[str], str] = str
) -> Iterator[str]:
    """The grid's variables (as `name` calls them) from `cell`, the number of a cell in row-major order."""
    if len(p.grid) > 1:
        yield f"{indent}int64_t rest = {cell};"
    for k, axis in reversed(list(enumerate(p.grid))):
        variable = names.of(name(axis.name))
        if len(p.grid) == 1:
            yield f"{indent}const int64_t {variable} = {cell};"
        elif k == 0:
            yield f"{indent}const int64_t {variable} = rest;"
        else:
            size = names.text(axis.size, 14)
            yield f"{indent}const int64_t {variable} = rest % {size};"
            yield f"{indent}rest /= {size};"


def cell_count(p: DmaProgram, names: ProgramNames) -> str:
    """The number of cells of a program."""
    return names.text(product([a.size for a in p.grid]))
