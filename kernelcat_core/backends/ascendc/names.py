"""Names of what a module becomes: files, classes, entries."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Paths:
    """Files of the module `name`."""

    name: str

    @property
    def tiling(self) -> str:
        return f"{self.name}_tiling.h"

    @property
    def host(self) -> str:
        return f"op_host/{self.name}.cpp"

    @property
    def driver(self) -> str:
        return f"model/{self.name}_driver.cpp"

    @property
    def kernel(self) -> str:
        return f"op_kernel/{self.name}.cpp"


def operator_name(program: str) -> str:
    """softmax_row -> SoftmaxRow, the operator's type."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", program) if part) or "Kernel"


def class_name(program: str) -> str:
    return f"Kernel{operator_name(program)}"


def tiling_name(program: str) -> str:
    return f"{operator_name(program)}TilingData"


def entry_name(program: str) -> str:
    """The device entry: the operator's name in lower case with underscores, as the build expects it."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operator_name(program)).lower()
