"""Evidence rows: one fact about one text, with everything it depends on (never a rank)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kernelcat_core.backends.device import Fact


@dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
