"""Small models that come with the ONNX package: exports of PyTorch modules and operators, and models by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from kernelcat_core.conformance.onnx_suite import difference
from kernelcat_core.pipeline.network.model import OnnxNetwork

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data"
MODELS = sorted(p.parent for suite in ("pytorch-converted", "pytorch-operator", "simple")
                for p in (FOLDER / suite).glob("*/model.onnx") if "strnorm" not in str(p) and "gradient" not in str(p))


def arrays(folder: Path, stem: str) -> list[Any]:
    """The tensors stem_0.pb, stem_1.pb .. of a data set."""
    found = []
    for k in range(len(list(folder.glob(f"{stem}_*.pb")))):
        proto = onnx.TensorProto()
        proto.ParseFromString((folder / f"{stem}_{k}.pb").read_bytes())
        found.append(numpy_helper.to_array(proto))
    return found


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_model(folder: Path) -> None:
    model = onnx.load(str(folder / "model.onnx"))
    own = {i.name for i in model.graph.initializer}
    network = OnnxNetwork(model, threads=1, opt_level="O1")
    sets = sorted(folder.glob("test_data_set_*"))
    assert sets
    for each in sets:
        inputs = arrays(each, "input")
        every = [i.name for i in model.graph.input]
        names = every if len(inputs) == len(every) else [n for n in every if n not in own]
        made = network(dict(zip(names, inputs, strict=True)))
        for got, wanted in zip(made.values(), arrays(each, "output"), strict=True):
            assert difference(got, np.asarray(wanted), 1e-3, 1e-5) == ""
