"""Figures that schedules and lowerings for WebGPU read: the default limits, which every adapter grants.

Source: WebGPU specification (W3C), "Limits": 256 invocations and 16,384 bytes of workgroup memory a workgroup, 8 storage
buffers a stage, 65,535 workgroups a dimension, 128 MiB a storage buffer binding. Subgroup operations and asynchronous copies
are no part of WGSL's base.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

INVOCATIONS = 256
WORKGROUP_BYTES = 16384
STORAGE_BUFFERS = 8
WORKGROUPS = 65535

LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "lanes": 32,
        "threads": INVOCATIONS,
        "near_bytes": WORKGROUP_BYTES,
        "warp": 1,
        "async_copies": 0,
        "tensor_cores": 0,
        "storage_types": 0,
    }
)
LIMITS_F16: Mapping[str, int] = MappingProxyType({**LIMITS, "f16": 1})
