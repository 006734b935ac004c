"""Spells the statements of one `dma` program as BANG C lines."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.bangc.spell import Names, element_type, storage
from kernelcat_core.codegen.dma_ast import (
    CopyIn,
    CopyOut,
    DmaProgram,
    NextCell,
    Put,
    Queue,
    Stmt,
    StoreOne,
    Sync,
    Turn,
    Vector,
    View,
    other_slot,
)
from kernelcat_core.codegen.dma_pipeline import next_name
from kernelcat_core.codegen.dma_table import Instruction, Table
from kernelcat_core.codegen.dma_text import ProgramLines, cell_lines
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr

_SYNCS = {"IO": "__sync_io();", "V": "__sync_compute();"}


class Statements(ProgramLines):
    """Lines for statements; which functions of `library` they need is noted in `functions`."""

    names: Names

    def __init__(self, program: DmaProgram, names: Names, table: Table) -> None:
        super().__init__(names)
        self.program, self.table = program, table
        self.functions: dict[str, None] = {}
        self.filter = 0  # bytes of WRAM that products want

    def put(self, s: Put, value: str) -> str:
        kind = storage(s.target.dtype)
        place = self.names.address(s.target.buffer, self.names.text(s.target.offset, 13), kind)
        return self._store("nram", place, value, kind, s.target.dtype.itemsize)

    def store_one(self, s: StoreOne, value: str) -> str:
        dtype = s.value.dtype
        place = self.names.address(s.tensor, self.names.text(s.offset, 13), storage(dtype))
        if not s.renew:
            return self._store("gdram", place, value, storage(dtype), dtype.itemsize)
        row = self.table.find("renew", s.renew, dtype.name)
        assert row is not None
        return f"{row.name}({place}, {value}, 1)"

    def _store(self, space: str, place: str, value: str, kind: str, size: int) -> str:
        if size < 8:
            return f"__store_{space}({place}, ({kind})({value}))"
        words = f"(uint32_t *)({place})"
        return (
            f"{{ const uint64_t bits = (uint64_t)({value}); __store_{space}({words}, (uint32_t)bits); "
            f"__store_{space}({words} + 1, (uint32_t)(bits >> 32)); }}"
        )

    def special(self, s: Queue | Sync | Turn | NextCell | CopyIn | CopyOut | Vector) -> Iterator[str]:
        text = self.names.text
        match s:
            case Sync():
                yield _SYNCS[s.before]
            case Turn():
                self.functions["Turn"] = None
                yield f"Turn({self.names.of(s.buffer)}, {self.names.of(other_slot(s.buffer))});"
            case NextCell():
                yield "{"
                yield "    const int64_t next = cell + taskDim;"
                yield from (f"    {line}" for line in self.next_cell(s.body))
                yield "}"
            case CopyIn() if s.rows == ONE:
                size = self._bytes(s.length, s.target.dtype.itemsize)
                yield f"__memcpy_async({self._near(s.target)}, {self._far(s.tensor, s.offset)}, {size}, GDRAM2NRAM);"
            case CopyOut() if s.rows == ONE:
                size = self._bytes(s.length, s.source.dtype.itemsize)
                yield f"__memcpy_async({self._far(s.tensor, s.offset)}, {self._near(s.source)}, {size}, NRAM2GDRAM);"
            case CopyIn():
                self.functions["CopyRowsIn"] = None
                ends = f"{self._near(s.target)}, {self._far(s.tensor, s.offset)}"
                yield f"CopyRowsIn({ends}, {text(s.rows)}, {text(s.length)}, {text(s.stride)}, {s.pitch});"
            case CopyOut():
                self.functions["CopyRowsOut"] = None
                ends = f"{self._far(s.tensor, s.offset)}, {self._near(s.source)}"
                yield f"CopyRowsOut({ends}, {text(s.rows)}, {text(s.length)}, {text(s.stride)}, {s.pitch});"
            case Vector():
                yield f"{self._vector(s)};"

    def next_cell(self, body: tuple[Stmt, ...]) -> Iterator[str]:
        """`body` for cell `next` where there is one."""
        yield "if (next < cells) {"
        yield from cell_lines(self.program, self.names, "    ", "next", next_name)
        yield from self.lines(body, "    ")
        yield "}"

    def _near(self, v: View) -> str:
        offset = "0" if v.offset == ZERO else self.names.text(v.offset, 13)
        return self.names.at(self.names.typed(v.buffer, storage(v.dtype)), offset)

    def _far(self, tensor: str, offset: Expr) -> str:
        return self.names.at(self.names.tensor(tensor), self.names.text(offset, 13))

    def _bytes(self, count: Expr, size: int) -> str:
        return self.names.text(count) if size == 1 else f"{self.names.text(count, 13)} * {size}"

    def _exact(self, e: Expr) -> str:
        """A scalar operand in exactly the element type: overloads are chosen by it."""
        text = self.names.text(e)
        return text if e.dtype.name == "f32" else f"({storage(e.dtype)})({text})"

    def _row(self, s: Vector) -> Instruction:
        """The instruction of a vector statement."""
        dtype, source = s.target.dtype.name, (s.sources[0].dtype.name if s.sources else "")
        if s.op == "cast":
            row = self.table.find("cast", "cast", source, dtype)
        elif s.op in ("compare", "compare_scalar"):
            row = self.table.find("compare", s.mode.lower(), source)
        elif s.op in ("and", "or", "xor", "not"):
            row = self.table.find("logic", s.op, dtype)
        elif s.op.startswith("reduce_"):
            row = self.table.find("reduce", s.op.removeprefix("reduce_"), dtype)
        elif s.scalars:
            row = self.table.find("scalar", s.op, dtype)
        else:
            row = self.table.any(s.op, dtype)
        if row is None:
            raise KernelcatError("KC-R001", f"no instruction for {s.op} on {dtype}")
        if row.source == "OWN":
            self.functions[row.name] = None
        return row

    def _vector(self, s: Vector) -> str:
        names, dtype = self.names, s.target.dtype
        count = names.text(s.count if s.count is not None else ZERO)
        size = self._bytes(s.count if s.count is not None else ZERO, dtype.itemsize)
        if s.op == "fill":
            value = self._exact(s.scalars[0]) if dtype.kind != "b" else f"(unsigned char)({names.text(s.scalars[0])})"
            return f"__bang_write_value({names.view(s.target, self._raw(s))}, {count}, {value})"
        if s.op == "move":
            return f"__bang_move({names.view(s.target)}, {names.view(s.sources[0])}, {size})"
        if s.op.endswith("_bits"):
            row = self.table.find("bits", s.op, "i32")
            assert row is not None
            operands = ", ".join(names.view(v, "char") for v in (s.target, *s.sources))
            return f"{row.name}({operands}, {size})"
        if s.op == "mma":
            return self._product(s)
        row = self._row(s)
        call = f"{row.name}_scalar" if s.op == "compare_scalar" else row.name
        tail = [row.mode] if row.mode else []
        work = [names.view(s.work)] if s.work is not None else []
        scalars = [self._exact(e) for e in s.scalars]
        views = [names.view(v) for v in (s.target, *s.sources)]
        return f"{call}({', '.join([*views, *work, *scalars, count, *tail])})"

    def _product(self, s: Vector) -> str:
        dtype = s.sources[0].dtype
        depth, width = (int(e.value) for e in s.scalars[3:] if isinstance(e, Const))
        self.functions["Product"] = None
        self.filter = max(self.filter, depth * width * dtype.itemsize)
        kind = element_type(dtype)
        assert s.work is not None
        views = [*(self.names.view(v) for v in (s.target, *s.sources, s.work)), f"({kind} *)filter"]
        extents = [self.names.text(e) for e in s.scalars]
        word = "uint32_t" if dtype.itemsize == 4 else "uint16_t"
        return f"Product<{kind}, {word}>({', '.join([*views, *extents])})"

    def _raw(self, s: Vector) -> str:
        """Values of bf16 are set by their bits."""
        return "uint16_t" if s.target.dtype.name == "bf16" and element_type(s.target.dtype) != "uint16_t" else ""
