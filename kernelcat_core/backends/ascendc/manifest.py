"""What the Ascend backend offers."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.ascendc.limits import LIMITS_910B
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.target import Target

_DEVICES = ("910b", "910b1", "910b2", "910b3", "910b4")

BACKEND = Backend(
    name="ascendc",
    label="Huawei Ascend",
    language="cpp",
    targets=(
        Target(
            name="ascend:910b",
            backend="ascendc",
            arch="910b",
            model="dma",
            label="Ascend 910B (Ascend C)",
            language="cpp",
            limits=LIMITS_910B,
        ),
    ),
    aliases=MappingProxyType(
        {
            "ascend": "ascend:910b",
            "ascendc": "ascend:910b",
            **{f"{prefix}{d}": "ascend:910b" for d in _DEVICES for prefix in ("ascend", "ascend ", "")},
            "atlas a2": "ascend:910b",
        }
    ),
    render="kernelcat_core.backends.ascendc.renderer:render",
    device="kernelcat_core.backends.ascendc.device:Device",
)
