"""The functional model of BANG C refuses every planted fault, by name and line, and accepts sound text."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

TWIN = Path(__file__).parents[4] / "kernelcat_core/backends/bangc/twin"
FAULTS = Path(__file__).parent / "faults.cpp"


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("twin") / "faults.so"
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-O0",
            "-shared",
            "-fPIC",
            "-ldl",
            f"-I{TWIN}",
            str(FAULTS),
            "-o",
            str(library),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    loaded = ctypes.CDLL(str(library))
    for name in ("case_rule", "error_text"):
        getattr(loaded, name).restype = ctypes.c_char_p
    return loaded


def test_every_planted_fault_is_refused_by_its_rule(faults: ctypes.CDLL) -> None:
    wrong = []
    for i in range(faults.case_count()):
        status = faults.run_case(i)
        said = faults.error_text().decode()
        wanted = f"[{faults.case_rule(i).decode()}] line {faults.case_line(i)}:"
        if status != 1 or not said.startswith(wanted):
            wrong.append((wanted, status, said))
    assert not wrong
    assert faults.case_count() >= 50


def test_faults_cover_every_rule_that_the_model_knows(faults: ctypes.CDLL) -> None:
    import re

    text = "".join(p.read_text() for p in TWIN.glob("*.h"))
    known = set(re.findall(r'(?:fail|check)\([^;\n]*?"([a-z]+(?:-[a-z]+)*)", (?:line|0|[a-z]\.line)', text))
    known |= {"nram-budget", "wram-budget", "sram-budget", "nram-bounds", "wram-bounds", "sram-bounds", "dtype", "task-race"}
    planted = {faults.case_rule(i).decode() for i in range(faults.case_count())}
    assert known - planted == {"not-modelled"}


def test_sound_text_is_accepted_and_its_values_are_right(faults: ctypes.CDLL) -> None:
    out = np.zeros(1024, np.float32)
    status = faults.run_sound(out.ctypes.data_as(ctypes.c_void_p))
    assert status == 0, faults.error_text().decode()
    np.testing.assert_allclose(out, 256.0, rtol=1e-6)
