"""A stand-in for kernelcat_core.api whose formulas are commands: it sleeps, dies or spawns as the text says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from kernelcat_core.errors import KernelcatError, Span

Answer = dict[str, Any]
DIGEST = "d" * 64


def preview(
    source: str,
    targets: list[str],
    shapes: dict[str, str] | None = None,
    configs: Answer | None = None,
    stages: tuple[str, ...] = (),
) -> Answer:
    if source == "hang":
        while True:
            pass
    if source == "die":
        os._exit(3)
    if source == "eat":
        bytearray(1 << 40)
    if source == "bug":
        raise ZeroDivisionError
    if source == "print":
        print("not a reply")
    if source == "wrong":
        error = KernelcatError("KC-F001", "no", hint="yes", span=Span(0, 1), source="wrong")
        return {"ok": False, "error": error.to_dict()}
    fact = {"fact": "rendered", "digest": DIGEST}
    return {
        "ok": True,
        "digest": "f" * 64,
        "graph": f"pid {os.getpid()}",
        "targets": [{"target": name, "label": name, "language": "c", "facts": [fact]} for name in targets],
    }


def targets() -> list[Answer]:
    facts = ["rendered", "compiled", "executed", "measured"]
    return [{"target": "c", "label": "CPU", "languages": ["c"], "facts_possible": facts, "missing": []}]


def operators() -> list[Answer]:
    return [{"name": "softmax", "signature": "softmax(x)", "summary": "", "example": "Y = softmax(X)"}]


def gallery() -> list[Answer]:
    shown = {"title": "Softmax", "group": "Rows", "formula": "Y = softmax(X)", "shapes": {"X": "4x8:f32"}}
    return [{"slug": "softmax", "summary": "", **shown}]


def trial(index: int) -> Answer:
    median = 1.0 + (index % 3) * 0.1
    times = {"median_ms": median, "low_ms": median - 0.01, "high_ms": median + 0.01}
    return {"index": index, "config": {"tile": index}, "status": "measured", "samples": [median], **times}


def tune(
    source: str,
    target: str,
    trials: int,
    shapes: dict[str, str] | None = None,
    *,
    seed: int = 0,
    strategy: str | None = None,
    on_trial: Callable[[Answer], None],
    on_progress: Callable[[str], None],
) -> Answer:
    on_progress("workload X=4x8:f32")
    for index in range(trials):
        on_trial(trial(index))
        if source == "slow":
            time.sleep(0.2)
    return {
        "ok": True, "device": "CPU", "workload": "X=4x8:f32", "digest": "f" * 64, "baseline_ms": 2.0,
        "best": trial(0), "source": "int best;", "source_digest": DIGEST,
    }  # fmt: skip


def check(
    source: str, targets: list[str], shapes: dict[str, str], seeds: int, on_progress: Callable[[str], None],
    *, configs: Answer | None = None,
) -> Answer:  # fmt: skip
    if source == "spawn":
        # A grandchild in a session of its own, whose parent exits at once: as hard to find as they come.
        program = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        program += " start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); print(p.pid)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        on_progress(f"grandchild {done.stdout.strip()}")
        time.sleep(600)
    if source == "die":
        os._exit(3)
    if source == "wrong":
        raise KernelcatError("KC-F001", "no", hint="yes", span=Span(0, 1), source="wrong")
    if source == "bug":
        raise ZeroDivisionError
    print("printed by the core")
    row = {"fact": "executed", "digest": DIGEST, "target": "c", "device": "CPU", "workload": "", "toolchain": "cc"}
    ok = source != "mismatch"
    message = "" if ok else "KC-N001: output differs"
    return {"ok": ok, "targets": [{"target": "c", "ok": ok, "message": message, "rows": [row], "max_error": 0.0}]}


def build(source: str, target: str, shapes: Answer, config: Answer | None, opt_level: str) -> Answer:
    ok = source != "reject"
    row = {"fact": "compiled", "digest": DIGEST, "target": target, "toolchain": "cc"}
    error = None if ok else {"code": "KC-B001", "message": "rejected", "hint": "", "detail": "long"}
    return {
        "ok": ok, "source": "int x;", "assembly": "ret", "log": "a warning\nanother", "resources": {"registers": 3},
        "rows": [row], "seconds": 0.1, "facts": ["compiled"], "error": error, "files": {},
    }  # fmt: skip


def profile(source: str, target: str, shapes: Answer, config: Answer | None) -> Answer:
    return {"ok": True, "median_ms": 1.5, "device": "CPU", "workload": "w", "source_digest": DIGEST, "roofline": {}}
