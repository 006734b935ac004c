"""Plain numbers that schedules and lowerings for AMD's CDNA GPUs read.

Source: "AMD Instinct MI200" and "MI300" instruction set architecture guides (CDNA2, CDNA3): wavefronts of 64, 64 KiB of
local data share a compute unit; HIP's documentation: at most 1024 threads a block. Compute units: AMD's data sheets of
MI250X (110 a die) and MI300X (304).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CDNA = {"lanes": 64, "threads": 1024, "near_bytes": 64 << 10, "warp": 64, "async_copies": 0, "tensor_cores": 0}

LIMITS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {"gfx942": MappingProxyType({**_CDNA, "cores": 304}), "gfx90a": MappingProxyType({**_CDNA, "cores": 110})}
)
"""By architecture. "tensor_cores" 0: matrix cores (mfma) are not used yet."""
