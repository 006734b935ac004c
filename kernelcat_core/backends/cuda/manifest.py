"""The CUDA backend: CUDA C++ for NVIDIA GPUs from Turing on; compiled by nvcc or NVRTC, run here on a functional model."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.backends.cuda.limits import ARCHITECTURES, limits
from kernelcat_core.backends.manifest import Backend
from kernelcat_core.target import Target

_LABELS = {
    "sm_75": "Turing (T4)",
    "sm_80": "Ampere (A100)",
    "sm_86": "Ampere (A10, RTX 30)",
    "sm_87": "Ampere (Jetson Orin)",
    "sm_89": "Ada (L4, L40, RTX 40)",
    "sm_90": "Hopper (H100, H200)",
    "sm_100": "Blackwell (B200)",
    "sm_103": "Blackwell (B300)",
    "sm_110": "Blackwell (Jetson Thor)",
    "sm_120": "Blackwell (RTX 50)",
    "sm_121": "Blackwell (GB10)",
}

BACKEND = Backend(
    name="cuda",
    label="NVIDIA (CUDA)",
    language="cuda",
    targets=tuple(
        Target(f"cuda:{arch}", "cuda", arch, "simt", f"NVIDIA {_LABELS[arch]}", "CUDA C++", limits(arch))
        for arch in ("sm_80", *(a for a in ARCHITECTURES if a != "sm_80"))
    ),
    aliases=MappingProxyType(
        {
            "cuda": "cuda:sm_80",
            "nvidia": "cuda:sm_80",
            "t4": "cuda:sm_75",
            "rtx2080": "cuda:sm_75",
            "a100": "cuda:sm_80",
            "a30": "cuda:sm_80",
            "a10": "cuda:sm_86",
            "a40": "cuda:sm_86",
            "rtx3090": "cuda:sm_86",
            "orin": "cuda:sm_87",
            "l4": "cuda:sm_89",
            "l40": "cuda:sm_89",
            "l40s": "cuda:sm_89",
            "rtx4090": "cuda:sm_89",
            "h100": "cuda:sm_90",
            "h200": "cuda:sm_90",
            "gh200": "cuda:sm_90",
            "b200": "cuda:sm_100",
            "b300": "cuda:sm_103",
            "thor": "cuda:sm_110",
            "rtx5090": "cuda:sm_120",
            "gb10": "cuda:sm_121",
        }
    ),
    render="kernelcat_core.backends.cuda.renderer:render",
    device="kernelcat_core.backends.cuda.device:Device",
    native="kernelcat_core.backends.cuda.native:source",
)
