"""One case of an operator: a formula, its inputs, and an independent implementation of the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import torch
from onnx.reference import ReferenceEvaluator

from tests.core.formula.running import Array, normal, run

Case = tuple[str, dict[str, Any], Callable[..., Any]]
"""Text, inputs (arrays, or shapes of normal numbers), and a function of torch tensors."""


def agrees(case: Case, rtol: float = 2e-5, atol: float = 2e-5) -> None:
    """The oracle's value of the formula has the shape, the kind and the elements of the other implementation's."""
    text, inputs, expected = case
    arrays = {n: normal(*v, seed=k) if isinstance(v, tuple) else np.asarray(v) for k, (n, v) in enumerate(inputs.items())}
    wanted = np.asarray(expected(*(torch.tensor(a) for a in arrays.values())))
    found = run(text, **arrays)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def _model(op_type: str, inputs: tuple[Any, ...], attributes: dict[str, Any], outputs: int, opset: int) -> tuple[Any, Any]:
    arrays = [None if a is None else np.asarray(a) for a in inputs]
    names = ["" if a is None else f"i{k}" for k, a in enumerate(arrays)]
    node = oh.make_node(op_type, names, [f"y{k}" for k in range(outputs)], **attributes)
    given = {n: a for n, a in zip(names, arrays) if a is not None}
    infos = [oh.make_tensor_value_info(n, oh.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)) for n, a in given.items()]
    graph = oh.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=f"y{k}") for k in range(outputs)])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=10), given


def reference(op_type: str, *inputs: Any, opset: int = 22, output: int = 0, outputs: int = 1, **attributes: Any) -> Array:
    """A node in ONNX's reference evaluator."""
    model, given = _model(op_type, inputs, attributes, outputs, opset)
    return np.asarray(ReferenceEvaluator(model).run(None, given)[output])


def onnxruntime(op_type: str, *inputs: Any, opset: int = 21, **attributes: Any) -> Array:
    """A node in onnxruntime."""
    import onnxruntime as runtime

    model, given = _model(op_type, inputs, attributes, 1, opset)
    return np.asarray(runtime.InferenceSession(model.SerializeToString()).run(None, given)[0])
