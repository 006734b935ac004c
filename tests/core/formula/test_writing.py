"""Graphs written as formulas: the text lowers to the same graph, up to names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernelcat_core import formula as language
from kernelcat_core.dtypes import F32, I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.operators.definition import REGISTRY
from kernelcat_core.formula.writing import print_graph_formula
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var, conjunction, conjuncts, op, substitute, transform
from kernelcat_core.ir.graph import (
    Axis,
    Compute,
    Graph,
    Primitive,
    Tensor,
    inner_axes,
    map_axes,
    map_expressions,
    monoid,
)
from kernelcat_core.ir.interpreter import evaluate

OPERATORS = {o.name: o.example for o in REGISTRY.values()}
GRADIENTS = {
    "matmul": "Y = X @ W\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "half precision": "X: f16[M, K]\nW: f16[K, N]\nY = X @ W\nA = grad(Y, X, dY)",
    "conv2d": "Y = conv2d(X, W, stride=2, padding=1, kernel_size=3)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "grouped conv2d": "Y = conv2d(X, W, padding=1, groups=2, kernel_size=3)\nA = grad(Y, X, dY)\nB = grad(Y, W, dY)\n-> A, B",
    "conv_transpose2d": "Y = conv_transpose2d(X, W, stride=2, padding=1, kernel_size=3)\nA = grad(Y, X, dY)",
    "max_pool2d": "Y = max_pool2d(X, 3, stride=2)\nA = grad(Y, X, dY)",
    "avg_pool2d": "Y = avg_pool2d(X, 2)\nA = grad(Y, X, dY)",
    "softmax": "Y = softmax(X)\nA = grad(Y, X, dY)",
    "layer_norm": "Y = layer_norm(X, g, b)\nA = grad(Y, X, dY)\nB = grad(Y, g, dY)\nC = grad(Y, b, dY)\n-> A, B, C",
    "attention": "Y = attention(Q, K, V)\nA = grad(Y, Q, dY)\nB = grad(Y, K, dY)\nC = grad(Y, V, dY)\n-> A, B, C",
    "cross entropy": "T: i64[N]\nP = log_softmax(X)\nL = -mean[n](P[n, T[n]])\nA = grad(L, X)",
    "scan": 'X: f32[N, M]\nY = scan("sum", X, 1)\nA = grad(Y, X, dY)',
    "max scan": 'X: f32[N, M]\nY = scan("max", X, 1)\nA = grad(Y, X, dY)',
    "scatter": 'I: i64[U]\nB: f32[N]\nY = scatter[u](B, (I[u],), V[u]*V[u], "sum")\nA = grad(Y, V, dY)',
    "reshape": "X: f32[2, 3, 4]\nY = reshape(X, (6, 4))\nA = grad(Y, X, dY)",
    "guarded": "Y[i] = where(i > 0, X[i-1], 0.0)*X[i]\nA = grad(Y, X, dY)",
    "twice": "X: f32[N]\nY = sum(X**3)\nD = grad(Y, X)\nA = grad(D, X, V)",
}


def lowered(text: str) -> Graph:
    return language.lower(language.parse(text)).graph


def canonical(graph: Graph) -> str:
    """The graph's text with tensors, sizes and indices called by their order, and without conditions that always hold."""
    names = {name: f"T{k}" for k, name in enumerate(graph.tensors)} | {n: f"N{k}" for k, n in enumerate(graph.size_names)}

    def renamed(n: Expr) -> Expr | None:
        if isinstance(n, Size):
            return Size(names[n.name])
        if not isinstance(n, Load):
            return None
        where = conjunction(*(c for c in conjuncts(n.where) if not (
            isinstance(c, Op) and c.name == "le" and c.args[0] == Const(0, I64) and isinstance(c.args[1], Var))))
        return Load(names[n.tensor], n.index, n.dtype, where, None if where is None else n.fill)

    def tensor(t: Tensor) -> Tensor:
        return Tensor(names[t.name], t.dtype, tuple(poly.normal(transform(d, renamed)) for d in t.shape))

    def primitive(node: Primitive) -> Primitive:
        order = {a.name: Var(f"i{k}") for k, a in enumerate((*node.axes, *inner_axes(node)))}
        moved = map_expressions(node, lambda e: transform(substitute(e, order), renamed))
        size = lambda e: poly.normal(transform(e, renamed))  # noqa: E731
        moved = map_axes(moved, lambda a: Axis(order[a.name].name, size(a.size)), size)
        return replace(moved, output=tensor(node.output))

    nodes = tuple(map(primitive, graph.nodes))
    return Graph(tuple(map(tensor, graph.inputs)), nodes, tuple(names[o] for o in graph.outputs)).text


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_are_written_as_formulas(name: str) -> None:
    graph = lowered(OPERATORS[name])
    text = print_graph_formula(graph)
    assert canonical(lowered(text)) == canonical(graph), text


@pytest.mark.parametrize("name", [i.slug for i in language.gallery()])
def test_the_gallery_is_written_as_formulas(name: str) -> None:
    (formula,) = (i.formula for i in language.gallery() if i.slug == name)
    graph = lowered(formula)
    text = print_graph_formula(graph)
    assert canonical(lowered(text)) == canonical(graph), text


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_written_as_formulas(name: str) -> None:
    graph = lowered(GRADIENTS[name])
    text = print_graph_formula(graph)
    assert "grad(" not in text
    assert canonical(lowered(text)) == canonical(graph), text


def test_the_gradient_of_a_product_reads_as_one() -> None:
    text = print_graph_formula(lowered("Y[i,j] = sum[k](A[i,k]*B[k,j])\nG = grad(Y, A, dY)\nH = grad(Y, B, dY)\n-> G, H"))
    assert "G[i, k] = sum[j](dY[i, j] * B[k, j])" in text
    assert "H[k, j] = sum[i](dY[i, j] * A[i, k])" in text


def test_literals_keep_their_type() -> None:
    for text in ("A: f64[4]\nY[i] = A[i]*0.1 + where(A[i] > 0, 1.0, -inf)", "Y[i in 3] = f64(0.1)", "Y[i in 3] = i*2 - 7",
                 "Y[i in 3] = i32(where(i == 1, 4, 5))", "Y[i in 4] = i < 2", "x: i8[4]\nY = x*3"):
        graph = lowered(text if ":" in text else "X: f32[3]\n" + text)
        assert canonical(lowered(print_graph_formula(graph))) == canonical(graph)


def test_a_fold_with_a_finish_of_its_own_takes_two_statements() -> None:
    x, i, k = Tensor("X", F32, (Size("N"), Size("K"))), Axis("i", Size("N")), Axis("k", Size("K"))
    finish = op("exp", Var("s0", F32))
    node = Compute(Tensor("Y", F32, (Size("N"),)), (i,), (Load("X", (i.var, k.var), F32),), (k,), monoid("sum", F32), finish)
    graph = Graph((x,), (node,), ("Y",))
    text = print_graph_formula(graph)
    given = {"X": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(lowered(text), given)["Y"], evaluate(graph, given)["Y"], rtol=1e-6)


def test_what_the_language_lacks_is_an_error() -> None:
    i = Axis("i", Size("N"))
    node = Compute(Tensor("Y", F32, (Size("N"),)), (i,), (op("round_half_away", Load("X", (i.var,), F32)),))
    with pytest.raises(KernelcatError) as caught:
        print_graph_formula(Graph((Tensor("X", F32, (Size("N"),)),), (node,), ("Y",)))
    assert caught.value.code == "KC-I001"
