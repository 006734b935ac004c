"""Runs models in ONNX's reference evaluator and holds them against the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.checker
from onnx.reference import ReferenceEvaluator

from kernelcat_core.ir.graph import Graph
from kernelcat_core.numerics.compare import Verdict, compare_outputs


def run(model: onnx.ModelProto, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    """Outputs by name, after the checker (with shape inference) has accepted the model."""
    onnx.checker.check_model(model, full_check=True)
    names = [o.name for o in model.graph.output]
    with np.errstate(all="ignore"):
        values = ReferenceEvaluator(model).run(None, inputs)
    return {n: np.asarray(v) for n, v in zip(names, values, strict=True)}


def verdict(model: onnx.ModelProto, graph: Graph, inputs: dict[str, Any]) -> Verdict:
    """The comparison of the model's outputs with the oracle."""
    return compare_outputs(graph, inputs, run(model, inputs))
