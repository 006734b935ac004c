"""Temporary buffers of a `dma` program: handed out while vector code is emitted, counted, and reused."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import Buffer, Memory
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import F32, I64, U8, DType


class Temps:
    """Two pools of buffers of `chunk` elements, 4 ("tmp") and 8 ("wide") bytes each, plus work space on demand."""

    def __init__(self, chunk: int, table: Table) -> None:
        self.chunk, self.table = chunk, table
        self.made: dict[str, DType] = {}
        self.idle: dict[str, list[str]] = {"tmp": [], "wide": []}
        self.library = False
        self.reduces = False
        self.product = 0  # bytes of work space for products of tiles

    def take(self, dtype: DType) -> str:
        """A buffer that holds `chunk` elements of `dtype`."""
        pool = "wide" if dtype.itemsize > 4 else "tmp"
        if self.idle[pool]:
            return self.idle[pool].pop()
        name = f"{pool}{sum(n.startswith(pool) for n in self.made)}"
        self.made[name] = I64 if pool == "wide" else F32
        return name

    def give(self, name: str) -> None:
        """Back into the pool; its content is dead."""
        self.idle["wide" if name.startswith("wide") else "tmp"].append(name)

    def buffers(self, memory: Memory) -> tuple[Buffer, ...]:
        """Everything that was asked for, as buffers."""
        found = [Buffer(name, dtype, self.chunk) for name, dtype in self.made.items()]
        if self.library:
            base, each = self.table.scratch
            found.append(Buffer("scratch", U8, base + each * self.chunk))
        if self.product:
            found.append(Buffer("product", U8, self.product))
        if self.reduces:
            lanes, block = memory.repeat_bytes // 4, memory.block_bytes // 4
            repeats = -(-self.chunk // lanes)
            room = repeats * lanes if self.table.whole_work else repeats * 2  # else a value and a position for each
            found.append(Buffer("work", F32, -(-room // block) * block))
            found.append(Buffer("result", F32, lanes if self.table.whole_work else block))
        return tuple(found)
