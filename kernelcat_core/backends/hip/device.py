"""HIP on this machine: a compiler for AMD GPUs where one is installed, and the functional model to run on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.backends.hip import compiler
from kernelcat_core.codegen.simt_host import MODEL_ENTRY
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target

MACHINE = emulation.Machine(
    "hip/hip_runtime.h", ("-DKC_WARP=64", f"-DKC_STATIC_SHARED={64 << 10}"), Path(__file__).parent / "twin"
)
_ORDERS = ("forward", "reverse", "random:1")
_LEVEL = re.compile(r"O[0-3]")


class Device:
    """Runs as "emulated": the text runs on the functional model, which says nothing about any GPU's speed."""

    runs_as: Literal["emulated", "executed"] = "emulated"

    def describe(self) -> Description:
        facts: list[Literal["rendered", "compiled", "emulated"]] = ["rendered"]
        missing: list[str] = []
        if compiler.find() is not None:
            facts.append("compiled")
        else:
            missing.append(compiler.HINT)
        if toolchain.find_cpp() is not None:
            facts.append("emulated")
        else:
            missing.append(toolchain.HINTS["cpp"])
        missing.append("an AMD GPU with ROCm, to execute and measure")
        return Description("functional model (CPU)", tuple(facts), tuple(missing))

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """The GPU's assembly, registers, spills and LDS a kernel; None where no compiler for AMD GPUs is."""
        found = compiler.find()
        if found is None:
            return None
        level = opt_level if _LEVEL.fullmatch(opt_level) else "O3"
        made = compiler.assembly(found, source.text, target, level)
        if isinstance(made, Failure):
            return made
        text = made.text("assembly")
        return Compiled(found.label, text, made.log, compiler.resources(text), made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """The text on the functional model, with wavefronts of 64."""
        return emulation.build(source.text, dict(source.files)[MODEL_ENTRY], machine=MACHINE)

    def explain(self, failure: Failure, library: Path) -> Failure:
        """Addresses of faulty accesses as lines of the text."""
        return replace(failure, message=emulation.with_line(failure.message, library))

    def environments(self) -> tuple[Mapping[str, str], ...]:
        """Threads and blocks run forwards, backwards and shuffled: a missing barrier shows in one of them at least."""
        return tuple(MappingProxyType({"KC_FIBER_ORDER": order}) for order in _ORDERS)
