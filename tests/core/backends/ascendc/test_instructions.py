"""The instruction table says only what the functional model has, and every row that it names is reachable."""

from __future__ import annotations

import re
from pathlib import Path

from kernelcat_core.backends.ascendc.instructions import TABLE
from kernelcat_core.dtypes import DTYPES
from kernelcat_core.ir.expr import OPS

TWIN = Path(__file__).parents[4] / "kernelcat_core/backends/ascendc/twin"


def test_rows_are_unique_and_speak_of_known_operations_and_dtypes() -> None:
    keys = [(r.kind, r.op, r.dtype, r.to) for r in TABLE.rows]
    assert len(set(keys)) == len(keys)
    for r in TABLE.rows:
        assert r.op in OPS or r.kind in ("reduce", "fused")
        assert r.dtype in DTYPES
        assert r.source in ("API", "MATH")
    assert set(OPS) >= TABLE.scalar_ops


def test_every_instruction_is_one_that_the_model_has() -> None:
    text = "".join(p.read_text() for p in TWIN.glob("*.h"))
    for r in TABLE.rows:
        name = r.name
        if r.kind == "compare":
            assert re.search(rf"\bCMPMODE::{name}\b|\b{name}\b", text), r
        else:
            assert re.search(rf"\bvoid {name}\(|KC_TWIN_\w+\({name},", text), r
        assert r.mode == "" or r.mode in text, r


def test_lookups_tell_scalar_forms_and_casts_apart() -> None:
    add = TABLE.find("scalar", "add", "f32")
    assert add is not None
    assert add.name == "Adds"
    assert TABLE.any("add", "f32") is not None
    assert TABLE.any("add", "bf16") is None  # no bf16 arithmetic on this core
    assert TABLE.find("cast", "cast", "f32", "f16") is not None
    assert TABLE.find("cast", "cast", "u8", "f32") is None  # goes through f16
    assert TABLE.find("compare", "lt", "i32") is None  # int32 knows EQ only
