"""PyTorch's OpInfo samples on generated C kernels, forward and backward.

Every sample of an operator is traced to ATen operators (functionalised, decomposed) exactly as the backend of
torch.compile traces, runs on kernels and is compared with eager by torch.testing.assert_close with its default tolerances
for the type, or those that the operator's own entry grants. Nothing is answered by eager in place of a kernel.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from typing import Any

from kernelcat_core.conformance import torch_samples
from kernelcat_core.runtime.device import usable_cores

MODES = ("forward", "backward")
BATCH = 80
LIMIT_S = 600
"""Seconds for all samples of one operator."""


@dataclass(frozen=True)
class Outcome:
    """An operator in one mode and type. `unmapped`: no sample failed, but for `reason` not all could be traced.

    `failures` are up to 20 (place of the sample, reason); `failed` counts them all.
    """

    name: str
    mode: str
    dtype: str
    samples: int
    failed: int
    unmapped: bool = False
    reason: str = ""
    failures: list[tuple[int, str]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.samples > 0 and self.failed == 0 and not self.unmapped

    @property
    def key(self) -> str:
        """How the list of what passes names it."""
        return f"{self.mode} {self.dtype} {self.name}"


def run(only: str = "", modes: Sequence[str] = MODES, dtypes: Sequence[str] = ("float32", "float16"),
        progress: Callable[[str], None] | None = None, workers: int | None = None, exact: Sequence[str] | None = None,
        ) -> dict[str, Any]:
    """Run operators whose name holds `only` (or those named in `exact`); counts and outcomes."""
    names = [n for n in torch_samples.operator_names() if (n in exact if exact is not None else only in n)]
    tasks = [(n, mode, dtype) for dtype in dtypes for mode in modes for n in names if torch_samples.has(n, mode, dtype)]
    return report(list(outcomes(tasks, progress, workers or usable_cores())))


def outcomes(tasks: Sequence[tuple[str, str, str]], progress: Callable[[str], None] | None, workers: int) -> Iterator[Outcome]:
    """Outcomes as they come, from fresh processes for every few tasks. A task whose process dies runs again alone."""
    done = passed = 0
    for start in range(0, len(tasks), BATCH):
        for found in _batch(tasks[start:start + BATCH], workers):
            done, passed = done + 1, passed + found.passed
            if progress is not None:
                note = "passed" if found.passed else f"{found.failed}/{found.samples} failed, {found.reason[:200]}"
                progress(f"{done}/{len(tasks)} ({passed} passed) {found.key}: {note}")
            yield found


def _batch(tasks: Sequence[tuple[str, str, str]], workers: int) -> Iterator[Outcome]:
    broken: list[tuple[str, str, str]] = []
    with ProcessPoolExecutor(workers, initializer=torch_samples.prepare) as pool:
        waiting = {pool.submit(outcome, *task): task for task in tasks}
        for future in as_completed(waiting):
            try:
                yield future.result()
            except BrokenProcessPool:
                broken.append(waiting[future])
    for task in broken:
        yield _alone(task)


def _alone(task: tuple[str, str, str]) -> Outcome:
    """A task in a process of its own."""
    try:
        with ProcessPoolExecutor(1, initializer=torch_samples.prepare) as pool:
            return pool.submit(outcome, *task).result()
    except BrokenProcessPool:
        return Outcome(*task, 1, 1, False, "the process died", [(0, "the process died")])


def outcome(name: str, mode: str, dtype: str) -> Outcome:
    """All samples of an operator: traced one by one, compiled together, then run."""
    previous = signal.signal(signal.SIGALRM, _expired)
    signal.alarm(LIMIT_S)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _outcome(name, mode, dtype)
    except Exception as error:  # samples that cannot even be made: counted, never hidden
        return Outcome(name, mode, dtype, 1, 1, False, _text(error), [(-1, _text(error))])
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _outcome(name: str, mode: str, dtype: str) -> Outcome:
    from kernelcat_core.errors import KernelcatError
    from kernelcat_core.pipeline.network.plan import load_all

    cases = torch_samples.cases(name, mode, dtype)
    failures: list[tuple[int, str]] = []
    unmapped: list[str] = []
    ready: list[tuple[int, torch_samples.Case, torch_samples.Traced]] = []
    for k, case in enumerate(cases):
        try:
            ready.append((k, case, torch_samples.traced(case)))
        except KernelcatError as error:
            text = f"{error.code}: {error.message}"
            if error.code in ("KC-I002", "KC-I004"):
                unmapped.append(text)
            else:
                failures.append((k, text))
        except _Expired:
            raise
        except Exception as error:
            failures.append((k, _text(error)))
    if unmapped:  # it cannot pass: no kernel is compiled for the rest
        return Outcome(name, mode, dtype, len(cases), len(failures), True, unmapped[0], sorted(failures)[:20])
    try:
        load_all([t.graph.plan for _, _, t in ready])
    except KernelcatError:  # one of them: found by loading each by itself
        ready = [(k, case, t) for k, case, t in ready if not _refused(k, t, failures)]
    for k, case, t in ready:
        try:
            problem = torch_samples.difference(case, t)
        except _Expired:
            raise
        except Exception as error:
            problem = _text(error)
        if problem:
            failures.append((k, problem))
    reason = failures[0][1] if failures else ""
    return Outcome(name, mode, dtype, len(cases), len(failures), False, reason, sorted(failures)[:20])


def _refused(place: int, t: torch_samples.Traced, failures: list[tuple[int, str]]) -> bool:
    """Whether a sample's kernels cannot be made; says so in `failures`."""
    from kernelcat_core.errors import KernelcatError

    try:
        t.graph.plan.load()
    except KernelcatError as error:
        failures.append((place, f"{error.code}: {error.message[:300]}"))
        return True
    return False


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:400]


class _Expired(Exception):
    """The time limit of an operator."""


def _expired(*_: Any) -> None:
    raise _Expired(f"more than {LIMIT_S} s")


def report(found: Sequence[Outcome]) -> dict[str, Any]:
    """Counts by mode and type, and everything that does not pass with its reason."""
    groups: dict[str, dict[str, int]] = {}
    for o in found:
        group = groups.setdefault(f"{o.mode} {o.dtype}", {"passed": 0, "failed": 0, "unmapped": 0, "samples": 0})
        group["passed" if o.passed else "unmapped" if o.unmapped and not o.failed else "failed"] += 1
        group["samples"] += o.samples
    listed = sorted(found, key=lambda o: o.key)
    return {"suite": "torch", "passed": sum(o.passed for o in found), "failed": sum(not o.passed for o in found),
            "total": len(found), "groups": groups, "outcomes": [{**asdict(o), "passed": o.passed, "key": o.key} for o in listed]}


def text(report: dict[str, Any]) -> str:
    """Totals by mode and type, then every operator that does not pass and why."""
    lines = [f"{group}: {', '.join(f'{n} {what}' for what, n in counts.items())}" for group, counts in report["groups"].items()]
    for o in report["outcomes"]:
        if not o["passed"]:
            what = "not mapped" if o["unmapped"] else f"{o['failed']} of {o['samples']} samples"
            lines.append(f"failed: {o['key']}: {what}: {o['reason']}")
    return "\n".join(lines)


def markdown(report: dict[str, Any]) -> str:
    """The same as a page of the documentation: counts, failing samples with their reasons, what is not mapped."""
    lines = ["# PyTorch's operator samples on generated C kernels", "",
             "Written by `make conformance` with `--update-golden`; tests/conformance/torch_passing.txt holds what passes.", "",
             "| mode and type | pass all samples | some samples fail | not mapped | samples |", "|---|---|---|---|---|"]
    lines += [f"| {group} | {c['passed']} | {c['failed']} | {c['unmapped']} | {c['samples']} |"
              for group, c in report["groups"].items()]
    failing = [o for o in report["outcomes"] if o["failed"]]
    lines += ["", "## Samples that fail", "", "| operator | failing samples | first reason |", "|---|---|---|"]
    lines += [f"| {o['key']} | {o['failed']} of {o['samples']} | {_cell(o['reason'])} |" for o in failing]
    reasons: dict[str, list[str]] = {}
    for o in report["outcomes"]:
        if o["unmapped"] and not o["failed"]:
            reasons.setdefault(_cell(o["reason"]), []).append(o["key"])
    lines += ["", "## What is not mapped", "", "| reason | operators |", "|---|---|"]
    lines += [f"| {reason} | {', '.join(keys)} |" for reason, keys in sorted(reasons.items())]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A reason as a cell of a table: one line, cut after the first sentence of a traceback."""
    return text.split("  ")[0].replace("|", "\\|").replace("\n", " ")[:160]
