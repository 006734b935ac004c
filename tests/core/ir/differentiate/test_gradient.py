"""Whole gradients: types, several orders, training, and what the schedule makes of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelcat_core import formula as language
from kernelcat_core.dtypes import F32, from_numpy
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.differentiate import gradient
from kernelcat_core.ir.differentiate.shifts import shifts
from kernelcat_core.ir.expr import Load, Size, Var, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Scatter, Tensor
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph
from kernelcat_core.schedule.partition import partition

_spec = importlib.util.spec_from_file_location("differentiate_autograd_whole", Path(__file__).with_name("autograd.py"))
assert _spec is not None and _spec.loader is not None
autograd = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = autograd
_spec.loader.exec_module(autograd)
random = autograd.random


def graph_of(text: str) -> Graph:
    graph = language.lower(language.parse(text)).graph
    verify_graph(graph)
    return graph


def run(text: str, **arrays: Any) -> dict[str, Any]:
    specs = {n: language.TensorSpec(from_numpy(a.dtype), a.shape) for n, a in arrays.items()}
    graph = language.lower(language.parse(text), specs).graph
    verify_graph(graph)
    return dict(evaluate(graph, arrays))


def refused(text: str) -> KernelcatError:
    with pytest.raises(KernelcatError) as caught:
        graph_of(text)
    assert caught.value.hint and caught.value.span is not None
    return caught.value


# -- the language


def test_without_a_cotangent_it_is_ones() -> None:
    x = random(3, 4)
    found = run("Y = X*X\nG = grad(Y, X)", X=x)["G"]
    np.testing.assert_allclose(found, 2 * x)


def test_a_cotangent_may_be_any_tensor_of_that_shape() -> None:
    x, w = random(3, 4), random(3, 4, seed=1)
    np.testing.assert_allclose(run("Y = X*X\nG = grad(Y, X, 3*V)", X=x, V=w)["G"], 6 * x * w)


def test_gradients_are_subscripted_and_used_like_tensors() -> None:
    x = random(5)
    np.testing.assert_allclose(run("Y = sum(exp(X))\nG[i] = X[i] - 0.1*grad(Y, X)[i]", X=x)["G"], x - 0.1 * np.exp(x))


def test_gradients_by_what_was_assigned_stop_there() -> None:
    x = random(5)
    np.testing.assert_allclose(run("H = X*X\nY = H*H\nG = grad(Y, H)", X=x)["G"], 2 * x * x)


def test_nothing_depends_on_it() -> None:
    np.testing.assert_array_equal(run("Y = X + 0*Z\nH = Z*2\nG = grad(Y, H)", X=random(3), Z=random(3))["G"], np.zeros(3))


def test_several_gradients_share_what_they_have_in_common() -> None:
    graph = graph_of("H = relu(linear(X, W, b))\nY = linear(H, V)\nL = mean((Y - T)**2)\nA = grad(L, W)\nB = grad(L, b)\n-> A, B")
    assert sum("dlinear_sum" in n.output.name for n in graph.nodes) == 1


def test_every_gradient_has_the_shape_and_type_of_its_tensor() -> None:
    graph = graph_of("X: f16[N, K]\nW: f32[K]\ns: f64\nY[n] = sum[k](X[n,k]*W[k])*s\nA = grad(Y, X)\nB = grad(Y, W)\n"
                     "C = grad(Y, s)\n-> A, B, C")
    for out, given in zip("ABC", ("X", "W", "s"), strict=True):
        assert graph.tensors[out].dtype == graph.tensors[given].dtype
        assert graph.tensors[out].shape == graph.tensors[given].shape


def test_mistakes_are_located_errors() -> None:
    assert refused("Y = X*X\nG = grad(Y)").code == "KC-F005"
    assert refused("Y = X*X\nG = grad(Y, Q)").code == "KC-F006"
    assert refused("X: f32[4]\nV: f32[5]\nY = X*X\nG = grad(Y, X, V)").code == "KC-F017"
    assert refused("X: f32[4]\nV: f64[4]\nY = X*X\nG = grad(Y, X, V)").code == "KC-F017"
    assert refused("X: i32[4]\nY = X*X\nG = grad(Y, X)").code == "KC-G002"
    assert refused("X: f32[4]\nY = argmax(X)\nG = grad(Y, X)").code == "KC-G002"
    assert refused('X: f32[4]\nY = scan("prod", X, 0, exclusive=True)\nG = grad(Y, X)').code == "KC-G002"


def test_gradients_of_graphs_are_pure() -> None:
    x = Tensor("X", F32, (Size("N"),))
    i = Axis("i", Size("N"))
    e = Load("X", (Var("i"),), F32)
    square = Compute(Tensor("Y", F32, x.shape), (i,), (op("mul", e, e),))
    graph = Graph((x,), (square,), ("Y",))
    found = gradient(graph, ["Y"], ["X"])
    verify_graph(found)
    given = {"X": np.arange(4, dtype=np.float32)}
    (value,) = evaluate(found, given).values()
    np.testing.assert_array_equal(value, 2 * given["X"])
    assert graph.nodes == (square,)


# -- against torch


def test_second_derivatives() -> None:
    torch = pytest.importorskip("torch")
    for text, function in (("exp(X)*X", lambda x: x.exp() * x), ("X**3/(1 + X*X)", lambda x: x**3 / (1 + x * x)),
                           ("tanh(X)", torch.tanh), ("log(1 + X*X)", lambda x: (1 + x * x).log())):
        given, v = random(6), random(6, seed=1)
        x = torch.tensor(given, requires_grad=True)
        (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        (wanted,) = torch.autograd.grad(first, x, torch.tensor(v))
        found = run(f"Y = {text}\nD = grad(Y, X)\nG = grad(D, X, V)", X=given, V=v)["G"]
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-9, atol=1e-12, err_msg=text)


def test_second_derivatives_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    given, w = random(4, 3), random(3, 5, seed=1)
    for text, function in (("softmax(X @ W)", lambda x, m: (x @ m).softmax(-1)), ("tanh(X @ W)", lambda x, m: (x @ m).tanh())):
        x, m = torch.tensor(given, requires_grad=True), torch.tensor(w, requires_grad=True)
        (first,) = torch.autograd.grad((function(x, m) ** 2).sum(), x, create_graph=True)
        (wanted,) = torch.autograd.grad((first**2).sum(), m)
        found = run(f"P = {text}\nL = sum(P**2)\nD = grad(L, X)\nS = sum(D**2)\nG = grad(S, W)", X=given, W=w)["G"]
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-8, atol=1e-11, err_msg=text)


STEP = """
H = tanh(X @ W1 + b1)
Y = H @ W2 + b2
L = mean((Y - T)**2)
V1 = W1 - 0.1*grad(L, W1)
c1 = b1 - 0.1*grad(L, b1)
V2 = W2 - 0.1*grad(L, W2)
c2 = b2 - 0.1*grad(L, b2)
-> L, V1, c1, V2, c2
"""


def test_training_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    data = {"X": random(16, 4), "T": random(16, 2, seed=1)}
    weights = {"W1": random(4, 8, seed=2), "b1": np.zeros(8), "W2": random(8, 2, seed=3), "b2": np.zeros(2)}
    ours = {n: w.astype(np.float32) for n, w in weights.items()}
    theirs = {n: torch.tensor(w.astype(np.float32), requires_grad=True) for n, w in weights.items()}
    fixed = {n: a.astype(np.float32) for n, a in data.items()}
    x, t = (torch.tensor(fixed[n]) for n in ("X", "T"))
    specs = {n: language.TensorSpec(from_numpy(a.dtype), a.shape) for n, a in {**fixed, **ours}.items()}
    step = language.lower(language.parse(STEP), specs).graph
    losses = []
    for _ in range(20):
        out = evaluate(step, {**fixed, **ours})
        ours = {n: out[new] for n, new in zip(ours, ("V1", "c1", "V2", "c2"), strict=True)}
        losses.append(float(out["L"]))
        loss = ((torch.tanh(x @ theirs["W1"] + theirs["b1"]) @ theirs["W2"] + theirs["b2"] - t) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for w in theirs.values():
                w -= 0.1 * w.grad
                w.grad = None
        assert losses[-1] == pytest.approx(loss.item(), rel=1e-5)
    assert losses[-1] < 0.5 * losses[0]
    for n, w in theirs.items():
        np.testing.assert_allclose(ours[n], w.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_half_precision_is_rounded_once_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    a, b, v = (random(*s, seed=k).astype(np.float16) for k, s in enumerate(((8, 64), (64, 8), (8, 8))))
    wide = {n: t.astype(np.float64) for n, t in (("A", a), ("B", b), ("V", v))}
    found = run("Y = A @ B\nG = grad(Y, A, V)", A=a, B=b, V=v)["G"]
    exact = wide["V"] @ wide["B"].T
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=2**-10.9, atol=1e-6)
    x = torch.tensor(a, requires_grad=True)
    torch.nn.functional.softmax(x, -1).backward(torch.tensor(b.T))
    ours = run("Y = softmax(X)\nG = grad(Y, X, V)", X=a, V=np.ascontiguousarray(b.T))["G"]
    np.testing.assert_allclose(ours.astype(np.float32), x.grad.numpy().astype(np.float32), rtol=0.02, atol=2e-3)


# -- what is formed


def kernel_class(text: str, name: str) -> str:
    found = partition(graph_of(text))
    return next(str(k.kernel_class) for k in found.kernels if any(n.output.name == name for n in k.nodes))


@pytest.mark.parametrize("text", [
    "Y = X @ W", "Y = linear(X, W, b)", "Y = conv1d(X, W)", "Y = conv2d(X, W, stride=2, padding=1)",
    "Y = conv3d(X, W, dilation=2)", 'Y = einsum("bij,bjk->bik", X, W)', "X: f16[M, K]\nW: f16[K, N]\nY = X @ W",
])
def test_gradients_of_contractions_are_contractions(text: str) -> None:
    both = f"{text}\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B"
    assert kernel_class(both, "A") == "contraction"
    assert kernel_class(both, "B") == "contraction"


def test_only_computed_subscripts_scatter() -> None:
    windows = graph_of("Y = conv2d(X, W, stride=2, padding=1, groups=2)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B")
    assert all(isinstance(n, Compute) for n in windows.nodes)
    gathered = graph_of("I: i64[T]\nY[t, d] = E[I[t], d]\nG = grad(Y, E, dY)")
    assert any(isinstance(n, Scatter) for n in gathered.nodes)


def test_the_maximum_of_softmax_has_no_gradient_to_form() -> None:
    for text in ("Y = softmax(X)", "Y = log_softmax(X)", "Y = logsumexp(X, axis=-1)", "Y = softmax(softmax(X))"):
        graph = graph_of(text)
        made = [n.output.name for n in graph.nodes if isinstance(n, Compute) and n.monoid is not None and n.monoid.name == "max"]
        assert made and shifts(graph, graph.outputs) == set(made), text
    for text in ("M[i] = max[k](X[i,k])\nY[i,k] = exp(X[i,k] - M[i])", "M[i] = max[k](X[i,k])\nY[i,k] = X[i,k]/M[i]",
                 "M[i] = max[k](X[i,k])\nY[i,k] = X[i,k] - 2*M[i]"):
        graph = graph_of(text)
        assert not shifts(graph, graph.outputs), text
