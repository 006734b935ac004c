"""KC_DEBUG and KC_DUMP show every hop."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcat_core.pipeline import hops


def test_dump_writes_one_file_a_hop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("KC_DUMP", str(tmp_path))
    monkeypatch.setenv("KC_DEBUG", "2")
    a = hops.analyse("Y[i] = 3*X[i] + 0.125")
    r = hops.render(a.graph, "c")
    stages = sorted(p.name.split("-")[1] for p in tmp_path.iterdir())
    assert stages == ["formula", "graph", "source", "tile"]
    assert any(p.read_text() == r.source.text for p in tmp_path.iterdir())
    err = capsys.readouterr().err
    assert a.graph.text in err and "kc: source for c" in err and r.source.text not in err
