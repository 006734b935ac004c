"""Operands that lie across their panels give the same products as those that lie along them."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcat
from kernelcat_core.dtypes import DTYPES

SHAPES = [(17, 33, 49), (5, 16, 16), (100, 300, 70), (28, 260, 270), (6, 1, 40), (6, 0, 5)]


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i32", "i8"])
@pytest.mark.parametrize("layout", ["ik,jk", "ki,kj", "ki,jk"])
def test_products_of_operands_that_lie_across(layout: str, dtype: str) -> None:
    a, b = (",".join(part) for part in layout.split(","))
    wide = "f32" if DTYPES[dtype].is_float and DTYPES[dtype].bits < 32 else "i32" if dtype == "i8" else dtype
    body = f"{wide}(A[{a}])*{wide}(B[{b}])"
    k = kernelcat.kernel(f"A: {dtype}[{a.upper()}]; B: {dtype}[{b.upper()}]; C[i,j] = {wide}(sum[k]({body}))")
    assert "kc_mma" in k.source
    assert ("_turn_" in k.source) == layout.endswith("jk")
    rng = np.random.default_rng(0)
    for m, n, depth in SHAPES:
        sizes = {"i": m, "j": n, "k": depth}
        x, y = (rng.integers(-4, 5, [sizes[c] for c in part]).astype(DTYPES[dtype].numpy) for part in layout.split(","))
        exact = np.einsum(f"{layout}->ij", x.astype(np.float64), y.astype(np.float64))
        np.testing.assert_array_equal(k(A=x, B=y).astype(np.float64), exact)
