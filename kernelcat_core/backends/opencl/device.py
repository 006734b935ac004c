"""OpenCL on this machine: PoCL compiles a text and runs it on the CPU, where the optional packages are installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.backends.opencl import pocl
from kernelcat_core.backends.opencl.host import ENTRY_FILE, HOST_FILE
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target

_OPTIONS = ("-cl-std=CL1.2",)
_NO_GPU = "executed and measured on a GPU: a host with one and its OpenCL driver"


class Device:
    """Runs as "executed", by PoCL on this machine's CPU, and says so; its times are no GPU's and are not measured."""

    runs_as: Literal["emulated", "executed"] = "executed"

    def describe(self) -> Description:
        found = pocl.find()
        if found is None:
            return Description("none", ("rendered",), (f"compiled, executed: {pocl.HINT}", _NO_GPU))
        name = f"PoCL {found.toolchain.version} on this CPU ({found.device})"
        return Description(name, ("rendered", "compiled", "executed"), (_NO_GPU,), found.needs)

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """What PoCL's compiler, a clang, says; it shows no assembly. None where PoCL is not installed."""
        found = pocl.find()
        if found is None:
            return None
        made = _program(source, found)
        if isinstance(made, Failure):
            return made
        return Compiled(found.toolchain.label, "", made.log, {}, made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """A host library that carries the program's binary; it loads PoCL, its toolchain, when it runs."""
        found = pocl.find()
        compiler = toolchain.find_c()
        if found is None or compiler is None:
            return Failure("KC-B002", "this machine has no OpenCL that can be used", "", pocl.HINT)
        program = _program(source, found)
        if isinstance(program, Failure):
            return program
        files = dict(source.files)
        text = "\n".join((files[HOST_FILE], pocl.host_text(), _bytes(program), files[ENTRY_FILE]))
        made = toolchain.compile(compiler, text, flags=found.flags, files=pocl.host_files())
        return made if isinstance(made, Failure) else replace(made, toolchain=found.toolchain)

    def explain(self, failure: Failure, library: Path) -> Failure:
        return failure

    def environments(self) -> tuple[Mapping[str, str], ...]:
        # The program's binary holds its kernels for any offset and size of the grid: none is compiled again in the run.
        return ({"POCL_WORK_GROUP_SPECIALIZATION": "0", "POCL_CACHE_DIR": "pocl"},)


def _program(source: Source, found: pocl.Pocl) -> Binary | Failure:
    return toolchain.compile(found.toolchain, source.text, flags=_OPTIONS, kinds=("program",))


def _bytes(program: Binary) -> str:
    """The program's binary as a C string, which compilers read much faster than a list of numbers."""
    content = program.path("program").read_bytes()
    rows = ("".join(f"\\{b:03o}" for b in content[k : k + 64]) for k in range(0, len(content), 64))
    return "static const unsigned char kc_program[] =\n" + "\n".join(f'"{r}"' for r in rows) + ";"
