"""The corpus: formulas over every kernel class, kept as data, that targets are tried on."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from kernelcat_core import api
from kernelcat_core.errors import KernelcatError


@dataclass(frozen=True)
class Entry:
    """A formula with shapes ("64x128:f32") for its inputs; `kernel_class` is what it is there for."""

    name: str
    kernel_class: str
    formula: str
    shapes: Mapping[str, str]


@lru_cache(maxsize=1)
def corpus() -> tuple[Entry, ...]:
    """Every entry: the gallery, then corpus.toml."""
    text = resources.files(__package__).joinpath("corpus.toml").read_text(encoding="utf-8")
    shown = tuple(Entry(g["slug"], "gallery", g["formula"], g["shapes"]) for g in api.gallery())
    kept = tuple(Entry(name, e["class"], e["formula"], e["shapes"]) for name, e in tomllib.loads(text).items())
    return shown + kept


def run(targets: Sequence[str] = ("c",), only: str = "", progress: Callable[[str], None] | None = None, seeds: int = 3
        ) -> dict[str, Any]:
    """Check every entry whose name holds `only` on `targets`. What a target cannot express (KC-R001) is counted as refused."""
    outcomes: list[dict[str, Any]] = []
    for entry in corpus():
        if only not in entry.name:
            continue
        try:
            rows = api.check(entry.formula, targets, entry.shapes, seeds)["targets"]
            found = [(t["target"], t["ok"], t["message"]) for t in rows]
        except KernelcatError as error:
            found = [(t, False, str(error)) for t in targets]
        for target, ok, message in found:
            outcomes.append({"name": entry.name, "class": entry.kernel_class, "target": target, "passed": ok,
                             "refused": not ok and "KC-R001" in message, "reason": "" if ok else message})
        if progress is not None:
            progress(f"{entry.name}: " + ", ".join(f"{t} {'ok' if ok else message}" for t, ok, message in found))
    return {"suite": "corpus", "total": len(outcomes), "passed": sum(o["passed"] for o in outcomes),
            "refused": sum(o["refused"] for o in outcomes),
            "failed": sum(not o["passed"] and not o["refused"] for o in outcomes), "outcomes": outcomes}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Totals, then what did not pass and why, for people."""
    yield f"{report['passed']} of {report['total']} passed, {report['refused']} refused, {report['failed']} failed"
    for o in report["outcomes"]:
        if not o["passed"]:
            yield f"{'refused' if o['refused'] else 'FAILED'} {o['name']} on {o['target']}: {o['reason']}"
