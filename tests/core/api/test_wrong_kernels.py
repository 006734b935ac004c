"""Hand-written kernels that are wrong in ways a comparison could miss: none may pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelcat import KernelBuilder

HEAD = "#include <stdint.h>\n#include <stdbool.h>\n#include <math.h>\n"
WRONG = {
    "a bool output is never written":
        ("X: f32[N]\nY[i] = X[i] < inf or X[i] >= inf or isnan(X[i])", "void k(const float *X, bool *Y, int64_t N) { (void)N; }"),
    "a bool output holds 2":
        ("X: f32[N]\nY[i] = X[i] < 0", "void k(const float *X, uint8_t *Y, int64_t N) {\n"
         "  for (int64_t i = 0; i < N; i++) Y[i] = X[i] < 0 ? 2 : 0;\n}"),
    "the last of equal elements":
        ("X: f32[N]\nY = argmax[i](X[i])", "void k(const float *X, int64_t *Y, int64_t N) {\n  int64_t b = 0;\n"
         "  for (int64_t i = 1; i < N; i++) if (X[i] >= X[b] || (X[i] != X[i] && X[b] == X[b])) b = i;\n  *Y = b;\n}"),
    "NaN is passed over":
        ("X: f32[N]\nY = max[i](X[i])", "void k(const float *X, float *Y, int64_t N) {\n  float b = -INFINITY;\n"
         "  for (int64_t i = 0; i < N; i++) if (X[i] > b) b = X[i];\n  *Y = b;\n}"),
    "the element before the first is read":
        ("X: f32[N]\nY[i in N] = where(i > 0, X[i-1]*X[i-1], 0.0) + 1.0",
         "void k(const float *X, float *Y, int64_t N) { for (int64_t i = 0; i < N; i++) Y[i] = X[i-1]*X[i-1] + 1; }"),
    "the element past the last is read":
        ("X: f32[N]\nY[i in N] = where(i < N-1, X[i+1], 0.0) + 1.0",
         "void k(const float *X, float *Y, int64_t N) { for (int64_t i = 0; i < N; i++) Y[i] = X[i+1] + 1; }"),
    "only the first call does anything":
        ("X: f32[N]\nY[i] = X[i] + 1", "void k(const float *X, float *Y, int64_t N) {\n"
         "  static int calls;\n  if (calls++) return;\n"
         "  for (int64_t i = 0; i < N; i++) Y[i] = X[i] + 1;\n}"),
}


def _returns(text: str) -> Callable[[], str]:
    def k() -> str:
        """A hand-written kernel."""
        return text

    return k


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_kernel_does_not_pass(fault: str) -> None:
    reference, text = WRONG[fault]
    builder = KernelBuilder(target="cpu")
    builder.register_op(reference=reference)(_returns(HEAD + text))
    report = builder.check()
    assert not report["ok"], fault


def test_the_right_kernel_passes() -> None:
    builder = KernelBuilder(target="cpu")
    text = "void k(const float *X, float *Y, int64_t N) { for (int64_t i = 0; i < N; i++) Y[i] = X[i] + 1; }"
    builder.register_op(reference="X: f32[N]; Y[i] = X[i] + 1")(_returns(HEAD + text))
    assert builder.check()["ok"]
