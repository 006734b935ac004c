"""Hand-written kernels as entries of boards: plain values in, a JSON-able dict out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelcat_core.backends import resolve
from kernelcat_core.backends.device import Device
from kernelcat_core.codegen.native import parse
from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline import entering, hops
from kernelcat_core.pipeline import native as hand_written
from kernelcat_core.pipeline.workloads import for_timing, warnings
from kernelcat_core.runtime.measure import Measurement
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.tuner.session import Outcome, Trial

Report = dict[str, Any]


def enter(text: str, reference: str, target: str, shapes: Mapping[str, str] | None = None, *,
          launch: Mapping[str, Any] | None = None, seeds: int = 3, secret: int | None = None,
          timeout_s: float = 30.0, on_progress: Callable[[str], None] | None = None) -> Report:
    """Check and time a hand-written kernel against the formula `reference`, trusting nothing that it says.

    The keys are those of `tune`, so that a board takes either: "best" is None unless the kernel was measured, and "error"
    says why; "audited" says what was done before the time counted; "baseline_ms" is the generated kernel's time, taken in
    the same way. Sizes that `shapes` leaves open are checked small and timed large. `secret` (default: a new one) seeds
    every draw; a run may take `timeout_s`. Raises KC-F019 when `text` is no native kernel, KC-R001 when the target takes
    another language or only a model of it runs here.
    """
    native = parse(text)
    if native is None or not native.has_body:
        raise KernelcatError("KC-F019", "there is no kernel in this text", hint="write one function that returns void")
    device: Device = resolve(target)[0].load_device()()
    about = device.describe()
    if "measured" not in about.facts:
        raise KernelcatError("KC-R001", f"nothing can be measured on {target} here", hint="; ".join(about.missing))
    a = hops.analyse(reference, shapes)
    timed = for_timing(a)
    chosen = entering.fresh_secret() if secret is None else secret
    seen = hand_written.check(native, a, target, launch, seeds, on_progress, secret=chosen,
                              timed_at=timed.workload, timeout_s=timeout_s)
    timing = seen.timed
    best = None if timing is None else Trial(0, Config(), _outcome(timing.measurement), "by hand").to_dict()
    baseline = None if timing is None or timing.baseline is None else timing.baseline.median_s * 1e3
    row = next((r for r in seen.rows if r.fact == "measured"), None)
    return {"ok": best is not None, "target": seen.target, "device": about.name, "workload": hops.workload_text(timed),
            "digest": a.graph.digest, "best": best, "audited": "" if timing is None else timing.audited, "message": seen.message,
            "error": None if seen.failure is None else seen.failure.to_dict(),
            "baseline_ms": baseline,
            "warnings": warnings(None if best is None else best["median_ms"]),
            "toolchain": "" if row is None else row.toolchain, "source": text, "source_digest": seen.source_digest,
            "rows": [r.to_dict() for r in seen.rows]}


def _outcome(m: Measurement) -> Outcome:
    return Outcome(m.median_s * 1e3, m.low_s * 1e3, m.high_s * 1e3, tuple(s * 1e3 for s in m.samples_s))
