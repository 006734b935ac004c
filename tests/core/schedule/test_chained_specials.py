"""Chained reductions keep what infinite and undefined elements mean."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcat

ROWS = [[1.0], [np.inf], [-np.inf], [np.nan], [np.inf, np.nan], [np.inf, -np.inf], [np.inf, np.inf], [-np.inf, 3.0]]


@pytest.mark.parametrize("length", [3, 100, 5000])
@pytest.mark.parametrize("formula", ["L[i] = logsumexp[k](X[i,k])", "L[i] = logsumexp[k](X[k,i])"])
def test_logsumexp_of_special_elements(formula: str, length: int) -> None:
    x = np.full((len(ROWS), length), -2.0, np.float32)
    for row, given in zip(x, ROWS, strict=True):
        row[length // 2 : length // 2 + len(given)] = given
    x[2] = -np.inf  # a whole row
    with np.errstate(all="ignore"):
        exact = np.logaddexp.reduce(x.astype(np.float64), axis=1)
    exact[5:7] = np.inf  # where NumPy subtracts inf from inf
    made = kernelcat.kernel(formula)(X=np.ascontiguousarray(x if "X[i,k]" in formula else x.T))
    np.testing.assert_allclose(made, exact, rtol=1e-6)
