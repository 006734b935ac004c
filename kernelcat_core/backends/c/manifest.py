"""The C backend: C11 with the vector extensions of gcc and clang, compiled and run on this machine's CPU."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.c.limits import LIMITS
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.target import Target

BACKEND = Backend(
    name="c", label="CPU (C)", language="c",
    targets=(Target("c", "c", "native", "vector", "CPU", "C11", LIMITS),),
    aliases=MappingProxyType({"cpu": "c", "c:native": "c"}),
    render="kernelcat_core.backends.c.renderer:render",
    device="kernelcat_core.backends.c.device:Device",
    native="kernelcat_core.backends.c.native:source",
    bundle="kernelcat_core.backends.c.renderer:bundle",
)
