"""The meaning of every scalar operation (`expr.OPS`) as a NumPy function over whole arrays.

Arguments arrive in the storage type of their dtype (16-bit and 8-bit floats as f32, see `apply`); integers
wrap around. Where C leaves a case undefined the meaning is fixed here: integer division and remainder by zero
give 0, an integer power with a negative exponent is rounded toward zero, shifts by the width or more shift
everything out, and a cast from float to integer saturates with NaN giving 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.dtypes import DType

Array = npt.NDArray[Any]

_erf = np.frompyfunc(math.erf, 1, 1)  # NumPy has no erf; the C library's is exact to an ulp of f64


def erf(x: Array) -> Array:
    """The error function, in f64 and rounded to the type of `x`."""
    return np.asarray(_erf(np.asarray(x, np.float64))).astype(x.dtype)


def round_half_away(x: Array) -> Array:
    """The nearest integer, halves away from zero (C's round)."""
    whole = np.trunc(x)
    return np.asarray(whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x))


def integer_power(base: Array, exponent: Array) -> Array:
    """`base ** exponent` with wrap-around, by squaring; negative exponents give 1/base rounded toward
    zero."""
    base, exponent = np.broadcast_arrays(base, exponent)
    total, square, left = np.ones_like(base), base.copy(), np.maximum(exponent, 0)
    while left.any():
        total = np.where(left & 1, total * square, total)
        square, left = square * square, left >> 1
    if exponent.dtype.kind == "u":
        return total
    # 1/base is 1 for 1, +-1 for -1 and 0 for everything beyond (also for 0, as division by zero does here)
    unit = np.where(base == 1, 1, np.where(base + 1 == 0, np.where(exponent & 1, base, 1), 0)).astype(base.dtype)
    return np.where(exponent < 0, unit, total)


def _power(a: Array, b: Array) -> Array:
    return integer_power(a, b) if a.dtype.kind in "iu" else np.power(a, b)


def _sign(x: Array) -> Array:
    return x if x.dtype.kind == "b" else np.sign(x)


def _shift(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    return np.asarray(function(a, b.astype(a.dtype, copy=False)))


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` for floats; integers and bools are unchanged by roundings."""
    return lambda x: x if x.dtype.kind in "iub" else function(x)


# Name -> function; the keys are exactly those of expr.OPS without "cast", which needs its target (see
# `convert`).
SCALAR: dict[str, Callable[..., Any]] = {
    **{
        n: getattr(np, n)
        for n in [
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sqrt",
            "cbrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "isnan",
            "isinf",
            "isfinite",
            "signbit",
            "fmod",
            "fmin",
            "fmax",
            "hypot",
            "copysign",
            "abs",
            "where",
        ]
    },
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": erf,
    "floor": _lifted(np.floor),
    "ceil": _lifted(np.ceil),
    "trunc": _lifted(np.trunc),
    "rint": _lifted(np.rint),
    "round_half_away": _lifted(round_half_away),
    "neg": np.negative,
    "sign": _sign,
    "not_bits": np.invert,
    "not": np.logical_not,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "pow": _power,
    "min": np.minimum,
    "max": np.maximum,
    "and_bits": np.bitwise_and,
    "or_bits": np.bitwise_or,
    "xor_bits": np.bitwise_xor,
    "shl": lambda a, b: _shift(np.left_shift, a, b),
    "shr": lambda a, b: _shift(np.right_shift, a, b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def storage(dtype: DType, precision: str) -> np.dtype[Any]:
    """The NumPy type that holds values of `dtype`: f64 for every float in precision "float64", else the type
    itself."""
    return np.dtype(np.float64) if precision == "float64" and dtype.is_float else dtype.numpy


def convert(x: Array, dtype: DType, precision: str) -> Array:
    """`x` as `dtype`: round to nearest even between floats, toward zero and saturating to integers, wrap
    between those."""
    target = storage(dtype, precision)
    if x.dtype == target:
        return x
    if dtype.kind == "b":
        return np.asarray(x != 0)
    if dtype.is_integer and x.dtype.kind not in "iub":
        low = -(2.0 ** (dtype.bits - 1)) if dtype.kind == "i" else 0.0
        high = 2.0 ** (dtype.bits - (dtype.kind == "i"))
        wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        inside = (wide >= low) & (wide < high)
        limits = np.where(wide < low, int(low), int(high) - 1) if dtype.bits < 64 else _limits(wide, dtype)
        return np.where(inside, np.where(inside, wide, 0).astype(target), limits.astype(target))
    return x.astype(target)


def _limits(wide: Array, dtype: DType) -> Array:
    bounds = np.iinfo(dtype.numpy)
    low, high = (np.array(v, dtype.numpy) for v in (bounds.min, bounds.max))
    return np.where(wide < 0, low, high)


def constant(value: bool | int | float, dtype: DType, precision: str) -> Array:
    """A literal, rounded to its declared dtype in either precision, as a 0-d array."""
    if dtype.is_integer:
        whole = int(value) & ((1 << dtype.bits) - 1)
        if dtype.kind == "i" and whole >> (dtype.bits - 1):
            whole -= 1 << dtype.bits
        return np.array(whole, dtype.numpy)
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(value).astype(dtype.numpy)).astype(storage(dtype, precision))


def apply(name: str, args: list[Array], dtype: DType, precision: str) -> Array:
    """The operation `name` on arrays, its value rounded once to `dtype`.

    Narrow floats are computed in f32 and rounded: for + - * / and sqrt that equals rounding the exact value,
    since 24 >= 2p + 2 (S. Figueroa, "When is double rounding innocuous?", 1995).
    """
    if name == "cast":
        return convert(args[0], dtype, precision)
    wide = [a if a.dtype.kind in "iub" or a.dtype.itemsize >= 4 else a.astype(np.float32) for a in args]
    value: Array = np.asarray(SCALAR[name](*wide))
    target = storage(dtype, precision)
    return value if value.dtype == target else value.astype(target)
