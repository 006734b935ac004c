"""Profile: a kernel's time beside the least time that this machine could take for its work (the roofline model, Williams,
Waterman and Patterson, CACM 52(4), 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.measuring import measure, work
from kernelcat_core.runtime import device as machine
from kernelcat_core.runtime.measure import Measurement, Work, limit_seconds
from kernelcat_core.schedule.knobs import Config


@dataclass(frozen=True)
class Profile:
    """A measurement and its work; `peaks` are this machine's measured ones."""

    target: str
    device: str
    source_digest: str
    measurement: Measurement
    work: Work
    peaks: machine.Peaks

    def to_dict(self) -> dict[str, Any]:
        """Times in milliseconds, rates in GB/s and GFLOP/s; `limit_ratio` = limit / time, at most about 1."""
        m, w, p = self.measurement, self.work, self.peaks
        limit = limit_seconds(w, p)
        bandwidth = p.bandwidth(w.nbytes if w.working_set is None else w.working_set)
        memory_bound = w.nbytes / bandwidth >= w.operations / p.flops
        return {"ok": True, "target": self.target, "device": self.device, "source_digest": self.source_digest,
                "median_ms": m.median_s * 1e3, "low_ms": m.low_s * 1e3, "high_ms": m.high_s * 1e3,
                "samples": [s * 1e3 for s in m.samples_s], "bytes": w.nbytes, "flops": w.operations,
                "gbps": w.nbytes / m.median_s / 1e9, "gflops": w.operations / m.median_s / 1e9,
                "limit_ms": limit * 1e3, "limit_ratio": limit / m.median_s, "noisy": m.noisy,
                "roofline": {"bound": "memory" if memory_bound else "compute", "peak_gflops": p.flops / 1e9,
                             "bandwidth_gbps": bandwidth / 1e9,
                             "intensity": w.operations / w.nbytes if w.nbytes else None,
                             "ridge": p.flops / bandwidth}}


def profile(a: hops.Analysis, target: str, config: Config = Config()) -> Profile:
    """Raises what went wrong as KernelcatError: a profile has no partial form."""
    r = hops.render(a.graph, target, config)
    device = hops.device_of(r)
    if "measured" not in device.describe().facts:
        raise KernelcatError("KC-M007", f"{r.target.name} runs on {device.describe().name} here, whose times mean nothing",
                             hint="profile on a host that has the device, or profile the target c here")
    library = device.library(r.source, r.target)
    if isinstance(library, Failure):
        raise _raised(library)
    measured = measure(a, r, library.path("shared"))
    if isinstance(measured, Failure):
        raise _raised(measured)
    peaks = machine.peaks()
    if isinstance(peaks, Failure):
        raise _raised(peaks)
    return Profile(r.target.name, device.describe().name, r.source.digest, measured, work(a.graph, a.workload), peaks)


def _raised(failure: Failure) -> KernelcatError:
    return KernelcatError(failure.code, failure.message, hint=failure.hint)
