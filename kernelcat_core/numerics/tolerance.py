"""What a correct kernel may differ by, before any kernel has run.

Every figure comes from the dtype, the length of a reduction, or a document: none from what a kernel gave.

- Unit roundoffs: IEEE 754 round to nearest (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., ch. 2).
- Reductions of n terms: min(n, 8 sqrt(n)) roundings whatever their order. n is the bound that always holds (Higham,
  eq. 4.4); lambda sqrt(n) holds with probability 1 - 2n exp(-lambda^2 / 2) for mean-zero rounding errors (Higham and
  Mary, "A new approach to probabilistic rounding error analysis", 2019), which is 1 - 1e-7 for n = 4e6, lambda = 8.
- Functions: the maximum error that the OpenCL 3.0 C specification allows in single precision (section 7.4, full
  profile), which CUDA's and the C library's documented maxima do not exceed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kernelcat_core.dtypes import DType

# Bits of the significand, the leading one included; exponent of the smallest normal number; the largest
# number.
_PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8e4m3": 4, "f8e5m2": 3}
_MIN_EXPONENT = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126, "f8e4m3": -6, "f8e5m2": -14}
_GREATEST = {
    "f64": 1.7976931348623157e308,
    "f32": float(2**128 - 2**104),
    "f16": 65504.0,
    "bf16": float(2**128 - 2**120),
    "f8e4m3": 448.0,
    "f8e5m2": 57344.0,
}
# Devices that flush subnormal numbers to zero do so for these types; narrower ones keep them.
_FLUSHED = frozenset({"f64", "f32", "bf16"})

# Largest error in units in the last place; operations that are not listed round correctly (0.5) or are exact
# (0).
ULPS: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "sqrt"), 3.0),
        **dict.fromkeys(("log1p", "rsqrt", "cbrt"), 2.0),
        **dict.fromkeys(("sin", "cos", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "hypot"), 4.0),
        **dict.fromkeys(("tan", "atan", "tanh", "atanh"), 5.0),
        "div": 2.5,
        "atan2": 6.0,
        "pow": 16.0,
        "erf": 16.0,
        **dict.fromkeys(("add", "sub", "mul"), 0.5),
    }
)

SAFETY = 2.0  # second-order terms, the oracle's own roundings, and the corrections of online reductions


@dataclass(frozen=True)
class Approximations:
    """What a target documents beyond ULPS.

    `ulps` raises the error of operations (a fast exponential, say); `product` is the relative error of each
    operand of a sum of products (2^-11 for TF32 matrix units, else 0).
    """

    ulps: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    product: float = 0.0

    def error_of(self, operation: str) -> float:
        """Largest error of `operation` in ulp."""
        return max(ULPS.get(operation, 0.0), self.ulps.get(operation, 0.0))


def roundoff(dtype: DType) -> float:
    """Largest relative error of rounding a real number in range to `dtype`; 0 for integers and bool."""
    return math.ldexp(1.0, -_PRECISION[dtype.name]) if dtype.is_float else 0.0


def underflow(dtype: DType) -> float:
    """Largest absolute error of rounding a number near zero to `dtype`: all of it where devices flush to
    zero."""
    if not dtype.is_float:
        return 0.0
    exponent = _MIN_EXPONENT[dtype.name]
    return math.ldexp(1.0, exponent if dtype.name in _FLUSHED else exponent - _PRECISION[dtype.name])


def greatest(dtype: DType) -> float:
    """The largest finite number of a float type."""
    return _GREATEST[dtype.name]


def exact_integers(dtype: DType) -> float:
    """Integers up to this magnitude are exact in a float type."""
    return math.ldexp(1.0, _PRECISION[dtype.name])


def growth(length: int) -> float:
    """Roundings that reach the result of a reduction of `length` terms, in any order."""
    return min(float(length), 8.0 * math.sqrt(length))
