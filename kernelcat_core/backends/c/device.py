"""The CPU of this machine: compiles with gcc, clang or zig cc, and runs for real."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from kernelcat_core.backends.c.toolchain import FLAGS, OPT_LEVELS
from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target


@cache
def _processor() -> str:
    """The processor's own name, as /proc/cpuinfo has it."""
    try:
        found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


class Device:
    """Runs as "executed": a run here is a run on the device itself."""

    runs_as: Literal["emulated", "executed"] = "executed"

    def describe(self) -> Description:
        if toolchain.find_c() is None:
            return Description(_processor(), ("rendered",), (toolchain.HINTS["c"],))
        return Description(_processor(), ("rendered", "compiled", "executed", "measured"))

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """The shared object and its assembly; None without a compiler."""
        compiler = toolchain.find_c()
        if compiler is None:
            return None
        made = toolchain.compile(compiler, source.text, flags=_flags(opt_level, compiler), kinds=("shared", "assembly"))
        if isinstance(made, Failure):
            return made
        assembly = made.text("assembly")
        return Compiled(compiler.label, assembly, made.log, _resources(assembly), made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        compiler = toolchain.find_c()
        if compiler is None:
            return toolchain.missing("c")
        return toolchain.compile(compiler, source.text, flags=_flags(opt_level, compiler))

    def explain(self, failure: Failure, library: Path) -> Failure:
        return failure

    def environments(self) -> tuple[Mapping[str, str], ...]:
        return ({},)


def _flags(opt_level: str, compiler: toolchain.Toolchain) -> tuple[str, ...]:
    extra = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
    level = opt_level if opt_level in OPT_LEVELS else "O3"
    return (f"-{level}", *FLAGS, *extra, *(("-fno-sanitize=all",) if compiler.name == "zig" else ()), "-lm", "-lpthread")


def _resources(assembly: str) -> dict[str, str]:
    """Instructions of each program, the vector ones apart: what a reader can check at a glance."""
    found: dict[str, str] = {}
    for name, body in re.findall(r"^(program_\w+):\n(.*?)(?=^\S+:\n|\Z)", assembly, re.MULTILINE | re.DOTALL):
        instructions = re.findall(r"^\t([a-z]\w*)", body, re.MULTILINE)
        vector = sum("zmm" in x or "ymm" in x for x in body.splitlines())
        found[name.removeprefix("program_")] = f"{len(instructions)} instructions, {vector} on wide vectors"
    return found
