"""The oracle against NumPy written by hand, on graphs written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelcat_core.dtypes import BF16, BOOL, F16, F32, I8, I32, I64, U8, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import interpreter
from kernelcat_core.ir.expr import OPS, Const, Expr, Load, Op, Size, Var, add, cast, f32, index, mul, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Monoid, Select, Tensor, monoid
from kernelcat_core.ir.interpreter import SCALAR, evaluate

M, N, K = Size("M"), Size("N"), Size("K")
ROWS, COLUMNS, R = Axis("i", M), Axis("j", N), Axis("k", K)


def load(t: Tensor, *at: Expr | Axis, where: Expr | None = None, fill: Expr | None = None) -> Load:
    return Load(t.name, tuple(a.var if isinstance(a, Axis) else a for a in at), t.dtype, where, fill)


def graph(inputs: list[Tensor], *nodes: Compute | Select) -> Graph:
    return Graph(tuple(inputs), nodes, (nodes[-1].output.name,))


def matmul_graph(dtype: DType = F32, state: DType = F32) -> Graph:
    a, b = Tensor("A", dtype, (M, K)), Tensor("B", dtype, (K, N))
    element = mul(cast(load(a, ROWS, R), state), cast(load(b, R, COLUMNS), state))
    out = Tensor("C", state, (M, N))
    return graph([a, b], Compute(out, (ROWS, COLUMNS), (element,), (R,), monoid("sum", state)))


def reduce_graph(name: str, dtype: DType = F32) -> Graph:
    x = Tensor("X", dtype, (M, K))
    m = monoid(name, dtype)
    element: tuple[Expr, ...] = (load(x, ROWS, R),) if len(m.state) == 1 else (load(x, ROWS, R), R.var)
    finish = Var("s1", I64) if len(m.state) == 2 else None
    out = Tensor("Y", I64 if finish is not None else m.state[0], (M,))
    return graph([x], Compute(out, (ROWS,), element, (R,), m, finish))


def test_scalar_table_is_the_closed_list() -> None:
    assert set(SCALAR) | {"cast"} == set(OPS)


def test_elementwise_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "BLOCK", 7)
    a, b = Tensor("A", F32, (M, N)), Tensor("B", F32, (N,))
    g = graph(
        [a, b],
        Compute(Tensor("Y", F32, (M, N)), (ROWS, COLUMNS), (op("sub", load(a, ROWS, COLUMNS), load(b, COLUMNS)),)),
    )
    x, y = np.random.default_rng(0).standard_normal((5, 9), np.float32), np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(evaluate(g, {"A": x, "B": y})["Y"], x - y)


@pytest.mark.parametrize("precision", ["declared", "float64"])
def test_contraction(precision: interpreter.Precision) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((13, 17)).astype(np.float32), rng.standard_normal((17, 5)).astype(np.float32)
    got = evaluate(matmul_graph(), {"A": x, "B": y}, precision=precision)["C"]
    assert got.dtype == (np.float32 if precision == "declared" else np.float64)
    np.testing.assert_allclose(got, x.astype(float) @ y, rtol=1e-5 if precision == "declared" else 1e-13)


def test_integer_contraction_is_exact_and_wraps() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(-128, 128, (6, 9), np.int8), rng.integers(-128, 128, (9, 7), np.int8)
    got = evaluate(matmul_graph(I8, I64), {"A": x, "B": y})["C"]
    np.testing.assert_array_equal(got, x.astype(np.int64) @ y.astype(np.int64))
    big = np.full((1, 4), 1 << 30, np.int32)
    wrapped = evaluate(matmul_graph(I32, I32), {"A": big, "B": np.full((4, 1), 2, np.int32)})["C"]
    assert wrapped.tolist() == [[0]]


def test_window_with_guard_equals_padded_convolution() -> None:
    x, w = Tensor("X", F32, (N,)), Tensor("W", F32, (Size("O"), K))
    o = Axis("o", Size("O"))
    position = add(add(COLUMNS.var, R.var), index(-1))
    inside = op("and", op("ge", position, index(0)), op("lt", position, N))
    element = mul(load(x, position, where=inside, fill=f32(0)), load(w, o, R))
    g = graph([x, w], Compute(Tensor("Y", F32, (Size("O"), N)), (o, COLUMNS), (element,), (R,), monoid("sum", F32)))
    rng = np.random.default_rng(3)
    signal, taps = rng.standard_normal(11).astype(np.float32), rng.standard_normal((2, 3)).astype(np.float32)
    padded = np.pad(signal.astype(float), 1)
    expected = np.array([[padded[p : p + 3] @ taps[c] for p in range(11)] for c in range(2)])
    np.testing.assert_allclose(evaluate(g, {"X": signal, "W": taps}, precision="float64")["Y"], expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("sum", np.sum),
        ("prod", np.prod),
        ("max", np.max),
        ("min", np.min),
        ("argmax", np.argmax),
        ("argmin", np.argmin),
    ],
)
@pytest.mark.parametrize("block", [1 << 19, 10, 3])
def test_reductions(name: str, reference: object, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "BLOCK", block)
    x = np.random.default_rng(4).integers(-3, 4, (4, 11)).astype(np.float32)
    x[1, 5] = np.nan
    x[2] = -np.inf
    got = evaluate(reduce_graph(name), {"X": x}, precision="float64")["Y"]
    np.testing.assert_allclose(got, reference(x.astype(float), axis=1))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "identity"),
    [("sum", 0), ("prod", 1), ("max", -math.inf), ("min", math.inf), ("argmax", (1 << 63) - 1)],
)
def test_empty_ranges_give_the_identity(name: str, identity: float) -> None:
    got = evaluate(reduce_graph(name), {"X": np.zeros((3, 0), np.float32)})["Y"]
    assert got.tolist() == [identity] * 3
    assert evaluate(reduce_graph(name), {"X": np.zeros((0, 5), np.float32)})["Y"].shape == (0,)


def test_any_monoid_folds_in_order() -> None:
    """Composition of affine maps y -> p*y + q is associative and does not commute."""
    a, b = (Var("a0", F32), Var("a1", F32)), (Var("b0", F32), Var("b1", F32))
    m = Monoid("affine", (F32, F32), (f32(1), f32(0)), (mul(b[0], a[0]), add(mul(b[0], a[1]), b[1])))
    x = Tensor("X", F32, (M, K))
    g = graph([x], Compute(Tensor("Y", F32, (M,)), (ROWS,), (f32(0.5), load(x, ROWS, R)), (R,), m, Var("s1", F32)))
    values = np.random.default_rng(5).standard_normal((3, 7)).astype(np.float32)
    state = np.zeros(3)
    for k in range(7):
        state = 0.5 * state + values[:, k]
    np.testing.assert_allclose(evaluate(g, {"X": values}, precision="float64")["Y"], state, rtol=1e-12)


def test_finish_sees_states_and_axes() -> None:
    x = Tensor("X", F32, (M, K))
    finish = add(op("div", Var("s0", F32), cast(K, F32)), cast(ROWS.var, F32))
    g = graph([x], Compute(Tensor("Y", F32, (M,)), (ROWS,), (load(x, ROWS, R),), (R,), monoid("sum", F32), finish))
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(evaluate(g, {"X": values})["Y"], values.mean(1) + np.arange(3))


def test_narrow_floats_accumulate_wide_and_round_once() -> None:
    x = Tensor("X", F16, (K,))
    g = graph(
        [x],
        Compute(
            Tensor("Y", F16, ()),
            (),
            (cast(load(x, R), F32),),
            (R,),
            monoid("sum", F32),
            cast(Var("s0", F32), F16),
        ),
    )
    ones = np.ones(4096, np.float16)  # a f16 running sum would stop at 2048
    assert evaluate(g, {"X": ones})["Y"] == 4096
    b = Tensor("X", BF16, (K,))
    h = graph([b], Compute(Tensor("Y", BF16, (K,)), (R,), (op("exp", load(b, R)),)))
    given = np.linspace(-3, 3, 9, dtype=np.float32).astype(BF16.numpy)
    np.testing.assert_array_equal(evaluate(h, {"X": given})["Y"], np.exp(given.astype(np.float32)).astype(BF16.numpy))


def test_gather_with_predicate_and_fill() -> None:
    t, at = Tensor("T", F32, (N,)), Tensor("P", I32, (M,))
    where = cast(load(at, ROWS), I64)
    inside = op("and", op("ge", where, index(0)), op("lt", where, N))
    g = graph([t, at], Compute(Tensor("Y", F32, (M,)), (ROWS,), (load(t, where, where=inside, fill=f32(-7)),)))
    got = evaluate(g, {"T": np.arange(4, dtype=np.float32), "P": np.array([3, -1, 0, 4], np.int32)})["Y"]
    assert got.tolist() == [3, -7, 0, -7]
    empty = evaluate(g, {"T": np.zeros(0, np.float32), "P": np.array([3, -1], np.int32)})["Y"]
    assert empty.tolist() == [-7, -7]


@pytest.mark.parametrize("shift", [1, -1])
@pytest.mark.parametrize("computed", [False, True])
def test_a_load_outside_its_tensor_is_an_error(shift: int, computed: bool) -> None:
    x = Tensor("X", F32, (N,))
    at = add(COLUMNS.var, index(shift)) if not computed else add(cast(cast(COLUMNS.var, I32), I64), index(shift))
    g = graph([x], Compute(Tensor("Y", F32, (N,)), (COLUMNS,), (load(x, at),)))
    with pytest.raises(KernelcatError) as caught:
        evaluate(g, {"X": np.zeros(5, np.float32)})
    assert caught.value.code == "KC-F013"


def select_graph(key: bool) -> Graph:
    x = Tensor("X", F32, (M, N))
    return graph(
        [x],
        Select(
            Tensor("Y", I32, (M, Size("C"))),
            (ROWS,),
            COLUMNS,
            Size("C"),
            op("gt", load(x, ROWS, COLUMNS), f32(0)),
            op("neg", load(x, ROWS, COLUMNS)) if key else None,
        ),
    )


@pytest.mark.parametrize("key", [False, True])
def test_select_first_k(key: bool) -> None:
    x = np.array([[0, 1, 0, 3, 2], [0, 0, 0, 0, 0], [-1, -1, -1, -1, 5]], np.float32)
    for count in (0, 1, 3, 7):
        got = evaluate(select_graph(key), {"X": x}, {"C": count})["Y"]
        for row, expected in zip(got, [[3, 4, 1] if key else [1, 3, 4], [0], [4]], strict=True):
            padded = expected[:count] + [expected[0]] * max(0, count - len(expected))
            assert row.tolist() == padded


def test_inputs_that_do_not_fit() -> None:
    ok = np.zeros((2, 3), np.float32)
    for inputs in (
        {"A": ok},
        {"A": ok, "B": np.zeros((4, 2), np.float32)},
        {"A": ok, "B": np.zeros(3, np.float32)},
        {"A": ok, "B": np.zeros((3, 1), np.int32)},
    ):
        with pytest.raises(KernelcatError) as caught:
            evaluate(matmul_graph(), inputs)
        assert caught.value.code == "KC-F020"


@pytest.mark.parametrize(
    ("name", "args", "dtype", "expected"),
    [
        ("floordiv", (-7, 2), I32, -4),
        ("mod", (-7, 2), I32, 1),
        ("floordiv", (7, 0), I32, 0),
        ("mod", (7, 0), I32, 0),
        ("pow", (3, 5), I32, 243),
        ("pow", (-1, -3), I32, -1),
        ("pow", (5, -1), I32, 0),
        ("mod", (-7.5, 2.0), F32, 0.5),
        ("fmod", (-7.5, 2.0), F32, -1.5),
        ("shl", (1, 9), U8, 0),
        ("round_half_away", (-2.5,), F32, -3.0),
        ("rint", (2.5,), F32, 2.0),
        ("round_half_away", (0.49999997,), F32, 0.0),
        ("add", (250, 10), U8, 4),
        ("rsqrt", (4.0,), F32, 0.5),
        ("not_bits", (1,), U8, 254),
        ("fmax", (math.nan, 1.0), F32, 1.0),
    ],
)
def test_scalar_meaning(name: str, args: tuple[float, ...], dtype: DType, expected: float) -> None:
    node = Op(name, tuple(Const(a, dtype) for a in args), dtype)
    got = evaluate(graph([], Compute(Tensor("Y", dtype, ()), (), (node,))), {})["Y"]
    assert got == expected


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (300.0, U8, 255),
        (-5.0, U8, 0),
        (-2.9, I8, -2),
        (math.nan, I32, 0),
        (1e30, I64, (1 << 63) - 1),
        (-math.inf, I32, -(1 << 31)),
        (0.5, BOOL, True),
        (math.nan, BOOL, True),
    ],
)
def test_casts_from_float(value: float, dtype: DType, expected: int) -> None:
    x = Tensor("x", F32, ())
    g = graph([x], Compute(Tensor("Y", dtype, ()), (), (cast(load(x), dtype),)))
    for precision in ("declared", "float64"):
        assert evaluate(g, {"x": np.float32(value)}, precision=precision)["Y"] == expected  # type: ignore[arg-type]


def test_large_contraction_is_cut_into_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.ir import contraction

    monkeypatch.setattr(contraction, "PANEL", 64)
    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((13, 17)).astype(np.float32), rng.standard_normal((17, 5)).astype(np.float32)
    got = evaluate(matmul_graph(), {"A": x, "B": y}, precision="float64")["C"]
    np.testing.assert_allclose(got, x.astype(float) @ y, rtol=1e-13)
