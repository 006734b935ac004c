"""The bounds of running error analysis hold for real roundings, and are not much wider than these."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.dtypes import F16, F32
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.numerics.stability import error_bounds
from kernelcat_core.numerics.tolerance import Approximations

from . import graphs

SHAPES = {"X": (5, 33), "A": (5, 33), "B": (33, 7)}


def normal(g: Graph, seed: int = 0, scale: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {t.name: (scale * rng.standard_normal(SHAPES[t.name][: t.rank])).astype(t.dtype.numpy) for t in g.inputs}


@pytest.mark.parametrize("scale", [1e-12, 1.0, 30.0])
@pytest.mark.parametrize("make", [graphs.matmul, graphs.softmax, graphs.sums, lambda: graphs.matmul(F16)])
def test_declared_roundings_stay_inside(make: object, scale: float) -> None:
    g = make()  # type: ignore[operator]
    for seed in range(3):
        inputs = normal(g, seed, scale)
        name = g.outputs[0]
        exact, declared = (evaluate(g, inputs, precision=p)[name].astype(float) for p in ("float64", "declared"))
        bound = error_bounds(g, inputs)[name]
        assert (np.abs(exact - declared) <= bound).all()
        typical = np.abs(exact).mean() * (2**-11 if g.inputs[0].dtype == F16 else 2**-24)
        assert np.median(bound) < 2000 * max(typical, 2**-25 if g.inputs[0].dtype == F16 else 2**-126 * 33)


def test_a_sum_that_cancels_gets_a_wide_bound() -> None:
    g = graphs.sums()
    x = np.full((2, 64), 1e4, np.float32)
    x[1, ::2] *= -1
    bound = error_bounds(g, {"X": x})["Y"]
    assert evaluate(g, {"X": x})["Y"][1] == 0
    np.testing.assert_allclose(bound[0], bound[1])
    assert bound[1] > 64 * 1e4 * 2**-24


def test_inputs_are_exact_and_copies_too() -> None:
    assert not error_bounds(graphs.elementwise("neg"), {"X": np.ones(4, np.float32)})["Y"].any()


def test_overflow_at_the_declared_type_is_unbounded() -> None:
    g = graphs.elementwise("exp")
    bound = error_bounds(g, {"X": np.array([1.0, 89.0, np.inf], np.float32)})["Y"]
    assert np.isfinite(bound[0])
    assert np.isinf(bound[1])  # e^89 exceeds f32 but not f64
    assert bound[2] == 0


def test_tests_close_to_their_threshold_are_uncertain() -> None:
    near = np.float32(1.0)
    g = graphs.count_below()
    assert error_bounds(g, {"X": np.array([0.5, near, 2.0], np.float32)})["Y"] == 2.0  # SAFETY x one element
    assert error_bounds(g, {"X": np.array([0.5, 0.9, 2.0], np.float32)})["Y"] == 0.0
    row = np.array([[10.0, 50.0], [10.0, -3.0], [20.0, 30.0]], np.float32)
    assert error_bounds(graphs.any_small(), {"X": row})["Y"].tolist() == [2.0, 0.0, 0.0]


def test_documented_approximations_widen_bounds() -> None:
    inputs = normal(graphs.softmax())
    plain = error_bounds(graphs.softmax(), inputs)["Y"]
    fast = error_bounds(graphs.softmax(), inputs, approximations=Approximations({"exp": 40.0}))["Y"]
    assert (fast > 2 * plain).all()
    inputs = normal(graphs.matmul())
    tf32 = error_bounds(graphs.matmul(), inputs, approximations=Approximations(product=2.0**-11))["C"]
    assert (tf32 > 10 * error_bounds(graphs.matmul(), inputs)["C"]).all()


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "rsqrt", "tanh", "erf", "floor", "sin", "cbrt"])
def test_operand_errors_pass_through(name: str) -> None:
    """f(g(x)) with g rounded to f32: the bound covers what that rounding does."""
    from kernelcat_core.ir.expr import op
    from kernelcat_core.ir.graph import Compute, Tensor

    x = Tensor("X", F32, (graphs.N,))
    inner = op("mul", graphs.at(x, graphs.COLUMN), graphs.at(x, graphs.COLUMN))
    out = Tensor("Y", F32, (graphs.N,))
    g = graphs.graph([x], Compute(out, (graphs.COLUMN,), (op(name, inner),)))
    values = np.linspace(0.1, 9, 997, dtype=np.float32)
    exact, declared = (evaluate(g, {"X": values}, precision=p)["Y"].astype(float) for p in ("float64", "declared"))
    assert (np.abs(exact - declared) <= error_bounds(g, {"X": values})["Y"]).all()


def test_any_monoid() -> None:
    from kernelcat_core.ir.expr import Var, add, f32, mul
    from kernelcat_core.ir.graph import Compute, Monoid, Tensor

    a, b = (Var("a0", F32), Var("a1", F32)), (Var("b0", F32), Var("b1", F32))
    m = Monoid("affine", (F32, F32), (f32(1), f32(0)), (mul(b[0], a[0]), add(mul(b[0], a[1]), b[1])))
    x = Tensor("X", F32, (graphs.M, graphs.K))
    element = (f32(0.3), graphs.at(x, graphs.ROW, graphs.TERM))
    out = Tensor("Y", F32, (graphs.M,))
    g = graphs.graph([x], Compute(out, (graphs.ROW,), element, (graphs.TERM,), m, Var("s1", F32)))
    inputs = normal(g)
    exact, declared = (evaluate(g, inputs, precision=p)["Y"].astype(float) for p in ("float64", "declared"))
    bound = error_bounds(g, inputs)["Y"]
    assert (np.abs(exact - declared) <= bound).all()
    assert (bound < 1e-4).all()
