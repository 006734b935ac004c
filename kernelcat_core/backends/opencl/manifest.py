"""The OpenCL backend: OpenCL C 1.2 for GPUs of phones, boards and PCs; run here by PoCL."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.manifest import Backend
from kernelcat_core.backends.opencl.limits import LIMITS
from kernelcat_core.target import Target

_LABELS = {
    "generic": "OpenCL 1.2 with double precision",
    "mali-g610": "Arm Mali-G610 (RK3588)",
    "adreno": "Qualcomm Adreno",
    "intel-xe": "Intel Xe graphics",
}

BACKEND = Backend(
    name="opencl",
    label="OpenCL",
    language="opencl",
    targets=tuple(
        Target(f"opencl:{arch}", "opencl", arch, "simt", _LABELS[arch], "OpenCL C", limits) for arch, limits in LIMITS.items()
    ),
    aliases=MappingProxyType(
        {
            "opencl": "opencl:generic",
            "pocl": "opencl:generic",
            "rk3588-gpu": "opencl:mali-g610",
            "mali": "opencl:mali-g610",
            "mali-g610": "opencl:mali-g610",
            "adreno": "opencl:adreno",
            "intel-xe": "opencl:intel-xe",
        }
    ),
    render="kernelcat_core.backends.opencl.renderer:render",
    device="kernelcat_core.backends.opencl.device:Device",
)
