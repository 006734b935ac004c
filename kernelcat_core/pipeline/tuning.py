"""Tune: search a kernel's space on this machine's device; every config is checked before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.numerics.compare import worst
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import Case, cases
from kernelcat_core.pipeline.comparing import Comparison, compare, race, round_medians
from kernelcat_core.pipeline.measuring import measure
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.tuner import session
from kernelcat_core.tuner.strategies import STRATEGIES

_FINALISTS = 3


@dataclass(frozen=True)
class Tuned:
    """All trials in order; `source` is the text of the best one.

    `best` has the times of the final comparison where there was one, and `comparison` says what it gained; where the
    default came out first, `best` is the default.
    """

    target: str
    device: str
    trials: tuple[session.Trial, ...]
    best: session.Trial | None
    comparison: Comparison | None
    source: str
    source_digest: str


def tune(a: hops.Analysis, target: str, trials: int, *, seed: int = 0, strategy: str | None = None,
         on_trial: Callable[[session.Trial], None] | None = None, should_stop: Callable[[], bool] | None = None,
         on_progress: Callable[[str], None] | None = None) -> Tuned:
    """Measure up to `trials` configs, then the best of them and the default again in one interleaved run.

    Raises KC-M007 for a target whose kernels only run on a model here: model times are not device times."""
    if strategy is not None and strategy not in STRATEGIES:
        raise KernelcatError("KC-S002", f"there is no strategy {strategy!r}", hint="choose " + ", ".join(STRATEGIES))
    first = hops.render(a.graph, target)
    device = hops.device_of(first)
    if "measured" not in device.describe().facts:
        raise KernelcatError("KC-M007", f"{first.target.name} runs on {device.describe().name} here, whose times mean nothing",
                             hint="tune on a host that has the device, or tune the target c here")
    probes = list(islice(cases(a, 1), 4))

    def evaluate(config: Config) -> session.Outcome:
        return _evaluate(a, target, config, probes)

    done = session.run(hops.space(a.graph, target), evaluate, trials, seed=seed, strategy=strategy, on_trial=on_trial,
                       should_stop=should_stop)
    best, comparison = _decide(a, target, done, should_stop, on_progress)
    final = hops.render(a.graph, target, best.config) if best is not None else first
    return Tuned(first.target.name, device.describe().name, done, best, comparison, final.source.text, final.source.digest)


def _decide(a: hops.Analysis, target: str, done: tuple[session.Trial, ...], should_stop: Callable[[], bool] | None,
            on_progress: Callable[[str], None] | None) -> tuple[session.Trial | None, Comparison | None]:
    """The best trial, and how it compares with the default when both are timed in turn.

    The least of many noisy medians is partly luck, so several of the fastest trials race, and the race decides.
    """
    best = session.best(done)
    if best is None or done[0].status != "measured" or best.index == 0:
        return best, None
    if on_progress is not None:
        on_progress("comparing the best with the default, in turn")
    entrants = {}
    for trial in (done[0], *(t for t in session.fastest(done, _FINALISTS) if t.index != 0)):
        r = hops.render(a.graph, target, trial.config)
        library = hops.device_of(r).library(r.source, r.target)
        if not isinstance(library, Failure):
            entrants[str(trial.index)] = (r, library.path("shared"))
    taken = race(a, entrants, should_stop=should_stop)
    if "0" not in taken or len(taken) < 2:
        return best, None
    medians = {name: round_medians(rounds) for name, rounds in taken.items()}
    winner = min((n for n in medians if n != "0"), key=lambda n: sorted(medians[n])[len(medians[n]) // 2])
    compared = compare(medians[winner], medians["0"], *(tuple(s for r in taken[n] for s in r) for n in (winner, "0")))
    if compared.ratio < 1.0:  # nothing beat the default: it is the best
        compared = compare(medians["0"], medians["0"], *[tuple(s for r in taken["0"] for s in r)] * 2)
        winner = "0"
    m = compared.chosen
    timed = session.Outcome(m.median_s * 1e3, m.low_s * 1e3, m.high_s * 1e3, tuple(s * 1e3 for s in m.samples_s))
    return replace(done[int(winner)], outcome=timed), compared


def _evaluate(a: hops.Analysis, target: str, config: Config, probes: list[Case]) -> session.Outcome:
    try:
        r = hops.render(a.graph, target, config)
    except KernelcatError as error:
        return session.Outcome(failure=error.to_failure())
    library = hops.device_of(r).library(r.source, r.target)
    if isinstance(library, Failure):
        return session.Outcome(failure=library)
    path = library.path("shared")
    for case in probes:
        outputs = hops.run(r, path, case.oracle.inputs, case.sizes)
        if isinstance(outputs, Failure):
            return session.Outcome(failure=outputs)
        verdict = worst(list(case.oracle.check(outputs).values()))
        if not verdict.ok:
            return session.Outcome(failure=Failure("KC-N001", verdict.message))
    measured = measure(a, r, path, rounds=2, samples=8, budget_s=0.3, verify=False)
    if isinstance(measured, Failure):
        return session.Outcome(failure=measured)
    to_ms = 1e3
    return session.Outcome(measured.median_s * to_ms, measured.low_s * to_ms, measured.high_s * to_ms,
                           tuple(s * to_ms for s in measured.samples_s))
