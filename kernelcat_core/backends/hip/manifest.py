"""The HIP backend: HIP C++ for AMD's data-centre GPUs."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.hip.limits import LIMITS
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.target import Target

_LABELS = {"gfx942": "AMD CDNA3 (MI300)", "gfx90a": "AMD CDNA2 (MI200)"}

BACKEND = Backend(
    name="hip",
    label="AMD (HIP)",
    language="hip",
    targets=tuple(
        Target(f"hip:{arch}", "hip", arch, "simt", _LABELS[arch], "HIP C++", limits) for arch, limits in LIMITS.items()
    ),
    aliases=MappingProxyType(
        {
            "hip": "hip:gfx942",
            "amd": "hip:gfx942",
            "mi300": "hip:gfx942",
            "mi300a": "hip:gfx942",
            "mi300x": "hip:gfx942",
            "mi325x": "hip:gfx942",
            "mi210": "hip:gfx90a",
            "mi250": "hip:gfx90a",
            "mi250x": "hip:gfx90a",
        }
    ),
    render="kernelcat_core.backends.hip.renderer:render",
    device="kernelcat_core.backends.hip.device:Device",
)
