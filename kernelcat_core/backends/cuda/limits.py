"""Plain numbers that schedules and lowerings for NVIDIA GPUs read, by compute capability.

Source: CUDA C++ Programming Guide 13, "Technical Specifications per Compute Capability". near_bytes is the most shared
memory a block may ask for; tensor_cores says whether mma.m16n8k16 on 16-bit operands exists (from sm_80 on).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_SHARED_KIB = {
    "sm_75": 64,
    "sm_80": 163,
    "sm_86": 99,
    "sm_87": 163,
    "sm_89": 99,
    "sm_90": 227,
    "sm_100": 227,
    "sm_103": 227,
    "sm_110": 227,
    "sm_120": 99,
    "sm_121": 99,
}


def limits(arch: str) -> Mapping[str, int]:
    """The limits of one architecture ("sm_80"); KeyError for an unknown one."""
    shared = _SHARED_KIB[arch] << 10
    return MappingProxyType(
        {
            "lanes": 32,
            "threads": 1024,
            "near_bytes": shared,
            "registers": 255,
            "tensor_cores": int(arch != "sm_75"),
            "warp": 32,
            "async_copies": 1,
        }
    )


ARCHITECTURES: tuple[str, ...] = tuple(_SHARED_KIB)
