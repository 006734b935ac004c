"""Honest times: warm-up, interleaving, medians with bootstrap intervals, and a check against physics.

A sample is seconds per call. An interval is the 95 % bootstrap interval of the median, drawn with a fixed seed, so the
same samples always print the same numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import device, runner

_RESAMPLES = 1000
_NOISY = 0.10  # an interval wider than this share of its median is marked
_PHYSICS_SLACK = 0.7  # peaks are measured and drift; a time below this share of the limit is not believed


@dataclass(frozen=True)
class Measurement:
    """Median and 95 % interval in seconds, and every sample they come from, in the order taken."""

    median_s: float
    low_s: float
    high_s: float
    samples_s: tuple[float, ...]

    @property
    def noisy(self) -> bool:
        return self.high_s - self.low_s > _NOISY * self.median_s

    def ties(self, other: Measurement) -> bool:
        """Whether the two intervals overlap: then neither is faster."""
        return self.low_s <= other.high_s and other.low_s <= self.high_s


def summarize(samples_s: Sequence[float], seed: int = 0) -> Measurement:
    """The median of at least one sample with its bootstrap interval."""
    samples = np.asarray(samples_s, dtype=np.float64)
    if samples.size == 0:
        raise ValueError("no samples")
    draws = np.random.default_rng(seed).integers(0, samples.size, (_RESAMPLES, samples.size))
    medians = np.median(samples[draws], axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    return Measurement(float(np.median(samples)), float(low), float(high), tuple(map(float, samples)))


def time_calls(call: Callable[[], object], minimum_sample_s: float = 2e-4) -> Callable[[], float]:
    """A function that times `call` once: seconds per call over a block of at least `minimum_sample_s`.

    The block's length is found here, by a first call that also warms up.
    """
    before = time.perf_counter()
    call()
    call()
    first = max((time.perf_counter() - before) / 2, 1e-7)
    calls = max(1, round(minimum_sample_s / first))

    def sample() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls

    return sample


def interleave(samplers: Mapping[str, Callable[[], float]], rounds: int, budget_s: float = 30.0,
               seed: int = 0) -> dict[str, Measurement]:
    """Sample each of `samplers` once a round, in an order that rotates, so that drift meets all alike.

    Stops after `rounds` rounds, or earlier (never before three) when `budget_s` is spent.
    """
    names = list(samplers)
    samples: dict[str, list[float]] = {name: [] for name in names}
    started = time.perf_counter()
    for number in range(rounds):
        if number >= 3 and time.perf_counter() - started > budget_s:
            break
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            samples[name].append(samplers[name]())
    return {name: summarize(taken, seed) for name, taken in samples.items()}


@dataclass(frozen=True)
class Work:
    """What one call must do at least: bytes read and written once each, operations, and (default: `nbytes`) the
    bytes that stay in use, which decide the cache level."""

    nbytes: int
    operations: int = 0
    working_set: int | None = None


def measure_job(job: runner.KernelJob, rounds: int = 3, seed: int = 0, work: Work | None = None,
                should_stop: Callable[[], bool] | None = None
                ) -> tuple[Measurement, runner.KernelOutcome] | Failure:
    """Run a job in the sandbox `rounds` times with `job.repeats` samples each (20 where it asks for none).

    Returns the measurement over all samples and the last outcome, whose outputs the caller compares again. A median
    below what `work` can take on this machine is a Failure KC-M004; other failures are run_kernel's.
    """
    timed = job if job.repeats else replace(job, repeats=20)
    samples: list[float] = []
    outcome: runner.KernelOutcome | Failure = Failure("KC-M001", "no round was asked for")
    for _ in range(rounds):
        outcome = runner.run_kernel(timed, should_stop=should_stop)
        if isinstance(outcome, Failure):
            return outcome
        samples += outcome.samples_s
    if isinstance(outcome, Failure) or not samples:
        return Failure("KC-M001", "the kernel's process reported no sample")
    measured = summarize(samples, seed)
    suspicious = None if work is None else believe(measured, work)
    return suspicious if suspicious is not None else (measured, outcome)


def believe(measured: Measurement, work: Work) -> Failure | None:
    """The physics check against stored peaks and, before a kernel is called suspicious, against fresh ones."""
    failure: Failure | None = None
    for refresh in (False, True):
        peaks = device.peaks(refresh)
        if isinstance(peaks, Failure):
            return failure  # None at first: a machine without a C compiler has no peaks to compare with
        failure = physics_check(measured, limit_seconds(work, peaks))
        if failure is None:
            return None
    return failure


def limit_seconds(work: Work, peaks: device.Peaks) -> float:
    """The least time a machine can take: max(bytes / bandwidth of the level that holds them, operations / peak)."""
    bandwidth = peaks.bandwidth(work.nbytes if work.working_set is None else work.working_set)
    return max(work.nbytes / bandwidth, work.operations / peaks.flops)


def physics_check(measured: Measurement, limit_s: float) -> Failure | None:
    """Failure KC-M004 when a median is well below what the machine can do, else None."""
    if measured.median_s >= _PHYSICS_SLACK * limit_s:
        return None
    return Failure("KC-M004", f"{measured.median_s:.3g} s is less than this machine's limit of {limit_s:.3g} s",
                   hint="the kernel does not do all of its work, or its clock was changed")
