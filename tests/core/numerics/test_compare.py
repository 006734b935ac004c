"""Verdicts: right, wrong, unstable, and right in another way."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.dtypes import F32
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.numerics.compare import Oracle, compare_outputs, worst

from . import graphs


def rows(seed: int = 0, shape: tuple[int, ...] = (4, 40)) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_right_in_another_order_of_summation() -> None:
    x = rows()
    given = np.zeros(4, np.float32)
    for k in range(x.shape[1]):
        given += x[:, -1 - k]
    verdict = compare_outputs(graphs.sums(), {"X": x}, {"Y": given})
    assert verdict.ok
    assert verdict.failure is None
    assert verdict.unstable == 0
    assert 0 <= verdict.max_error <= verdict.tolerance < 1e-3


@pytest.mark.parametrize("mistake", ["skips one term", "one row off", "a NaN", "an infinity"])
def test_wrong(mistake: str) -> None:
    x = rows()
    y = x.sum(1)
    if mistake == "skips one term":
        y = x[:, :-1].sum(1)
    elif mistake == "one row off":
        y = np.roll(y, 1)
    else:
        y[2] = np.nan if mistake == "a NaN" else np.inf
    verdict = compare_outputs(graphs.sums(), {"X": x}, {"Y": y})
    assert not verdict.ok
    assert verdict.failure is not None
    assert verdict.failure.code == "KC-N001"
    assert verdict.first_wrong == ((2,) if mistake.startswith("a") else (0,))
    assert f"Y[{verdict.first_wrong[0]}]" in verdict.message


def test_positions_of_nan_and_infinity_must_agree() -> None:
    x = rows()
    x[0, 3], x[1, 5] = np.nan, np.inf
    y = evaluate(graphs.sums(), {"X": x})["Y"]
    assert compare_outputs(graphs.sums(), {"X": x}, {"Y": y}).ok
    swapped = y[[1, 0, 2, 3]]
    assert compare_outputs(graphs.sums(), {"X": x}, {"Y": swapped}).wrong == 2
    finite = np.nan_to_num(y)
    assert compare_outputs(graphs.sums(), {"X": x}, {"Y": finite}).wrong == 2


def test_wrong_shape_or_dtype() -> None:
    x = rows()
    for y in (x.sum(1, keepdims=True), x.astype(np.float64).sum(1)):
        verdict = compare_outputs(graphs.sums(), {"X": x}, {"Y": y})
        assert not verdict.ok
        assert "expected f32 [4]" in verdict.message
    with pytest.raises(KernelcatError) as caught:
        compare_outputs(graphs.sums(), {"X": x}, {})
    assert caught.value.code == "KC-N001"


def test_an_unstable_formula_is_what_is_reported() -> None:
    """exp without the maximum subtracted overflows in f32, not in f64: the formula is at fault, not the kernel."""
    g, x = graphs.softmax(subtract_maximum=False), np.full((2, 4), 95.0, np.float32)
    verdict = compare_outputs(g, {"X": x}, {"Y": evaluate(g, {"X": x})["Y"]})
    assert verdict.ok
    assert verdict.unstable == verdict.checked == 8
    assert verdict.failure is not None
    assert verdict.failure.code == "KC-N002"
    assert "unstable on 8 of 8" in verdict.message
    stable = graphs.softmax()
    assert compare_outputs(stable, {"X": x}, {"Y": evaluate(stable, {"X": x})["Y"]}).failure is None


def test_argmax_may_name_any_position_that_is_best_within_errors() -> None:
    g = graphs.argmax_of_products()
    a = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
    column = np.random.default_rng(2).standard_normal(16).astype(np.float32)
    b = np.stack([column, -column, column, np.zeros(16, np.float32)], axis=1)
    b[0, 2] = np.nextafter(b[0, 2], np.float32(9))  # an ulp from column 0: which is better is below the errors
    inputs = {"A": a, "B": b}
    exact = evaluate(g, inputs, precision="float64")["Y"]
    assert exact.min() >= 0
    twin = np.where(exact == 0, 2, np.where(exact == 2, 0, exact))
    assert (twin != exact).any()
    assert compare_outputs(g, inputs, {"Y": twin}).ok
    worse = np.where(exact == 1, 3, 1)
    verdict = compare_outputs(g, inputs, {"Y": worse})
    assert verdict.wrong == 3
    assert compare_outputs(g, inputs, {"Y": np.full(3, 99)}).wrong == 3


def test_exact_ties_of_inputs_have_one_answer() -> None:
    from kernelcat_core.dtypes import I64
    from kernelcat_core.ir.expr import Var
    from kernelcat_core.ir.graph import Compute, Tensor, monoid

    x = Tensor("X", F32, (graphs.M, graphs.K))
    element = (graphs.at(x, graphs.ROW, graphs.TERM), graphs.TERM.var)
    node = Compute(
        Tensor("Y", I64, (graphs.M,)), (graphs.ROW,), element, (graphs.TERM,), monoid("argmax", F32), Var("s1", I64)
    )
    g = graphs.graph([x], node)
    values = np.array([[1, 3, 3, 0]], np.float32)
    assert compare_outputs(g, {"X": values}, {"Y": np.array([1])}).ok
    assert not compare_outputs(g, {"X": values}, {"Y": np.array([2])}).ok


@pytest.mark.parametrize("order", [False, True])
def test_selections_may_decide_uncertain_neighbours_either_way(order: bool) -> None:
    g = graphs.neighbours(order)
    x = np.array([0.0, 0.1, 0.3, 5.0], np.float32)
    inputs = {"X": x, "r": np.float32(0.3)}  # |x2 - x0| is the radius to an ulp
    given = evaluate(g, inputs)["P"]
    assert compare_outputs(g, inputs, {"P": given}).ok
    other = given.copy()
    other[0] = [0, 1, 0] if 2 in given[0] else [0, 1, 2]
    assert compare_outputs(g, inputs, {"P": other}).ok
    for bad in ([0, 2, 0], [0, 1, 3], [0, 0, 0], [0, 1, -1], [0, 1, 1]):
        wrong = given.copy()
        wrong[0] = bad
        assert not compare_outputs(g, inputs, {"P": wrong}).ok, bad
    alone = given.copy()
    alone[3] = [0, 0, 0]
    assert not compare_outputs(g, inputs, {"P": alone}).ok


def test_worst_verdict_comes_first() -> None:
    x = rows()
    oracle = Oracle(graphs.sums(), {"X": x})
    good, bad = (oracle.check({"Y": y})["Y"] for y in (x.sum(1), -x.sum(1)))
    assert worst([good, bad, good]) is bad
    assert bad.to_dict()["first_wrong"] == [0]
