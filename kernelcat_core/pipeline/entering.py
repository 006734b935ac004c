"""What a hand-written kernel must pass before its time counts: secret cases, and a time that it has no part in.

Nothing that its process says is believed. A `secret` seeds every draw; it is made anew for each entry and known to no
process that runs the kernel.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.numerics.compare import Oracle, Verdict, worst
from kernelcat_core.numerics.distributions import distributions_of, make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import Case, most_elements, require_feasible, require_workload
from kernelcat_core.pipeline.measuring import believable, operations
from kernelcat_core.runtime import witness
from kernelcat_core.runtime.arena import Array, looks_unwritten
from kernelcat_core.runtime.measure import Measurement, believe, summarize

SECRET_CASES = 4
_MOST_SIZE = 100
_MOST_ELEMENTS = 1 << 16
ROUNDS, SAMPLES, WARMUP = 3, 8, 2
_PROBE = WARMUP + 2
_ROUND_S = 2.0
_STORE_BYTES = 1 << 30
_ORACLE_OPERATIONS = 1 << 22
_LEAST_CHECKED, _MOST_CHECKED = 2, 8  # timed calls of a round whose outputs are computed again
_APART = 8.0  # times the oracle's bound: more than two right answers can be apart


@dataclass(frozen=True)
class Timing:
    """A time taken from outside; `baseline` is the generated kernel's, taken in turn with it on the same data (None where
    there is none). `calls` were timed, `compared` of them with the oracle."""

    measurement: Measurement
    baseline: Measurement | None
    calls: int
    compared: int


@dataclass(frozen=True)
class _Round:
    """Seconds of each sample of the entry and of the generated kernel; how many calls were compared."""

    times: tuple[float, ...]
    baseline: tuple[float, ...]
    compared: int


def fresh_secret() -> int:
    return secrets.randbits(64)


def secret_cases(a: hops.Analysis, secret: int) -> Iterator[Case]:
    """Cases at sizes (where the formula leaves them open), seeds and distributions that nobody knew before."""
    rng = random.Random(f"cases {secret}")
    kinds = distributions_of(a.graph)
    for number in range(SECRET_CASES):
        sizes = _sizes(a, rng)
        require_feasible(a, sizes)
        kind = kinds[0] if number == 0 else rng.choice(kinds)
        label = ", ".join(f"{k}={v}" for k, v in sizes.items()) or "fixed sizes"
        oracle = Oracle(a.graph, make_inputs(a.graph, sizes, rng.getrandbits(31), kind), sizes)
        yield Case(f"secret case {number + 1}: {kind} at {label}", sizes, oracle)


def _sizes(a: hops.Analysis, rng: random.Random) -> Mapping[str, int]:
    free = [n for n in a.graph.size_names if n not in a.given]
    for _ in range(50):
        drawn = {**a.workload, **{n: rng.randint(1, _MOST_SIZE) for n in free}}
        if a.is_legal(drawn) and most_elements(a, drawn) <= _MOST_ELEMENTS:
            return drawn
    return a.workload  # sizes that hang together too closely to be guessed


def measure(a: hops.Analysis, r: hops.Rendering, library: Path, secret: int, timeout_s: float = 30.0
            ) -> Timing | Failure:
    """Time a kernel at the workload of `a`, on data that is new in every call, in turn with the generated kernel.

    Failures: those of witness.run; KC-N001 when a timed call gave a wrong output; KC-M004 for a time that the machine's
    measured peaks make impossible. Raises KC-F020 when the data of some samples would not fit.
    """
    sizes = require_workload(a)
    rng = random.Random(f"timing {secret}")
    each = witness.arena_bytes(_draw(a, r, sizes, rng), hops.output_specs(r.module, sizes))
    most = min(WARMUP + SAMPLES, _STORE_BYTES // each)
    if most < _PROBE:
        raise KernelcatError("KC-F020", f"a call at these shapes takes {each >> 20} MiB, too much to give each its own",
                             hint="enter a smaller --shape")
    rounds = _Rounds(a, r, library, _generated(a, r), sizes, rng, timeout_s)
    probed = rounds.run(_PROBE)
    if isinstance(probed, Failure):
        return probed
    samples = max(_PROBE, min(most, WARMUP + int(_ROUND_S / float(np.median(probed.times[1:])))))
    taken: list[float] = []
    beside: list[float] = []
    compared = probed.compared
    for _ in range(ROUNDS):
        found = rounds.run(samples)
        if isinstance(found, Failure):
            return found
        taken += found.times[WARMUP:]
        beside += found.baseline[WARMUP:]
        compared += found.compared
    measured = summarize(taken)
    impossible = believe(measured, believable(a.graph, sizes))
    return impossible or Timing(measured, summarize(beside) if beside else None, _PROBE + ROUNDS * samples, compared)


def _generated(a: hops.Analysis, r: hops.Rendering) -> tuple[hops.Rendering, Path] | None:
    """The kernel that the formula itself gives on the same target: a second opinion on every call."""
    try:
        own = hops.render(a.graph, r.target.name)
    except KernelcatError:
        return None
    library = hops.device_of(own).library(own.source, own.target)
    return None if isinstance(library, Failure) else (own, library.path("shared"))


@dataclass(frozen=True)
class _Rounds:
    """Everything that the rounds of one entry share; a round is one process of each kernel."""

    a: hops.Analysis
    r: hops.Rendering
    library: Path
    generated: tuple[hops.Rendering, Path] | None
    sizes: Mapping[str, int]
    rng: random.Random
    timeout_s: float

    def run(self, samples: int) -> _Round | Failure:
        """Time `samples` calls, then judge them."""
        drawn = [_draw(self.a, self.r, self.sizes, self.rng) for _ in range(samples)]
        ran = self._timed(self.r, self.library, drawn)
        if isinstance(ran, Failure):
            return ran
        own = self._timed(*self.generated, drawn) if self.generated is not None else None
        second = own if isinstance(own, witness.Witnessed) else None
        affordable = _ORACLE_OPERATIONS // max(1, operations(self.a.graph, self.sizes))
        chosen = self.rng.sample(range(samples), min(samples, max(_LEAST_CHECKED, min(_MOST_CHECKED, affordable))))
        bounds = [0.0] * len(self.r.module.outputs)
        for n in sorted(chosen):
            verdicts = self._verdicts(drawn[n], ran.outputs[n], n)
            if isinstance(verdicts, Failure):
                return verdicts
            bounds = [max(bound, v.tolerance) for bound, v in zip(bounds, verdicts, strict=True)]
        doubtful = [n for n in range(samples) if n not in chosen and (
            any(map(looks_unwritten, ran.outputs[n]))
            or (second is not None and _apart(ran.outputs[n], second.outputs[n], bounds)))]
        again = self.rng.sample(doubtful, min(len(doubtful), _MOST_CHECKED))
        for n in sorted(again):
            verdicts = self._verdicts(drawn[n], ran.outputs[n], n)
            if isinstance(verdicts, Failure):
                return verdicts
        return _Round(ran.samples_s, () if second is None else second.samples_s, len(chosen) + len(again))

    def _timed(self, r: hops.Rendering, library: Path, drawn: list[tuple[Array, ...]]) -> witness.Witnessed | Failure:
        return witness.run(witness.WitnessedJob(
            library, r.source.entry, drawn, hops.output_specs(r.module, self.sizes),
            tuple(self.sizes[n] for n in r.module.sizes), threads=2, timeout_s=self.timeout_s))

    def _verdicts(self, drawn: tuple[Array, ...], given: tuple[Array, ...], number: int) -> list[Verdict] | Failure:
        """What the oracle says of one call, an output each; KC-N001 when one is wrong."""
        inputs = {t.name: x for t, x in zip(self.r.module.inputs, drawn)}
        found = Oracle(self.a.graph, inputs, self.sizes).check({t.name: x for t, x in zip(self.r.module.outputs, given)})
        verdict = worst(list(found.values()))
        if not verdict.ok:
            return Failure("KC-N001", f"{verdict.message} (timed call {number + 1})")
        return [found[t.name] for t in self.r.module.outputs]


def _apart(ours: tuple[Array, ...], theirs: tuple[Array, ...], bounds: list[float]) -> bool:
    """Whether two kernels' outputs differ by more than rounding explains."""
    with np.errstate(all="ignore"):
        for x, y, bound in zip(ours, theirs, bounds, strict=True):
            same = (x == y) | ((x != x) & (y != y))
            if x.dtype.kind not in "iub":
                same |= np.abs(x.astype(np.float64) - y.astype(np.float64)) <= _APART * bound
            if not same.all():
                return True
    return False


def _draw(a: hops.Analysis, r: hops.Rendering, sizes: Mapping[str, int], rng: random.Random) -> tuple[Array, ...]:
    """Inputs for one call."""
    made = make_inputs(a.graph, sizes, rng.getrandbits(31))
    return tuple(np.array(made[t.name], t.dtype.numpy, order="C") for t in r.module.inputs)


def audit(timing: Timing, cases: int, layers: tuple[str, ...]) -> str:
    """The note that an entry carries: what was done before its time counted."""
    second = "no generated kernel to compare the others with" if timing.baseline is None else (
        "all others agree with the generated kernel, timed in turn, or were compared as well")
    return (f"{cases} cases agreed with the formula, {SECRET_CASES} of them at secret sizes and seeds; timed from outside its "
            f"process, which was stopped between calls; {timing.calls} calls, each on new data in poisoned memory; "
            f"{timing.compared} of them, chosen afterwards, agreed with the formula, {second}; inputs and surroundings "
            f"unchanged in all; not below what this machine's memory allows; sandbox: {', '.join(layers)}")
