"""Tensors of storage-only types as tensors of bytes: the same numbers, the same bytes, on the oracle and on a target."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.dtypes import F32, STORAGE_ONLY, U8, DType
from kernelcat_core.ir.expr import loads
from kernelcat_core.ir.graph import Graph, expressions
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph
from kernelcat_core.pipeline.hops import analyse
from kernelcat_core.runtime import toolchain
from kernelcat_core.schedule.lower import lower
from kernelcat_core.schedule.stored import stored_as_bytes
from tests.core.backends.ascendc.emulate import TARGET, Emulated

KEPT = sorted(STORAGE_ONLY, key=str)
Array = np.ndarray


def everything(dtype: DType) -> Array:
    """Every value of the type."""
    if dtype.is_float:
        return np.arange(256, dtype=np.uint8).view(dtype.numpy)
    return (np.arange(16) - (8 if dtype.kind == "i" else 0)).astype(np.int8).astype(dtype.numpy)


def numbers(dtype: DType) -> Array:
    """Its values, midpoints between neighbours and their f32 neighbours, ends, and random ones of every size."""
    values = everything(dtype).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    middles = (values[1:] + values[:-1]) / 2
    rng = np.random.default_rng(0)
    spread = rng.standard_normal(4000) * np.exp2(rng.uniform(-20, 18, 4000))
    ends = [np.inf, -np.inf, np.nan, -0.0, 463.9, 464, 464.1, 61439, 61440, -61441, 3.4e38, -3.4e38, 1e-30, 7.9, 15.6, -8.4]
    near = [np.nextafter(middles, np.float32(side)) for side in (np.inf, -np.inf)]
    return np.concatenate([values, middles, *near, ends, spread]).astype(np.float32)


def graph_of(dtype: DType) -> Graph:
    return analyse(f"X: {dtype}[M]; W: f32[K]; V[i] = f32(X[i]); Y[i] = {dtype}(f32(X[i])); Z[k] = {dtype}(W[k]); "
                   f"R[k] = f32({dtype}(W[k])); P[i in M+1] = where(i < M, X[i], {dtype}(2.0))").graph


def same(found: Array, expected: Array) -> None:
    """Equal numbers, signs of zeros included; any NaN is NaN."""
    a, b = found.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


@pytest.mark.parametrize("dtype", KEPT, ids=str)
def test_the_rewrite_keeps_every_value_and_every_rounding(dtype: DType) -> None:
    graph = graph_of(dtype)
    held = stored_as_bytes(graph)
    verify_graph(held)
    assert not any(e.dtype in STORAGE_ONLY for n in held.nodes for x in expressions(n) for e in (x, *loads(x)))
    x, w = everything(dtype), numbers(dtype)
    expected, found = evaluate(graph, {"X": x, "W": w}), evaluate(held, {"X": x.view(np.uint8), "W": w})
    for name in graph.outputs:
        declared = graph.tensors[name].dtype
        same(found[name].view(declared.numpy), expected[name])


def test_a_graph_without_such_types_is_left_alone() -> None:
    graph = analyse("Y = softmax(X)").graph
    assert stored_as_bytes(graph) == graph


def test_a_module_keeps_its_declaration_and_products_read_decoded_operands() -> None:
    graph = analyse("A: f8e4m3[M, K]\nB: f8e5m2[N, K]\nY[m,n] = f8e4m3(sum[k](A[m,k]*B[n,k]))").graph
    module = lower(graph, TARGET)
    assert [t.dtype.name for t in (*module.inputs, *module.outputs)] == ["f8e4m3", "f8e5m2", "f8e4m3"]
    assert "contraction" in [p.kernel_class for p in module.programs]
    touched = {t.name: t.dtype for p in module.programs for t in (*p.reads, *p.writes)}
    assert touched["A"] == touched["B"] == touched["Y"] == U8
    assert all(t.dtype == F32 for t in module.temporaries)


@pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("dtype", KEPT, ids=str)
def test_every_code_goes_there_and_back_on_a_target_without_the_type(dtype: DType) -> None:
    graph = graph_of(dtype)
    x, w = everything(dtype), numbers(dtype)[::7]
    said, found = Emulated.of(graph).run({"X": x, "W": w}, {"M": len(x), "K": len(w)})
    assert said == ""
    for name, expected in evaluate(graph, {"X": x, "W": w}).items():
        same(found[name], expected)
