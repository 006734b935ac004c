"""What a benchmark says of limits and of peers that are not there."""

from __future__ import annotations

import importlib.util

import pytest

from kernelcat_core.bench.run import absent, limited, run
from kernelcat_core.errors import KernelcatError
from kernelcat_core.runtime.device import Peaks
from kernelcat_core.runtime.measure import Work
from kernelcat_core.terminal import bench as printed

PEAKS = Peaks(1e9, 1e12, 1e12, 1e12, 1 << 20, 1 << 25, 2)  # a probe on a busy machine: 1 GFLOP/s


def row(name: str, ours_ms: float) -> dict[str, object]:
    return {"name": name, "ours_ms": ours_ms, "peers": {}, "best": None, "ratio": None, "ratio_low": None, "ratio_high": None,
            "limit_ratio": None, "skipped": {"numpy": "LookupError: NumPy has no single call for this"}}


def test_no_row_is_beyond_a_limit_that_a_row_itself_disproves() -> None:
    rows = [(row("fast", 1.0), Work(100, 3_000_000)), (row("slow", 1.0), Work(100, 1_500_000))]
    assert [r["limit_ratio"] for r in limited(rows, PEAKS)] == [pytest.approx(1.0), pytest.approx(0.5)]


def test_an_unknown_row_is_an_error() -> None:
    with pytest.raises(KernelcatError) as caught:
        run("cpu", only="no such row")
    assert caught.value.code == "KC-F005" and "softmax 4096x1024" in caught.value.hint


def test_absent_peers_have_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    text = printed({"rows": [row("softmax", 1.0)], "geomean_ratio": None, "absent": absent()})
    assert "torch: not compared: not installed" in text and "softmax: without numpy: LookupError" in text
