"""PoCL, an OpenCL implementation for CPUs, as the PyPI packages pyopencl and pocl-binary-distribution bring it."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import runner, toolchain
from kernelcat_core.runtime.toolchain import Toolchain

HINT = "`pip install kernelcat[opencl]` (PoCL, which runs OpenCL on the CPU; it also needs a linker: install binutils)"
_HOST = Path(__file__).parent / "host"
_MOST_NEEDED = 64 << 20  # bytes of a file that PoCL unpacks from a program binary


@dataclass(frozen=True)
class Pocl:
    """`folders` that PoCL reads, the compiler `flags` of a host library, its compiler, and the device's name."""

    folders: tuple[str, ...]
    flags: tuple[str, ...]
    toolchain: Toolchain
    device: str

    @property
    def needs(self) -> runner.Needs:
        """What a process needs that runs a program: PoCL's files, and room to unpack the program."""
        return runner.Needs((*self.folders, "/proc/cpuinfo", "/proc/meminfo"), _MOST_NEEDED)


def _flags(library: Path, driver: Path, home: Path) -> tuple[str, ...]:
    places = {"KC_OPENCL_LIBRARY": library, "KC_OPENCL_DRIVER": driver, "KC_OPENCL_HOME": home}
    defined = (f'-D{name}="{path}"' for name, path in places.items())
    return "-O1", "-fvisibility=hidden", *defined, "-I.", "-include", "kc_cl.h", "-ldl"


@cache
def host_text() -> str:
    """The C text that finds, compiles and runs."""
    return (_HOST / "kc_opencl.c").read_text(encoding="utf-8")


@cache
def host_files() -> dict[str, str]:
    return {"kc_cl.h": (_HOST / "kc_cl.h").read_text(encoding="utf-8")}


@cache
def find() -> Pocl | None:
    """PoCL where it is installed, and a C compiler with it; None otherwise. Asks it once for its version."""
    packages = [importlib.util.find_spec(name) for name in ("pyopencl", "pocl_binary_distribution")]
    compiler = toolchain.find_c()
    if compiler is None or any(p is None or not p.submodule_search_locations for p in packages):
        return None
    home, parts = (Path(next(iter(p.submodule_search_locations or ()))) for p in packages if p is not None)
    loader, driver = (min((home / ".libs").glob(f"{name}*.so*"), default=None) for name in ("libOpenCL", "libpocl"))
    if loader is None or driver is None:
        return None
    flags = _flags(loader, driver, home)
    built = toolchain.compile(compiler, host_text(), flags=flags, files=host_files())
    if isinstance(built, Failure):
        return None
    host = built.path("shared")
    python = Path(sys.executable).resolve()
    folders = (str(home), str(parts))
    readable = (*folders, str(_HOST), str(host.parent), sys.base_prefix, "/proc/cpuinfo", "/proc/meminfo")
    command = (str(python), "-I", "-S", str(_HOST / "compile.py"), str(host))
    asked = runner.run_command(runner.CommandJob((*command, "--version"), readable=readable, timeout_s=30))
    if isinstance(asked, Failure) or asked.status != 0:
        return None
    version, device = asked.output.splitlines()[-2:]
    words = version.split()
    number = words[words.index("PoCL") + 1] if "PoCL" in words[:-1] else version
    return Pocl(folders, flags, Toolchain("pocl", "opencl", command, number, readable), device)
