"""Names of what a module becomes: files, and for each program an operator with its class, tiling struct and entry."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelcat_core.ir.tile import TileModule


@dataclass(frozen=True)
class Paths:
    """Files of the module `name` beside its device text."""

    name: str

    @property
    def tiling(self) -> str:
        return f"{self.name}_tiling.h"

    @property
    def host(self) -> str:
        return f"{self.name}_host.cpp"

    @property
    def driver(self) -> str:
        return f"{self.name}_driver.cpp"


@dataclass(frozen=True)
class Operator:
    """The operator that one program is; `type` is its name to the framework, in CamelCase."""

    type: str

    @property
    def core_class(self) -> str:
        return f"{self.type}Core"

    @property
    def tiling(self) -> str:
        return f"{self.type}TilingData"

    @property
    def entry(self) -> str:
        """The device entry: the type in lower case with underscores, as the build expects it."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.type).lower()


def operators(module: TileModule) -> dict[str, Operator]:
    """Program name -> its operator; a module of one program gives the operator its own name.

    The prefix keeps types apart from the vendor's own (Softmax, ..) and entries from the C library's functions (exp, ..).
    """
    alone = len(module.programs) == 1
    names = {p.name: module.name if alone else f"{module.name}_{p.name}" for p in module.programs}
    return {program: Operator("Kc" + _camel(name)) for program, name in names.items()}


def _camel(name: str) -> str:
    words = [w for w in re.split(r"[^A-Za-z0-9]+", name) if w]
    return "".join(w[:1].upper() + w[1:] for w in words)
