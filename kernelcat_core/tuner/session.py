"""A tuning session: a strategy proposes, `evaluate` measures, the best is kept. It sees no backend."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kernelcat_core.errors import Failure
from kernelcat_core.schedule.knobs import Config, SearchSpace
from kernelcat_core.tuner.strategies import DEFAULT, STRATEGIES


@dataclass(frozen=True)
class Outcome:
    """What measuring one config gave: times in milliseconds (median and its interval), or why there are none."""

    median_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    samples: tuple[float, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class Trial:
    """One config and its outcome; `index` counts from 0 in the order of asking."""

    index: int
    config: Config
    outcome: Outcome
    strategy: str
    predicted_ms: float | None = None

    @property
    def status(self) -> Literal["measured", "failed"]:
        return "measured" if self.outcome.median_ms is not None else "failed"

    def to_dict(self) -> dict[str, Any]:
        o = self.outcome
        return {"index": self.index, "config": self.config.as_dict(), "status": self.status, "median_ms": o.median_ms,
                "low_ms": o.low_ms, "high_ms": o.high_ms, "samples": list(o.samples), "predicted_ms": self.predicted_ms,
                "error": None if o.failure is None else o.failure.to_dict(), "strategy": self.strategy}


def run(space: SearchSpace, evaluate: Callable[[Config], Outcome], trials: int, *, seed: int = 0,
        strategy: str | None = None, on_trial: Callable[[Trial], None] | None = None,
        should_stop: Callable[[], bool] | None = None) -> tuple[Trial, ...]:
    """At most `trials` trials (fewer when the space is exhausted or `should_stop` says so), the default config first.

    The same seed, space and scores give the same sequence.
    """
    name = strategy or DEFAULT
    search = STRATEGIES[name](space, random.Random(seed))
    done: list[Trial] = []
    pending: Config | None = space.default()
    while len(done) < trials and not (should_stop is not None and should_stop()):
        config = pending if pending is not None else search.ask()
        pending = None
        if config is None:
            break
        if any(t.config == config for t in done):
            continue
        trial = Trial(len(done), config, evaluate(config), name)
        search.tell(config, trial.outcome.median_ms)
        done.append(trial)
        if on_trial is not None:
            on_trial(trial)
    return tuple(done)


def fastest(trials: tuple[Trial, ...], count: int) -> list[Trial]:
    """The `count` measured trials with the least medians, fastest first; the earlier one on a tie."""
    measured = [t for t in trials if t.outcome.median_ms is not None]
    return sorted(measured, key=lambda t: (t.outcome.median_ms or 0.0, t.index))[:count]


def best(trials: tuple[Trial, ...]) -> Trial | None:
    """The trial with the least median; the earlier one on a tie."""
    return next(iter(fastest(trials, 1)), None)
