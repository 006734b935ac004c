"""Plain numbers that schedules and lowerings for OpenCL devices read.

- "near_bytes" (local memory of a work-group) of `generic` is the least that the full profile of OpenCL 1.2 promises
  (specification, table 4.3: CL_DEVICE_LOCAL_MEM_SIZE).
- Mali-G610 (RK3588): 4 compute units, no double precision, as clpeak reported them on a board
  (https://clehaxze.tw/gemlog/2022/07-11-mixtile-blade-3-opencl-perf.gmi). Its local memory here is the promised least.
- Adreno 500 and later: 32 KiB of local memory (clinfo of an Adreno, https://github.com/BOINC/boinc/issues/3613); no driver of
  Qualcomm's is known to us that offers double precision.
- Intel Xe: no double precision (https://github.com/intel/compute-runtime/issues/571), work-groups of 256 and more
  (clinfo, https://github.com/intel/compute-runtime/issues/428); 64 KiB of local memory, unconfirmed.
- "threads" is unconfirmed everywhere: 256 is what common GPUs take; the specification promises 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_BASE = {"lanes": 32, "threads": 256, "near_bytes": 32 << 10, "warp": 1, "async_copies": 0, "fp64": 0, "stand_in": 1}

LIMITS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "generic": MappingProxyType({**_BASE, "fp64": 1, "stand_in": 0}),
        "mali-g610": MappingProxyType({**_BASE, "cores": 4}),
        "adreno": MappingProxyType(_BASE),
        "intel-xe": MappingProxyType({**_BASE, "near_bytes": 64 << 10}),
    }
)
"""By architecture. "fp64" says whether a device has cl_khr_fp64: `generic` is for those that do. PoCL is a device of the
generic target; for the others it stands in."""
