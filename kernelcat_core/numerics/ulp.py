"""Units in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.dtypes import DType
from kernelcat_core.numerics.tolerance import roundoff, underflow

Array = npt.NDArray[Any]


def ulp(x: Array, dtype: DType) -> Array:
    """The distance (f64) of neighbours of `x` in `dtype`, that of the smallest normal number near zero; 1 for
    integers."""
    if not dtype.is_float:
        return np.ones(np.shape(x))
    magnitude = np.abs(np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))
        spacing = np.ldexp(2 * roundoff(dtype), exponent - 1)
    return np.asarray(np.maximum(spacing, underflow(dtype) * 2 * roundoff(dtype)))


def ulp_distance(actual: Array, expected: Array, dtype: DType) -> Array:
    """|actual - expected| in units in the last place of `expected`; 0 where both are NaN or the same
    infinity."""
    a, b = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    with np.errstate(all="ignore"):
        distance = np.abs(a - b) / ulp(b, dtype)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
