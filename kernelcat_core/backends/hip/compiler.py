"""A compiler for AMD GPUs where one is installed: ROCm's, or any clang that has the AMDGPU target."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from kernelcat_core.errors import Failure
from kernelcat_core.runtime.toolchain import Binary, Toolchain, compile
from kernelcat_core.target import Target

HINT = "compiled: install ROCm, or clang 16 or newer with its AMDGPU target (Debian: apt install clang-19)"
_HEADERS = Path(__file__).parent / "header"
_CLANGS = ("clang++", *(f"clang++-{n}" for n in range(22, 15, -1)))
_DEVICE_ONLY = ("-x", "hip", "--cuda-device-only")
_PROBE = "#include <hip/hip_runtime.h>\n__global__ void probe(float *x) { x[threadIdx.x] = 0; }\n"
_FIELD = re.compile(r"^ +-? *\.(name|vgpr_count|sgpr_count|vgpr_spill_count|group_segment_fixed_size): +(\S+)$", re.MULTILINE)


@cache
def find() -> Toolchain | None:
    """ROCm's hipcc first; else a clang that really compiles for gfx942 with our declarations in place of ROCm's headers."""
    for path in (shutil.which("hipcc"), shutil.which("hipcc", path="/opt/rocm/bin")):
        if path and (version := _version(path)):
            return Toolchain("hipcc", "cpp", (path, *_DEVICE_ONLY), version, (str(Path(path).resolve().parents[1]),))
    for name in _CLANGS:
        path = shutil.which(name)
        if path and (version := _version(path)):
            command = (path, *_DEVICE_ONLY, "-nogpuinc", "-nogpulib")
            clang = Toolchain("clang", "cpp", command, f"{version}, declarations in place of ROCm's headers")
            made = compile(clang, _PROBE, flags=flags("gfx942", "O1"), kinds=("assembly",), files=headers(clang))
            if isinstance(made, Binary):
                return clang
    return None


def flags(arch: str, level: str) -> tuple[str, ...]:
    return f"--offload-arch={arch}", "-std=c++17", f"-{level}", "-I.", "-ffp-contract=fast", "-Wno-unused-command-line-argument"


def headers(compiler: Toolchain) -> dict[str, str]:
    """The files that a text includes and that the compiler does not bring."""
    if "-nogpuinc" not in compiler.command:
        return {}
    return {str(p.relative_to(_HEADERS)): p.read_text(encoding="utf-8") for p in sorted(_HEADERS.rglob("*.h"))}


def assembly(compiler: Toolchain, text: str, target: Target, level: str) -> Binary | Failure:
    """A Binary with the GPU's assembly, or the Failure."""
    return compile(compiler, text, flags=flags(target.arch, level), kinds=("assembly",), files=headers(compiler))


def _version(path: str) -> str:
    """The version of the clang behind `path`; "" when it does not run."""
    try:
        ran = subprocess.run(
            (path, "--version"), capture_output=True, text=True, timeout=20, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r"clang version (\d+\.\d+\.\d+)", ran.stdout)
    return found[1] if found else ""


def resources(text: str) -> dict[str, str]:
    """Kernel -> "40 vector and 30 scalar registers, 0 spilled, 8448 bytes of LDS", from the assembly's metadata."""
    found: dict[str, str] = {}
    start = text.find("amdhsa.kernels:")
    for block in re.split(r"^  - ", text[start:], flags=re.MULTILINE)[1:] if start >= 0 else ():
        facts = dict(_FIELD.findall("    " + block))
        if {"name", "vgpr_count", "sgpr_count"} <= set(facts):
            found[facts["name"]] = (
                f"{facts['vgpr_count']} vector and {facts['sgpr_count']} scalar registers, "
                f"{facts.get('vgpr_spill_count', '0')} spilled, {facts.get('group_segment_fixed_size', '0')} bytes of LDS"
            )
    return found
