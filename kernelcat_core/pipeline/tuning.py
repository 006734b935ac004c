"""Tune: search a kernel's space on this machine's device; every config is checked before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.numerics.compare import worst
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import Case, cases
from kernelcat_core.pipeline.measuring import measure
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.tuner import session
from kernelcat_core.tuner.strategies import STRATEGIES


@dataclass(frozen=True)
class Tuned:
    """All trials in order; `source` is the text of the best one."""

    target: str
    device: str
    trials: tuple[session.Trial, ...]
    best: session.Trial | None
    source: str
    source_digest: str


def tune(a: hops.Analysis, target: str, trials: int, *, seed: int = 0, strategy: str | None = None,
         on_trial: Callable[[session.Trial], None] | None = None, should_stop: Callable[[], bool] | None = None) -> Tuned:
    """Measure up to `trials` configs. Raises KC-R001 for a target whose kernels only run on a model here: model times
    are not device times."""
    if strategy is not None and strategy not in STRATEGIES:
        raise KernelcatError("KC-S002", f"there is no strategy {strategy!r}", hint="choose " + ", ".join(STRATEGIES))
    first = hops.render(a.graph, target)
    device = hops.device_of(first)
    if device.runs_as != "executed":
        raise KernelcatError("KC-M007", f"{first.target.name} runs on a functional model here, whose times mean nothing",
                             hint="tune on a host that has the device, or tune the target c here")
    probes = list(islice(cases(a, 1), 4))

    def evaluate(config: Config) -> session.Outcome:
        return _evaluate(a, target, config, probes)

    done = session.run(hops.space(a.graph, target), evaluate, trials, seed=seed, strategy=strategy, on_trial=on_trial,
                       should_stop=should_stop)
    best = session.best(done)
    final = hops.render(a.graph, target, best.config) if best is not None else first
    return Tuned(first.target.name, device.describe().name, done, best, final.source.text, final.source.digest)


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
