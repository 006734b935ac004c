"""Check: what can be shown of a kernel on this machine, fact by fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.backends.device import Compiled, Description, Device, shown
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.numerics.compare import worst
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import Case
from kernelcat_core.pipeline.evidence import Evidence
from kernelcat_core.pipeline.measuring import measure
from kernelcat_core.runtime.measure import Measurement
from kernelcat_core.schedule.knobs import Config

Progress = Callable[[str], None]
Timer = Callable[[hops.Analysis, hops.Rendering, Path, int], "Timed | Failure"]
"""Times a compiled rendering that passed so many cases."""


@dataclass(frozen=True)
class Timed:
    """A time, the generated kernel's time where that was taken as well, and what was audited before it counted."""

    measurement: Measurement
    baseline: Measurement | None = None
    audited: str = ""


@dataclass
class TargetReport:
    """What was seen of one target; `rows` are the facts, in the order they were seen.

    `max_error` is the largest error of any element over the largest magnitude of its output (at least 1); `tolerance`
    is the largest bound, on the same scale.
    """

    target: str
    ok: bool = True
    max_error: float | None = None
    tolerance: float | None = None
    message: str = ""
    rows: list[Evidence] = field(default_factory=list)
    source_digest: str = ""
    failure: Failure | None = None
    emulated: bool = False
    timed: Timed | None = None

    @property
    def verdict(self) -> str:
        """ok; refused (the target cannot express the formula); too slow (on a model, where time means nothing); differs;
        failed."""
        code = "" if self.failure is None else self.failure.code
        if self.ok:
            return "ok"
        if code == "KC-M002" and self.emulated:
            return "too slow to emulate here"
        return {"KC-R001": "refused", "KC-N001": "differs"}.get(code, "failed")

    def to_dict(self) -> dict[str, Any]:
        return {"target": self.target, "facts": [r.fact for r in self.rows], "ok": self.ok, "max_error": self.max_error,
                "tolerance": self.tolerance, "verdict": self.verdict, "message": self.message,
                "error": None if self.failure is None else self.failure.to_dict(), "rows": [r.to_dict() for r in self.rows],
                "source_digest": self.source_digest}

    def fail(self, failure: Failure) -> TargetReport:
        self.ok, self.failure = False, failure
        if self.verdict == "too slow to emulate here":
            self.failure = failure = replace(failure, hint="check at a smaller --shape: a model runs far slower than the device")
        self.message = f"{failure.code}: {failure.message}"
        return self


def check_target(a: hops.Analysis, target: str, cases: Iterable[Case], config: Config = Config(),
                 on_progress: Progress | None = None) -> TargetReport:
    """Render, compile where a vendor's compiler is at hand, run on every case, and measure where the device is real."""
    try:
        r = hops.render(a.graph, target, config)
    except KernelcatError as error:
        return TargetReport(target).fail(error.to_failure())
    return check_rendering(a, r, cases, on_progress)


def generated(a: hops.Analysis, r: hops.Rendering, library: Path, cases: int) -> Timed | Failure:
    """How a text of our own is timed: by its own process."""
    measured = measure(a, r, library)
    return measured if isinstance(measured, Failure) else Timed(measured)


def check_rendering(a: hops.Analysis, r: hops.Rendering, cases: Iterable[Case], on_progress: Progress | None = None,
                    timer: Timer = generated, timeout_s: float = 30.0) -> TargetReport:
    """The same for a text that is there already, generated or written by hand."""
    say = on_progress or (lambda line: None)
    report = TargetReport(r.target.name, source_digest=r.source.digest)
    device = hops.device_of(r)
    report.emulated = device.runs_as == "emulated"
    about = device.describe()
    _fact(report, r, "rendered", "", "")
    say(f"{r.target.name}: compiling")
    compiled = hops.compiled(r)
    if isinstance(compiled, Failure):
        return report.fail(compiled)
    if compiled is not None:
        _fact(report, r, "compiled", compiled.toolchain, _resources(compiled))
    library = device.library(r.source, r.target)
    if isinstance(library, Failure):
        if library.code == "KC-B002":
            report.message = f"not run: {library.message}"
            return report
        return report.fail(library)
    count = _run_cases(report, r, device, library.path("shared"), cases, say, timeout_s)
    if not report.ok:
        return report
    _fact(report, r, shown(device.runs_as, r.target), library.toolchain.label, f"{count} cases", about)
    if "measured" in about.facts:
        say(f"{r.target.name}: measuring")
        outcome = timer(a, r, library.path("shared"), count)
        if isinstance(outcome, Failure):
            return report.fail(outcome)
        report.timed = outcome
        _fact(report, r, "measured", library.toolchain.label, f"{outcome.measurement.median_s * 1e3:.4g} ms", about, a)
    return report


def _run_cases(report: TargetReport, r: hops.Rendering, device: Device, library: Any, cases: Iterable[Case], say: Progress,
               timeout_s: float) -> int:
    count = 0
    verdicts = []
    for case in cases:
        say(f"{r.target.name}: {case.name}")
        for environment in device.environments():
            outputs = hops.run(r, library, case.oracle.inputs, case.sizes, environment=environment,
                               timeout_s=timeout_s)
            if isinstance(outputs, Failure):
                report.fail(device.explain(outputs, library))
                report.message += f" ({case.name})"
                return count
            found = case.oracle.check(outputs)
            verdict = worst(list(found.values()))
            verdicts.append(verdict)
            count += 1
            for name, v in found.items():
                scale = _magnitude(case.oracle.exact[name])
                report.max_error = max(report.max_error or 0.0, v.max_error / scale)
                report.tolerance = max(report.tolerance or 0.0, v.tolerance / scale)
            if not verdict.ok:
                report.fail(Failure("KC-N001", f"{verdict.message} ({case.name})"))
                return count
    unstable = sum(v.unstable for v in verdicts)
    if unstable:
        report.message = f"the formula is unstable on {unstable} of {sum(v.checked for v in verdicts)} elements"
    return count


def _magnitude(expected: Any) -> float:
    """The largest finite magnitude of an output, at least 1."""
    with np.errstate(all="ignore"):
        wide = np.abs(np.asarray(expected, np.float64))
    return max(1.0, float(np.max(np.where(np.isfinite(wide), wide, 0.0), initial=0.0)))


def _resources(compiled: Compiled) -> str:
    return "; ".join(f"{k}: {v}" for k, v in compiled.resources.items())


def _fact(report: TargetReport, r: hops.Rendering, fact: Any, toolchain: str, detail: str, about: Description | None = None,
          a: hops.Analysis | None = None) -> None:
    workload = "" if a is None else hops.workload_text(a)
    report.rows.append(Evidence(r.source.digest, r.target.name, r.target.arch, toolchain,
                                "" if about is None else about.name, workload, fact, detail))
