"""The Ascend device as this machine sees it: our functional model, and the vendor's compiler where CANN is."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kernelcat_core.backends.device import Compiled, Description
from kernelcat_core.backends.twin_headers import SHARED, model_digest
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.runtime.toolchain import Binary, Toolchain
from kernelcat_core.target import Target

TWIN = Path(__file__).parent / "twin"
_MISSING_COMPILER = "compiled: install CANN and set ASCEND_HOME_PATH (its bisheng compiles Ascend C)"
_MISSING_DEVICE = "executed, measured: a host with an Ascend 910B and CANN"
# Vector cores of architecture 2201, as CANN's build calls them.
_ARCHITECTURE = "dav-c220-vec"


class Device:
    """Runs as "emulated": the text ran on the functional model, which says nothing about a compiler or about time."""

    runs_as: Literal["emulated", "executed"] = "emulated"

    def describe(self) -> Description:
        facts: list[Literal["rendered", "compiled", "emulated"]] = ["rendered"]
        missing: list[str] = []
        if find_bisheng() is not None:
            facts.append("compiled")
        else:
            missing.append(_MISSING_COMPILER)
        if toolchain.find_cpp() is not None:
            facts.append("emulated")
        else:
            missing.append(toolchain.HINTS["cpp"])
        return Description("Ascend C functional model", tuple(facts), (*missing, _MISSING_DEVICE))

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """Compile the device text with bisheng; None where ASCEND_HOME_PATH names no CANN installation."""
        compiler = find_bisheng()
        if compiler is None:
            return None
        tiling = _file(source, "_tiling.h")
        flags = (
            f"-{opt_level}",
            "-std=c++17",
            "-x",
            "cce",
            f"--cce-aicore-arch={_ARCHITECTURE}",
            "-I.",
            *(f"-I{folder}" for folder in compiler.include),
            "-include",
            tiling[0],
        )
        made = toolchain.compile(
            compiler, source.text, flags=flags, kinds=("assembly",), files=dict(source.files)
        )
        if isinstance(made, Failure):
            return made
        return Compiled(compiler.label, made.text("assembly"), made.log, {}, made.seconds)

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """The device text, its host side and the driver, built against the functional model."""
        compiler = toolchain.find_cpp()
        if compiler is None:
            return toolchain.missing("cpp")
        tiling, driver = _file(source, "_tiling.h"), _file(source, "_driver.cpp")
        flags = (
            "-std=c++17",
            "-O1",
            "-fno-fast-math",
            "-ffp-contract=off",
            "-I.",
            f"-I{TWIN}",
            f"-DKC_MODEL=0x{model_digest(TWIN)}",
            "-include",
            tiling[0],
            "-pthread",
            *(("-fno-sanitize=all",) if compiler.name == "zig" else ()),
        )
        compiler = replace(compiler, readable=(*compiler.readable, str(TWIN), str(SHARED)))
        return toolchain.compile(
            compiler,
            f"{source.text}\n{driver[1]}",
            flags=flags,
            files={name: text for name, text in source.files if name != driver[0]},
        )

    def explain(self, failure: Failure, library: Path) -> Failure:
        return failure

    def environments(self) -> tuple[Mapping[str, str], ...]:
        return ({},)


def _file(source: Source, suffix: str) -> tuple[str, str]:
    """The name and text of the source's file with this ending."""
    return next((name, text) for name, text in source.files if name.endswith(suffix))


def find_bisheng() -> Toolchain | None:
    """CANN's compiler below ASCEND_HOME_PATH; None without one."""
    home = os.environ.get("ASCEND_HOME_PATH", "")
    for place in (
        ("bin/bisheng", "compiler/ccec_compiler/bin/bisheng", f"{platform.machine()}-linux/bin/bisheng")
        if home
        else ()
    ):
        binary = Path(home) / place
        if binary.is_file() and os.access(binary, os.X_OK):
            include = tuple(
                str(Path(home) / p)
                for p in (
                    "include",
                    "compiler/tikcpp/tikcfw",
                    "compiler/tikcpp/tikcfw/impl",
                    "compiler/tikcpp/tikcfw/interface",
                    "compiler/ascendc/include",
                )
            )
            return Toolchain("bisheng", "cpp", (str(binary),), _cann_version(Path(home)), (home,), include)
    return None


def _cann_version(home: Path) -> str:
    """CANN's version as its install information has it; "" where that is missing."""
    for path in (home / "version.cfg", home / "compiler/version.info", home / "version.info"):
        if path.is_file():
            found = re.search(r"\d+\.\d+[\w.]*", path.read_text(errors="replace"))
            if found:
                return found.group(0)
    return ""
