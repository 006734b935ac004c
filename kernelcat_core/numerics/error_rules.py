"""How errors of operands pass through every scalar operation: running error analysis (Higham, section 3.3).

An error is an absolute bound in f64: |computed - exact| <= error. For a bool it is 1 where the value is
uncertain and 0 elsewhere; so a comparison whose sides are closer than their errors may go either way, and
what depends on it gets an error as large as the jump. An infinite error says that an intermediate may overflow; NaN
(`DOUBT`) that an index or a test with an infinite jump may go either way, so that anything may come out. `EXACT` marks
operands without any error, so that most operations cost nothing.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Op
from kernelcat_core.ir.scalar import apply
from kernelcat_core.numerics.tolerance import Approximations, exact_integers, greatest, roundoff, underflow

Array = npt.NDArray[Any]

EXACT: Array = np.zeros(())
DOUBT = np.nan

_SAME_SLOPE = frozenset({"neg", "abs", "sin", "cos", "min", "max", "fmin", "fmax"})  # no steeper than 1 in any operand
_SUMS = frozenset({"add", "sub", "hypot", "copysign"})
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_BITS = frozenset({"not_bits", "and_bits", "or_bits", "xor_bits", "shl", "shr"})
_LOGIC = frozenset({"and", "or", "xor", "not"})
_CLASSES = frozenset({"isnan", "isinf", "isfinite"})


def propagate(o: Op, values: list[Array], errors: list[Array], value: Array, approximations: Approximations) -> Array:
    """The error of `o`, whose operands have `values` (f64 for floats) and `errors`; its exact value is `value`."""
    carried = EXACT if all(e is EXACT for e in errors) else _carried(o, values, errors, value)
    return total(carried, rounding(o, values, value, approximations))


def total(a: Array, b: Array) -> Array:
    """The sum of two errors."""
    if a is EXACT:
        return b
    return a if b is EXACT else np.asarray(a + b)


def rounded(value: Array, dtype: DType, ulps: float = 0.5) -> Array:
    """The error of rounding `value` to `dtype` by `ulps`: none for 0, infinities and NaN, any where it may overflow."""
    magnitude = np.abs(value)
    error = np.asarray(2 * ulps * roundoff(dtype) * magnitude + underflow(dtype))
    return np.where(
        np.isfinite(magnitude) & (magnitude > 0), np.where(magnitude + error > greatest(dtype), np.inf, error), 0.0
    )


def rounding(o: Op, values: list[Array], value: Array, approximations: Approximations) -> Array:
    """The error that `o` itself commits."""
    if not o.dtype.is_float:
        return EXACT
    if o.name in ("floordiv", "mod"):
        return _floored(o, values[0], values[1])
    if o.name != "cast":
        ulps = approximations.error_of(o.name)
        return rounded(value, o.dtype, ulps) if ulps else EXACT
    source = o.args[0].dtype
    if source.is_float:
        fits = roundoff(source) >= roundoff(o.dtype) and greatest(source) <= greatest(o.dtype)
        return EXACT if fits else rounded(value, o.dtype)
    if source.kind == "b" or 2.0**source.bits <= exact_integers(o.dtype):
        return EXACT
    return np.where(np.abs(value) <= exact_integers(o.dtype), 0.0, rounded(value, o.dtype))


def _floored(o: Op, a: Array, b: Array) -> Array:
    """floor(a / b) and a - b floor(a / b) as kernels form them: the quotient may round up to the next
    integer."""
    u = roundoff(o.dtype)
    quotient = np.asarray(a / b)
    nearest = np.rint(quotient)
    slips = (quotient != nearest) & (np.abs(quotient - nearest) <= 4 * u * np.abs(quotient))
    if o.name == "floordiv":
        return _flag(slips)
    return np.where(np.isfinite(a), 2 * u * np.abs(a), 0.0) + np.where(slips, np.abs(b), 0.0)


def gap(a: Array, b: Array) -> Array:
    """|a - b|; 0 between equal infinities and between NaNs, infinite between a NaN and a number."""
    distance = np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))
    same = (a == b) | ((a != a) & (b != b))
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))


def scaled(value: Array, error: Array) -> Array:
    """|value| * error, 0 where there is no error (even of an infinite value)."""
    if error is EXACT:
        return EXACT
    product = np.abs(value) * error
    product = np.where(np.isnan(product) & ~np.isnan(error), np.where(np.isnan(value), 0.0, np.inf), product)
    return np.where(error == 0, 0.0, product)


def difference(most: Array, least: Array) -> Array:
    """most - least of bounds, infinite where both are."""
    return np.where(np.isinf(most), np.inf, most - least)


def _carried(o: Op, values: list[Array], errors: list[Array], value: Array) -> Array:
    """What the errors of the operands do to the value."""
    a, ea = values[0], errors[0]
    b, eb = (values[1], errors[1]) if len(values) > 1 else (a, EXACT)
    if o.name == "where":
        return _where(values, errors)
    if o.name in _SAME_SLOPE:
        return np.maximum(ea, eb)
    if o.name in _SUMS:
        return np.asarray(ea + eb)
    if o.name == "mul":
        return total(total(scaled(a, eb), scaled(b, ea)), EXACT if eb is EXACT else scaled(eb, ea))
    if o.name == "div":
        room, both = np.abs(b) - eb, np.asarray(ea + eb)
        quotient = (ea + scaled(value, eb)) / np.where(room > 0, room, 1)
        return np.where(room > 0, quotient, np.where(both > 0, np.inf, both))
    if o.name in _COMPARISONS:
        return _flag(~(np.abs(np.asarray(a, np.float64) - b) > ea + eb) & (ea + eb != 0) & (a == a) & (b == b))
    if o.name in _LOGIC:
        return _logic(o.name, a, b, ea != 0, eb != 0)
    if o.name in _CLASSES:
        return _flag(~np.isfinite(ea))
    if o.name == "signbit" or (o.name == "cast" and o.dtype.kind == "b"):
        return _flag(~(np.abs(np.asarray(a, np.float64)) > ea) & (ea != 0))
    if o.name in _BITS:
        return np.where((ea != 0) | (eb != 0), DOUBT, 0.0)
    if o.name == "cast" and o.args[0].dtype.kind == "b":
        return ea
    return _ends(o, values, errors, value)


def _flag(uncertain: Array) -> Array:
    return np.asarray(uncertain, np.float64)


def _where(values: list[Array], errors: list[Array]) -> Array:
    chosen = np.where(values[0], errors[1], errors[2])
    if errors[0] is EXACT:
        return chosen
    jump = gap(values[1], values[2])
    either = np.maximum(errors[1], errors[2]) + np.where(np.isinf(jump), DOUBT, jump)
    return np.where(errors[0] != 0, either, chosen)


def _logic(name: str, a: Array, b: Array, ua: Array, ub: Array) -> Array:
    if name == "not":
        return _flag(ua)
    if name == "xor":
        return _flag(ua | ub)
    if name == "and":
        return _flag((ua & (b | ub)) | (ub & (a | ua)))
    return _flag((ua & (~b | ub)) | (ub & (~a | ua)))


def _ends(o: Op, values: list[Array], errors: list[Array], value: Array) -> Array:
    """The largest change when operands move to the ends of their errors: a bound for functions that are
    monotone there.

    An operand's integer type is left for f64 meanwhile, so that ends may lie between integers.
    """
    widest: Array = EXACT
    for signs in itertools.product((-1.0, 1.0), repeat=len(values)):
        moved = [_moved(v, s, e, x.dtype) for v, s, e, x in zip(values, signs, errors, o.args, strict=True)]
        if o.name == "sqrt":  # what is not negative may be computed as if it were 0, not below
            moved = [np.where(values[0] >= 0, np.maximum(moved[0], 0), moved[0])]
        widest = np.maximum(widest, gap(apply(o.name, moved, o.dtype, "float64"), value))
    for error in errors:
        widest = np.where(np.isnan(error), DOUBT, widest)
    return widest


def _moved(value: Array, sign: float, error: Array, dtype: DType) -> Array:
    if error is EXACT:
        return value
    moved = np.asarray(value + sign * error)
    return moved if dtype.is_float else np.asarray(np.nan_to_num(moved)).astype(value.dtype)
