"""One table of error codes: each is documented, used, and triggered by a test."""

from __future__ import annotations

import re

import pytest

from kernelcat_core.errors import CODES, KernelcatError
from tests.architecture.tree import ROOT, files, place, source_folders

CODE = re.compile(r"KC-[A-Z]\d{3}")
PAGE = ROOT / "docs" / "errors.md"
STAGES = {
    "B": "Build: compiling the generated source", "F": "Formula: the text you typed",
    "G": "Graph: what the formula means", "I": "Import: models and native source",
    "M": "Measure: running a kernel", "N": "Numerics: comparing with the oracle",
    "R": "Render: writing source for a target", "S": "Schedule: targets, knobs, tile programs",
    "W": "Web: requests, jobs, sign-in", "X": "Our machine failed: not your kernel's fault",
}


def page() -> str:
    """docs/errors.md as the table gives it."""
    lines = ["# Error codes", "", "Written from the table in kernelcat_core/errors.py (`make golden`).", ""]
    for letter in sorted({code[3] for code in CODES}):
        lines += [f"## {STAGES[letter]}", "", "| code | meaning |", "|---|---|"]
        lines += [f"| {code} | {meaning} |" for code, meaning in CODES.items() if code[3] == letter]
        lines.append("")
    return "\n".join(lines)


def test_every_code_has_a_line_in_the_docs(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "run `make golden`"


def test_codes_are_sorted_within_the_table() -> None:
    assert list(CODES) == sorted(CODES)


def test_every_code_in_the_source_is_in_the_table() -> None:
    used = {code for folder in source_folders() for path in files(".py", ".h", ".c", under=folder)
            for code in CODE.findall(path.read_text())}
    assert used - set(CODES) == set()


def test_every_code_is_raised_somewhere() -> None:
    used = {code for folder in source_folders() for path in files(".py", ".h", ".c", under=folder)
            if place(path) != "kernelcat_core/errors.py" for code in CODE.findall(path.read_text())}
    assert set(CODES) - used == set()


def test_every_code_has_a_test() -> None:
    tested = {code for path in files(".py", under="tests") for code in CODE.findall(path.read_text())}
    assert set(CODES) - tested == set()


def test_an_unknown_code_is_refused() -> None:
    with pytest.raises(AssertionError):
        KernelcatError("KC-" + "Z999", "no such code")
