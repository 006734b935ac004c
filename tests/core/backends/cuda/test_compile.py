"""A vendor compiler takes the texts, on every architecture, with no spills in the default configuration."""

from __future__ import annotations

import pytest

from kernelcat_core.backends.cuda.device import Device
from kernelcat_core.backends.cuda.renderer import render
from kernelcat_core.backends.cuda.resources import parse, resources
from kernelcat_core.backends.device import Compiled
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from tests.core.backends.cuda.emulate import SM80, TARGETS, graph_of, module_of

needs_compiler = pytest.mark.skipif(toolchain.find_cuda() is None, reason="neither nvcc nor NVRTC")
FORMULAS = {
    "softmax": "X: f32[M,N]; Y = softmax(X, axis=-1)",
    "product": "A: f32[M,K]; B: f32[K,N]; C[i,j] += A[i,k]*B[k,j]",
    "half": "A: f16[M,K]; B: f16[K,N]; C = gelu(A @ B)",
    "bfloat": "A: bf16[M,K]; B: bf16[K,N]; C = A @ B",
    "double": "A: f64[M,K]; B: f64[K,N]; C = A @ B",
    "convolution": "Conv3D(kernel_size=(3,3,3), stride=2, dilation=1)",
    "argmax": "X: f32[M,N]; Y[i] = argmax[k](X[i,k])",
    "select": "output[i] = gather_nearest(points, 0.5, 8)",
    "eight bits": "X: f8e4m3[M]; Y: f8e5m2[M]; Z[i] = f8e4m3(f32(X[i])*f32(Y[i]))",
    "four bits": "X: i4[M]; Y: u4[M]; Z[i] = u4(i32(X[i]) + i32(Y[i]))",
    "integers": "X: i64[M]; Y[i] = X[i] // 3 + (X[i] << 2) - X[i] ** 2",
    "functions": "X: f32[M]; Y[i] = erf(X[i]) + log1p(abs(X[i])) + atan2(X[i], 2.0) + cbrt(X[i]) + fmod(X[i], 3.0)",
}


def compiled(formula: str, arch: str, config: dict[str, int] | None = None) -> Compiled:
    target = TARGETS[arch]
    made = Device().compile(render(module_of(graph_of(formula), config, target), target), target)
    assert isinstance(made, Compiled), made
    return made


@needs_compiler
@pytest.mark.parametrize("name", FORMULAS)
def test_no_spills_for_an_a100(name: str) -> None:
    made = compiled(FORMULAS[name], "sm_80")
    found = list(parse(made.log))
    assert found
    assert [(k, spilled) for k, _, spilled, _ in found if spilled] == []
    assert ".target sm_80" in made.assembly
    assert "error" not in made.log


@needs_compiler
@pytest.mark.parametrize("arch", [a for a in TARGETS if a != "sm_80"])
def test_other_architectures(arch: str) -> None:
    assert compiled(FORMULAS["half"], arch).resources.keys() == {"k0_kernel"}


@needs_compiler
def test_tensor_cores_are_used_where_they_exist() -> None:
    assert "mma.sync.aligned.m16n8k16" in compiled(FORMULAS["half"], "sm_80").assembly
    assert "mma.sync" not in compiled(FORMULAS["half"], "sm_75").assembly


@needs_compiler
def test_more_shared_memory_than_is_static() -> None:
    made = compiled(FORMULAS["double"], "sm_80", {"C.BM": 128, "C.BN": 128, "C.BK": 32})
    assert "kc_dynamic" in made.assembly


@needs_compiler
def test_a_rejected_text_is_a_failure_with_its_line() -> None:
    made = Device().compile(Source("__global__ void f() {\n  undeclared = 1;\n}\n", "f", "cuda", "cuda:sm_80"), SM80)
    assert isinstance(made, Failure)
    assert made.code == "KC-B001"
    assert "line 2" in made.message


def test_both_compilers_agree_when_both_are_here() -> None:
    nvcc = toolchain.find_nvcc()
    if nvcc is None:
        pytest.skip("no nvcc")
    text = render(module_of(graph_of(FORMULAS["half"])), SM80).text
    made = toolchain.compile(nvcc, text, flags=("-arch=sm_80", "-Xptxas=-v", "-std=c++17"), kinds=("cubin",))
    assert isinstance(made, toolchain.Binary), made
    assert [spilled for _, _, spilled, _ in parse(made.log)] == [0]


def test_resources_are_read_from_the_log() -> None:
    log = """ptxas info    : Compiling entry function 'k0' for 'sm_80'
ptxas info    : Function properties for k0
    8 bytes stack frame, 16 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 33 registers, used 1 barriers, 1024 bytes smem, 376 bytes cmem[0]"""
    assert list(parse(log)) == [("k0", 33, 56, 1024)]
    assert resources(log) == {"k0": "33 registers, 56 bytes spilled, 1024 bytes of shared memory"}
