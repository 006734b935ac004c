"""PyTorch's operator samples: what passed once passes. `make conformance` runs every operator, other runs a fixed spread."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

from kernelcat_core.conformance import torch_samples, torch_suite

STORED = Path(__file__).with_name("torch_passing.txt")
LISTED = Path(__file__).parents[2] / "docs" / "torch_samples.md"
SPREAD = 40


def stored() -> list[tuple[str, str, str]]:
    """(mode, type, operator) of everything that passes."""
    return [(mode, dtype, name) for mode, dtype, name in (line.split() for line in STORED.read_text().splitlines())]


def test_the_list_is_sorted_and_every_operator_still_exists() -> None:
    rows = stored()
    assert rows == sorted(set(rows))
    assert {name for _, _, name in rows} <= set(torch_samples.operator_names())


def test_the_list_holds_more_than_the_goal() -> None:
    assert sum(row[:2] == ("forward", "float32") for row in stored()) >= 200


def test_what_passed_once_passes(pytestconfig: pytest.Config) -> None:
    rows = stored()
    every = pytestconfig.getoption("--all-cases")
    if every and pytestconfig.getoption("--update-golden"):
        made = torch_suite.run()
        keys = sorted(tuple(o["key"].split()) for o in made["outcomes"] if o["passed"])
        STORED.write_text("".join(f"{' '.join(key)}\n" for key in keys))
        LISTED.write_text(torch_suite.markdown(made))
        rows = stored()
    chosen = rows if every else rows[::max(1, len(rows) // SPREAD)]
    found = list(torch_suite.outcomes([(name, mode, dtype) for mode, dtype, name in chosen], None, 2))
    assert [f"{o.key}: {o.reason}" for o in found if not o.passed] == []
    assert len(found) == len(chosen)


def test_a_wrong_result_fails_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.importers.torch_model import run as run  # fills the table
    from kernelcat_core.importers.torch_model.node import TABLE

    monkeypatch.setitem(TABLE, "aten.neg.default", lambda n, x: n.formula("y = x + 1", x=x))
    found = torch_suite.outcome("neg", "forward", "float32")
    assert found.failed == found.samples
    assert "not close" in found.reason or "not equal" in found.reason


def test_an_operator_without_a_mapping_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.importers.torch_model import run as run
    from kernelcat_core.importers.torch_model.node import TABLE

    monkeypatch.delitem(TABLE, "aten.sort.stable", raising=False)
    monkeypatch.delitem(TABLE, "aten.sort.default")
    found = torch_suite.outcome("msort", "forward", "float32")
    assert found.unmapped
    assert "aten.sort" in found.reason
