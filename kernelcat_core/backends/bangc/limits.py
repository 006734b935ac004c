"""Figures of the MLU cores that schedules and lowerings read, each with where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernelcat_core.codegen.dma_ast import Memory, Order

# Copies to and from global memory share the IO pipe; vector instructions and scalar accesses to NRAM (__load_nram,
# __store_nram) share the Compute pipe; each keeps its own order (BANG C developer guide, "Instruction Pipeline" of every
# function; programming guide, memory consistency).
ORDER = Order(load="IO", store="IO", vector="V", scalar="V", in_order=frozenset({"IO", "V"}), queues=False)

# NRAM that the compiler keeps for its stack and the activation tables.
_STACK = 128 * 1024


@dataclass(frozen=True)
class Architecture:
    """One architecture: cncc's name for it, __BANG_ARCH__, NRAM and WRAM bytes a core, SRAM bytes a cluster (BANG C
    programming guide, hardware implementation)."""

    name: str
    number: int
    nram: int
    wram: int
    sram: int

    @property
    def memory(self) -> Memory:
        """What the lowering sees: rows start at multiples of 64 B, as matrix products want them; vectors may start anywhere."""
        return Memory(self.nram - _STACK, block_bytes=64, repeat_bytes=128, queue_buffers=64, order=ORDER)

    @property
    def limits(self) -> Mapping[str, int]:
        """What schedules see: a cell's tiles may take a third of the memory; the rest holds the slots of the pipeline and
        temporaries. `cores` is what the functional model launches; hosts ask the device."""
        return MappingProxyType(
            {"lanes": 64, "threads": 1, "near_bytes": self.memory.near_bytes // 3 // 1024 * 1024, "cores": 16}
        )


ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType(
    {
        "mlu370": Architecture("mtp_372", 372, 768 * 1024, 1024 * 1024, 4096 * 1024),
        "mlu590": Architecture("mtp_592", 592, 512 * 1024, 512 * 1024, 2048 * 1024),
    }
)
CORES_PER_CLUSTER = 4
