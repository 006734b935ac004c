"""The program that runs the core for one job: a JSON spec on stdin, JSON events on stdout, one a line.

Spec: {"kind", "target", "source", "shapes", "config", "options"}. Events: progress, trial, log, artifact, evidence,
and at the end either finished {"ok", "outcome", "error", "best_source"} or failed {"error"}. It knows no hub.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from kernelcat_core.errors import CODES, KernelcatError

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SUFFIXES = {"c": "c", "c11": "c", "cpp": "cpp", "c++": "cpp", "cuda": "cu", "cuda c++": "cu", "hip c++": "hip",
            "opencl c": "cl"}
Emit = Callable[..., None]
Spec = dict[str, Any]
Outcome = dict[str, Any]


def adopt_and_die_with_parent() -> None:
    """Ends when the worker does; orphans below become our children, so that a kill finds them."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


def coded(message: str, fallback: str) -> dict[str, Any]:
    """`KC-N001: text` as an error body; without a code in front, `fallback` is the code."""
    code, separator, text = message.partition(": ")
    known = separator and code in CODES
    return KernelcatError(code if known else fallback, text if known else message).to_dict()


def run_targets(facade: Any, spec: Spec, emit: Emit) -> None:
    emit("finished", ok=True, outcome=facade.targets())


def run_build(facade: Any, spec: Spec, emit: Emit) -> None:
    emit("progress", fraction=0.1, text="compiling")
    built: Outcome = facade.build(
        spec["source"], spec["target"], spec["shapes"], spec["config"] or None, spec["options"]["opt_level"]
    )
    _emit_log(emit, built.get("log", ""))
    _emit_artifact(emit, "source", _source_name(facade, spec), built.get("source", ""))
    for name, text in (built.get("files") or {}).items():
        _emit_artifact(emit, "source", name, text)
    _emit_artifact(emit, "assembly", "assembly.txt", built.get("assembly", ""))
    emit("evidence", rows=built.get("rows", []))
    error = None if built["ok"] else built.get("error") or coded("the compiler rejected the source", "KC-B001")
    kept = {name: value for name, value in built.items() if name not in {"source", "files", "assembly", "rows"}}
    emit("finished", ok=built["ok"], outcome=kept, error=error)


def run_check(facade: Any, spec: Spec, emit: Emit) -> None:
    steps = 0

    def on_progress(text: str) -> None:
        nonlocal steps
        steps += 1
        emit("log", stream="note", text=text)
        # How many cases come is the core's business, so the fraction only says that it moves.
        emit("progress", fraction=1 - 0.93**steps, text=text)

    report: Outcome = facade.check(
        spec["source"], [spec["target"]], spec["shapes"], spec["options"]["seeds"], on_progress,
        configs={spec["target"]: spec["config"]} if spec["config"] else None,
    )  # fmt: skip
    seen: Outcome = report["targets"][0]
    emit("evidence", rows=seen.get("rows", []))
    error = None if seen["ok"] else seen.get("error") or coded(seen["message"], "KC-N001")
    emit("finished", ok=seen["ok"], outcome=seen, error=error)


def run_profile(facade: Any, spec: Spec, emit: Emit) -> None:
    emit("progress", fraction=0.1, text="measuring")
    profiled: Outcome = facade.profile(spec["source"], spec["target"], spec["shapes"], spec["config"] or None)
    emit("evidence", rows=[_measured(spec, profiled, profiled.get("source_digest", ""), profiled["median_ms"])])
    error = None if profiled["ok"] else profiled.get("error") or coded("the kernel failed", "KC-M001")
    emit("finished", ok=profiled["ok"], outcome=profiled, error=error)


def run_tune(facade: Any, spec: Spec, emit: Emit) -> None:
    wanted = spec["options"]["trials"]
    started = time.monotonic()

    def on_trial(trial: dict[str, Any]) -> None:
        emit("trial", trial=trial)
        done = trial["index"] + 1
        emit("log", stream="note", text=_trial_line(trial))
        left = (time.monotonic() - started) / done * max(0, wanted - done)
        emit("progress", fraction=min(0.99, done / wanted), text=f"trial {done} of {wanted}", seconds_left=left)

    def on_progress(text: str) -> None:
        emit("log", stream="note", text=text)
        emit("progress", fraction=0.99 if text.startswith("comparing") else 0.0, text=text)

    options = spec["options"]
    emit("progress", fraction=0.0, text="preparing")
    tuned: Outcome = facade.tune(
        spec["source"], spec["target"], wanted, spec["shapes"],
        seed=options["seed"], strategy=options["strategy"], on_trial=on_trial, on_progress=on_progress,
    )  # fmt: skip
    best = tuned.get("best")
    if tuned["ok"] and best:
        _emit_artifact(emit, "source", _source_name(facade, spec), tuned.get("source", ""))
        emit("evidence", rows=[_measured(spec, tuned, tuned.get("source_digest", ""), best["median_ms"])])
    kept = {name: value for name, value in tuned.items() if name not in {"trials", "source"}}
    error = None if tuned["ok"] else tuned.get("error") or coded("no trial could be measured", "KC-M001")
    emit("finished", ok=tuned["ok"], outcome={**kept, "formula_digest": tuned.get("digest", "")}, error=error,
         best_source=tuned.get("source", ""))  # fmt: skip


KINDS: dict[str, Callable[[Any, Spec, Emit], None]] = {
    "targets": run_targets,
    "build": run_build,
    "check": run_check,
    "profile": run_profile,
    "tune": run_tune,
}


def _trial_line(trial: dict[str, Any]) -> str:
    """`trial 3: 0.0067 ms, tile=64 unroll=4`, or the first line of why it failed."""
    median = trial.get("median_ms")
    outcome = f"{median:.4g} ms" if median is not None else (trial.get("error") or trial["status"]).split("\n", 1)[0]
    config = " ".join(f"{knob}={value}" for knob, value in trial["config"].items())
    return f"trial {trial['index'] + 1}: {outcome}, {config}"


def _measured(spec: Spec, outcome: Outcome, digest: str, median_ms: float) -> dict[str, Any]:
    return {
        "fact": "measured",
        "digest": digest,
        "target": spec["target"],
        "device": outcome.get("device", ""),
        "workload": outcome.get("workload", ""),
        "detail": f"{median_ms:.4g} ms",
    }


def _source_name(facade: Any, spec: Spec) -> str:
    """`kernel.` and the ending of the target's language."""
    shown = facade.preview(spec["source"], [spec["target"]], spec["shapes"], stages=())
    language = shown["targets"][0]["language"] if shown["ok"] else ""
    return f"kernel.{SUFFIXES.get(language.casefold(), 'txt')}"


def _emit_artifact(emit: Emit, kind: str, name: str, text: str) -> None:
    if text:
        emit("artifact", kind=kind, name=name, text=text)


def _emit_log(emit: Emit, text: str) -> None:
    for line in text.splitlines():
        emit("log", stream="out", text=line)


def main(facade_name: str) -> None:
    adopt_and_die_with_parent()
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints in here goes to the log, not between the events

    def emit(event: str, **fields: Any) -> None:
        events.write(json.dumps({"event": event, **fields}, separators=(",", ":"), default=str) + "\n")
        events.flush()

    spec = json.loads(sys.stdin.buffer.read())
    try:
        KINDS[spec["kind"]](importlib.import_module(facade_name), spec, emit)
    except KernelcatError as error:
        emit("failed", error=error.to_dict())
    except Exception as error:
        traceback.print_exc()
        said = f"The core failed: {type(error).__name__}: {error}"
        hint = "This is our fault, not your kernel's. Report it with the job's log."
        emit("failed", error=KernelcatError("KC-X002", said, hint=hint).to_dict())


if __name__ == "__main__":
    main(sys.argv[1])
