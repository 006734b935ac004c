"""The functional model of Ascend C refuses every planted fault, by name and line, and accepts sound text."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.conformance.twins import listed

TWIN = Path(__file__).parents[4] / "kernelcat_core/backends/ascendc/twin"

@pytest.fixture(scope="module")
def faults() -> ctypes.CDLL:
    loaded = listed.library("ascend")
    loaded.to_half.argtypes, loaded.to_half.restype = [ctypes.c_float], ctypes.c_uint16
    return loaded


def test_every_planted_fault_is_refused_by_its_rule() -> None:
    found = list(listed.cases("ascend"))
    assert [case for case in found if not case.caught] == []
    assert len(found) >= 50


def test_faults_cover_every_rule_that_the_model_knows(faults: ctypes.CDLL) -> None:
    import re

    text = "".join(p.read_text() for p in TWIN.glob("*.h"))
    known = set(re.findall(r'fail\((?:from == to \? )?"([a-z-]+)"', text)) | {"pipe-flag"}
    planted = {faults.case_rule(i).decode() for i in range(faults.case_count())}
    assert known - planted == {"not-modelled"}


def test_sound_text_is_accepted_and_its_values_are_right(faults: ctypes.CDLL) -> None:
    out = np.zeros(1024, np.float32)
    status = faults.run_sound(out.ctypes.data_as(ctypes.c_void_p))
    assert status == 0, faults.error_text().decode()
    np.testing.assert_allclose(out, 2.0 / 256, rtol=1e-6)


def test_half_conversion_is_exact_and_rounds_to_even(faults: ctypes.CDLL) -> None:
    assert faults.half_round_trip(0, 0xFFFF) == 0
    values = np.concatenate([np.random.default_rng(0).standard_normal(2000) * 10.0**e for e in range(-9, 6)])
    values = np.concatenate(
        [values, [65519.99, 65520.0, 2.0**-25, 2.0**-24, -0.0, np.inf, -np.inf, 2049.0, 2051.0]]
    )
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float32).astype(np.float16).view(np.uint16)
    assert [faults.to_half(float(v)) for v in values] == wanted.tolist()
