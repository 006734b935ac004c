"""Kernels in OpenCL C, really run by PoCL, against the float64 oracle: odd sizes, 0, 1, extreme values, every dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from kernelcat_core.backends.opencl.renderer import render
from kernelcat_core.errors import Failure
from kernelcat_core.ir import interpreter
from kernelcat_core.ir.graph import Graph
from tests.core.backends.cuda.emulate import graph_of
from tests.core.backends.cuda.test_kernels import FORMULAS, SIZES, TOLERANCE, data
from tests.core.backends.opencl.pocl_run import AVAILABLE, GENERIC, Array, Executed, module_of

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no PoCL")


def check(graph: Graph, kernel: Executed, sizes: Mapping[str, int], inputs: Mapping[str, Array], tolerance: float) -> None:
    expected = interpreter.evaluate(graph, inputs, dict(sizes), "float64")
    for name, array in kernel.run(inputs, sizes).items():
        want = np.asarray(expected[name])
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(array, want)
        else:
            np.testing.assert_allclose(array.astype(np.float64), want, rtol=tolerance, atol=tolerance * 8)


# Every text takes PoCL a second or two: what differs from CUDA's text is tried here, the corpus has the rest.
@pytest.mark.parametrize(
    ("name", "dtype"), [("softmax", "f32"), ("softmax", "f16"), ("extremes", "f32"), ("total", "f32"), ("gather", "f32")]
)
def test_formulas(name: str, dtype: str) -> None:
    graph = graph_of(FORMULAS[name].format(t=dtype))
    kernel = Executed(module_of(graph))
    for sizes in SIZES:
        if name == "extremes" and sizes["N"] == 0:
            continue
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f32", "f64", "i8"])
def test_matrix_products(dtype: str) -> None:
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Executed(module_of(graph, {"C.BM": 32, "C.BN": 32}))
    for m, k, n in ((1, 1, 1), (37, 53, 70), (5, 0, 4), (0, 3, 4), (64, 48, 72)):
        sizes = {"M": m, "K": k, "N": n}
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE.get(dtype, 0) * max(1, k) ** 0.5)


def test_extreme_values() -> None:
    graph = graph_of(
        "X: f32[M,N]; Y[i] = max[k](X[i,k]); Z[i,j] = sqrt(X[i,j]) + 1/X[i,j] + tanh(X[i,j]); P[i] = argmax[k](X[i,k])"
    )
    kernel = Executed(module_of(graph))
    sizes = {"M": 3, "N": 65}
    for values in ((np.inf, 1.0), (-np.inf, -np.inf), (np.nan, 0.0), (3e38, 3e38), (1e-45, -0.0)):
        x = data(graph, sizes)["X"]
        x[0, 7], x[1, 64] = values
        x[2] = values[0]
        got = kernel.run({"X": x}, sizes)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got["Y"], x.max(axis=1))
            np.testing.assert_allclose(got["Z"], np.sqrt(x) + 1 / x + np.tanh(x), rtol=1e-6)
        np.testing.assert_array_equal(got["P"], x.argmax(axis=1))


def test_sixteen_bits_to_f32_and_back() -> None:
    """Every pattern; a NaN stays one."""
    graph = graph_of("X: f16[M]; V: bf16[M]; Y[i] = f32(X[i]); W[i] = f32(V[i]); Z[i] = f16(f32(X[i])); U[i] = bf16(f32(V[i]))")
    patterns = np.arange(1 << 16, dtype=np.uint16)
    types = {t.name: t.dtype.numpy for t in graph.inputs}
    x, v = patterns.view(types["X"]), patterns.view(types["V"])
    made = Executed(module_of(graph)).run({"X": x, "V": v}, {"M": len(x)})
    for result, source in (("Y", x), ("W", v), ("Z", x), ("U", v)):
        np.testing.assert_array_equal(made[result].astype(np.float32), source.astype(np.float32))


def test_rounding_to_f16() -> None:
    """To nearest even, overflow to infinity, subnormals kept."""
    graph = graph_of("X: f32[M]; Z[i] = f16(X[i])")
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(4096) * 10.0 ** rng.integers(-9, 6, 4096)).astype(np.float32)
    x[:4] = 65519.0, 65520.0, 2.0**-25, np.nextafter(np.float32(2.0**-25), 1)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(Executed(module_of(graph)).run({"X": x}, {"M": 4096})["Z"], x.astype(np.float16))


def test_types_that_are_only_stored() -> None:
    graph = graph_of("X: f8e4m3[M]; I: i4[K]; Y[i] = f32(X[i]); Z[i] = f8e4m3(f32(X[i])); J[i] = i4(f32(I[i]))")
    types = {t.name: t.dtype.numpy for t in graph.inputs}
    x = np.arange(256, dtype=np.uint8).view(types["X"])
    i = np.arange(-8, 8, dtype=np.int16).astype(types["I"])
    made = Executed(module_of(graph)).run({"X": x, "I": i}, {"M": 256, "K": 16})
    for result, source in (("Y", x), ("Z", x), ("J", i)):
        np.testing.assert_array_equal(made[result].astype(np.float32), source.astype(np.float32))


def test_integers_and_names_that_opencl_has_already() -> None:
    graph = graph_of(
        "half: i64[M]; uint4: i64[M]; kernel[i] = half[i] // 3 + (uint4[i] << 2) - half[i] ** 2 + half[i] % uint4[i]"
    )
    kernel = Executed(module_of(graph))
    sizes = {"M": 9}
    inputs = {"half": np.arange(-4, 5) * 7, "uint4": np.array([-3, -2, -1, 0, 1, 2, 3, 4, 5])}
    check(graph, kernel, sizes, inputs, 0)


def test_a_store_past_the_end_is_seen() -> None:
    graph = graph_of("X: f32[M]; Y[i] = X[i] + 1")
    module = module_of(graph)
    source = render(module, GENERIC)
    broken = replace(source, text=source.text.replace("Y[", "Y[16 + "))
    assert broken.text != source.text
    done = Executed(module, broken).outcome({"X": np.ones(9, np.float32)}, {"M": 9})
    assert isinstance(done, Failure)
    assert done.code == "KC-M001"


def test_without_a_barrier_the_sum_is_wrong() -> None:
    graph = graph_of("X: f32[M,N]; Y[i] = sum[k](X[i,k])")
    module = module_of(graph)
    source = render(module, GENERIC)
    barrier = "barrier(CLK_LOCAL_MEM_FENCE);"
    assert barrier in source.text
    x = np.arange(2000, dtype=np.float32).reshape(2, 1000) % 7
    right = Executed(module, source).run({"X": x}, {"M": 2, "N": 1000})["Y"]
    np.testing.assert_array_equal(right, x.sum(axis=1))
    broken = Executed(module, replace(source, text=source.text.replace(barrier, "")))
    assert not np.array_equal(broken.run({"X": x}, {"M": 2, "N": 1000})["Y"], right)
