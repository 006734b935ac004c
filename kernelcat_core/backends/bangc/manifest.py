"""What the Cambricon backend offers."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.bangc.limits import ARCHITECTURES
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.target import Target

BACKEND = Backend(
    name="bangc",
    label="Cambricon MLU",
    language="cpp",
    targets=tuple(
        Target(
            name=f"cambricon:{arch}",
            backend="bangc",
            arch=arch,
            model="dma",
            label=f"Cambricon {arch.upper()} (BANG C)",
            language="cpp",
            limits=about.limits,
        )
        for arch, about in ARCHITECTURES.items()
    ),
    aliases=MappingProxyType(
        {
            "cambricon": "cambricon:mlu370",
            "bangc": "cambricon:mlu370",
            "mlu": "cambricon:mlu370",
            **{f"mlu370{card}": "cambricon:mlu370" for card in ("", "-x4", "-x8", "-s4", "-m8")},
            **{f"mlu590{card}": "cambricon:mlu590" for card in ("", "-h8", "-m9")},
            "mtp_372": "cambricon:mlu370",
            "mtp_592": "cambricon:mlu590",
        }
    ),
    render="kernelcat_core.backends.bangc.renderer:render",
    device="kernelcat_core.backends.bangc.device:Device",
)
