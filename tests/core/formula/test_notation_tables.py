"""The two tables of docs/notation.md, row by row."""

from __future__ import annotations

import numpy as np

from tests.core.formula.running import fails, graph, normal, outputs, run


def test_matrix_product() -> None:
    A, B = normal(3, 4), normal(4, 5, seed=1)
    C = run("A: f32[3,4]\nB: f32[4,5]\nC[i,j] += A[i,k]*B[k,j]", A=A, B=B)
    assert C.shape == (3, 5)
    np.testing.assert_allclose(C, A @ B, rtol=1e-5)


def test_unguarded_affine_use_shrinks() -> None:
    X = normal(10)
    np.testing.assert_array_equal(run("Y[i] = X[i] + X[i+1]", X=X), X[:9] + X[1:])


def test_guarded_use_does_not_shrink() -> None:
    X = normal(10)
    np.testing.assert_array_equal(run("Y[i] = where(i > 0, X[i-1], 0.0) + X[i]", X=X), np.append(np.float32(0), X[:-1]) + X)


def test_guarded_use_with_explicit_range() -> None:
    X = normal(64, 8)
    P = run("P[i in 64] = where(i > 0, X[i-1,0], 0.0)", X=X)
    np.testing.assert_array_equal(P, np.concatenate(([0], X[:-1, 0])))


def test_mean_pool() -> None:
    X = normal(4, 16, 16)
    Y = run("Y[c,y,x] = mean[r in 2, s in 2](X[c,2*y+r,2*x+s])", X=X)
    np.testing.assert_allclose(Y, X.reshape(4, 8, 2, 8, 2).mean(axis=(2, 4)), rtol=1e-5, atol=1e-6)


def test_floored_subscript() -> None:
    X = normal(33)
    i = np.arange(66)
    Y = run("Y[i in 66] = X[i/2] * where(i % 2 == 0, 1.0, -1.0)", X=X)
    np.testing.assert_array_equal(Y, X[i // 2] * np.where(i % 2 == 0, 1, -1).astype("f4"))


def test_causal_mask() -> None:
    S = normal(32, 32)
    Y = run("Y[q,k] = where(k <= q, S[q,k], -1e30)", S=S)
    np.testing.assert_array_equal(Y, np.where(np.tri(32, dtype=bool), S, np.float32(-1e30)))


def test_sum_to_scalar() -> None:
    X = normal(5, 7)
    S = run("S = sum[i,j](X[i,j])", X=X)
    assert S.shape == ()
    np.testing.assert_allclose(S, X.sum(), rtol=1e-5)


def test_softmax_has_one_output() -> None:
    X = normal(6, 9)
    found = outputs("M[i] = max[k](X[i,k]); Y[i,j] = exp(X[i,j]-M[i]) / sum[k](exp(X[i,k]-M[i]))", X=X)
    assert list(found) == ["Y"]
    e = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(found["Y"], e / e.sum(1, keepdims=True), rtol=1e-5)


def test_comparison_chain() -> None:
    x = np.array([0, 1, 1.5, 2, 3, 3.5, np.nan, -1], dtype="f4")
    a = run("x: f32[8]\na = 1 < x <= 3", x=x)
    assert a.dtype == bool
    np.testing.assert_array_equal(a, (x > 1) & (x <= 3))


def test_cast_sets_the_accumulator() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.integers(-128, 128, (5, 40), dtype="i1"), rng.integers(-128, 128, (40, 6), dtype="i1")
    text = "A: i8[M, K]; B: i8[K, N]\nC[i,j] = i32(sum[k](i32(A[i,k])*i32(B[k,j])))"
    C = run(text, A=A, B=B)
    assert C.dtype == np.int32
    np.testing.assert_array_equal(C, A.astype("i4") @ B.astype("i4"))
    (node,) = graph(text).nodes
    assert [str(t) for t in node.monoid.state] == ["i32"]  # type: ignore[union-attr]


def test_free_index_is_refused() -> None:
    error = fails("KC-F009", "C[i,j] = A[i,k]*B[k,j]", "k")
    assert "+=" in error.hint


def test_two_sizes_are_refused() -> None:
    error = fails("KC-F012", "C[i,j] += A[i,k]*B[k,j]", "k", A="3x128", B="64x5")
    assert error.message == "index 'k' ranges over 128 in A but 64 in B"
    assert error.column == 20
    fails("KC-F012", "A: f32[3,128]; B: f32[64,5]; C[i,j] += A[i,k]*B[k,j]", "k")


def test_only_guarded_use_is_refused() -> None:
    error = fails("KC-F011", "P[i] = where(i > 0, X[i-1,0], 0.0)", "i", X="64x8")
    assert "guarded" in error.message and "i in N" in error.hint


def test_load_outside_is_refused() -> None:
    error = fails("KC-F013", "Y[i in 10] = X[i+1]", "i+1", X="10")
    assert "at i = 9" in error.message
    fails("KC-F013", "X: f32[10]; Y[i in 10] = X[i+1]", "i+1")


def test_left_subscripts_are_plain_and_distinct() -> None:
    fails("KC-F008", "Y[i,i] = X[i]", "i")
    fails("KC-F008", "Y[2*i] = X[i]", "2*i")


def test_second_assignment_is_refused() -> None:
    fails("KC-F007", "Y[i] = X[i]; Y[i] = 2*X[i]", "Y")


def test_shadowing_is_refused() -> None:
    fails("KC-F010", "Y[i] = sum[i](X[i])", "i")


def test_assigned_input_is_refused() -> None:
    fails("KC-F007", "X: f32[8]\nX[i] += 1", "X")


def test_two_unknown_indices_are_refused() -> None:
    assert fails("KC-F011", "Z[y] = sum[r](X[y+r])", "y+r").message == "neither y nor r has a size"


def test_argmax_of_nothing_is_refused() -> None:
    fails("KC-F016", "Y[i] = argmax[k](X[i,k])", X="4x0")
    fails("KC-F016", "X: f32[4,0]; Y[i] = argmax[k](X[i,k])")
