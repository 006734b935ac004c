"""Kernels in WGSL, really run on this machine's WebGPU adapter, against the float64 oracle: odd sizes, 0, 1, every dtype."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from kernelcat_core.backends.wgsl.limits import STORAGE_BUFFERS
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import interpreter
from kernelcat_core.ir.graph import Graph
from kernelcat_core.pipeline import hops
from tests.core.backends.cuda.emulate import graph_of
from tests.core.backends.cuda.test_kernels import FORMULAS, SIZES, TOLERANCE, data
from tests.core.backends.wgsl.execute import AVAILABLE, Array, Executed

needs_adapter = pytest.mark.skipif(not AVAILABLE, reason="no WebGPU adapter: pip install kernelcat[wgpu], and a Vulkan driver")


def check(graph: Graph, kernel: Executed, sizes: Mapping[str, int], inputs: Mapping[str, Array], tolerance: float) -> None:
    expected = interpreter.evaluate(graph, inputs, dict(sizes), "float64")
    for name, array in kernel.run(inputs, sizes).items():
        want = np.asarray(expected[name])
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(array, want)
        else:
            np.testing.assert_allclose(array.astype(np.float64), want, rtol=tolerance, atol=tolerance * 8)


@needs_adapter
@pytest.mark.parametrize(
    ("name", "dtype"), [("softmax", "f32"), ("softmax", "f16"), ("extremes", "f32"), ("total", "bf16"), ("gather", "f32")]
)
def test_formulas(name: str, dtype: str) -> None:
    graph = graph_of(FORMULAS[name].format(t=dtype))
    kernel = Executed(graph)
    for sizes in SIZES:
        if name == "extremes" and sizes["N"] == 0:
            continue
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE[dtype])


@needs_adapter
@pytest.mark.parametrize("dtype", ["f32", "f16", "i8"])
def test_matrix_products(dtype: str) -> None:
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Executed(graph, {"C.BM": 32, "C.BN": 32})
    for m, k, n in ((1, 1, 1), (37, 53, 70), (5, 0, 4), (0, 3, 4), (64, 48, 72)):
        sizes = {"M": m, "K": k, "N": n}
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE.get(dtype, 0) * max(1, k) ** 0.5)


@needs_adapter
def test_extreme_values() -> None:
    graph = graph_of("X: f32[M,N]; Y[i] = max[k](X[i,k]); L[i] = min[k](X[i,k]); P[i] = argmax[k](X[i,k])\n"
                     "Z[i,j] = minimum(X[i,j], 2) + maximum(X[i,j], -3)")
    kernel = Executed(graph)
    sizes = {"M": 3, "N": 65}
    for values in ((np.inf, 1.0), (-np.inf, -np.inf), (np.nan, 0.0), (3e38, 3e38)):
        x = data(graph, sizes)["X"]
        x[0, 7], x[1, 64] = values
        x[2] = values[0]
        got = kernel.run({"X": x}, sizes)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(got["Y"], x.max(axis=1))
            np.testing.assert_array_equal(got["L"], x.min(axis=1))
            np.testing.assert_allclose(got["Z"], np.minimum(x, np.float32(2)) + np.maximum(x, np.float32(-3)), rtol=1e-6)
        np.testing.assert_array_equal(got["P"], x.argmax(axis=1))


@needs_adapter
def test_every_pattern_of_sixteen_bits() -> None:
    graph = graph_of("X: f16[M]; V: bf16[M]; Y[i] = f32(X[i]); W[i] = f32(V[i]); Z[i] = f16(f32(X[i])); U[i] = bf16(f32(V[i]))")
    patterns = np.arange(1 << 16, dtype=np.uint16)
    types = {t.name: t.dtype.numpy for t in graph.inputs}
    x, v = patterns.view(types["X"]), patterns.view(types["V"])
    made = Executed(graph).run({"X": x, "V": v}, {"M": len(x)})
    for result, source in (("Y", x), ("W", v), ("Z", x), ("U", v)):
        np.testing.assert_array_equal(made[result].astype(np.float32), source.astype(np.float32))


@needs_adapter
def test_neighbours_in_a_word_do_not_disturb_each_other() -> None:
    """Bytes and bools share words; every other element is written by another workgroup or not at all."""
    graph = graph_of("X: i8[M,N]; Y[i,j] = X[j,i]; B[j,i] = X[i,j] > 0")
    kernel = Executed(graph)
    for m, n in ((33, 1), (1, 33), (70, 67)):
        sizes = {"M": m, "N": n}
        x = np.random.default_rng(0).integers(-128, 128, (m, n)).astype(np.int8)
        got = kernel.run({"X": x}, sizes)
        np.testing.assert_array_equal(got["Y"], x.T)
        np.testing.assert_array_equal(got["B"], x.T > 0)


@needs_adapter
def test_long_integers() -> None:
    graph = graph_of("A: i64[M]; B: i64[M]; Y[i] = A[i] // 3 + (B[i] << 2) - A[i] ** 2 + A[i] % B[i]; Z[i] = min(A[i], B[i])")
    kernel = Executed(graph)
    a = np.array([0, 7, -7, 1 << 40, -(1 << 40), (1 << 62) - 5, -5])
    b = np.array([3, -2, 5, (1 << 33) + 1, -7, 11, 1 << 50])
    check(graph, kernel, {"M": 7}, {"A": a, "B": b}, 0)


def test_what_webgpu_cannot_hold_is_refused() -> None:
    many = "; ".join(f"X{k}: f32[N]" for k in range(STORAGE_BUFFERS)) + "\nY[i] = " + " + ".join(
        f"X{k}[i]" for k in range(STORAGE_BUFFERS))
    for formula in ("X: f64[N]; Y = X + 1", many):
        with pytest.raises(KernelcatError) as caught:
            hops.render(graph_of(formula), "wgsl:webgpu")
        assert caught.value.code == "KC-R001"
