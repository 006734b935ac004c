"""Every operator of the catalog: its ONNX definition is accepted by the checker and agrees with the oracle."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest

from kernelcat_core.dtypes import BF16, STORAGE_ONLY, DType
from kernelcat_core.formula import Lowered, default_workload, gallery, lower, operators, parse, parse_shape
from kernelcat_core.importers.onnx_definition import DOMAIN, onnx_model, onnx_text
from kernelcat_core.importers.onnx_nodes import ELEMENT_TYPE
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph
from kernelcat_core.numerics.compare import compare_outputs
from kernelcat_core.numerics.distributions import make_inputs

from .onnx_checks import verdict

CATALOG = {entry.name: entry for entry in operators.REGISTRY.values()}
DECLARED = dict.fromkeys(("take", "embedding"), "indices: i64[L]\n")  # standard nodes take integer positions only
GALLERY = {item.slug: item for item in gallery()}


def example(name: str) -> Lowered:
    return lower(parse(DECLARED.get(name, "") + CATALOG[name].example))


def gallery_item(slug: str) -> Lowered:
    return lower(parse(GALLERY[slug].formula), {n: parse_shape(t) for n, t in GALLERY[slug].shapes.items()})


def ort_value(runtime: Any, dtype: DType, values: np.ndarray) -> Any:
    """The memory of `values` for onnxruntime, which knows the types that NumPy lacks by their number only."""
    if dtype in STORAGE_ONLY or dtype == BF16:
        raw = values.view(f"u{values.itemsize}")
        return runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, ELEMENT_TYPE[dtype])
    return runtime.OrtValue.ortvalue_from_numpy(values)


def agrees(
    source: Lowered | Graph, graph: Graph, sizes: dict[str, int], distribution: str = "normal"
) -> onnx.ModelProto:
    model = onnx_model(source)
    found = verdict(model, graph, make_inputs(graph, sizes, 0, distribution))
    assert found.ok, found.message
    assert found.unstable < max(1, found.checked)
    return model


@pytest.mark.parametrize("name", CATALOG)
def test_definition(name: str) -> None:
    lowered = example(name)
    verify_graph(lowered.graph)
    model = agrees(lowered, lowered.graph, default_workload(lowered))
    assert lowered.call is not None, "an example is one call"
    (last,) = (n for n in model.graph.node if n.op_type != "Constant")
    hint = CATALOG[name].onnx
    if hint is not None and hint.applies(lowered.call.arguments):
        assert (last.domain, last.op_type) == (hint.domain, hint.op_type)
        assert not model.functions
    else:
        assert (last.domain, last.op_type) == (DOMAIN, name)
        assert [f.name for f in model.functions] == [name]
        assert {n.domain for n in model.functions[0].node} == {""}
    assert last.op_type in onnx_text(lowered)


@pytest.mark.parametrize("name", CATALOG)
def test_primitives_of_an_operator_as_standard_nodes(name: str) -> None:
    """The same operator as a bare graph, which has to do without its standard node."""
    lowered = example(name)
    # offsets that are whole numbers put every sample of a deformed window on the jump of a floor
    agrees(lowered.graph, lowered.graph, default_workload(lowered), "normal" if name == "deform_conv2d" else "ties")


@pytest.mark.parametrize("slug", GALLERY)
def test_gallery(slug: str) -> None:
    lowered = gallery_item(slug)
    verify_graph(lowered.graph)
    agrees(lowered, lowered.graph, default_workload(lowered))


def test_text_is_fast_enough_for_a_preview() -> None:
    items = [gallery_item(slug) for slug in GALLERY]
    onnx_text(items[0])  # imports onnx
    slowest = 0.0
    for lowered in items:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            onnx_text(lowered)
            times.append(time.perf_counter() - start)
        slowest = max(slowest, min(times))
    assert slowest < 0.04


@pytest.mark.parametrize("name", [*CATALOG, *GALLERY])
def test_another_runtime_gives_the_same(name: str) -> None:
    """onnxruntime, which shares no code with the reference evaluator or with the oracle."""
    runtime = pytest.importorskip("onnxruntime")
    lowered = example(name) if name in CATALOG else gallery_item(name)
    inputs = make_inputs(lowered.graph, default_workload(lowered))
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(onnx_model(lowered).SerializeToString(), options)
    exact = evaluate(lowered.graph, inputs, precision="float64")
    tensors, binding = lowered.graph.tensors, session.io_binding()
    values = {n: np.empty(v.shape, tensors[n].dtype.numpy) for n, v in exact.items()}
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, ort_value(runtime, tensors[name].dtype, value))
    for name, value in values.items():
        binding.bind_ortvalue_output(name, ort_value(runtime, tensors[name].dtype, value))
    session.run_with_iobinding(binding)
    for output, value in values.items():
        if value.dtype.kind != "f":
            assert compare_outputs(lowered.graph, inputs, values).ok
            continue
        # not within our bounds: it takes exp(x) - 1 for ELU and folds batch normalisation into one scale and shift
        atol = 1e-5 * float(np.nanmax(np.abs(exact[output]), initial=1.0))
        rtol = max(1e-4, float(np.finfo(value.dtype).eps))
        np.testing.assert_allclose(value, exact[output], rtol=rtol, atol=atol)
