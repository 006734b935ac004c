"""Kernels of gradient formulas on the processor: compiled, run and compared with the oracle."""

from __future__ import annotations

import pytest

from kernelcat_core import api

FORMULAS = {
    "matmul": "Y = X @ W\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "linear": "Y = linear(X, W, b)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\nC = grad(Y, b, dY)\n-> A, B, C",
    "half precision": "X: f16[M, K]\nW: f16[K, N]\nY = X @ W\nA = grad(Y, X, dY)",
    "conv1d": "Y = conv1d(X, W, kernel_size=3)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "conv2d": "Y = conv2d(X, W, stride=2, padding=1, kernel_size=3)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "max_pool2d": "Y = max_pool2d(X, 3, stride=2)\nA = grad(Y, X, dY)",
    "avg_pool2d": "Y = avg_pool2d(X, 2)\nA = grad(Y, X, dY)",
    "softmax": "Y = softmax(X)\nA = grad(Y, X, dY)",
    "log_softmax": "Y = log_softmax(X)\nA = grad(Y, X, dY)",
    "layer_norm": "Y = layer_norm(X, g, b)\nA = grad(Y, X, dY)\nB = grad(Y, g, dY)\n-> A, B",
    "rms_norm": "Y = rms_norm(X, g)\nA = grad(Y, X, dY)",
    "gelu": "Y = gelu(X)\nA = grad(Y, X, dY)",
    "attention": "Y = attention(Q, K, V)\nA = grad(Y, Q, dY)\nB = grad(Y, K, dY)\nC = grad(Y, V, dY)\n-> A, B, C",
    "cross entropy": "T: i64[N]\nP = log_softmax(X)\nL = -mean[n](P[n, T[n]])\nA = grad(L, X)",
    "cumsum": 'X: f32[N, M]\nY = scan("sum", X, 1)\nA = grad(Y, X, dY)',
    "training step": "H = relu(linear(X, W, b))\nL = mean((linear(H, V) - T)**2)\nW1 = W - 0.1*grad(L, W)\n"
                     "V1 = V - 0.1*grad(L, V)\nT: f32[N, O]\n-> L, W1, V1",
}


@pytest.mark.parametrize("name", FORMULAS)
def test_kernels_of_gradients_agree_with_the_oracle(name: str) -> None:
    report = api.check(FORMULAS[name], ["c"], seeds=1)
    (target,) = report["targets"]
    assert target["ok"], target["message"]
    assert "executed" in target["facts"]


def test_gradients_are_shown_as_formulas() -> None:
    shown = api.preview("Y[i,j] = sum[k](A[i,k]*B[k,j])\nG = grad(Y, A, dY)", ["c"], stages=["formula"])
    assert "G[i, k] = sum[j](dY[i, j] * B[k, j])" in shown["formula"]
