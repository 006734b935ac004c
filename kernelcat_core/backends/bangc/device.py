"""The MLU as this machine sees it: our functional model, and the vendor's compiler where Neuware is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kernelcat_core.backends.bangc.limits import ARCHITECTURES, CORES_PER_CLUSTER
from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.backends.twin_headers import SHARED, model_digest
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary, Toolchain
from kernelcat_core.target import Target

TWIN = Path(__file__).parent / "twin"
_MISSING_COMPILER = "compiled: install Cambricon Neuware and set NEUWARE_HOME (its cncc compiles BANG C)"
_MISSING_DEVICE = "executed, measured: a host with an MLU370 or MLU590 and Neuware"
# kernel<<<dim, type, queue>>>(..) is the one thing in the text that C++ cannot say.
_LAUNCH = re.compile(r"\b(\w+)<<<(.*?)>>>\(")


class Device:
    """Runs as "emulated": the text ran on the functional model, which says nothing about a compiler or about time."""

    runs_as: Literal["emulated", "executed"] = "emulated"

    def describe(self) -> Description:
        facts: list[Literal["rendered", "compiled", "emulated"]] = ["rendered"]
        missing: list[str] = []
        if find_cncc() is not None:
            facts.append("compiled")
        else:
            missing.append(_MISSING_COMPILER)
        if toolchain.find_cpp() is not None:
            facts.append("emulated")
        else:
            missing.append(toolchain.HINTS["cpp"])
        return Description("BANG C functional model", tuple(facts), (*missing, _MISSING_DEVICE))

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """Compile the text with cncc to device assembly; None where there is none."""
        compiler = find_cncc()
        if compiler is None:
            return None
        arch = ARCHITECTURES[target.arch].name
        flags = (f"-{opt_level}", "-std=c++11", "-x", "bang", f"--bang-mlu-arch={arch}", "--bang-device-only",
                 *(f"-I{folder}" for folder in compiler.include))
        made = toolchain.compile(compiler, source.text, flags=flags, kinds=("assembly",))
        if isinstance(made, Failure):
            return made
        return Compiled(compiler.label, made.text("assembly"), made.log, {}, made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """The text and the driver, built against the functional model."""
        compiler = toolchain.find_cpp()
        if compiler is None:
            return toolchain.missing("cpp")
        flags = (
            "-std=c++17",
            "-O1",
            "-fno-fast-math",
            "-ffp-contract=off",
            f"-I{TWIN}",
            f"-D__BANG_ARCH__={ARCHITECTURES[target.arch].number}",
            f"-DKC_CLUSTERS={target.limit('cores', 4) // CORES_PER_CLUSTER}",
            f"-DKC_MODEL=0x{model_digest(TWIN)}",
            "-ldl",
            *(("-fno-sanitize=all",) if compiler.name == "zig" else ()),
        )
        compiler = replace(compiler, readable=(*compiler.readable, str(TWIN), str(SHARED)))
        text = _LAUNCH.sub(r'twin::launcher("\1", \1, \2)(', source.text)
        return toolchain.compile(compiler, f"{text}\n{source.files[0][1]}", flags=flags)

    def explain(self, failure: Failure, library: Path) -> Failure:
        return failure

    def environments(self) -> tuple[Mapping[str, str], ...]:
        return ({},)


def find_cncc() -> Toolchain | None:
    """Neuware's compiler: below NEUWARE_HOME, in its usual place, or on the path; None without one."""
    home = os.environ.get("NEUWARE_HOME", "/usr/local/neuware")
    binary = Path(home) / "bin" / "cncc"
    path = str(binary) if binary.is_file() and os.access(binary, os.X_OK) else shutil.which("cncc")
    if path is None:
        return None
    root = str(Path(path).parent.parent)
    return Toolchain("cncc", "cpp", (path,), _version(Path(root)), (root,), (f"{root}/include",))


def _version(root: Path) -> str:
    """Neuware's version as its installation has it; "" where that is missing."""
    for path in (root / "version.txt", root / "version.cfg"):
        if path.is_file():
            found = re.search(r"\d+\.\d+[\w.]*", path.read_text(errors="replace"))
            if found:
                return found.group(0)
    return ""
