"""The oracle against an independent implementation: formulas evaluated here and by torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernelcat_core.formula.lower import lower
from kernelcat_core.formula.parser import parse_cached
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph

torch = pytest.importorskip("torch")
F = torch.nn.functional

Case = tuple[str, dict[str, tuple[int, ...]], Callable[..., Any]]

CASES: dict[str, Case] = {
    "matmul": ("C[i,j] += A[i,k]*B[k,j]", {"A": (7, 13), "B": (13, 5)}, lambda A, B: A @ B),
    "batched matmul": (
        "C[b,i,j] += A[b,i,k]*B[b,k,j]", {"A": (3, 7, 13), "B": (3, 13, 5)}, lambda A, B: torch.bmm(A, B)),
    "bilinear": (
        "Y[n,o] += A[n,i]*W[o,i,j]*B[n,j]", {"A": (4, 5), "W": (3, 5, 6), "B": (4, 6)},
        lambda A, W, B: F.bilinear(A, B, W)),
    "softmax": (
        "M[i] = max[k](X[i,k]); Y[i,j] = exp(X[i,j]-M[i]) / sum[k](exp(X[i,k]-M[i]))",
        {"X": (6, 31)}, lambda X: F.softmax(X, -1)),
    "log-sum-exp": ("Y[i] = logsumexp[k](X[i,k])", {"X": (6, 31)}, lambda X: torch.logsumexp(X, -1)),
    "layer norm": (
        "m[i] = mean[k](X[i,k]); v[i] = mean[k]((X[i,k]-m[i])**2)\n"
        "Y[i,j] = (X[i,j]-m[i]) / sqrt(v[i] + 1e-5) * g[j] + b[j]",
        {"X": (6, 31), "g": (31,), "b": (31,)}, lambda X, g, b: F.layer_norm(X, (31,), g, b)),
    "convolution": (
        "Y[n,o,y,x] += X[n,c,2*y+r,2*x+s]*W[o,c,r,s]",
        {"X": (2, 3, 11, 12), "W": (4, 3, 3, 2)}, lambda X, W: F.conv2d(X, W, stride=2)),
    "dilated convolution": (
        "Y[n,o,x] += X[n,c,x+3*s]*W[o,c,s]", {"X": (2, 3, 20), "W": (4, 3, 3)},
        lambda X, W: F.conv1d(X, W, dilation=3)),
    "padded convolution": (
        "Y[o,x in 9] = sum[c, r in 3](where(x+r >= 1 and x+r < 10, X[c,x+r-1], 0.0)*W[o,c,r])",
        {"X": (3, 9), "W": (4, 3, 3)}, lambda X, W: F.conv1d(X, W, padding=1)),
    "depthwise convolution": (
        "Y[c,y,x] += X[c,y+r,x+s]*W[c,r,s]",
        {"X": (5, 8, 9), "W": (5, 3, 3)}, lambda X, W: F.conv2d(X, W[:, None], groups=5)),
    "three-dimensional convolution": (
        "Y[o,z,y,x] += X[c,z+q,y+r,x+s]*W[o,c,q,r,s]",
        {"X": (2, 5, 6, 7), "W": (3, 2, 2, 3, 3)}, lambda X, W: F.conv3d(X, W)),
    "average pooling": (
        "Y[c,y,x] = mean[r in 2, s in 2](X[c,2*y+r,2*x+s])", {"X": (3, 8, 10)}, lambda X: F.avg_pool2d(X, 2)),
    "maximum pooling": (
        "Y[c,y,x] = max[r in 3, s in 3](X[c,2*y+r,2*x+s])", {"X": (3, 9, 11)}, lambda X: F.max_pool2d(X, 3, 2)),
    "attention": (
        "S[h,q,k] = 0.25*sum[d](Q[h,q,d]*K[h,k,d]); M[h,q] = max[k](S[h,q,k]); P[h,q,k] = exp(S[h,q,k]-M[h,q])\n"
        "O[h,q,d] = sum[k](P[h,q,k]*V[h,k,d]) / sum[k](P[h,q,k])",
        {"Q": (2, 7, 16), "K": (2, 9, 16), "V": (2, 9, 16)}, lambda Q, K, V: F.scaled_dot_product_attention(Q, K, V)),
    "causal mask": (
        "Y[q,k] = where(k <= q, S[q,k], -1e30)", {"S": (8, 8)},
        lambda S: torch.where(torch.tril(torch.ones(8, 8)) > 0, S, float(np.float32(-1e30)))),
    "variance": (
        "m[i] = mean[k](X[i,k]); Y[i] = mean[k]((X[i,k]-m[i])**2)", {"X": (5, 33)}, lambda X: X.var(-1, correction=0)),
    "argmax": ("Y[i] = argmax[k](X[i,k])", {"X": (9, 33)}, lambda X: X.argmax(-1)),
    "argmin over two axes": ("Y[i] = argmin[j,k](X[i,j,k])", {"X": (9, 4, 5)}, lambda X: X.flatten(1).argmin(-1)),
    "product": ("Y[i] = prod[k](X[i,k])", {"X": (5, 9)}, lambda X: X.prod(-1)),
    "cumulative sum": (
        "X: f32[M, N]\nY[i, j in N] = sum[k in N](where(k <= j, X[i,k], 0.0))", {"X": (3, 9)},
        lambda X: X.cumsum(-1)),
    "pairwise distance": (
        "D[i,j] = sqrt(sum[k]((A[i,k]-B[j,k])**2))", {"A": (6, 3), "B": (5, 3)},
        lambda A, B: torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist")),
    "transposed product": ("Y[j,i] = X[i,j]*2", {"X": (4, 5)}, lambda X: X.T * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_formula(name: str) -> None:
    text, shapes, reference = CASES[name]
    rng = np.random.default_rng(0)
    inputs = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    graph = lower(parse_cached(text)).graph
    verify_graph(graph)
    expected = reference(**{n: torch.from_numpy(a).double() for n, a in inputs.items()}).numpy()
    (exact,) = evaluate(graph, inputs, precision="float64").values()
    assert exact.shape == expected.shape
    np.testing.assert_allclose(exact, expected, rtol=1e-9, atol=1e-12)
    (declared,) = evaluate(graph, inputs).values()
    assert declared.dtype == graph.tensors[graph.outputs[0]].dtype.numpy
    np.testing.assert_allclose(declared, expected, rtol=1e-4, atol=1e-5)


FUNCTIONS = {
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
    "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "sin": torch.sin,
    "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh,
    "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf, "floor": torch.floor,
    "ceil": torch.ceil, "trunc": torch.trunc, "rint": torch.round, "abs": torch.abs, "sign": torch.sign,
    "isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite, "signbit": torch.signbit,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    x = np.array([-np.inf, -3.5, -2.5, -1.0, -0.25, -0.0, 0.0, 1e-8, 0.25, 1.0, 1.5, 2.5, 30.0, np.inf, np.nan])
    graph = lower(parse_cached(f"X: f64[N]\nY = {name}(X)")).graph
    if name == "sign":  # NumPy's sign of NaN is NaN, torch's is 0
        x = x[:-1]
    (got,) = evaluate(graph, {"X": x}).values()
    np.testing.assert_allclose(got, FUNCTIONS[name](torch.from_numpy(x)).numpy(), rtol=4e-15, atol=1e-300)


BINARY = {
    "fmod": torch.fmod, "power": torch.pow, "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax,
    "fmin": torch.fmin, "atan2": torch.atan2, "hypot": torch.hypot, "copysign": torch.copysign,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two(name: str) -> None:
    x = np.array([-2.5, -1.0, -0.25, 0.0, 0.25, 1.0, 2.5, 30.0, np.nan, np.inf])
    graph = lower(parse_cached(f"X: f64[N]\nZ: f64[N]\nY[i,j] = {name}(X[i], Z[j])")).graph
    (got,) = evaluate(graph, {"X": x, "Z": x}).values()
    pairs = [torch.from_numpy(p.copy()) for p in np.meshgrid(x, x, indexing="ij")]
    np.testing.assert_allclose(got, BINARY[name](*pairs).numpy(), rtol=4e-15)
