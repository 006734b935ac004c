"""Statements of the `dma` execution model: one core, an on-chip buffer, copy pipes and whole-tile vector instructions.

`codegen.dma` lowers a tile program to this; a renderer only spells it. Scalar expressions are `ir.expr` trees in which
`Load(buffer, (element,))` reads one element of a buffer and `Load(tensor, (offset,))` one of global memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Expr
from kernelcat_core.ir.graph import Axis, Tensor

Role = Literal["in", "out", "calc"]
Pipe = Literal["S", "V", "MTE2", "MTE3", "IO"]


@dataclass(frozen=True)
class Order:
    """How a core orders its work: the pipes of copies in (`load`) and out (`store`), of vector instructions, and of scalar
    accesses to on-chip memory; which of them keep their own order (`in_order`); whether queues between copies and
    vector work order them (`queues`), or only what the text itself says."""

    load: Pipe = "MTE2"
    store: Pipe = "MTE3"
    vector: Pipe = "V"
    scalar: Pipe = "S"
    in_order: frozenset[Pipe] = frozenset({"S"})
    queues: bool = True

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        """Every pipe once."""
        return tuple(dict.fromkeys((self.scalar, self.vector, self.load, self.store)))


@dataclass(frozen=True)
class Memory:
    """On-chip memory of one core. A copy and a vector operand start at multiples of `block_bytes`; one vector repeat
    covers `repeat_bytes`; a queue role has at most `queue_buffers` buffers."""

    near_bytes: int
    block_bytes: int
    repeat_bytes: int
    queue_buffers: int
    order: Order = Order()


@dataclass(frozen=True)
class Buffer:
    """`slots` buffers of `elements` x dtype. "in" and "out" are queues between copies and vector work; "calc" is plain.

    Queue buffers with the same `queue` share one queue.
    """

    name: str
    dtype: DType
    elements: int
    role: Role = "calc"
    slots: int = 1
    queue: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of one slot."""
        return self.elements * self.dtype.itemsize


@dataclass(frozen=True)
class View:
    """A vector operand: the elements of `buffer` from `offset` (in elements of `dtype`, which may differ from the
    buffer's own: the bytes are reinterpreted)."""

    buffer: str
    dtype: DType
    offset: Expr


@dataclass(frozen=True)
class Declare:
    """A scalar variable; without a value it has none before it is assigned. `constant` ones never change."""

    name: str
    dtype: DType
    value: Expr | None = None
    constant: bool = True


@dataclass(frozen=True)
class Assign:
    name: str
    value: Expr


@dataclass(frozen=True)
class Loop:
    """`var` = start, start + step, .. below `stop`. Iterations of an `independent` loop write different elements; those of
    one that goes `ahead` want their copies issued one iteration early."""

    var: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    independent: bool = False
    ahead: bool = False


@dataclass(frozen=True)
class Branch:
    condition: Expr
    body: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class Vector:
    """One instruction of the vector pipe: `op` (a name of the instruction table) on `count` elements.

    Scalars come after the sources. `work` is overwritten. `mode` is a further word (a round or compare mode).
    """

    op: str
    target: View
    sources: tuple[View, ...] = ()
    scalars: tuple[Expr, ...] = ()
    count: Expr | None = None
    mode: str = ""
    work: View | None = None


@dataclass(frozen=True)
class Put:
    """buffer[index] = value, by the scalar unit."""

    target: View
    value: Expr


@dataclass(frozen=True)
class StoreOne:
    """tensor[offset] = value by the scalar unit; with `renew` ("add", ..) the element is folded into, atomically."""

    tensor: str
    offset: Expr
    value: Expr
    renew: str = ""


@dataclass(frozen=True)
class CopyIn:
    """target[r * pitch + c] <- tensor[offset + r * stride + c] for r < rows, c < length."""

    target: View
    tensor: str
    offset: Expr
    rows: Expr
    length: Expr
    stride: Expr
    pitch: int


@dataclass(frozen=True)
class CopyOut:
    """tensor[offset + r * stride + c] <- source[r, c], as CopyIn."""

    tensor: str
    offset: Expr
    source: View
    rows: Expr
    length: Expr
    stride: Expr
    pitch: int


@dataclass(frozen=True)
class Queue:
    """One step of a queue buffer's life. "alloc" and "dequeue" give the buffer its name."""

    step: Literal["alloc", "enqueue", "dequeue", "free"]
    buffer: str


@dataclass(frozen=True)
class Sync:
    """`after` waits until all that pipe `before` was given is done; equal pipes mean a barrier inside one."""

    before: Pipe
    after: Pipe


@dataclass(frozen=True)
class Turn:
    """The two slots of a buffer change places: what was `other_slot(buffer)` is `buffer` now."""

    buffer: str


def other_slot(buffer: str) -> str:
    """The name of a buffer's slot that the current step does not use."""
    return f"{buffer}__other"


@dataclass(frozen=True)
class NextCell:
    """`body` for the cell that this core takes next, where there is one; its grid variables have names of their own."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Block:
    """Statements with their own scope; `note` becomes a comment."""

    body: tuple[Stmt, ...]
    note: str = ""


Stmt = Declare | Assign | Loop | Branch | Vector | Put | StoreOne | CopyIn | CopyOut | Queue | Sync | Turn | NextCell | Block


@dataclass(frozen=True)
class DmaProgram:
    """One launch. `body` runs for each cell; cell variables are the grid axes' names. `naturals` are the variables that
    are never negative where they are used; `near_bytes` is the on-chip memory that the buffers take. `first` runs once before
    the loop over cells, for the first cell as for a next one; `state` and `last` stand before and after that loop."""

    name: str
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    grid: tuple[Axis, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    sizes: tuple[str, ...]
    kernel_class: str = "fallback"
    near_bytes: int = 0
    naturals: frozenset[str] = frozenset()
    first: tuple[Stmt, ...] = ()
    state: tuple[Stmt, ...] = ()
    last: tuple[Stmt, ...] = ()
