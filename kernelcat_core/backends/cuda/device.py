"""CUDA on this machine: a vendor compiler where one is installed, and the functional model to run on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.backends.cuda.resources import resources
from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.codegen.simt_host import MODEL_ENTRY
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target

_ORDERS = ("forward", "reverse", "random:1")
_LEVEL = re.compile(r"O[0-3]")


class Device:
    """Runs as "emulated": the text runs on the functional model, which says nothing about any GPU's speed."""

    runs_as: Literal["emulated", "executed"] = "emulated"

    def describe(self) -> Description:
        facts: list[Literal["rendered", "compiled", "emulated", "executed", "measured"]] = ["rendered"]
        missing: list[str] = []
        if toolchain.find_cuda() is not None:
            facts.append("compiled")
        else:
            missing.append(toolchain.HINTS["cuda"])
        if toolchain.find_cpp() is not None:
            facts.append("emulated")
        else:
            missing.append(toolchain.HINTS["cpp"])
        missing.append("an NVIDIA GPU, to execute and measure")
        return Description("functional model (CPU)", tuple(facts), tuple(missing))

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """PTX and a report of registers, spills and shared memory a kernel; None where neither nvcc nor NVRTC is."""
        compiler = toolchain.find_cuda()
        if compiler is None:
            return None
        level = opt_level if _LEVEL.fullmatch(opt_level) else "O3"
        flags = [f"-arch={target.arch}", "-Xptxas=-v", f"-Xptxas=-{level}"]
        if compiler.name == "nvcc":
            flags.append("-std=c++17")
        made = toolchain.compile(compiler, source.text, flags=tuple(flags), kinds=("ptx", "cubin"))
        if isinstance(made, Failure):
            return made
        return Compiled(compiler.label, made.text("ptx"), made.log, resources(made.log), made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """The text on the functional model."""
        return emulation.build(source.text, dict(source.files)[MODEL_ENTRY])

    def explain(self, failure: Failure, library: Path) -> Failure:
        """Addresses of faulty accesses as lines of the text."""
        return replace(failure, message=emulation.with_line(failure.message, library))

    def environments(self) -> tuple[Mapping[str, str], ...]:
        """Threads and blocks run forwards, backwards and shuffled: a missing barrier shows in one of them at least."""
        return tuple(MappingProxyType({"KC_FIBER_ORDER": order}) for order in _ORDERS)
