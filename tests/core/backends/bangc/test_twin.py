"""The functional model of BANG C refuses every planted fault, by name and line, and accepts sound text."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.conformance.twins import listed

TWIN = Path(__file__).parents[4] / "kernelcat_core/backends/bangc/twin"

@pytest.fixture(scope="module")
def faults() -> ctypes.CDLL:
    return listed.library("cambricon")


def test_every_planted_fault_is_refused_by_its_rule() -> None:
    found = list(listed.cases("cambricon"))
    assert [case for case in found if not case.caught] == []
    assert len(found) >= 50


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
