"""Kernels that a person wrote: run unchanged, their parameters matched by name, their faults named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from kernelcat_core.backends.cuda import emulation, handwritten
from kernelcat_core.backends.cuda.device import Device
from kernelcat_core.backends.cuda.renderer import MODEL_ENTRY
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.graph import Graph
from kernelcat_core.runtime import load, runner, toolchain
from tests.core.backends.cuda.emulate import AVAILABLE, SM80, graph_of

needs_model = pytest.mark.skipif(not AVAILABLE, reason="no C++ compiler")
GRAPH = graph_of("X: f32[M,N]; a: f32; Y[i,j] = a * X[i,j]")
SCALE = """#include <cuda_fp16.h>
template <class T> __device__ T twice(T x) { return x + x; }
__global__ void scale(const float *__restrict__ X, float *Y, float a, const int M, long long N) {
  extern __shared__ float row[];
  const int i = blockIdx.x;
  for (long long j = threadIdx.x; j < N; j += blockDim.x) row[j] = twice(X[i * N + j]);
  __syncthreads();
  for (long long j = threadIdx.x; j < N; j += blockDim.x) Y[i * N + j] = a * row[j] / 2;
}
"""
PARAMETERS = (
    ("const float *__restrict__", "X"),
    ("float *", "Y"),
    ("float", "a"),
    ("const int", "M"),
    ("long long", "N"),
)
LAUNCH = {"grid": "M", "block": 64, "shared": 4 * 200}


def source(
    text: str = SCALE,
    parameters: tuple[tuple[str, str], ...] = PARAMETERS,
    launch: Mapping[str, Any] = LAUNCH,
    graph: Graph = GRAPH,
) -> Source:
    outputs = [graph.tensors[n] for n in graph.outputs]
    return handwritten.source(text, "scale", parameters, graph.inputs, outputs, graph.size_names, launch, SM80)


def run(made: Source, m: int, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    built = Device().library(made, SM80)
    assert isinstance(built, toolchain.Binary), built
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    kernel = load.load(built.path("shared"), made.entry)
    values = {"M": m, "N": n}
    given = {"X": x, "a": np.array(3, np.float32)}
    spec = runner.TensorSpec((m, n), np.dtype(np.float32))
    (y,) = kernel([given[t.name] for t in GRAPH.inputs], [spec], [values[s] for s in GRAPH.size_names])
    return x, y


@needs_model
def test_it_runs_as_written() -> None:
    for m, n in ((3, 200), (1, 1), (0, 4)):
        x, y = run(source(), m, n)
        np.testing.assert_allclose(y, 3 * x, rtol=1e-6)


@needs_model
def test_a_missing_barrier_is_named() -> None:
    broken = source(SCALE.replace("  __syncthreads();\n", "").replace("row[j] / 2", "row[N - 1 - j] / 2"))
    with pytest.raises(KernelcatError, match="shared-"):
        run(broken, 2, 100)


@needs_model
def test_one_thread_an_element_without_a_launch() -> None:
    text = """__global__ void scale(const float *X, float *Y, int M, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M * N) Y[i] = 3 * X[i];
}"""
    parameters = (("const float *", "X"), ("float *", "Y"), ("int", "M"), ("int", "N"))
    x, y = run(source(text, parameters, {}), 7, 90)
    np.testing.assert_allclose(y, 3 * x, rtol=1e-6)


@pytest.mark.parametrize(
    ("grid", "said"),
    [("ceil(M / 4)", "(size_M + 3) / 4"), ("M * N // 2", "size_M * size_N / 2"), (("N", 2), "(unsigned)(2)")],
)
def test_launch_extents(grid: Any, said: str) -> None:
    assert said in dict(source(launch={"grid": grid}).files)[MODEL_ENTRY]


@pytest.mark.parametrize("grid", ["Q", "ceil(M)", "__import__('os')", "M +", "1.5", "(" * 300])
def test_launch_extents_that_are_refused(grid: str) -> None:
    with pytest.raises(KernelcatError) as caught:
        source(launch={"grid": grid})
    assert caught.value.code == "KC-F005"


@pytest.mark.parametrize("parameter", [("const float *", "Q"), ("int", "K"), ("float", "X")])
def test_parameters_that_match_nothing(parameter: tuple[str, str]) -> None:
    with pytest.raises(KernelcatError) as caught:
        source(parameters=(parameter,))
    assert caught.value.code == "KC-F005"
    assert caught.value.hint


@needs_model
def test_a_text_that_does_not_compile() -> None:
    made = emulation.build("__global__ void f() {\n  wrong;\n}\n", "")
    assert not isinstance(made, toolchain.Binary)
    assert made.code == "KC-B001"
    assert "line 2" in made.message
