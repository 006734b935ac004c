"""Whether the functional models catch what was planted: passed means caught, by its rule and with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernelcat_core.conformance.twins import cuda, listed

MODELS = ("cuda", *listed.TWINS)


def run(only: str = "", progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Every planted fault of the models whose name holds `only`. Raises KC-B001, KC-B002, KC-B003."""
    outcomes: list[dict[str, Any]] = []
    for model in MODELS:
        if only in model:
            outcomes += _cuda() if model == "cuda" else _listed(model)
            if progress is not None:
                progress(f"{model}: {sum(o['model'] == model for o in outcomes)} faults")
    failed = sum(not o["passed"] for o in outcomes)
    return {"suite": "twins", "passed": len(outcomes) - failed, "failed": failed, "total": len(outcomes), "outcomes": outcomes}


def _cuda() -> Iterator[dict[str, Any]]:
    for kernel, (rule, words) in cuda.FAULTS.items():
        said = cuda.planted(kernel)
        yield _outcome("cuda", kernel, rule, said, said.startswith(rule) and words in said and kernel in said)
    for name, (grid, block, dynamic, rule) in cuda.LAUNCHES.items():
        said = cuda.launch("plain", grid, block, dynamic)[0]
        yield _outcome("cuda", name, rule, said, said.startswith(rule))


def _listed(model: str) -> Iterator[dict[str, Any]]:
    for number, case in enumerate(listed.cases(model), 1):
        yield _outcome(model, f"{number}: {case.rule}, line {case.line}", case.rule, case.said, case.caught)


def _outcome(model: str, name: str, rule: str, said: str, passed: bool) -> dict[str, Any]:
    return {"model": model, "name": name, "rule": rule, "said": said, "passed": passed}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """How many each model caught, then what was missed."""
    for model in dict.fromkeys(o["model"] for o in report["outcomes"]):
        of = [o["passed"] for o in report["outcomes"] if o["model"] == model]
        yield f"{model}: {sum(of)} of {len(of)} planted faults caught"
    for o in report["outcomes"]:
        if not o["passed"]:
            yield f"missed: {o['model']} {o['name']}: {o['said'] or 'nothing said'}"
