"""Figures of the Ascend vector cores that schedules and lowerings read, each with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kernelcat_core.codegen.dma_ast import Memory

# 192 KiB of unified buffer a vector core (Ascend C documentation, architecture 2201), less 256 B that the runtime keeps
# and 8 KiB that Select and others reserve unless that option is off.
MEMORY_910B = Memory(
    near_bytes=192 * 1024 - 256 - 8 * 1024, block_bytes=32, repeat_bytes=256, queue_buffers=8
)

# Vector cores of one chip by device (two for each cube core; Ascend product pages).
VECTOR_CORES: Mapping[str, int] = MappingProxyType({"910b1": 48, "910b2": 48, "910b3": 40, "910b4": 40})

# What schedules see: a cell's tiles may take a third of the buffer; the rest holds double buffers and temporaries.
LIMITS_910B: Mapping[str, int] = MappingProxyType(
    {
        "lanes": 64,
        "threads": 1,
        "near_bytes": 64 * 1024,
        "cores": 40,
        "storage_types": 0,  # eight-bit floats and four-bit integers have no Ascend C names on this architecture
    }
)
