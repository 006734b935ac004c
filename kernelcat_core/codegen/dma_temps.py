"""Temporary buffers of a `dma` program: handed out while vector code is emitted, counted, and reused."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import Buffer, Memory
from kernelcat_core.dtypes import F32, I64, U8, DType

# Scratch that a math-library call gets: this and so many bytes an element.
LIBRARY_BASE, LIBRARY_EACH = 2048, 16


class Temps:
    """Two pools of buffers of `chunk` elements, 4 ("tmp") and 8 ("wide") bytes each, plus work space on demand."""

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk
        self.made: dict[str, DType] = {}
        self.idle: dict[str, list[str]] = {"tmp": [], "wide": []}
        self.library = False
        self.reduces = False

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
            found.append(Buffer("scratch", U8, LIBRARY_BASE + LIBRARY_EACH * self.chunk))
        if self.reduces:
            lanes, block = memory.repeat_bytes // 4, memory.block_bytes // 4
            repeats = -(-self.chunk // lanes) * 2  # a value and a position for each repeat
            found.append(Buffer("work", F32, -(-repeats // block) * block))
            found.append(Buffer("result", F32, block))
        return tuple(found)
