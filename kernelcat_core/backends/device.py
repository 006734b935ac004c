"""What a backend's device must offer to the pipeline: a vendor's compiler when there is one, and something that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime.runner import Needs
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target

Fact = Literal["rendered", "compiled", "emulated", "executed", "measured"]


def shown(fact: Fact, target: Target) -> Fact:
    """What a fact seen here says of `target`: a run on another device in its place (limit "stand_in") emulates it."""
    return "emulated" if fact == "executed" and target.limit("stand_in", 0) else fact


@dataclass(frozen=True)
class Description:
    """`name` of the chip or model that runs kernels here; `facts` that can be shown ("measured" only where a run's seconds
    are the device's own); `missing` says what to install for the others, one line each; `needs` of a run in the sandbox."""

    name: str
    facts: tuple[Fact, ...]
    missing: tuple[str, ...] = ()
    needs: Needs = Needs()


@dataclass(frozen=True)
class Compiled:
    """A vendor compiler accepted the source. `resources` holds registers, spills, shared bytes per program, as printed."""

    toolchain: str
    assembly: str
    log: str
    resources: Mapping[str, str]
    seconds: float


class Device(Protocol):
    """One a backend, without state. Nothing here raises for a candidate that fails: it returns a Failure."""

    runs_as: Literal["emulated", "executed"]

    def describe(self) -> Description: ...

    def compile(self, source: Source, target: Target, opt_level: str = "O3") -> Compiled | Failure | None:
        """Compile with the vendor's compiler (the host's for CPUs); None when there is none here."""

    def library(self, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        """A shared object with `source.entry`, for runtime.runner.run_kernel (kind "shared")."""

    def explain(self, failure: Failure, library: Path) -> Failure:
        """A run's failure in terms of the source: addresses as lines where a model gives addresses, else as it is."""

    def environments(self) -> tuple[Mapping[str, str], ...]:
        """Environments to run the entry in, one after the other; more than one for a model with several orders."""
