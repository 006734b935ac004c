"""What is timed: a formula at fixed shapes, and the same in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """`torch(torch, functional)` returns a function on a dict of torch tensors, given the module and nn.functional.

    `needed` is the share of the operations as written that the result depends on.
    """

    name: str
    formula: str
    shapes: Mapping[str, str]
    torch: Callable[[Any, Any], Callable[[dict[str, Any]], Any]]
    numpy: Callable[[Any], Callable[[dict[str, Any]], Any]] | None = None
    needed: float = 1.0


def _matmul(size: int) -> Row:
    shape = f"{size}x{size}:f32"
    return Row(f"matmul {size}", "C = A @ B", {"A": shape, "B": shape}, lambda t, F: lambda x: t.mm(x["A"], x["B"]),
               lambda np: lambda x: np.matmul(x["A"], x["B"]))


def _attention(name: str, heads: int, queries: int, keys: int, features: int, causal: bool = False) -> Row:
    held = f"{heads}x{keys}x{features}:f32"
    formula = f"Y = attention(query, key, value{', causal=True' if causal else ''})"

    def torch(t: Any, F: Any) -> Callable[[dict[str, Any]], Any]:
        def call(x: dict[str, Any]) -> Any:  # its fused kernel takes four axes
            q, k, v = (x[n].unsqueeze(0) for n in ("query", "key", "value"))
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]

        return call

    return Row(name, formula, {"query": f"{heads}x{queries}x{features}:f32", "key": held, "value": held}, torch,
               needed=(keys + 1) / (2 * keys) if causal else 1.0)


CPU = (
    _matmul(256),
    _matmul(512),
    _matmul(1024),
    Row("linear 128x768x3072", "Y[i,j] = sum[k](X[i,k]*W[k,j]) + b[j]",
        {"X": "128x768:f32", "W": "768x3072:f32", "b": "3072:f32"},
        lambda t, F: lambda x: t.addmm(x["b"], x["X"], x["W"])),
    Row("batched matmul 12x128x64x128", "Y = Q @ K", {"Q": "12x128x64:f32", "K": "12x64x128:f32"},
        lambda t, F: lambda x: t.bmm(x["Q"], x["K"]), lambda np: lambda x: np.matmul(x["Q"], x["K"])),
    Row("conv2d 64x56x56 3x3", "Y = conv2d(X, W, padding=1)", {"X": "1x64x56x56:f32", "W": "64x64x3x3:f32"},
        lambda t, F: lambda x: F.conv2d(x["X"], x["W"], padding=1)),
    Row("conv3d 16x16x28x28 3x3x3", "Y = conv3d(X, W, padding=1)", {"X": "1x16x16x28x28:f32", "W": "32x16x3x3x3:f32"},
        lambda t, F: lambda x: F.conv3d(x["X"], x["W"], padding=1)),
    Row("softmax 4096x1024", "Y = softmax(X, axis=-1)", {"X": "4096x1024:f32"}, lambda t, F: lambda x: F.softmax(x["X"], -1)),
    Row("log_softmax 4096x1024", "Y = log_softmax(X, axis=-1)", {"X": "4096x1024:f32"},
        lambda t, F: lambda x: F.log_softmax(x["X"], -1)),
    Row("softmax of long rows 128x65536", "Y = softmax(X, axis=-1)", {"X": "128x65536:f32"},
        lambda t, F: lambda x: F.softmax(x["X"], -1)),
    Row("softmax of columns 4096x2048", "Y = softmax(X, axis=0)", {"X": "4096x2048:f32"},
        lambda t, F: lambda x: F.softmax(x["X"], 0)),
    _attention("attention 8x512x64", 8, 512, 512, 64),
    _attention("attention 16x1024x64 causal", 16, 1024, 1024, 64, True),
    _attention("attention of one query, 4096 keys", 8, 1, 4096, 64),
    Row("layer_norm 4096x1024", "Y = layer_norm(X, gamma, beta)", {"X": "4096x1024:f32", "gamma": "1024:f32", "beta": "1024:f32"},
        lambda t, F: lambda x: F.layer_norm(x["X"], (1024,), x["gamma"], x["beta"])),
    Row("rms_norm 4096x1024", "Y = rms_norm(X, gamma)", {"X": "4096x1024:f32", "gamma": "1024:f32"},
        lambda t, F: lambda x: F.rms_norm(x["X"], (1024,), x["gamma"], 1e-6)),
    Row("gelu 4096x1024", "Y = gelu(X)", {"X": "4096x1024:f32"}, lambda t, F: lambda x: F.gelu(x["X"])),
    Row("chain of 4, 4096x1024", "Y = tanh(X)*sigmoid(X) + X*0.5", {"X": "4096x1024:f32"},
        lambda t, F: lambda x: t.tanh(x["X"]) * t.sigmoid(x["X"]) + x["X"] * 0.5),
    Row("max_pool 64x112x112 3x3 s2", "Y = max_pool2d(X, kernel_size=3, stride=2, padding=1)", {"X": "1x64x112x112:f32"},
        lambda t, F: lambda x: F.max_pool2d(x["X"], 3, 2, 1)),
    Row("sum of the last axis 8192x4096", "Y = sum(X, axis=-1)", {"X": "8192x4096:f32"}, lambda t, F: lambda x: x["X"].sum(-1),
        lambda np: lambda x: x["X"].sum(-1)),
    Row("sum of the first axis 4096x4096", "Y = sum(X, axis=0)", {"X": "4096x4096:f32"}, lambda t, F: lambda x: x["X"].sum(0),
        lambda np: lambda x: x["X"].sum(0)),
    Row("argmax of the last axis 8192x4096", "Y = argmax(X, axis=-1)", {"X": "8192x4096:f32"},
        lambda t, F: lambda x: x["X"].argmax(-1), lambda np: lambda x: x["X"].argmax(-1)),
)

SUITES: Mapping[str, tuple[Row, ...]] = {"cpu": CPU}
