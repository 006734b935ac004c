"""The corpus of formulas: every entry passes on this machine's CPU (gallery entries have tests of their own)."""

from __future__ import annotations

import pytest

from kernelcat_core.conformance import corpus

KEPT = [e for e in corpus.corpus() if e.kernel_class != "gallery"]


def test_the_corpus_covers_every_kernel_class() -> None:
    classes = {e.kernel_class for e in KEPT}
    assert {"elementwise", "row", "whole", "column", "contraction", "attention", "select", "scan", "scatter"} <= classes
    assert len(corpus.corpus()) >= 60


@pytest.mark.parametrize("name", [e.name for e in KEPT])
def test_an_entry_passes_on_c(name: str) -> None:
    (outcome,) = [o for o in corpus.run(("c",), name, seeds=2)["outcomes"] if o["name"] == name]
    assert outcome["passed"], outcome["reason"]
