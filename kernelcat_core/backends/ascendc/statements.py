"""Spells the statements of one `dma` program as Ascend C lines."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.ascendc.instructions import TABLE
from kernelcat_core.backends.ascendc.spell import DIALECT, Names, storage
from kernelcat_core.codegen.dma_ast import CopyIn, CopyOut, NextCell, Put, Queue, StoreOne, Sync, Turn, Vector
from kernelcat_core.codegen.dma_text import ProgramLines
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr

_FIXED = {
    "move": "Muls",
    "fill": "Duplicate",
    "axpy": "Axpy",
    "and_bits": "And",
    "or_bits": "Or",
    "not_bits": "Not",
    "compare": "Compare",
    "compare_scalar": "CompareScalar",
    "select": "Select",
    "select_scalar": "Select",
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
}


class Statements(ProgramLines):
    """Lines for statements; which functions they need is noted in `functions` and by the names' speller."""

    names: Names

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self.functions: dict[str, None] = {}

    def put(self, s: Put, value: str) -> str:
        return f"{self.names.typed(s.target.buffer, s.target.dtype)}.SetValue({self.names.text(s.target.offset)}, {value})"

    def store_one(self, s: StoreOne, value: str) -> str:
        raise KernelcatError("KC-R001", f"{s.tensor}: the scalar unit does not store to global memory")

    def special(self, s: Queue | Sync | Turn | NextCell | CopyIn | CopyOut | Vector) -> Iterator[str]:
        text = self.names.text
        match s:
            case Queue():
                yield self._queue(s)
            case Sync():
                yield self._sync(s)
            case CopyIn():
                self.functions["CopyRowsIn"] = None
                yield (
                    f"CopyRowsIn({self.names.view(s.target)}, {self._at(s.tensor, s.offset)}, {text(s.rows)}, "
                    f"{text(s.length)}, {text(s.stride)}, {s.pitch});"
                )
            case CopyOut():
                if s.rows != ONE:
                    self.functions["CopyRowsOut"] = None
                    yield (
                        f"CopyRowsOut({self._at(s.tensor, s.offset)}, {self.names.view(s.source)}, "
                        f"{text(s.rows)}, {text(s.length)}, {text(s.stride)}, {s.pitch});"
                    )
                    return
                self.functions["CopyRowOut"] = None
                ends = f"{self._at(s.tensor, s.offset)}, {self.names.view(s.source)}"
                yield f"CopyRowOut({ends}, {text(s.length)});"
            case Vector():
                yield f"{self._vector(s)};"

    def _at(self, tensor: str, offset: Expr) -> str:
        return f"{self.names.tensor(tensor)}[{self.names.text(offset)}]"

    def _queue(self, s: Queue) -> str:
        b = self.names.buffers[s.buffer]
        name, queue, kind = (
            self.names.of(s.buffer),
            queue_name(b.queue or b.name, self.names),
            storage(b.dtype),
        )
        return {
            "alloc": f"LocalTensor<{kind}> {name} = {queue}.AllocTensor<{kind}>();",
            "enqueue": f"{queue}.EnQue({name});",
            "dequeue": f"{name} = {queue}.DeQue<{kind}>();",
            "free": f"{queue}.FreeTensor({name});",
        }[s.step]

    def _sync(self, s: Sync) -> str:
        if s.before == s.after:
            return f"PipeBarrier<PIPE_{s.before}>();"
        self.functions["Sync"] = None
        return f"Sync<HardEvent::{s.before}_{s.after}>();"

    def _exact(self, e: Expr) -> str:
        """A scalar operand in exactly the element type: templates deduce it from every argument."""
        text = self.names.text(e)
        return f"static_cast<{DIALECT.type(e.dtype)}>({text})" if e.dtype.is_integer and e.dtype.bits != 32 else text

    def _vector(self, s: Vector) -> str:
        names = self.names
        target, sources = names.view(s.target), [names.view(v) for v in s.sources]
        scalars = [self._exact(e) for e in s.scalars]
        dtype = s.target.dtype
        call, tail = _FIXED.get(s.op), []
        if s.op == "move":
            scalars = [self._exact(Const(1.0 if dtype.is_float else 1, dtype))]
        elif s.op in ("compare", "compare_scalar"):
            tail = [f"CMPMODE::{s.mode}"]
        elif s.op in ("select", "select_scalar"):
            tail = [
                "SELMODE::VSEL_TENSOR_TENSOR_MODE" if s.op == "select" else "SELMODE::VSEL_TENSOR_SCALAR_MODE"
            ]
        elif s.op == "cast":
            row = TABLE.find("cast", "cast", s.sources[0].dtype.name, dtype.name)
            assert row is not None
            call, tail = row.name, [f"RoundMode::{row.mode}"]
        elif call is None:
            row = TABLE.find("scalar", s.op, dtype.name) if s.scalars else TABLE.any(s.op, dtype.name)
            if row is None:
                raise KernelcatError("KC-R001", f"no instruction for {s.op} on {dtype}")
            call = row.name
            if row.kind in ("unary",) and row.mode:
                tail = [f"RoundMode::{row.mode}"]
        work = [names.view(s.work)] if s.work is not None else []
        count = names.text(s.count if s.count is not None else ZERO)
        return f"{call}({', '.join([target, *sources, *work, *scalars, *tail, count])})"


def queue_name(queue: str, names: Names) -> str:
    """The member that holds a queue."""
    return names.of(f"{queue}_queue")


FUNCTIONS = {
    "Sync": """template <HardEvent event>
__aicore__ inline void Sync() {
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
    SetFlag<event>(id);
    WaitFlag<event>(id);
}""",
    # One transfer where the strides can say it, else one a row. On chip a row starts at a 32 B block.
    "CopyRowsIn": """template <class T>
__aicore__ inline void CopyRowsIn(const LocalTensor<T> &to, const GlobalTensor<T> &from, int64_t rows, int64_t length,
                                  int64_t stride, int64_t pitch) {
    const DataCopyPadExtParams<T> nopad{false, 0, 0, static_cast<T>(0)};
    const uint32_t bytes = static_cast<uint32_t>(length * sizeof(T));
    const int64_t gap = (stride - length) * static_cast<int64_t>(sizeof(T));
    if (rows == 1) {
        DataCopyPad(to, from, DataCopyExtParams{1, bytes, 0, 0, 0}, nopad);
    } else if (gap >= 0 && gap < 4294967296 && rows < 4096) {
        const uint32_t skip = static_cast<uint32_t>((pitch * sizeof(T) - (bytes + 31) / 32 * 32) / 32);
        const uint16_t count = static_cast<uint16_t>(rows);
        DataCopyPad(to, from, DataCopyExtParams{count, bytes, static_cast<uint32_t>(gap), skip, 0}, nopad);
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            DataCopyPad(to[r * pitch], from[r * stride], DataCopyExtParams{1, bytes, 0, 0, 0}, nopad);
        }
    }
}""",
    "CopyRowsOut": """template <class T>
__aicore__ inline void CopyRowsOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t rows, int64_t length,
                                   int64_t stride, int64_t pitch) {
    const uint32_t bytes = static_cast<uint32_t>(length * sizeof(T));
    const int64_t gap = (stride - length) * static_cast<int64_t>(sizeof(T));
    if (rows > 1 && gap >= 0 && gap < 4294967296 && rows < 4096) {
        const uint32_t skip = static_cast<uint32_t>((pitch * sizeof(T) - (bytes + 31) / 32 * 32) / 32);
        const uint16_t count = static_cast<uint16_t>(rows);
        DataCopyPad(to, from, DataCopyExtParams{count, bytes, skip, static_cast<uint32_t>(gap), 0});
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            DataCopyPad(to[r * stride], from[r * pitch], DataCopyExtParams{1, bytes, 0, 0, 0});
        }
    }
}""",
    "CopyRowOut": """template <class T>
__aicore__ inline void CopyRowOut(const GlobalTensor<T> &to, const LocalTensor<T> &from, int64_t length) {
    DataCopyPad(to, from, DataCopyExtParams{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0});
}""",
}
