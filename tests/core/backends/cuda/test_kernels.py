"""Rendered kernels on the functional model against the float64 oracle: odd sizes, 0, 1, extreme values, every dtype."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from kernelcat_core.ir import interpreter
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.target import Target
from tests.core.backends.cuda.emulate import AVAILABLE, PLAIN, SM80, Array, Emulated, graph_of, module_of

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no C++ compiler")

# formula -> sizes to run it at; each text is built once a dtype
SIZES = [{"M": 3, "N": 37}, {"M": 1, "N": 1}, {"M": 2, "N": 1025}, {"M": 0, "N": 5}, {"M": 4, "N": 512}]
FORMULAS = {
    "softmax": "X: {t}[M,N]; Y = softmax(X, axis=-1)",
    "normalise": "X: {t}[M,N]; g: {t}[N]; Y = rms_norm(X, g)",
    "columns": "X: {t}[M,N]; Y[j] = sum[i](X[i,j])",
    "elementwise": "X: {t}[M,N]; b: {t}[N]; Y[i,j] = tanh(X[i,j]) * 0.5 + b[j]",
    "total": "X: {t}[M,N]; S = sum[i,j](X[i,j])",
    "extremes": "X: {t}[M,N]; A[i] = argmax[k](X[i,k]); B[i] = max[k](X[i,k])",
    "gather": "T: {t}[N,3]; I: i32[M]; Y[i,j] = T[I[i],j]",
}
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}


def data(graph: Graph, sizes: Mapping[str, int], seed: int = 0, scale: float = 1.0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for t in graph.inputs:
        shape = tuple(evaluate(d, sizes) for d in t.shape)
        if t.dtype.kind == "b":
            made[t.name] = rng.random(shape) > 0.5
        elif t.dtype.is_integer:
            made[t.name] = rng.integers(0, max(1, min(7, *sizes.values())), shape).astype(t.dtype.numpy)
        else:
            made[t.name] = (rng.standard_normal(shape) * scale).astype(t.dtype.numpy)
    return made


def check(
    graph: Graph, kernel: Emulated, sizes: Mapping[str, int], inputs: Mapping[str, Array], tolerance: float
) -> None:
    expected = interpreter.evaluate(graph, inputs, dict(sizes), "float64")
    for name, array in kernel.run(inputs, sizes).items():
        want = np.asarray(expected[name])
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(array, want)
        else:
            np.testing.assert_allclose(array.astype(np.float64), want, rtol=tolerance, atol=tolerance * 8)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str, dtype: str) -> None:
    graph = graph_of(FORMULAS[name].format(t=dtype))
    kernel = Emulated(module_of(graph))
    for sizes in SIZES:
        if name == "extremes" and sizes["N"] == 0:
            continue
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64", "i8", "i32"])
def test_matrix_products(dtype: str) -> None:
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Emulated(module_of(graph))
    for m, k, n in (
        (1, 1, 1),
        (37, 53, 70),
        (64, 16, 64),
        (65, 17, 3),
        (5, 0, 4),
        (0, 3, 4),
        (2, 33, 129),
        (70, 64, 128),
        (64, 48, 72),
    ):
        sizes = {"M": m, "K": k, "N": n}
        check(graph, kernel, sizes, data(graph, sizes), TOLERANCE.get(dtype, 0) * max(1, k) ** 0.5)


@pytest.mark.parametrize("config", [(16, 16, 8), (16, 32, 32), (128, 64, 16), (128, 128, 32), (32, 128, 8)])
@pytest.mark.parametrize("dtype", ["f32", "f16", "f64"])
def test_block_sizes(config: tuple[int, int, int], dtype: str) -> None:
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Emulated(module_of(graph, dict(zip(("C.BM", "C.BN", "C.BK"), config, strict=True))))
    sizes = {"M": 133, "K": 41, "N": 131}
    check(graph, kernel, sizes, data(graph, sizes), TOLERANCE[dtype] * 8)


@pytest.mark.parametrize("target", [SM80, PLAIN], ids=["full", "plain"])
@pytest.mark.parametrize("lanes", [128, 1024])
@pytest.mark.parametrize("threads", [64, 512])
def test_rows_with_other_threads(lanes: int, threads: int, target: Target) -> None:
    graph = graph_of("X: f32[M,N]; S[i] = sum[k](X[i,k]); A[i] = argmin[k](X[i,k])")
    knobs = {f"{n}.{k}": v for n in ("S", "A") for k, v in (("lanes", lanes), ("threads", threads))}
    kernel = Emulated(module_of(graph, knobs, target), target)
    for n in (1, 63, 1500):
        sizes = {"M": 3, "N": n}
        check(graph, kernel, sizes, data(graph, sizes), 1e-5)


@pytest.mark.parametrize("values", [(np.inf, 1.0), (-np.inf, -np.inf), (np.nan, 0.0), (3e38, 3e38), (1e-45, -0.0)])
def test_extreme_values(values: tuple[float, float]) -> None:
    graph = graph_of("X: f32[M,N]; Y[i] = max[k](X[i,k]); Z[i,j] = sqrt(X[i,j]) + 1/X[i,j]; P[i] = argmax[k](X[i,k])")
    kernel = Emulated(module_of(graph))
    sizes = {"M": 3, "N": 65}
    x = data(graph, sizes)["X"]
    x[0, 7], x[1, 64] = values
    x[2] = values[0]
    got = kernel.run({"X": x}, sizes)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got["Y"], x.max(axis=1))
        np.testing.assert_allclose(got["Z"], np.sqrt(x) + 1 / x, rtol=3e-7)
    np.testing.assert_array_equal(got["P"], x.argmax(axis=1))


def test_names_that_cuda_has_already() -> None:
    graph = graph_of("half: f32[M]; int: f32[M]; exp[i] = half[i] * exp(int[i]) + min(half[i], 0.0)")
    kernel = Emulated(module_of(graph))
    check(graph, kernel, {"M": 9}, data(graph, {"M": 9}), 1e-6)


def test_a_convolution_with_padding_and_stride() -> None:
    graph = graph_of("Conv2D(kernel_size=(3,3), stride=2, padding=1, bias=True)")
    kernel = Emulated(module_of(graph))
    sizes = {n: 5 + 2 * k for k, n in enumerate(kernel.module.sizes)}
    check(graph, kernel, sizes, data(graph, sizes), 3e-5)


def test_too_many_blocks_is_an_error_not_a_wrong_answer() -> None:
    graph = graph_of("X: f32[M,N]; Y[i] = sum[j](X[i,j])")
    text = Emulated(module_of(graph)).source.text
    assert "if (cells > 2147483647) status = cudaErrorInvalidConfiguration;" in text


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_rows_that_do_not_start_on_16_bytes(dtype: str) -> None:
    """The wide fill needs aligned addresses: a tensor that starts elsewhere takes the narrow one."""
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Emulated(module_of(graph))
    assert f", {16});" in kernel.source.text
    sizes = {"M": 64, "K": 32, "N": 64}
    inputs = data(graph, sizes)
    room = np.zeros(sizes["K"] * sizes["N"] + 16, inputs["B"].dtype)
    first = -(room.ctypes.data // room.itemsize) % (16 // room.itemsize) + 1
    shifted = room[first : first + sizes["K"] * sizes["N"]].reshape(sizes["K"], sizes["N"])
    shifted[...] = inputs["B"]
    assert shifted.ctypes.data % 16 == room.itemsize
    check(graph, kernel, sizes, {**inputs, "B": shifted}, TOLERANCE[dtype] * 8)


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2", "i4", "u4"])
def test_types_that_are_only_stored(dtype: str) -> None:
    """Every value to f32 and back: nothing is lost either way."""
    graph = graph_of(f"X: {dtype}[M]; Y[i] = f32(X[i]); Z[i] = {dtype}(f32(X[i]))")
    kernel = Emulated(module_of(graph))
    t = graph.tensors["X"].dtype
    patterns = np.arange(256 if t.is_float else 1 << t.bits, dtype=np.uint8)
    x = patterns.view(t.numpy) if t.is_float else (patterns.astype(np.int16) - (8 if t.kind == "i" else 0)).astype(t.numpy)
    made = kernel.run({"X": x}, {"M": len(x)})
    np.testing.assert_array_equal(made["Y"], x.astype(np.float32))
    np.testing.assert_array_equal(made["Z"].astype(np.float32), x.astype(np.float32))
