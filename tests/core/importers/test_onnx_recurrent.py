"""RNN, GRU and LSTM with every option, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from kernelcat_core.pipeline.network.model import OnnxNetwork

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def model(op: str, direction: str, names: dict[str, np.ndarray[Any, Any]], attributes: dict[str, Any]) -> Any:
    order = ["x", "w", "r", "b", "lengths", "h", "c", "p"]
    inputs = [n if n in names else "" for n in order[:8 if op == "LSTM" else 6]]
    while not inputs[-1]:
        inputs.pop()
    outputs = ["y", "yh", "yc"][:3 if op == "LSTM" else 2]
    node = helper.make_node(op, inputs, outputs, hidden_size=HIDDEN, direction=direction, **attributes)
    kinds = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in names.items()]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    return helper.make_model(helper.make_graph([node], "g", kinds, made), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 14)])


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op", "options", "attributes"), [
    ("LSTM", "bhcp", {}), ("LSTM", "bl", {}), ("LSTM", "b", {"input_forget": 1, "clip": 0.5}),
    ("LSTM", "bh", {"activations": ["HardSigmoid", "Softsign", "Tanh"]}),
    ("GRU", "bh", {}), ("GRU", "bl", {"linear_before_reset": 1}), ("GRU", "l", {}), ("GRU", "b", {"linear_before_reset": 1}),
    ("RNN", "bhl", {}), ("RNN", "b", {"activations": ["Relu"]}),
])
def test_agrees_with_onnxruntime(op: str, options: str, attributes: dict[str, Any], direction: str) -> None:
    draw = np.random.default_rng(3)
    sides, gates = 1 + (direction == "bidirectional"), GATES[op]
    if "activations" in attributes:
        attributes = {"activations": attributes["activations"] * sides}

    def some(*shape: int) -> Any:
        return draw.normal(0, 0.6, shape).astype(np.float32)

    names = {"x": some(STEPS, BATCH, WIDTH), "w": some(sides, gates*HIDDEN, WIDTH), "r": some(sides, gates*HIDDEN, HIDDEN)}
    if "b" in options:
        names["b"] = some(sides, 2*gates*HIDDEN)
    if "l" in options:
        names["lengths"] = np.asarray([5, 2, 3], np.int32)
    if "h" in options:
        names["h"] = some(sides, BATCH, HIDDEN)
    if "c" in options:
        names["c"] = some(sides, BATCH, HIDDEN)
    if "p" in options:
        names["p"] = some(sides, 3*HIDDEN)
    proto = model(op, direction, names, attributes)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, names)
    network = OnnxNetwork(proto, threads=1, opt_level="O1")
    for got, expected in zip(network(names).values(), wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)


def test_all_steps_are_the_same_kernels() -> None:
    draw = np.random.default_rng(5)
    names = {"x": draw.normal(size=(12, BATCH, WIDTH)).astype(np.float32),
             "w": draw.normal(size=(1, 4*HIDDEN, WIDTH)).astype(np.float32),
             "r": draw.normal(size=(1, 4*HIDDEN, HIDDEN)).astype(np.float32)}
    network = OnnxNetwork(model("LSTM", "forward", names, {}), threads=1, opt_level="O1")
    network(names)
    (ready,) = next(iter(network._ready.values()))
    kernels = {m.digest for m in ready.plan.modules}
    assert len(kernels) <= 12, f"{len(kernels)} kernels for {len(ready.plan.modules)} steps"
