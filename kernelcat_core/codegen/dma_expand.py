"""Operations that a vector unit lacks, written with those that it has: expression to expression, f32 only."""

from __future__ import annotations

import math
from collections.abc import Callable

from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import BOOL, DType
from kernelcat_core.ir.expr import Const, Expr, Op, op, transform

# Expressions here may share subtrees; `op` folds what is constant.


def _number(value: float, like: Expr) -> Expr:
    return Const(value, like.dtype)


def _rsqrt(x: Expr) -> Expr:
    return op("div", _number(1.0, x), op("sqrt", x))


def _sign(x: Expr) -> Expr:
    zero = _number(0.0, x)
    return op(
        "where", op("gt", x, zero), _number(1.0, x), op("where", op("lt", x, zero), _number(-1.0, x), x)
    )


def _exp2(x: Expr) -> Expr:
    return op("pow", _number(2.0, x), x)


def _expm1(x: Expr) -> Expr:
    """With u = exp(x): (u - 1) * x / log(u), whose two errors cancel (W. Kahan); the ends are taken apart."""
    one = _number(1.0, x)
    u = op("exp", x)
    shifted = op("sub", u, one)
    value = op("div", op("mul", shifted, x), op("log", u))
    value = op("where", op("eq", shifted, _number(-1.0, x)), shifted, value)
    value = op("where", op("gt", op("abs", x), _number(40.0, x)), shifted, value)
    return op("where", op("eq", u, one), x, value)


def _log1p(x: Expr) -> Expr:
    """With u = 1 + x: log(u) * (x / (u - 1)), which corrects the rounding of u (W. Kahan)."""
    one = _number(1.0, x)
    u = op("add", x, one)
    value = op("mul", op("log", u), op("div", x, op("sub", u, one)))
    value = op("where", op("eq", u, _number(math.inf, x)), u, value)
    return op("where", op("eq", u, one), x, value)


def _cbrt(x: Expr) -> Expr:
    """exp(log|x| / 3) and two Newton steps, which leave an error of one rounding."""
    a = op("abs", x)
    y = op("exp", op("mul", op("log", a), _number(1 / 3, x)))
    for _ in range(2):
        y = op("sub", y, op("mul", op("sub", y, op("div", a, op("mul", y, y))), _number(1 / 3, x)))
    root = op("where", op("lt", x, _number(0.0, x)), op("neg", y), y)
    plain = op("or", op("eq", x, _number(0.0, x)), op("eq", a, _number(math.inf, x)))
    return op("where", plain, x, root)


def _hypot(x: Expr, y: Expr) -> Expr:
    zero, infinity = _number(0.0, x), _number(math.inf, x)
    a, b = op("abs", x), op("abs", y)
    large, small = op("max", a, b), op("min", a, b)
    r = op("div", small, large)
    value = op("mul", large, op("sqrt", op("add", op("mul", r, r), _number(1.0, x))))
    value = op("where", op("eq", large, zero), zero, value)
    return op("where", op("or", op("eq", a, infinity), op("eq", b, infinity)), infinity, value)


def _signbit(x: Expr) -> Expr:
    """x < 0, or 1 / x < 0 for the zeros; the sign of a NaN is not seen."""
    zero = _number(0.0, x)
    return op(
        "or", op("lt", x, zero), op("and", op("eq", x, zero), op("lt", op("div", _number(1.0, x), x), zero))
    )


def _copysign(x: Expr, y: Expr) -> Expr:
    a = op("abs", x)
    return op("where", _signbit(y), op("neg", a), a)


def _atan2(y: Expr, x: Expr) -> Expr:
    zero, one, infinity = (_number(v, x) for v in (0.0, 1.0, math.inf))
    both = op("and", op("eq", op("abs", x), infinity), op("eq", op("abs", y), infinity))
    none = op("and", op("eq", x, zero), op("eq", y, zero))
    ratio = op("where", both, one, op("where", none, zero, op("div", op("abs", y), op("abs", x))))
    angle = op("atan", ratio)
    angle = op("where", _signbit(x), op("sub", _number(math.pi, x), angle), angle)
    value = op("where", _signbit(y), op("neg", angle), angle)
    return op("where", op("or", _isnan(x), _isnan(y)), op("add", x, y), value)


def _isnan(x: Expr) -> Expr:
    return op("ne", x, x)


def _isinf(x: Expr) -> Expr:
    return op("eq", op("abs", x), _number(math.inf, x))


def _isfinite(x: Expr) -> Expr:
    return op("lt", op("abs", x), _number(math.inf, x))


def _fmin(a: Expr, b: Expr) -> Expr:
    return op("where", _isnan(a), b, op("where", _isnan(b), a, op("min", a, b)))


def _fmax(a: Expr, b: Expr) -> Expr:
    return op("where", _isnan(a), b, op("where", _isnan(b), a, op("max", a, b)))


def _tanh(x: Expr) -> Expr:
    """t / (t + 2) with t = exp(2|x|) - 1, and the sign of x; 1 where t is too large to tell."""
    a = op("abs", x)
    t = _expm1(op("mul", a, _number(2.0, x)))
    r = op("div", t, op("add", t, _number(2.0, x)))
    r = op("where", op("gt", a, _number(9.5, x)), _number(1.0, x), r)
    return op("where", op("lt", x, _number(0.0, x)), op("neg", r), r)


# erf(x) / x in powers of x^2 below 0.9, and -log(1 - erf(x)) in powers of x on 0.9..4: fits at Chebyshev points, with
# relative errors of erf of 1.8e-7 and 0.9e-7 in f32.
_ERF_BELOW = (1.1283792, -0.37612635, 0.11283719, -0.026860708, 0.0052043316, -0.0008180781, 8.5341206e-05)
_ERF_ABOVE = (-0.00033454088, 1.1303177, 0.631626, 0.11033815, -0.026622739, 0.0048593204, -0.00062823965,
              5.217786e-05, -2.3078014e-06, 3.1635416e-08)


def _polynomial(coefficients: tuple[float, ...], x: Expr) -> Expr:
    value = _number(coefficients[-1], x)
    for c in coefficients[-2::-1]:
        value = op("add", op("mul", value, x), _number(c, x))
    return value


def _erf(x: Expr) -> Expr:
    a = op("min", op("abs", x), _number(4.0, x))
    below = op("mul", x, _polynomial(_ERF_BELOW, op("mul", a, a)))
    above = op("sub", _number(1.0, x), op("exp", op("neg", _polynomial(_ERF_ABOVE, a))))
    above = op("where", op("lt", x, _number(0.0, x)), op("neg", above), above)
    return op("where", op("lt", a, _number(0.9, x)), below, above)


def _signs_differ(r: Expr, b: Expr) -> Expr:
    """Whether a remainder that is not zero has another sign than the divisor."""
    zero = _number(0.0, r)
    return op("and", op("ne", r, zero), op("xor", op("lt", r, zero), op("lt", b, zero)))


def _mod(a: Expr, b: Expr) -> Expr:
    """The remainder with the divisor's sign."""
    r = op("fmod", a, b)
    moved = op("where", _signs_differ(r, b), op("add", r, b), r)
    return op("where", op("eq", r, _number(0.0, a)), _copysign(_number(0.0, a), b), moved)


def _floordiv(a: Expr, b: Expr) -> Expr:
    """The truncated quotient (a - r) / b, whole but for its rounding, and one less where the signs ask for it."""
    r = op("fmod", a, b)
    q = op("rint", op("div", op("sub", a, r), b))
    q = op("where", _signs_differ(r, b), op("sub", q, _number(1.0, a)), q)
    return op("where", op("eq", b, _number(0.0, a)), op("div", a, b), q)


_RULES: dict[str, Callable[..., Expr]] = {
    "rsqrt": _rsqrt,
    "sign": _sign,
    "exp2": _exp2,
    "expm1": _expm1,
    "log1p": _log1p,
    "cbrt": _cbrt,
    "hypot": _hypot,
    "signbit": _signbit,
    "copysign": _copysign,
    "atan2": _atan2,
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "fmin": _fmin,
    "fmax": _fmax,
    "mod": _mod,
    "floordiv": _floordiv,
    "tanh": _tanh,
    "erf": _erf,
}


def expand(e: Expr, dtype: DType, table: Table) -> Expr:
    """`e` with every operation on `dtype` that has a rule, and no instruction, replaced."""

    def rewrite(n: Expr) -> Expr | None:
        if table.nan_saturates and isinstance(n, Op) and n.name == "cast" and n.args[0].dtype == dtype and n.dtype.is_integer:
            x = n.args[0]
            return Op("cast", (op("where", op("eq", x, x), x, _number(0.0, x)),), n.dtype)
        if not isinstance(n, Op) or n.name not in _RULES or n.args[0].dtype != dtype or table.any(n.name, dtype.name):
            return None
        value = _RULES[n.name](*n.args)
        assert value.dtype == (BOOL if n.dtype == BOOL else dtype)
        return value

    return transform(e, rewrite)
