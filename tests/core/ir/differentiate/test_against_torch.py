"""Gradients of tensor formulas against torch.autograd."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

_spec = importlib.util.spec_from_file_location("differentiate_autograd", Path(__file__).with_name("autograd.py"))
assert _spec is not None and _spec.loader is not None
autograd = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = autograd
_spec.loader.exec_module(autograd)
agree, random, gradients = autograd.agree, autograd.random, autograd.gradients


class Case(NamedTuple):
    name: str
    text: str
    function: Callable[..., Any]
    arrays: dict[str, Any]


def r(*shape: int, seed: int = 0) -> Any:
    return random(*shape, seed=seed)


def positive(*shape: int, seed: int = 0) -> Any:
    return np.abs(r(*shape, seed=seed)) + 0.5


def places(size: int, *shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, size, shape)


CASES = [
    # broadcasting
    Case("broadcast", "Y = X*b + c/X", lambda X, b, c: X * b + c / X, {"X": positive(4, 5), "b": r(5), "c": r(4, 1)}),
    Case("scalar", "Y = X*s", lambda X, s: X * s, {"X": r(4, 5), "s": r()}),
    Case("several uses", "H = X*X + exp(X)\nY = H*X + sin(H)", lambda X: (X * X + X.exp()) * X + torch.sin(X * X + X.exp()),
         {"X": r(6)}),
    Case("both sides", "Y = X @ transpose(X)", lambda X: X @ X.T, {"X": r(4, 3)}),
    Case("square in place", "Y[i] = X[i]*X[i]", lambda X: X * X, {"X": r(7)}),
    # products
    Case("matmul", "Y = X @ W", lambda X, W: X @ W, {"X": r(4, 3), "W": r(3, 5, seed=1)}),
    Case("batched matmul", "Y = matmul(X, W)", lambda X, W: X @ W, {"X": r(2, 4, 3), "W": r(3, 5, seed=1)}),
    Case("linear", "Y = linear(X, W, b)", lambda X, W, b: F.linear(X, W, b),
         {"X": r(4, 3), "W": r(5, 3, seed=1), "b": r(5)}),
    Case("einsum", 'Y = einsum("bij,bjk->ik", A, B)', lambda A, B: torch.einsum("bij,bjk->ik", A, B),
         {"A": r(2, 3, 4), "B": r(2, 4, 5, seed=1)}),
    Case("three factors", "Y[i,j] = sum[k](A[i,k]*B[k,j]*C[k])", lambda A, B, C: torch.einsum("ik,kj,k->ij", A, B, C),
         {"A": r(3, 4), "B": r(4, 5, seed=1), "C": r(4, seed=2)}),
    Case("trace", "Y = sum[i](X[i,i])", lambda X: X.trace(), {"X": r(4, 4)}),
    Case("outer", "Y[i,j] = a[i]*b[j]", lambda a, b: torch.outer(a, b), {"a": r(3), "b": r(4)}),
    # reductions
    Case("sum", "Y = sum(X, axis=1)", lambda X: X.sum(1), {"X": r(3, 4)}),
    Case("mean", "Y = mean(X)", lambda X: X.mean(), {"X": r(3, 4)}),
    Case("mean of squares", "Y[i] = mean[k](X[i,k]**2)", lambda X: (X**2).mean(1), {"X": r(3, 4)}),
    Case("prod", "Y = prod(X, axis=1)", lambda X: X.prod(1), {"X": r(3, 4)}),
    Case("prod with zeros", "Y = prod(X, axis=1)", lambda X: X.prod(1),
         {"X": np.array([[1.0, 2, 3], [0, 2, 3], [0, 0, 3], [4, 5, 0]])}),
    Case("amax with ties", "Y = max(X, axis=1)", lambda X: X.amax(1), {"X": np.array([[1.0, 3, 3], [5, 2, 5], [1, 2, 3]])}),
    Case("amin", "Y = min(X)", lambda X: X.amin(), {"X": r(3, 4)}),
    Case("logsumexp", "Y = logsumexp(X, axis=-1)", lambda X: torch.logsumexp(X, -1), {"X": r(3, 4)}),
    Case("var", "Y = var(X, axis=-1, correction=1)", lambda X: X.var(-1), {"X": r(3, 4)}),
    Case("std", "Y = std(X, axis=0)", lambda X: X.std(0, correction=0), {"X": r(3, 4)}),
    Case("norm", "Y = norm(X, axis=-1)", lambda X: X.norm(dim=-1), {"X": r(3, 4)}),
    # normalisation
    Case("softmax", "Y = softmax(X, axis=-1)", lambda X: X.softmax(-1), {"X": 3 * r(3, 5)}),
    Case("softmax of another axis", "Y = softmax(X, axis=0)", lambda X: X.softmax(0), {"X": 3 * r(3, 5)}),
    Case("log_softmax", "Y = log_softmax(X)", lambda X: X.log_softmax(-1), {"X": 3 * r(3, 5)}),
    Case("layer_norm", "Y = layer_norm(X, g, b)", lambda X, g, b: F.layer_norm(X, (5,), g, b),
         {"X": r(3, 5), "g": r(5, seed=1), "b": r(5, seed=2)}),
    Case("rms_norm", "Y = rms_norm(X, g)", lambda X, g: F.rms_norm(X, (5,), g, 1e-6), {"X": r(3, 5), "g": r(5, seed=1)}),
    Case("batch_norm", "Y = batch_norm(X, m, v, g, b)", lambda X, m, v, g, b: F.batch_norm(X, m.detach(), v.detach(), g, b),
         {"X": r(2, 3, 4, 4), "m": r(3), "v": positive(3), "g": r(3, seed=1), "b": r(3, seed=2)}),
    Case("group_norm", "Y = group_norm(X, 2, g, b)", lambda X, g, b: F.group_norm(X, 2, g, b),
         {"X": r(2, 4, 3, 3), "g": r(4, seed=1), "b": r(4, seed=2)}),
    Case("l2_normalize", "Y = l2_normalize(X)", lambda X: F.normalize(X, dim=-1), {"X": r(3, 4)}),
    # windows
    Case("conv1d", "Y = conv1d(X, W, b)", lambda X, W, b: F.conv1d(X, W, b),
         {"X": r(2, 3, 9), "W": r(4, 3, 3, seed=1), "b": r(4)}),
    Case("conv2d with stride, padding and dilation", "Y = conv2d(X, W, stride=2, padding=2, dilation=2)",
         lambda X, W: F.conv2d(X, W, stride=2, padding=2, dilation=2), {"X": r(2, 3, 9, 8), "W": r(4, 3, 3, 3, seed=1)}),
    Case("conv2d with groups", "Y = conv2d(X, W, groups=2, padding=1)", lambda X, W: F.conv2d(X, W, groups=2, padding=1),
         {"X": r(2, 4, 5, 6), "W": r(6, 2, 3, 3, seed=1)}),
    Case("depthwise conv2d", "Y = conv2d(X, W, groups=4, stride=2)", lambda X, W: F.conv2d(X, W, groups=4, stride=2),
         {"X": r(2, 4, 7, 6), "W": r(4, 1, 3, 3, seed=1)}),
    Case("conv3d", "Y = conv3d(X, W, stride=2, padding=1)", lambda X, W: F.conv3d(X, W, stride=2, padding=1),
         {"X": r(1, 2, 5, 4, 5), "W": r(3, 2, 3, 3, 3, seed=1)}),
    Case("conv_transpose2d", "Y = conv_transpose2d(X, W, stride=2, padding=1)",
         lambda X, W: F.conv_transpose2d(X, W, stride=2, padding=1), {"X": r(2, 3, 4, 4), "W": r(3, 2, 3, 3, seed=1)}),
    Case("max_pool2d", "Y = max_pool2d(X, 3, stride=2, padding=1)", lambda X: F.max_pool2d(X, 3, 2, 1), {"X": r(2, 3, 7, 8)}),
    Case("avg_pool2d", "Y = avg_pool2d(X, 2)", lambda X: F.avg_pool2d(X, 2), {"X": r(2, 3, 7, 8)}),
    Case("avg_pool2d with padding", "Y = avg_pool2d(X, 3, stride=2, padding=1, count_include_pad=False)",
         lambda X: F.avg_pool2d(X, 3, 2, 1, count_include_pad=False), {"X": r(2, 3, 7, 8)}),
    Case("stencil", "Y[i] = X[i] + 2*X[i+1] - X[i+2]", lambda X: X[:-2] + 2 * X[1:-1] - X[2:], {"X": r(10)}),
    Case("window", "Y[i] = sum[r in 3](X[2*i+r]*w[r])", lambda X, w: (X.unfold(0, 3, 2) * w).sum(-1), {"X": r(10), "w": r(3)}),
    Case("every second", "Y[i] = X[2*i]**2", lambda X: X[::2] ** 2, {"X": r(10)}),
    Case("backwards", "Y = X[::-1]*w", lambda X, w: X.flip(0) * w, {"X": r(5), "w": r(5, seed=1)}),
    Case("sliced", "Y = X[1:4, ::2]", lambda X: X[1:4, ::2], {"X": r(5, 7)}),
    # layout
    Case("reshape", "Y = reshape(X, (6, 4))*w", lambda X, w: X.reshape(6, 4) * w, {"X": r(2, 3, 4), "w": r(4)}),
    Case("concatenate", "Y = concatenate(A, B, axis=1)", lambda A, B: torch.cat([A, B], 1), {"A": r(2, 3), "B": r(2, 4)}),
    Case("upsampled", "Y[i in 10] = X[i//2]", lambda X: X.repeat_interleave(2), {"X": r(5)}),
    Case("tiled", "Y[i in 9] = X[i % 3]", lambda X: X.repeat(3), {"X": r(3)}),
    Case("guarded", "Y[i] = where(i > 0, X[i-1], 0.0)*X[i]", lambda X: F.pad(X, (1, 0))[:-1] * X, {"X": r(6)}),
    Case("chosen", "Y = where(X > 0, X*X, exp(X))", lambda X: torch.where(X > 0, X * X, X.exp()), {"X": r(20)}),
    Case("masked", "Y = softmax(where(M, X, -1e30))", lambda X, M: torch.where(M, X, -1e30).softmax(-1),
         {"X": r(4, 4), "M": np.tril(np.ones((4, 4), np.bool_))}),
    # gathers
    Case("embedding", "Y[t,d] = E[J[t],d]", lambda E, J: E[J], {"E": r(5, 3), "J": places(5, 8)}),
    Case("gathered weights", "Y[t] = sum[d](E[J[t],d]*x[d])", lambda E, J, x: E[J] @ x,
         {"E": r(5, 3), "J": places(5, 8), "x": r(3)}),
    # losses and networks
    Case("cross entropy", "P = log_softmax(X)\nY = -mean[n](P[n, T[n]])", lambda X, T: F.cross_entropy(X, T),
         {"X": r(6, 5), "T": places(5, 6)}),
    Case("mean squared error", "Y = mean((X - T)**2)", lambda X, T: F.mse_loss(X, T), {"X": r(4, 3), "T": r(4, 3, seed=1)}),
    Case("attention", "S[q,k] = sum[d](Q[q,d]*K[k,d])*0.5\nP = softmax(S)\nY = P @ V",
         lambda Q, K, V: F.scaled_dot_product_attention(Q[None], K[None], V[None], scale=0.5)[0],
         {"Q": r(4, 3), "K": r(5, 3, seed=1), "V": r(5, 3, seed=2)}),
    Case("causal attention", "Y = attention(Q, K, V, causal=True)",
         lambda Q, K, V: F.scaled_dot_product_attention(Q, K, V, is_causal=True),
         {"Q": r(1, 2, 4, 3), "K": r(1, 2, 4, 3, seed=1), "V": r(1, 2, 4, 3, seed=2)}),
    Case("two layers", "H = gelu(X @ W + b)\nY = H @ V", lambda X, W, b, V: F.gelu(X @ W + b) @ V,
         {"X": r(4, 3), "W": r(3, 6, seed=1), "b": r(6), "V": r(6, 2, seed=2)}),
    # scans and scatters
    Case("cumsum", 'Y = scan("sum", X, 1)', lambda X: X.cumsum(1), {"X": r(3, 5)}),
    Case("cumprod", 'Y = scan("prod", X, 0)', lambda X: X.cumprod(0), {"X": positive(5, 2)}),
    Case("cummax", 'Y = scan("max", X, 0)', lambda X: X.cummax(0).values, {"X": r(6, 2)}),
    Case("logcumsumexp", 'Y = scan("logsumexp", X, 0)', lambda X: X.logcumsumexp(0), {"X": r(6, 2)}),
    Case("reverse scan", 'Y = scan("max", X, 0, reverse=True)', lambda X: X.flip(0).cummax(0).values.flip(0), {"X": r(6)}),
    Case("scatter add", 'Y = scatter[u](B, (J[u],), V[u]*V[u], "sum")', lambda B, J, V: B.index_add(0, J, V * V),
         {"B": r(4), "J": places(4, 7), "V": r(7, seed=1)}),
    Case("scatter last", "Y = scatter[u](B, (J[u],), V[u])", lambda B, J, V: torch.cat([B[:1], V[1:3], B[3:]]),
         {"B": r(4), "J": np.array([1, 1, 2]), "V": r(3, seed=1)}),
    Case("scatter max", 'Y = scatter[u](B, (J[u],), V[u], "max")', lambda B, J, V: B.scatter_reduce(0, J, V, "amax"),
         {"B": r(4), "J": places(4, 7), "V": r(7, seed=1)}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_gradients_are_those_of_torch(case: Case) -> None:
    wrt = ["X", "g", "b"] if case.name == "batch_norm" else None
    agree(case.text, case.function, case.arrays, wrt, 1e-7 if case.name in _F32_LITERALS else 1e-9)


_F32_LITERALS = ("causal attention",)
"""The operator casts a literal to f32, so that its double-precision gradient is exact to that only."""
