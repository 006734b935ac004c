"""Faults that a C++ text lists itself (ascend.cpp, cambricon.cpp): the rule that each breaks, and the line to be named."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kernelcat_core.backends.twin_headers import SHARED, model_digest
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.runtime import toolchain

_BACKENDS = Path(__file__).parents[2] / "backends"
TWINS = {"ascend": _BACKENDS / "ascendc" / "twin", "cambricon": _BACKENDS / "bangc" / "twin"}


@dataclass(frozen=True)
class Case:
    """What was planted, and what the model said ("" when it saw nothing)."""

    rule: str
    line: int
    said: str

    @property
    def caught(self) -> bool:
        return self.said.startswith(f"[{self.rule}] line {self.line}:")


@cache
def library(model: str) -> ctypes.CDLL:
    """The text of a model's faults, built against the model. Raises KC-B001, KC-B002, KC-B003."""
    compiler, twin = toolchain.find_cpp(), TWINS[model]
    if compiler is None:
        failure = toolchain.missing("cpp")
        raise KernelcatError(failure.code, failure.message, hint=failure.hint)
    own = ("-fno-sanitize=all",) if compiler.name == "zig" else ()
    flags = ("-std=c++17", "-O0", "-pthread", "-ldl", f"-I{twin}", f"-DKC_MODEL=0x{model_digest(twin)}", *own)
    compiler = replace(compiler, readable=(*compiler.readable, str(twin), str(SHARED)))
    text = (Path(__file__).parent / f"{model}.cpp").read_text(encoding="utf-8")
    made = toolchain.compile(compiler, text, flags=flags)
    if isinstance(made, Failure):
        raise KernelcatError(made.code, made.message, hint=made.hint)
    loaded = ctypes.CDLL(str(made.path("shared")))
    for name in ("case_rule", "error_text"):
        getattr(loaded, name).restype = ctypes.c_char_p
    return loaded


def cases(model: str) -> Iterator[Case]:
    """Every planted fault of a model, run."""
    faults = library(model)
    for i in range(faults.case_count()):
        failed = faults.run_case(i) == 1
        yield Case(faults.case_rule(i).decode(), faults.case_line(i), faults.error_text().decode() if failed else "")
