"""The small language that the SIMT lowering speaks: what one thread of a block does. Renderers spell it.

Expressions are those of ir.expr. `Load(name, index)` names a tensor (one flat index), a shared array or a private array of
the thread; `Var` a scalar. Index arithmetic is i64; the thread's number and the counters of `Repeat` fit an int.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var, variables
from kernelcat_core.ir.graph import Axis, Tensor


@dataclass(frozen=True)
class Note:
    """A comment for the reader."""

    text: str


@dataclass(frozen=True)
class Define:
    """A constant scalar, to the end of the block."""

    name: str
    dtype: DType
    value: Expr


@dataclass(frozen=True)
class Variable:
    """A scalar that changes; `value` None: undefined at first."""

    name: str
    dtype: DType
    value: Expr | None = None


@dataclass(frozen=True)
class Registers:
    """A private array of the thread, undefined at first. All its subscripts are constant after unrolling."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Assign:
    """Write one element (a Load's place) or a Variable (a Var's)."""

    place: Expr
    value: Expr


@dataclass(frozen=True)
class Repeat:
    """`body` for var = 0 .. count-1, unrolled `unroll` times; 0: entirely."""

    var: str
    count: int
    body: tuple[Node, ...]
    unroll: int = 0


@dataclass(frozen=True)
class Loop:
    """`body` for var = 0 .. extent-1, serial; the extent is the same for all threads of the block."""

    var: str
    extent: Expr
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Branch:
    condition: Expr
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Barrier:
    """All threads of the block meet; what they wrote to shared memory before is visible after."""


@dataclass(frozen=True)
class AsyncCopy:
    """Start to copy `count` neighbouring elements (4, 8 or 16 bytes) from a tensor to a shared array."""

    place: Load
    source: Load
    count: int = 1


@dataclass(frozen=True)
class Aligned:
    """The constant `name` (bool): whether a tensor's address is a multiple of `bytes`."""

    name: str
    tensor: str
    bytes: int


@dataclass(frozen=True)
class AsyncCommit:
    """The copies started since the last commit form a group."""


@dataclass(frozen=True)
class AsyncWait:
    """Wait until all but the last `pending` groups of this thread have arrived."""

    pending: int


@dataclass(frozen=True)
class Swap:
    """`name` (defined here) becomes the value of Var `source` in the lane whose number differs in bit number `bit`."""

    name: str
    dtype: DType
    source: str
    bit: Expr


@dataclass(frozen=True)
class FragmentLoad:
    """Four 8x8 matrices of 16-bit elements from shared memory into private words `target`[4]; lane l gives row l."""

    target: Load
    place: Load
    transposed: bool


@dataclass(frozen=True)
class FragmentMma:
    """`c`[4] += a * b, one m16n8k16 step of a warp on operands of `dtype`; b is half of what a FragmentLoad gives."""

    c: Load
    a: Load
    b: Load
    dtype: DType


Node = (
    Note
    | Define
    | Variable
    | Registers
    | Assign
    | Repeat
    | Loop
    | Branch
    | Barrier
    | AsyncCopy
    | Aligned
    | AsyncCommit
    | AsyncWait
    | Swap
    | FragmentLoad
    | FragmentMma
)


def used_names(nodes: Iterable[Node]) -> frozenset[str]:
    """Names of the Vars that expressions of these nodes, and of their bodies, use."""
    found: set[str] = set()
    for n in nodes:
        for f in fields(n):
            part = getattr(n, f.name)
            if isinstance(part, Const | Var | Size | Load | Op):
                found |= variables(part)
            elif isinstance(part, tuple) and f.name in ("body", "otherwise"):
                found |= used_names(part)
    return frozenset(found)


@dataclass(frozen=True)
class Shared:
    """A block-shared array, undefined at first; 16-byte aligned."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        total = self.dtype.itemsize
        for n in self.shape:
            total *= n
        return -(-total // 16) * 16


@dataclass(frozen=True)
class Kernel:
    """One launch of product(grid) blocks of `threads` threads; the last grid axis is the fastest."""

    name: str
    threads: int
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    sizes: tuple[str, ...]
    grid: tuple[Axis, ...]
    shared: tuple[Shared, ...]
    body: tuple[Node, ...]
    thread: str

    @property
    def shared_bytes(self) -> int:
        return sum(s.nbytes for s in self.shared)
