"""Names and free text resolved to operators; the catalogue; the gallery; default workloads."""

from __future__ import annotations

import time

import pytest

from kernelcat_core import formula as language
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.language import resolve
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.verify import verify_graph


@pytest.mark.parametrize(("name", "text", "operator"), [
    ("softmax", "", "softmax"), ("sparse_attn", "", "sparse_attention"), ("myLayerNorm", "", "layer_norm"),
    ("fused_kernel", "Block sparse attention over query, key, value", "sparse_attention"), ("Conv3D", "", "conv3d"),
    ("ballQueryKernel", "", "ball_query"), ("k", "matrix product as a gemm", "matmul")])
def test_resolve(name: str, text: str, operator: str) -> None:
    assert resolve(name, text).name == operator


def test_resolve_says_what_is_missing() -> None:
    with pytest.raises(KernelcatError) as caught:
        resolve("frobnicate", "turns knobs")
    assert caught.value.code == "KC-F004" and caught.value.hint


@pytest.mark.parametrize("entry", language.operators_catalog(), ids=lambda e: e.name)
def test_every_example_of_the_catalogue_lowers(entry: language.CatalogEntry) -> None:
    lowered = language.lower(language.parse(entry.example))
    verify_graph(lowered.graph)
    sizes = language.default_workload(lowered)
    lowered.check(sizes)
    assert all(evaluate(d, sizes) >= 1 for t in lowered.graph.tensors.values() for d in t.shape)


@pytest.mark.parametrize("item", language.gallery(), ids=lambda g: g.slug)
def test_gallery(item: language.GalleryItem) -> None:
    shapes = {n: language.parse_shape(s) for n, s in item.shapes.items()}
    formula = language.parse(item.formula)
    lowered = language.lower(formula, shapes)
    verify_graph(lowered.graph)
    assert set(shapes) == {t.name for t in lowered.graph.inputs}
    assert set(lowered.bindings) >= set(lowered.graph.size_names)
    lowered.check(lowered.bindings)
    # shapes check a formula; they do not change its graph
    assert language.lower(formula).graph.digest == lowered.graph.digest
    assert language.parse(language.print_formula(formula)) == formula


def test_gallery_is_fast() -> None:
    for item in language.gallery():
        best = 1.0
        for _ in range(5):
            start = time.perf_counter()
            language.lower(language.parse(item.formula))
            best = min(best, time.perf_counter() - start)
        assert best < 0.05, item.slug  # 10 ms on a quiet machine


@pytest.mark.parametrize(("text", "shown"), [("4096x1024:f32", "4096x1024:f32"), ("scalar:i32", "scalar:i32"), ("MxK", "MxK"),
                                             ("8:f16", "8:f16"), ("[2, 3]", "2x3")])
def test_shapes(text: str, shown: str) -> None:
    assert str(language.parse_shape(text)) == shown


@pytest.mark.parametrize("text", ["4xx2", "8:f31", "3.5", "-1x2", "x"])
def test_wrong_shapes(text: str) -> None:
    with pytest.raises(KernelcatError) as caught:
        language.parse_shape(text)
    assert caught.value.code == "KC-F020"


def test_one_operator_call_is_recognised() -> None:
    call = language.lower(language.parse("Y = softmax(X, axis=1)")).call
    assert call is not None and call.operator.name == "softmax"
    assert call.tensors == {"x": "X"} and call.arguments["axis"] == 1
    assert call.operator.onnx is not None and call.operator.onnx.attributes(call.arguments) == {"axis": 1}
    assert language.lower(language.parse("Y = softmax(X, axis=1)*2")).call is None
    assert language.lower(language.parse("Y = softmax(X*2.0 + Z, axis=1); X: f32[2,3]; Z: f32[3]")).call is None
