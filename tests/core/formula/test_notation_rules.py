"""The rules of docs/notation.md, paragraph by paragraph."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core import formula as language
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Size
from tests.core.formula.running import fails, graph, normal, outputs, run


def test_statements_end_at_newlines_and_semicolons_and_comments_are_skipped() -> None:
    x = normal(4)
    found = outputs("a[i] = x[i] + 1 # one; not = two\nb[i] = x[i]*2; c[i] = x[i]\n", x=x)
    assert list(found) == ["a", "b", "c"]
    np.testing.assert_array_equal(run("y[i] = (x[i]\n  + 1)\n", x=x), x + 1)


def test_unicode_names_and_signs() -> None:
    x = np.abs(normal(4, 5)) + 1
    assert language.parse("\ufb01[i] = x[i]").statements[0].name == "fi"  # type: ignore[union-attr]
    np.testing.assert_allclose(run("μ[i] = Σ[k](x[i,k])·2", x=x), x.sum(1) * 2, rtol=1e-5)
    np.testing.assert_allclose(run("y[i] = Π[k](x[i,k]) × 1", x=x), x.prod(1), rtol=1e-5)
    np.testing.assert_allclose(run("y[i,k] = √x[i,k] + 1", x=x), np.sqrt(x) + 1, rtol=1e-6)
    y = run("y[i,k] = x[i,k] ≤ 2 ∧ ¬(x[i,k] ≥ 1.5) ∨ x[i,k] ≠ x[i,k]", x=x)
    np.testing.assert_array_equal(y, (x <= 2) & ~(x >= 1.5))


@pytest.mark.parametrize("text", ["x" * 65_600, "(" * 300 + "1" + ")" * 300, "Y = " + "-" * 300 + "1",
                                  "X: f32[1048576, 1048577]; Y = X", "Y[i in 1099511627777] = i", "Y = 99999999999999999999"])
def test_limits_are_errors(text: str) -> None:
    fails("KC-F003", text)


def test_declared_sizes_are_numbers_or_symbols() -> None:
    g = graph("X: f32[64, K]; s: f16\nY[i,j] = X[i,j] + f32(s)")
    x, s = g.inputs
    assert (str(x.dtype), x.shape[0].value, x.shape[1]) == ("f32", 64, Size("K"))  # type: ignore[union-attr]
    assert (str(s.dtype), s.shape) == ("f16", ())


def test_declared_bounds() -> None:
    g = graph("X: f32[M <= 64, K]; Z: f32[M <= 48]; Y[i] = sum[k](X[i,k])*Z[i]")
    assert [(s.name, s.maximum) for s in g.bounded_sizes] == [("M", 48)]
    assert "size M <= 48" in g.text
    for wrong in ("X: f32[8 <= M]; Y = X", "X: f32[M < 8]; Y = X", "X: f32[M <= K]; Y = X", "X: f32[M <= 8.5]; Y = X",
                  "X: f32[M <= 4]; Z: f32[8]; Y = X + Z"):
        fails("KC-F018", wrong)


def test_given_shapes_must_agree() -> None:
    fails("KC-F020", "X: f32[64, K]; Y = 2*X", X="32x8")
    fails("KC-F020", "X: f32[64, K]; Y = 2*X", X="64x8x2")
    fails("KC-F020", "X: f32[64, K]; Y = 2*X", X="64x8:f16")
    fails("KC-F020", "X: f32[K]; W: f32[K]; Y = X + W", X="8", W="9")
    fails("KC-F020", "Y[i] = X[i]", Z="8")
    fails("KC-F020", "Y[i] = X[i]", X="8x8")


def test_undeclared_names() -> None:
    g = graph("Y[i] = a*X[i,j0] + i; j0: i64")
    assert {t.name: (str(t.dtype), t.rank) for t in g.inputs} == {"j0": ("i64", 0), "X": ("f32", 2), "a": ("f32", 0)}
    assert graph("Y = softmax(X) + s").inputs[0].rank == 2
    assert graph("Y = softmax(X)", X="3x4x5").inputs[0].rank == 3
    x = normal(3)
    np.testing.assert_array_equal(run("Y[i] = i*x[i]", x=x), np.arange(3) * x)


def test_every_right_index_is_bound() -> None:
    fails("KC-F009", "Y[i] = X[i,j]", "j")
    fails("KC-F009", "Y[i] = sum[k](X[i,k]) + k", "k")
    fails("KC-F009", "Y = X[i]", "i")


def test_range_bounds_may_be_expressions_of_sizes() -> None:
    X = normal(6)
    np.testing.assert_array_equal(run("X: f32[N]; Y[i in N//2 + 1] = X[2*i - 0] ", X=normal(7)), normal(7)[::2])
    np.testing.assert_array_equal(run("X: f32[N]; Y[i in 2*N] = X[i//2]", X=X), np.repeat(X, 2))
    fails("KC-F006", "Y[i in Q] = 1.0", "Q")


def test_plus_equals_sums_missing_indices() -> None:
    X, Z = normal(4, 5), normal(4, seed=1)
    np.testing.assert_allclose(run("Y[i] += X[i,j]", X=X), X.sum(1), rtol=1e-5)
    np.testing.assert_allclose(run("Y[i] = Z[i]*2; Y[i] += X[i,j]; Y[k] += Z[k]", X=X, Z=Z), Z * 3 + X.sum(1), rtol=1e-5)
    np.testing.assert_allclose(run("S += X[i,j]", X=X), X.sum(), rtol=1e-5)


def test_order_of_statements() -> None:
    with pytest.raises(KernelcatError, match="before it is assigned"):
        graph("Y[i] = Z[i]; Z[i] = X[i]")
    with pytest.raises(KernelcatError, match="before it is assigned"):
        graph("Y = Z + 1; Z[i] = X[i]")


@pytest.mark.parametrize(("op", "expected"), [
    ("sum", lambda x: x.sum(1)), ("prod", lambda x: x.prod(1)), ("max", lambda x: x.max(1)), ("min", lambda x: x.min(1)),
    ("mean", lambda x: x.mean(1)), ("argmax", lambda x: x.argmax(1)), ("argmin", lambda x: x.argmin(1)),
    ("logsumexp", lambda x: np.log(np.exp(x).sum(1)))])
def test_reducers(op: str, expected: object) -> None:
    X = normal(5, 7)
    Y = run(f"Y[i] = {op}[k](X[i,k])", X=X)
    np.testing.assert_allclose(Y, expected(X), rtol=1e-5)  # type: ignore[operator]
    assert Y.dtype == (np.int64 if op.startswith("arg") else np.float32)


def test_any_and_all() -> None:
    X = normal(5, 3)
    np.testing.assert_array_equal(run("Y[i] = any[k](X[i,k] > 1)", X=X), (X > 1).any(1))
    np.testing.assert_array_equal(run("Y[i] = all[k](X[i,k] > -1)", X=X), (X > -1).all(1))


def test_reducer_binds_like_a_call() -> None:
    X, b = normal(3, 4), normal(3, seed=1)
    np.testing.assert_allclose(run("Y[i] = sum[k](X[i,k])*b[i]", X=X, b=b), X.sum(1) * b, rtol=1e-5)
    fails("KC-F002", "Y[i] = sum[k] X[i,k]")


def test_argmax_rules() -> None:
    X = np.array([[1, 3, 3], [3, 0, 3]], dtype="f4")
    assert run("a = argmax[i,j](X[i,j])", X=X) == 1
    X[1, 1] = np.nan
    X[1, 2] = np.nan
    assert run("a = argmax[i,j](X[i,j])", X=X) == 4
    assert np.isnan(run("a = max[i,j](X[i,j])", X=X))
    assert np.isnan(run("a = min[i,j](X[i,j])", X=X))
    low = np.full(3, -np.inf, dtype="f4")
    assert run("a = argmax[i](X[i])", X=low) == 0


def test_empty_ranges() -> None:
    X = np.zeros((2, 0), dtype="f4")
    identities = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "mean": np.nan, "logsumexp": -np.inf}
    for op, value in identities.items():
        np.testing.assert_array_equal(run(f"Y[i] = {op}[k](X[i,k])", X=X), np.full(2, value, dtype="f4"))
    assert not run("Y[i] = any[k](X[i,k] > 0)", X=X).any()
    assert run("Y[i] = all[k](X[i,k] > 0)", X=X).all()


def test_logsumexp_of_infinities() -> None:
    X = np.array([[-np.inf, -np.inf], [np.inf, 1], [1000, 1000], [np.nan, 1]], dtype="f4")
    np.testing.assert_allclose(run("Y[i] = logsumexp[k](X[i,k])", X=X),
                               np.array([-np.inf, np.inf, 1000 + np.log(2), np.nan], dtype="f4"))


def test_unguarded_bare_use_wins_over_a_guarded_one() -> None:
    A, B = normal(4), normal(9, seed=1)
    Y = run("Y[i] = where(i < 3, A[i], 0.0) + B[i]", A=A, B=B)
    np.testing.assert_array_equal(Y, np.where(np.arange(9) < 3, np.pad(A, (0, 5)), 0) + B)
    fails("KC-F012", "Y[i] = where(i < 3, A[i] + B[i], 0.0)", A="4", B="9")


def test_guarded_load_never_leaves_its_tensor() -> None:
    A = normal(4)
    Y = run("Y[i in 9] = where(i > 0, A[i], 7.0)", A=A)
    np.testing.assert_array_equal(Y, [7, *A[1:], 0, 0, 0, 0, 0])


def test_shrinking() -> None:
    X, W = normal(12), normal(3, seed=1)
    np.testing.assert_allclose(run("Y[i] = sum[r](X[i+r]*W[r])", X=X, W=W), np.convolve(X, W[::-1], "valid"), rtol=1e-4)
    np.testing.assert_array_equal(run("Y[i] = X[2*i+1]", X=X), X[1::2])
    np.testing.assert_array_equal(run("X: f32[N]; Y[i] = X[N-1-i]", X=X), X[::-1])
    np.testing.assert_array_equal(run("Y[i] = X[i] + X[i+2] + X[i+1]", X=X), X[:10] + X[2:] + X[1:11])
    np.testing.assert_array_equal(run("Y[i] = X[i+1] + W[i]", X=X, W=W), X[1:4] + W)
    fails("KC-F013", "Y[i] = X[i-1]", "i-1")


def test_explicit_range_is_never_changed() -> None:
    X = normal(12)
    assert run("Y[i in 5] = X[i]", X=X).shape == (5,)
    fails("KC-F013", "Y[i in 13] = X[i]", "i", X="12")


def test_guard_that_is_not_a_conjunction_of_comparisons_selects_after_both_sides() -> None:
    X = normal(10)
    i = np.arange(9)
    Y = run("Y[i] = where(i > 3 or i < 2, X[i+1], X[i])", X=X)
    np.testing.assert_array_equal(Y, np.where((i > 3) | (i < 2), X[1:], X[:-1]))
    Y = run("Y[i] = where(X[i] > 0, X[i+1], 0.0)", X=X)
    np.testing.assert_array_equal(Y, np.where(X[:-1] > 0, X[1:], 0))


def test_negation_of_a_guard_protects_the_other_side() -> None:
    X = normal(10)
    Y = run("Y[i in 10] = where(i == 9, 5.0, X[i+1])", X=X)
    np.testing.assert_array_equal(Y, [*X[1:], 5])
    Y = run("Y[i in 12] = where(2 <= i and i < 12 - 0, X[i-2], 1.0)", X=X)
    np.testing.assert_array_equal(Y, [1, 1, *X])


def test_computed_subscript_reads_zero_outside() -> None:
    T = normal(5)
    I = np.array([0, 4, 5, -1, 2], dtype="i8")  # noqa: E741
    Y = run("I: i64[N]; Y[i] = T[I[i]]", T=T, I=I)
    np.testing.assert_array_equal(Y, [T[0], T[4], 0, 0, T[2]])
    fails("KC-F015", "Y[i] = T[X[i]]", "X[i]")


def test_precedence() -> None:
    x = np.array([2.0, 3.0], dtype="f4")
    for text, expected in {"-x**2": -(x**2), "2**-x": 2.0**-x, "1 + x*3 - 4/x": 1 + x * 3 - 4 / x, "-x // 2": -x // 2,
                           "x - 1 - 1": x - 1 - 1, "x**2**1": x**2}.items():
        np.testing.assert_allclose(run(f"x: f32[N]; y = {text}", x=x), expected, rtol=1e-6)
    b = run("x: f32[N]; y = not x == 2 and x < 9 or x > 100", x=x)
    np.testing.assert_array_equal(b, (x != 2) & (x < 9))


def test_division() -> None:
    a, b = np.array([7, -7, 6], dtype="i4"), np.array([2, 2, -4], dtype="i4")
    q = run("a: i32[N]; b: i32[N]; y = a/b", a=a, b=b)
    assert q.dtype == np.float32
    np.testing.assert_allclose(q, a / b)
    np.testing.assert_array_equal(run("a: i32[N]; b: i32[N]; y = a//b", a=a, b=b), a // b)
    np.testing.assert_array_equal(run("a: i32[N]; b: i32[N]; y = a % b", a=a, b=b), a % b)
    fails("KC-F015", "x: f32[4]; y = x % 2", "x % 2")
    fails("KC-F015", "x: f32[4]; y = x << 2")


def test_names_of_reducers_are_reserved() -> None:
    fails("KC-F002", "sum[i] = X[i]", "sum")
    assert graph("exp[i] = X[i]").outputs == ("exp",)


@pytest.mark.parametrize(("text", "dtype"), [
    ("x: f16[N]; y = x + 1.5", "float16"), ("x: i8[N]; y = x + 1", "int8"), ("x: i32[N]; y = x*0.5", "float32"),
    ("x: i32[N]; z: f16; y = x + z", "float16"), ("x: f32[N]; z: f64; y = x + z", "float64"),
    ("x: i8[N]; y = sum[i](x[i])", "int64"), ("x: i16[N]; y = prod[i](x[i])", "int64"),
    ("x: i32[N]; y = mean[i](x[i])", "float32"), ("x: f16[N]; y = sum[i](x[i])", "float16"),
    ("x: f32[N]; y = x < 1", "bool"), ("x: bool[N]; y = sum[i](x[i])", "int64"), ("x: i32[N]; y = sqrt(x)", "float32"),
    ("x: u8[N]; z: i8; y = x + z", "int16"), ("x: i32[N]; y = i8(x)", "int8")])
def test_types(text: str, dtype: str) -> None:
    g = graph(text)
    assert g.tensors["y"].dtype.numpy == np.dtype(dtype)


def test_sixteen_bit_floats_accumulate_in_f32_and_round_once() -> None:
    x = np.full(4096, 1.0, dtype="f2")
    x[0] = 2048
    assert run("x: f16[N]; y = sum[i](x[i])", x=x) == np.float16(2048 + 4095)
    a, b = normal(300, dtype="float16"), normal(300, seed=1, dtype="float16")
    expected = np.float16(np.sum(a.astype("f4") * b.astype("f4"), dtype="f4"))
    np.testing.assert_allclose(run("a: f16[N]; b: f16[N]; y += a[i]*b[i]", a=a, b=b), expected, rtol=1e-3)


def test_whole_tensor_broadcasting() -> None:
    X, v = normal(4, 5), normal(5, seed=1)
    np.testing.assert_array_equal(run("X: f32[M,N]; v: f32[N]; y = X*2 + v", X=X, v=v), X * 2 + v)
    c = normal(4, 1, seed=2)
    np.testing.assert_array_equal(run("X: f32[M,N]; c: f32[M,1]; y = X*c", X=X, c=c), X * c)
    np.testing.assert_array_equal(run("X: f32[M,N]; c: f32[P,Q]; y = X*c", X=X, c=c), X * c)
    fails("KC-F017", "X: f32[4,5]; v: f32[4]; y = X + v", "X + v")
    fails("KC-F017", "X: f32[M,N]; v: f32[L]; y = X + v", "X + v", X="4x5", v="4")


def test_equal_sizes_become_one_symbol() -> None:
    g = graph("C[i,j] += A[i,k]*B[k,j]")
    assert g.size_names == ("I", "K", "J")
    g = graph("A: f32[M,K]; B: f32[L,N]; C[i,j] += A[i,k]*B[k,j]")
    assert g.size_names == ("M", "K", "N")


def test_results_may_be_subscripted_and_sliced() -> None:
    X = normal(4, 5)
    e = np.exp(X - X.max(1, keepdims=True))
    s = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(run("y[j,i] = softmax(X)[i,j]*2", X=X), s.T * 2, rtol=1e-5)
    np.testing.assert_allclose(run("y = softmax(X)[1:, ::2]", X=X), s[1:, ::2], rtol=1e-5)
    np.testing.assert_array_equal(run("y = X[-1, ::-1]", X=X), X[-1, ::-1])


def test_left_subscripts_name_leading_axes_of_a_tensor() -> None:
    p = np.random.default_rng(0).random((20, 3)).astype("f4")
    g = graph("output[i] = gather_nearest(points, 0.4, 5)")
    assert g.outputs == ("output",) and g.tensors["output"].rank == 2
    assert run("output[i] = gather_nearest(points, 0.4, 5)", points=p).shape == (20, 5)
    fails("KC-F014", "y[i,j,k] = softmax(X)", X="3x4")


def test_operator_call_alone_is_a_formula() -> None:
    text = "Conv3D(kernel_size=(3,3,3), stride=2, dilation=1)"
    lowered = language.lower(language.parse(text))
    assert [t.name for t in lowered.graph.inputs] == ["input", "weight"]
    assert [t.rank for t in lowered.graph.inputs] == [5, 5]
    assert all(1 <= v <= 64 for v in language.default_workload(lowered).values())
    assert [t.name for t in graph("Conv3D(kernel_size=3, bias=True)").inputs] == ["input", "weight", "bias"]
    fails("KC-F005", "Y = Conv3D(kernel_size=3) + 1")


def test_outputs() -> None:
    assert graph("a[i] = X[i]; b[i] = a[i]*2; c[i] = X[i]").outputs == ("b", "c")
    assert graph("a[i] = X[i]; b[i] = a[i]*2\n-> b, a").outputs == ("b", "a")
    fails("KC-F006", "a[i] = X[i]\n-> X", "X")
    fails("KC-F002", "-> a\na[i] = X[i]")


def test_common_subexpressions_are_computed_once() -> None:
    g = graph("Y[i,j] = X[i,j]/sum[k](X[i,k]) + sum[r](X[i,r])")
    assert len(g.nodes) == 2


@pytest.mark.parametrize(("code", "text", "marked"), [
    ("KC-F001", "Y = X ? 2", "?"), ("KC-F001", "Y = 2x", "x"), ("KC-F002", "Y = (1 + 2", None),
    ("KC-F004", "Y = sofmax(X)", "sofmax"),
    ("KC-F005", "Y = softmax(X, axes=1)", "axes=1"), ("KC-F014", "Y[i] = X[i] + X[i,i]", "X[i,i]"),
    ("KC-F014", "Y[i] = sum[k in 3](softmax(X))", "softmax(X)"), ("KC-F018", "X: f31[3]", "f31"),
    ("KC-F018", "X: f32[2.5]; Y = X", "2.5"),
    ("KC-F018", "X: f32[3]; X: f32[3]; Y = X", "X: f32[3]"), ("KC-F019", "", None), ("KC-F019", "X: f32[3]", None)])
def test_errors_are_coded_and_placed(code: str, text: str, marked: str | None) -> None:
    fails(code, text, marked)


def test_unknown_names_are_guessed() -> None:
    assert "softmax" in fails("KC-F004", "Y = sofmax(X)").hint
    assert "'axis'" in fails("KC-F005", "Y = softmax(X, axs=1)").hint


def test_names_of_indices_in_the_graph_are_distinct_identifiers() -> None:
    g = graph("s0x[s0] = mean[k](X[s0,k]) / sum[k](W[k])")
    names = [a.name for n in g.nodes for a in (*n.axes, *n.reduce_axes)]  # type: ignore[union-attr]
    assert all(n.isidentifier() and n != "s0" for n in names)
    X, W = normal(3, 4), normal(5, seed=1)
    np.testing.assert_allclose(run("y[s0] = mean[k](X[s0,k]) / sum[k](W[k])", X=X, W=W), X.mean(1) / W.sum(), rtol=1e-5)


def test_a_reduced_index_is_no_other_name() -> None:
    fails("KC-F010", "k: f32; y[i] = sum[k](X[i,k])", "k")
    fails("KC-F010", "X: f32[N, M]; y[i] = sum[N](X[i,N])", "N")
