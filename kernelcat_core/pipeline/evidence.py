"""Evidence rows: one fact about one text, with everything it depends on (never a rank)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kernelcat_core.backends.device import Fact


@dataclass(frozen=True, repr=False)
class Evidence:
    """`fact` was seen for the text with `digest`: by `toolchain`, on `device`, at `workload`; `detail` in words."""

    digest: str
    target: str
    architecture: str
    toolchain: str
    device: str
    workload: str
    fact: Fact
    detail: str = ""

    def __repr__(self) -> str:
        """One short line: `executed on AMD EPYC (gcc 12.2), X=4x8:f32: 3 cases`."""
        place = f" on {self.device}" if self.device else ""
        tool = f" ({self.toolchain})" if self.toolchain else ""
        rest = ": ".join(p for p in (self.workload, self.detail) if p)
        return f"{self.fact}{place}{tool}" + (f", {rest}" if rest else "")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
