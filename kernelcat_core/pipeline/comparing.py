"""The last word of a tuning run: the best configs and the default, timed again in turn, so that drift and luck meet all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.errors import Failure
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import require_workload
from kernelcat_core.runtime.measure import Measurement, summarize
from kernelcat_core.runtime.runner import run_kernel

ROUNDS = 7
_SAMPLES = 6
_BUDGET_S = 0.12


@dataclass(frozen=True)
class Comparison:
    """Times in seconds of the chosen config and of the default, from one interleaved run; an interval is that of the median
    over rounds, each round a process of its own. `ratio` = default / chosen, paired by round."""

    chosen: Measurement
    default: Measurement
    ratio: float
    ratio_low: float
    ratio_high: float

    @property
    def gain_shown(self) -> bool:
        """Whether the chosen config is faster beyond doubt: the intervals do not overlap, nor does the ratio's reach 1."""
        return not self.chosen.ties(self.default) and self.ratio_low > 1.0

    def to_dict(self) -> dict[str, Any]:
        """Times in milliseconds."""
        return {"ratio": self.ratio, "ratio_low": self.ratio_low, "ratio_high": self.ratio_high, "gain_shown": self.gain_shown,
                "rounds": ROUNDS,
                "baseline_ms": self.default.median_s * 1e3, "baseline_low_ms": self.default.low_s * 1e3,
                "baseline_high_ms": self.default.high_s * 1e3}


def compare(chosen: tuple[float, ...], default: tuple[float, ...], chosen_all: tuple[float, ...] = (),
            default_all: tuple[float, ...] = ()) -> Comparison:
    """Of the medians of each round (seconds, paired); `*_all` are the single samples behind them, kept for charts."""
    a, b = summarize(chosen), summarize(default)
    ratio = summarize([d / c for c, d in zip(chosen, default, strict=True)])
    return Comparison(replace(a, samples_s=chosen_all or chosen), replace(b, samples_s=default_all or default),
                      ratio.median_s, ratio.low_s, ratio.high_s)


def race(a: hops.Analysis, entrants: Mapping[str, tuple[hops.Rendering, Path]], *,
         should_stop: Callable[[], bool] | None = None) -> dict[str, list[tuple[float, ...]]]:
    """Samples (seconds) by name, a tuple a round, the order turning with every round; one that fails leaves the race."""
    sizes = require_workload(a)
    inputs = make_inputs(a.graph, sizes, 0)
    taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in entrants}
    for number in range(ROUNDS):
        names = list(taken)
        shift = number % max(1, len(names))
        for name in names[shift:] + names[:shift]:
            if should_stop is not None and should_stop():
                return {}
            rendering, library = entrants[name]
            job = replace(hops.job(rendering, library, inputs, sizes), repeats=_SAMPLES, budget_s=_BUDGET_S)
            outcome = run_kernel(job, should_stop=should_stop)
            if isinstance(outcome, Failure) or not outcome.samples_s:
                del taken[name]
            else:
                taken[name].append(outcome.samples_s)
    return taken


def round_medians(rounds: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(float(np.median(samples)) for samples in rounds)
