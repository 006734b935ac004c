"""HIP texts: on the functional model with wavefronts of 64, and through a compiler for AMD GPUs where one is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.backends.device import Compiled
from kernelcat_core.backends.hip import compiler
from kernelcat_core.backends.hip.device import MACHINE, Device
from kernelcat_core.backends.hip.manifest import BACKEND
from kernelcat_core.backends.hip.renderer import render
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import interpreter
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.runtime import load, runner, toolchain
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower as lower_graph
from tests.core.backends.cuda.emulate import Array, graph_of
from tests.core.backends.cuda.test_kernels import FORMULAS, SIZES, TOLERANCE, data

TARGETS = {t.arch: t for t in BACKEND.targets}
MI300 = TARGETS["gfx942"]
needs_model = pytest.mark.skipif(toolchain.find_cpp() is None, reason="no C++ compiler")
needs_compiler = pytest.mark.skipif(compiler.find() is None, reason="no compiler for AMD GPUs")
BARRIER = re.compile(r"^ *__syncthreads\(\);\n", re.MULTILINE)


class Emulated:
    """A graph's text on the model; `run` gives its outputs, the same in every order, or raises KC-M001 with the rule broken."""

    def __init__(self, graph: Graph, config: Mapping[str, int] | None = None, source: Source | None = None) -> None:
        self.module = lower_graph(graph, MI300, Config.of(config or {}))
        self.source = source or render(self.module, MI300)
        made = Device().library(self.source, MI300)
        assert isinstance(made, toolchain.Binary), made
        self.kernel = load.load(made.path("shared"), self.source.entry)

    def run(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        arrays = [np.ascontiguousarray(inputs[t.name], t.dtype.numpy) for t in self.module.inputs]
        specs = [runner.TensorSpec(tuple(evaluate(d, sizes) for d in t.shape), t.dtype.numpy) for t in self.module.outputs]
        results = []
        for environment in Device().environments():
            with mock.patch.dict(os.environ, environment):
                results.append(self.kernel(arrays, specs, [sizes[n] for n in self.module.sizes]))
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert a.tobytes() == b.tobytes(), "the order of threads shows in the outputs"
        return {t.name: a for t, a in zip(self.module.outputs, results[0], strict=True)}


def check(graph: Graph, kernel: Emulated, sizes: Mapping[str, int], tolerance: float) -> None:
    inputs = data(graph, sizes)
    expected = interpreter.evaluate(graph, inputs, dict(sizes), "float64")
    for name, array in kernel.run(inputs, sizes).items():
        want = np.asarray(expected[name])
        if array.dtype.kind in "iub":
            np.testing.assert_array_equal(array, want)
        else:
            np.testing.assert_allclose(array.astype(np.float64), want, rtol=tolerance, atol=tolerance * 8)


@needs_model
@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str, dtype: str) -> None:
    graph = graph_of(FORMULAS[name].format(t=dtype))
    kernel = Emulated(graph)
    for sizes in SIZES:
        if name == "extremes" and sizes["N"] == 0:
            continue
        check(graph, kernel, sizes, TOLERANCE[dtype])


@needs_model
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "i8"])
def test_matrix_products(dtype: str) -> None:
    graph = graph_of(f"A: {dtype}[M,K]; B: {dtype}[K,N]; C[i,j] += A[i,k]*B[k,j]")
    kernel = Emulated(graph)
    for m, k, n in ((1, 1, 1), (37, 53, 70), (5, 0, 4), (0, 3, 4), (70, 64, 128)):
        check(graph, kernel, {"M": m, "K": k, "N": n}, TOLERANCE.get(dtype, 0) * max(1, k) ** 0.5)


@needs_model
@pytest.mark.parametrize("threads", [64, 512])
def test_rows_with_other_threads(threads: int) -> None:
    graph = graph_of("X: f32[M,N]; S[i] = sum[k](X[i,k]); A[i] = argmin[k](X[i,k])")
    kernel = Emulated(graph, {f"{n}.{k}": v for n in ("S", "A") for k, v in (("lanes", 128), ("threads", threads))})
    assert "bit < 6" in kernel.source.text  # exchanges run over 64 lanes
    for n in (1, 63, 1500):
        check(graph, kernel, {"M": 3, "N": n}, 1e-5)


@needs_model
@pytest.mark.parametrize("values", [(np.inf, 1.0), (-np.inf, -np.inf), (np.nan, 0.0), (1e-45, -0.0)])
def test_extreme_values(values: tuple[float, float]) -> None:
    graph = graph_of("X: f32[M,N]; Y[i] = max[k](X[i,k]); P[i] = argmax[k](X[i,k])")
    x = data(graph, {"M": 3, "N": 65})["X"]
    x[0, 7], x[1, 64] = values
    x[2] = values[0]
    got = Emulated(graph).run({"X": x}, {"M": 3, "N": 65})
    np.testing.assert_array_equal(got["Y"], x.max(axis=1))
    np.testing.assert_array_equal(got["P"], x.argmax(axis=1))


@needs_model
@pytest.mark.parametrize("formula", ["X: f32[M,N]; Y = softmax(X, axis=-1)", "A: f32[M,N]; B: f32[N,M]; C = A @ B"])
def test_each_barrier_is_needed(formula: str) -> None:
    graph = graph_of(formula)
    source = render(lower_graph(graph, MI300), MI300)
    places = [m.span() for m in BARRIER.finditer(source.text)]
    assert places
    sizes = {"M": 64, "N": 700}
    inputs = data(graph, sizes)
    for start, end in places:
        broken = replace(source, text=source.text[:start] + "\n" + source.text[end:])
        with pytest.raises(KernelcatError, match="shared-"):
            Emulated(graph, source=broken).run(inputs, sizes)


def launched(body: str, threads: int, declared: str = "") -> str:
    """What the model says of a small kernel; "" when it runs."""
    text = f"""#include <hip/hip_runtime.h>
__global__ void probe(float *Y) {{ {declared} {body} }}
"""
    host = f"""extern "C" __attribute__((visibility("default"))) int entry(void **t, const int64_t *s) {{
  kc_forget_tensors();
  kc_tensor("Y", t[0], 4096, 4, 1);
  hipLaunchKernelGGL(probe, dim3(1), dim3({threads}), 0, 0, (float *)t[0]);
  return hipGetLastError();
}}"""
    built = emulation.build(text, host, machine=MACHINE)
    assert isinstance(built, toolchain.Binary), built
    kernel = load.load(built.path("shared"), "entry")
    try:
        kernel([], [runner.TensorSpec((1024,), np.dtype(np.float32))], [])
    except KernelcatError as error:
        return error.message
    return ""


@needs_model
def test_the_model_has_wavefronts_of_64_and_64_kib_of_lds() -> None:
    exchange = "Y[threadIdx.x] = __shfl_xor((float)threadIdx.x, 32) + warpSize;"
    assert launched(exchange, 64) == ""
    assert launched(exchange, 32).startswith("warp-divergence")  # half a wavefront: the other half's values are undefined
    assert launched("if (threadIdx.x < 40) " + exchange, 64).startswith("warp-divergence")
    lds = "__shared__ float a[{n}]; for (int i = threadIdx.x; i < {n}; i += 64) a[i] = Y ? 1 : 2; __syncthreads();"
    lds += "Y[threadIdx.x] = a[63 - threadIdx.x];"
    assert launched(lds.format(n=16 << 10), 64) == ""
    assert launched(lds.format(n=(16 << 10) + 64), 64).startswith("shared-budget")


@needs_compiler
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(
    "formula",
    [
        "X: f16[M,N]; Y = softmax(X, axis=-1)",
        "A: f32[M,K]; B: f32[K,N]; C = gelu(A @ B)",
        "X: bf16[M]; V: f8e4m3[M]; Y[i] = erf(X[i]) + log1p(abs(f32(V[i]))) + fmod(f32(X[i]), 3.0)",
        "X: f64[M]; Y[i] = X[i] ** 2.5 + atan2(X[i], 2.0)",
        "A: f32[M,K]; B: f32[K,N]; C = softmax(A @ B)",
    ],
)
def test_a_compiler_takes_the_texts_without_spills(formula: str, arch: str) -> None:
    target = TARGETS[arch]
    made = Device().compile(render(lower_graph(graph_of(formula), target), target), target)
    assert isinstance(made, Compiled), made
    assert arch in made.assembly
    assert made.resources
    assert all(", 0 spilled," in words for words in made.resources.values()), made.resources


def test_resources_from_the_metadata() -> None:
    text = """amdhsa.kernels:
  - .agpr_count:     0
    .group_segment_fixed_size: 512
    .name:           k0_kernel
    .sgpr_count:     30
    .vgpr_count:     41
    .vgpr_spill_count: 2
"""
    assert compiler.resources(text) == {"k0_kernel": "41 vector and 30 scalar registers, 2 spilled, 512 bytes of LDS"}
    assert compiler.resources("no metadata") == {}


def test_texts_hold_nothing_of_cuda() -> None:
    for formula in (*FORMULAS.values(), "A: f16[M,K]; B: f16[K,N]; C = A @ B"):
        text = render(lower_graph(graph_of(formula.format(t="f32")), MI300), MI300).text
        assert not re.search(r"cuda|_sync\(|__pipeline|asm|__nv_", text)
