"""WebGPU on this machine: wgpu-native of the PyPI package `wgpu`, on whatever Vulkan driver there is.

Kernels run in the sandboxed runner: a C host (host.py, driver.h) is compiled against the package's webgpu.h and loads its
library there. With Mesa's lavapipe that driver is a software adapter, which evidence names; its times say nothing of a GPU.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.backends.wgsl.host import HOST_FILE
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import runner, toolchain
from kernelcat_core.runtime.runner import Needs
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target

_DRIVER = Path(__file__).parent / "driver.h"
_FLAGS = ("-std=gnu11", "-O1", "-fvisibility=default", "-Wl,--no-as-needed", "-ldl")
_PACKAGE = "executed: `pip install kernelcat[wgpu]`"
_ADAPTER = "executed: a Vulkan driver (a GPU's, or the software adapter of Debian's mesa-vulkan-drivers)"
_BROWSER = "measured: a GPU; times of software adapters are not shown"
# Where Vulkan loaders look for drivers, and what Mesa's read of the machine.
_READABLE = ("/usr/share/vulkan", "/etc/vulkan", "/proc/cpuinfo", "/sys/devices")
_ENVIRONMENT: Mapping[str, str] = MappingProxyType({"MESA_SHADER_CACHE_DISABLE": "true", "XDG_RUNTIME_DIR": "/tmp",
                                                    "MESA_LOG_LEVEL": "error"})
_NAME_BYTES = 256


@cache
def wgpu_folder() -> Path | None:
    """Where the package `wgpu` keeps its library and headers; None without it."""
    found = importlib.util.find_spec("wgpu")
    places = list(found.submodule_search_locations or ()) if found is not None else []
    folder = Path(places[0]) / "resources" if places else None
    return folder if folder is not None and _library(folder) is not None and (folder / "webgpu.h").is_file() else None


def _library(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("libwgpu_native-release.*"))), None)


def needs() -> Needs:
    """What a process that runs a Vulkan driver needs: its files, room for its compiler, its threads."""
    folder = wgpu_folder()
    own = () if folder is None else (str(folder),)
    return Needs((*own, *_READABLE), memory_bytes=8 << 30, threads=64)


def _build(text: str) -> Binary | Failure:
    """A shared object of C that includes driver.h."""
    folder, compiler = wgpu_folder(), toolchain.find_c()
    if folder is None:
        return Failure("KC-B002", "this machine has no WebGPU library", "", _PACKAGE)
    if compiler is None:
        return toolchain.missing("c")
    compiler = replace(compiler, readable=(*compiler.readable, str(folder)))
    flags = (*_FLAGS, f"-I{folder}", "-I.", f'-DKC_WGPU="{_library(folder)}"')
    return toolchain.compile(compiler, text, flags=flags, files={"driver.h": _DRIVER.read_text(encoding="utf-8")})


_PROBE = """#include "driver.h"
int kc_adapter_name(void **tensors, const int64_t *sizes) {
  (void)sizes, (void)kc_run;
  if (kc_find_adapter()) return 1;
  WGPUAdapterInfo about = {0};
  kc_AdapterGetInfo(kc_adapter, &about);
  snprintf(tensors[0], 256, "%d %.*s, %.*s", (int)about.adapterType, (int)about.device.length, about.device.data,
           (int)about.description.length, about.description.data);
  return 0;
}
"""


@cache
def adapter() -> str | Failure:
    """The name of the adapter that kernels run on, marked where it is software; asked for in the sandbox, once."""
    made = _build(_PROBE)
    if isinstance(made, Failure):
        return made
    job = runner.KernelJob(made.path("shared"), "kc_adapter_name", (),
                           (runner.TensorSpec((_NAME_BYTES,), np.dtype(np.uint8)),),
                           environment=tuple(_ENVIRONMENT.items()), needs=needs())
    outcome = runner.run_kernel(job)
    if isinstance(outcome, Failure):
        return replace(outcome, hint=_ADAPTER)
    kind, _, said = outcome.outputs[0].tobytes().split(b"\0")[0].decode("utf-8", "replace").partition(" ")
    software = kind == "3"  # WGPUAdapterType_CPU
    return f"{said} (software adapter)" if software else said


class Device:
    """Runs as "executed" on the adapter that `describe` names; never "measured" on a software adapter."""

    runs_as: Literal["emulated", "executed"] = "executed"

    def describe(self) -> Description:
        if wgpu_folder() is None:
            return Description("WebGPU", ("rendered",), (_PACKAGE, _ADAPTER))
        found = adapter()
        if isinstance(found, Failure):
            return Description("WebGPU", ("rendered",), (f"{_ADAPTER}; {found.message}",))
        if found.endswith("(software adapter)"):
            return Description(found, ("rendered", "executed"), (_BROWSER,), needs())
        return Description(found, ("rendered", "executed", "measured"), needs=needs())

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """None: a driver compiles when a kernel first runs."""
        return None

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """The host of the module, with its shader inside."""
        found = adapter()
        if isinstance(found, Failure):
            return Failure("KC-B002", f"nothing here runs WGSL: {found.message}", found.detail, found.hint)
        return _build(dict(source.files)[HOST_FILE])

    def explain(self, failure: Failure, library: Path) -> Failure:
        return failure

    def environments(self) -> tuple[Mapping[str, str], ...]:
        return (_ENVIRONMENT,)
