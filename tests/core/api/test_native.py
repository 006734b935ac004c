"""Native source through register_op: hand-written kernels are compared, bare signatures are generated."""

from __future__ import annotations

import pytest

from kernelcat import KernelBuilder, KernelcatError, register_op

SAXPY = "a: f32; X: f32[N]; Y: f32[N]; Z[i] = a*X[i] + Y[i]"
C_KERNEL = """
void saxpy(float a, const float *X, const float *Y, float *Z, long long N) {
    for (long long i = 0; i < N; i++) Z[i] = a * X[i] + Y[i];
}
"""
CUDA_KERNEL = """
extern "C" __global__ void saxpy(float a, const float* __restrict__ X, const float* __restrict__ Y, float* Z, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) Z[i] = a * X[i] + Y[i];
}
"""
LAUNCH = {"grid": "ceil(N / 64)", "block": 64}


def test_a_hand_written_c_kernel_is_run_and_compared() -> None:
    b = KernelBuilder(target="cpu")
    b.register_op(reference=SAXPY)(_returns(C_KERNEL))
    built = b.build()
    assert built.ok, built.log
    assert {"compiled", "executed"} <= set(built.facts)
    wrong = KernelBuilder(target="cpu")
    wrong.register_op(reference=SAXPY)(_returns(C_KERNEL.replace("+ Y[i]", "- Y[i]")))
    refused = wrong.build()
    assert not refused.ok and "KC-N001" in refused.log


def test_a_hand_written_cuda_kernel_runs_on_the_model() -> None:
    b = KernelBuilder(target="a100")
    b.register_op(reference=SAXPY, launch=LAUNCH)(_returns(CUDA_KERNEL))
    built = b.build()
    assert built.ok, built.log
    assert "emulated" in built.facts
    out_of_bounds = KernelBuilder(target="a100")
    out_of_bounds.register_op(reference=SAXPY, launch=LAUNCH)(_returns(CUDA_KERNEL.replace("if (i < N) ", "")))
    assert not out_of_bounds.build().ok


def test_without_a_reference_it_is_only_compiled() -> None:
    b = KernelBuilder(target="cpu")
    b.register_op(_returns(C_KERNEL))
    built = b.build()
    assert built.ok and built.facts == ("compiled",) and "saxpy" in built.assembly
    b.register_op(_returns(C_KERNEL.replace("long long i = 0;", "long long i = 0")))
    assert not b.build().ok
    with pytest.raises(KernelcatError) as caught:
        b.check()
    assert caught.value.code == "KC-F019"


def test_a_bare_signature_is_generated() -> None:
    b = KernelBuilder(target="a100")

    @b.register_op
    def sparse_attn(query, key, value, mask):  # type: ignore[no-untyped-def]
        """Block-sparse attention over a mask of blocks."""
        return f"__global__ void sparse_attn({query}, {key}, {value}, {mask}, ...) {{ // generated }}"

    built = b.build()
    assert built.formula.startswith("output = sparse_attention(query=query, key=key, value=value")
    assert built.ok and built.source.count("__global__") >= 2


@pytest.mark.parametrize(("text", "code"), [
    ("__global__ void frobnicate(x) { /* generated */ }", "KC-F004"),
    ("__global__ void gather_nearest(points) { // generated }", "KC-F005"),
    ("__global__ void f(float *x, float *y) { y[0] = x[0];", "KC-F005"),
])
def test_what_is_missing_is_a_coded_error(text: str, code: str) -> None:
    with pytest.raises(KernelcatError) as caught:
        KernelBuilder(target="a100").build(register_op(_returns(text)))
    assert caught.value.code == code and caught.value.hint


def test_a_kernel_in_another_language_is_refused() -> None:
    with pytest.raises(KernelcatError) as caught:
        KernelBuilder(target="cpu").build(register_op(_returns(CUDA_KERNEL)))
    assert caught.value.code == "KC-R001"


@pytest.mark.parametrize("launch", [{"grid": "__import__('os')"}, {"grid": "N / 3"}, {"grid": (1, 2, 3, 4)}, {"blocks": 3}])
def test_launches_are_plain_arithmetic(launch: dict[str, object]) -> None:
    with pytest.raises(KernelcatError) as caught:
        KernelBuilder(target="a100").build(register_op(reference=SAXPY, launch=launch)(_returns(CUDA_KERNEL)))
    assert caught.value.code == "KC-F005"


def _returns(text: str):  # type: ignore[no-untyped-def]
    def saxpy() -> str:
        return text

    return saxpy
