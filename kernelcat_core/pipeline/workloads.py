"""The sizes at which a kernel is timed: those that the caller gave, and others large enough for the time to mean something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import most_elements
from kernelcat_core.pipeline.measuring import work

SHORT_MS = 0.05  # below this the call itself is a large part of the time
_ENOUGH_BYTES = 8 << 20
_ENOUGH_OPERATIONS = 1 << 27
_MOST_ELEMENTS = 1 << 24


def for_timing(a: hops.Analysis) -> hops.Analysis:
    """The analysis with a workload for timing: open sizes are doubled in turn until the work is enough (8 MiB moved or
    2^27 operations), as far as the formula allows it. Sizes that the caller gave stay."""
    free = [n for n in a.graph.size_names if n not in a.given]
    sizes: Mapping[str, int] = a.workload
    grew = True
    while grew and not _enough(a, sizes):
        grew = False
        for n in free:
            larger = {**sizes, n: 2 * sizes[n]}
            if not _enough(a, sizes) and a.is_legal(larger) and most_elements(a, larger) <= _MOST_ELEMENTS:
                sizes, grew = larger, True
    return replace(a, workload=sizes)


def _enough(a: hops.Analysis, sizes: Mapping[str, int]) -> bool:
    total = work(a.graph, sizes)
    return total.nbytes >= _ENOUGH_BYTES or total.operations >= _ENOUGH_OPERATIONS


def warnings(median_ms: float | None) -> list[str]:
    """What a reader of a time should know."""
    if median_ms is None or median_ms >= SHORT_MS:
        return []
    return [f"a run takes less than {SHORT_MS * 1e3:.0f} us, much of it the call itself: measure at a larger shape"]
