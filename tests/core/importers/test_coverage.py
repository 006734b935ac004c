"""What is imported, as docs/coverage.md says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelcat_core import __main__ as command
from kernelcat_core.importers import coverage

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"


def test_the_page_is_what_the_tables_give(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(coverage.page())
    assert PAGE.read_text() == coverage.page(), "run `make golden`"


def test_every_operator_is_accounted_for_once() -> None:
    entries = coverage.onnx()
    assert len({(e.domain, e.name) for e in entries}) == len(entries)
    assert sum(coverage.totals(entries)[how] for how in coverage.HOWS) == len(entries)
    assert all(e.note for e in entries if e.how == "refused")


@pytest.mark.parametrize(("name", "how"), [("Conv", "formula"), ("If", "host"), ("MeanVarianceNormalization", "function"),
                                           ("ImageDecoder", "refused")])
def test_operators_are_imported_as_expected(name: str, how: str) -> None:
    assert {e.how for e in coverage.onnx() if e.name == name} == {how}


def test_the_command_prints_totals_and_operators(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["coverage", "onnx"]) == 0
    text = capsys.readouterr().out
    assert "formula" in text.splitlines()[0] and "ai.onnx.Conv: formula" in text


def test_the_command_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["coverage", "onnx", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["totals"]["total"] == len(report["operators"]) > 200


def test_the_suite_prints_totals_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["conformance", "onnx", "--only", "test_abs"]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 passed")
