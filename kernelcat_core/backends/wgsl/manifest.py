"""The WGSL backend: compute shaders for WebGPU, in browsers and in native libraries that speak it."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.manifest import Backend
from kernelcat_core.backends.wgsl.limits import LIMITS, LIMITS_F16
from kernelcat_core.target import Target

BACKEND = Backend(
    name="wgsl",
    label="WebGPU (WGSL)",
    language="wgsl",
    targets=(
        Target("wgsl:webgpu", "wgsl", "webgpu", "simt", "WebGPU, default limits", "WGSL", LIMITS),
        Target("wgsl:webgpu-f16", "wgsl", "webgpu-f16", "simt", "WebGPU with shader-f16", "WGSL", LIMITS_F16),
    ),
    aliases=MappingProxyType({"wgsl": "wgsl:webgpu", "webgpu": "wgsl:webgpu", "browser": "wgsl:webgpu",
                              "webgpu-f16": "wgsl:webgpu-f16"}),
    render="kernelcat_core.backends.wgsl.renderer:render",
    device="kernelcat_core.backends.wgsl.device:Device",
)
