"""The ONNX node suite: what passed once passes. `make conformance` runs every case, other runs a fixed spread of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcat_core.conformance import onnx_suite

STORED = Path(__file__).with_name("onnx_passing.txt")
SPREAD = 400


def stored() -> list[str]:
    """Names of the cases that pass."""
    return STORED.read_text().split()


def spread(names: list[str], count: int) -> list[str]:
    """About `count` names, evenly over the list, so that every family is there."""
    return names[::max(1, len(names) // count)]


def test_the_list_is_sorted_and_every_case_still_exists() -> None:
    names = stored()
    assert names == sorted(set(names))
    assert set(names) <= set(onnx_suite.case_names())


def test_the_list_holds_more_than_the_goal() -> None:
    assert len(stored()) >= 1588, "onnxruntime passes as many"


def test_what_passed_once_passes(pytestconfig: pytest.Config) -> None:
    every = pytestconfig.getoption("--all-cases")
    if every and pytestconfig.getoption("--update-golden"):
        made = onnx_suite.run()
        STORED.write_text("".join(f"{o['name']}\n" for o in made["outcomes"] if o["passed"]))
    names = stored() if every else spread(stored(), SPREAD)
    report = onnx_suite.run(exact=names)
    assert list(onnx_suite.failures(report["outcomes"])) == []
    assert report["total"] == len(names)


def test_a_wrong_result_fails_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.importers.onnx_model.node import TABLE

    monkeypatch.setitem(TABLE, ("", "Abs"), {1: lambda n: n.formula("y = -x", x=n.x())})
    (case,) = (c for name, c in onnx_suite._cases().items() if name == "test_abs")
    assert "elements differ" in onnx_suite.outcome(case).reason
