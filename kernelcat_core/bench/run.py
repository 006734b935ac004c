"""Runs a suite: every runtime in a process of its own, stopped while another is timed, blocks in turn, medians.

Outputs of all runtimes are compared before anything is timed. ratio = best peer's time / ours, its interval from a
bootstrap over samples; limit_ratio = the least time the machine could take (measured peaks) / ours. Peaks are measured
before and after, and the highest of all probes, and of the rates that our own rows reached, counts: a busy machine makes a
probe too low, never too high.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.bench.rows import SUITES, Row
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.measuring import work
from kernelcat_core.runtime import device
from kernelcat_core.runtime.measure import Work, limit_seconds

_ROUNDS = 7
_BLOCK_S = 0.15
_PEERS = ("torch", "onnxruntime", "numpy")
# A kept heap: without it glibc returns large outputs to the system after every call and peers look slower than they are.
_HEAP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20),
         "OPENBLAS_THREAD_TIMEOUT": "20"}

Report = dict[str, Any]


class _Runtime:
    """A child process that answers one line a request; it sleeps (SIGSTOP) while others are timed."""

    def __init__(self, name: str, suite: str, threads: int) -> None:
        self.name = name
        environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        environment |= _HEAP | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self._argv = [sys.executable, "-m", "kernelcat_core.bench.child", name, suite, str(threads)]
        self._environment = environment
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment,
                                stderr=subprocess.DEVNULL)

    def ask(self, request: Report) -> Report:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:  # it ended in an earlier row
            line = ""
        self.process.send_signal(signal.SIGSTOP)
        if not line:
            self.end()
            self.process = self._started()  # a library that fails at one row is still compared at the others
            return {"error": f"the process of {self.name} ended"}
        answer: Report = json.loads(line)
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def _runtimes(suite: str, threads: int) -> Iterator[list[_Runtime]]:
    names = ["ours", *(p for p in _PEERS if importlib.util.find_spec(p) is not None)]
    started = [_Runtime(n, suite, threads) for n in names]
    try:
        yield started
    finally:
        for r in started:
            r.end()


def run(suite: str, on_progress: Callable[[str], None] | None = None, only: str = "") -> Report:
    """{"rows", "geomean_ratio", "absent", "machine"} of a suite; rows whose name holds `only`. Raises KC-F005 for an unknown
    suite and where no row's name holds `only`."""
    if suite not in SUITES:
        raise KernelcatError("KC-F005", f"there is no benchmark {suite!r}", hint="benchmarks: " + ", ".join(SUITES))
    chosen = [r for r in SUITES[suite] if only in r.name]
    if not chosen:
        raise KernelcatError("KC-F005", f"no benchmark of {suite} has {only!r} in its name",
                             hint="rows: " + ", ".join(r.name for r in SUITES[suite]))
    _peaks()
    rows: list[tuple[Report, Work]] = []
    with _runtimes(suite, device.usable_cores()) as runtimes, tempfile.TemporaryDirectory() as folder:
        for number, row in enumerate(chosen):
            if on_progress is not None:
                on_progress(row.name)
            rows.append(_row(row, runtimes, Path(folder) / str(number)))
    reports = limited(rows, _peaks())
    ratios = [r["ratio"] for r in reports if r["ratio"]]
    geomean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
    return {"rows": reports, "geomean_ratio": geomean, "absent": absent(), "machine": device.this_cpu().name,
            "threads": device.usable_cores()}


def _peaks() -> device.Peaks:
    peaks = device.peaks(refresh=True)
    if isinstance(peaks, Failure):
        raise KernelcatError(peaks.code, peaks.message, hint=peaks.hint)
    return peaks


def absent() -> dict[str, str]:
    """Peers that cannot take part here, and why."""
    return {p: f"not compared: not installed (pip install {p})" for p in _PEERS if importlib.util.find_spec(p) is None}


def limited(rows: list[tuple[Report, Work]], peaks: device.Peaks) -> list[Report]:
    """The reports with their `limit_ratio`, at peaks no lower than what the rows themselves reached."""
    rates = [w.operations / r["ours_ms"] * 1e3 for r, w in rows if r["ours_ms"]]
    peaks = replace(peaks, flops=max([peaks.flops, *rates]))
    return [{**r, "limit_ratio": limit_seconds(w, peaks) * 1e3 / r["ours_ms"] if r["ours_ms"] else None} for r, w in rows]


def _row(row: Row, runtimes: list[_Runtime], folder: Path) -> tuple[Report, Work]:
    a = hops.analyse(row.formula, row.shapes)
    inputs = make_inputs(a.graph, a.workload, 0)
    folder.mkdir()
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
    ready: dict[str, _Runtime] = {}
    skipped: dict[str, str] = {}
    for r in runtimes:
        output = folder.parent / f"{folder.name}-{r.name}.npy"
        answer = r.ask({"prepare": row.name, "inputs": str(folder), "output": str(output)})
        problem = answer.get("error") or _differs(folder.parent / f"{folder.name}-ours.npy", output)
        if problem:
            skipped[r.name] = problem
        else:
            ready[r.name] = r
    samples: dict[str, list[float]] = {n: [] for n in ready}
    names = list(ready)
    for turn in range(_ROUNDS):
        for name in names[turn % max(1, len(names)):] + names[:turn % max(1, len(names))]:
            samples[name] += ready[name].ask({"sample": _BLOCK_S}).get("samples", [])
    written = work(a.graph, a.workload)
    needed = replace(written, operations=int(written.operations * row.needed))
    return _report(row, {n: s for n, s in samples.items() if s}, skipped), needed


def _differs(ours: Path, theirs: Path) -> str:
    """Why two outputs are not the same result, "" when they are (f32 sums in another order)."""
    if not ours.is_file():
        return "ours gave no output"
    a, b = np.load(ours), np.load(theirs)
    if a.shape != b.shape:
        return f"shape {b.shape} is not {a.shape}"
    close = np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-3 * max(1.0, float(np.abs(a).max())))
    return "" if close else "the outputs differ"


def _report(row: Row, samples: dict[str, list[float]], skipped: dict[str, str]) -> Report:
    medians = {n: float(np.median(s)) for n, s in samples.items()}
    peers = {n: m * 1e3 for n, m in medians.items() if n != "ours"}
    ours = medians.get("ours")
    best = min(peers, key=lambda n: peers[n], default=None)
    report: Report = {"name": row.name, "ours_ms": None if ours is None else ours * 1e3, "peers": peers, "best": best,
                      "ratio": None, "ratio_low": None, "ratio_high": None, "limit_ratio": None, "skipped": skipped}
    if ours is None:
        return report
    if best is not None:
        draws = _bootstrap(samples[best]) / _bootstrap(samples["ours"])
        low, high = np.percentile(draws, (2.5, 97.5))
        report |= {"ratio": peers[best] / report["ours_ms"], "ratio_low": float(low), "ratio_high": float(high)}
    return report


def _bootstrap(samples: list[float], draws: int = 400) -> Any:
    values = np.asarray(samples)
    return np.median(values[np.random.default_rng(0).integers(0, values.size, (draws, values.size))], axis=1)
