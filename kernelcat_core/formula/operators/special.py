"""Special functions from scalar operations: error functions, gamma, Bessel, and their relatives.

Errors are relative, in units of the last place (ulp) of f32; f64 uses longer polynomials (special_tables.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelcat_core.formula.operators import special_tables as tables
from kernelcat_core.formula.operators.definition import Tensor, operator

_GROUP = "special"


def _wide(x: Tensor) -> bool:
    return x.dtype.name == "f64"


def polynomial(u: str, coefficients: Sequence[float]) -> str:
    """Horner's form, lowest power first."""
    text = f"({coefficients[-1]!r})"
    for c in reversed(coefficients[:-1]):
        text = f"({text}*{u} + ({c!r}))"
    return text


def _table(x: Tensor, name: str) -> tuple[float, ...]:
    found: tuple[float, ...] = getattr(tables, f"{name}_{'DOUBLE' if _wide(x) else 'SINGLE'}")
    return found


def _define(name: str, summary: str, write: Callable[[Tensor], str], aliases: str = "") -> None:
    def build(x: Tensor) -> str:
        return write(x)

    operator(name, group=_GROUP, summary=summary, example=f"{name}(X)", aliases=aliases, elementwise=True,
             renames={"input": "x"})(build)


def _scaled_erfc(x: Tensor) -> list[str]:
    """Lines for a = |x|, t and s = exp(a^2) erfc(a)."""
    return ["a = abs(x)", "t = 1/(1 + 0.5*a)", "v = 2*t - 1", f"s = t*{polynomial('v', _table(x, 'ERFCX'))}"]


def _gauss() -> list[str]:
    """g = exp(-a^2), with a split so that its square is exact where it is large."""
    return ["h = rint(16*minimum(a, 30))/16", "g = exp(-h*h)*exp(-(minimum(a, 30) - h)*(minimum(a, 30) + h))"]


def _erfc(x: Tensor) -> str:
    return "\n".join([*_scaled_erfc(x), *_gauss(), "where(a < 0.5, 1 - erf(x), where(x > 0, s*g, 2 - s*g))"])


def _erfcx(x: Tensor) -> str:
    return "\n".join([*_scaled_erfc(x), *_gauss(), "where(x >= 0, s, 2/g - s)"])


def _tail(x: Tensor) -> list[str]:
    """Lines for q = -x/sqrt(2), s as above of q, and g = exp(-x*x/2), split like `_gauss`."""
    return ["q = -x*0.7071067811865476", *(line.replace("(x)", "(q)") for line in _scaled_erfc(x)),
            "h = rint(16*minimum(abs(x), 40))/16",
            "g = exp(-0.5*h*h)*exp(-0.5*(minimum(abs(x), 40) - h)*(minimum(abs(x), 40) + h))"]


def _normal(x: Tensor) -> str:
    return "\n".join([*_tail(x), "where(a < 0.5, 0.5 - 0.5*erf(q), where(q > 0, 0.5*s*g, 1 - 0.5*s*g))"])


def _log_normal(x: Tensor) -> str:
    return "\n".join([*_tail(x), "where(x < -1, log(0.5*s) - 0.5*x*x, "
                      "where(x > 1, log1p(-0.5*s*g), log(0.5 - 0.5*erf(q))))"])


def _erfinv(x: Tensor) -> str:
    """Giles' single precision formula; in f64 two steps of Newton's method follow, on erfc where x is near 1."""
    near, far = (polynomial(u, c[::-1]) for u, c in (("(w - 2.5)", tables.ERFINV_NEAR), ("(r - 3)", tables.ERFINV_FAR)))
    lines = ["a = abs(x)", "w = -log((1 - a)*(1 + a))", "r = sqrt(maximum(w, 5))", f"p = a*where(w < 5, {near}, {far})"]
    if _wide(x):
        for old, new in (("p", "q"), ("q", "z")):
            miss = f"where(a < 0.5, erf({old}) - a, (1 - a) - erfc({old}))"
            lines.append(f"{new} = {old} - {miss}*0.886226925452758*exp(minimum({old}*{old}, 700))")
    value = "z" if _wide(x) else "p"
    return "\n".join([*lines, f"where(a < 1, where(x < 0, -{value}, {value}), where(a == 1, x*inf, nan))"])


def _lgamma(x: Tensor) -> str:
    """Near 1 and 2 from a polynomial times the distance, so that the zeros there are exact; reflected below 0."""
    near, far = polynomial("u", _table(x, "LGAMMA_NEAR")), polynomial("v", _table(x, "LGAMMA_FAR"))
    return "\n".join([
        "z = where(x < 0, 1 - x, x)",
        # 2 + d, by recursion upwards: x = z - 2 + k + d
        "d = where(z < 0.5, z, where(z < 1.5, z - 1, z - 2))", "u = 2*minimum(d, 0.5)",
        "down = where(z < 0.5, log(z) + log1p(z), where(z < 1.5, log(z), 0))",
        "b = maximum(z, 2.5)", "v = 12.5/(b*b) - 1",
        f"large = (b - 0.5)*(log(b) - 1) + 0.4189385332046727 + {far}/b",
        f"m = where(z < 2.5, minimum(d, 0.5)*{near} - down, where(isinf(z), inf, large))",
        "e = abs(x - rint(x))",
        "where(x < 0, where(e == 0, inf, 1.1447298858494002 - log(abs(sin(3.141592653589793*e))) - m), m)"])


def _digamma(x: Tensor) -> str:
    """psi(z) = psi(z + n) - sum of 1/(z + k), then the asymptotic series; reflected below 0."""
    shift, terms = (10, 7) if _wide(x) else (6, 4)
    # B(2k)/(2k), k from 1
    numbers = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)[:terms]
    total = " + ".join(f"1/(z + {k})" if k else "1/z" for k in range(shift))
    return "\n".join([
        "z = where(x < 0, 1 - x, x)", f"h = z + {shift}", "w = 1/(h*h)",
        f"p = log(h) - 0.5/h - w*{polynomial('w', numbers)} - ({total})",
        "e = x - rint(x)",
        "where(x < 0, where(e == 0, nan, p - 3.141592653589793/tan(3.141592653589793*e)), p)"])


def _bessel(order: int, scaled: bool) -> Callable[[Tensor], str]:
    def write(x: Tensor) -> str:
        near, far = (polynomial(u, _table(x, f"I{order}_{n}")) for u, n in (("v", "NEAR"), ("w", "FAR")))
        lines = ["a = abs(x)", "v = 0.25*minimum(a, 8) - 1", "b = maximum(a, 8)", "w = 16/b - 1",
                 f"s = where(a <= 8, {near}{'*a' if order else ''}, {far}/sqrt(b))"]
        value = "s" if scaled else "where(isinf(a), inf, exp(0.5*a)*s*exp(0.5*a))"
        return "\n".join([*lines, f"where(x < 0, -{value}, {value})" if order else value])

    return write


_define("erfc", "1 - erf(x), exact where it is small (5 ulp)", _erfc)
_define("erfcx", "exp(x*x)*erfc(x) (5 ulp)", _erfcx)
_define("ndtr", "normal distribution function (5 ulp)", _normal)
_define("log_ndtr", "logarithm of the normal distribution function (6 ulp)", _log_normal)
_define("erfinv", "inverse of erf (3 ulp)", _erfinv)
_define("lgamma", "log of the absolute value of the gamma function (12 ulp; 1e-6 near its zeros below 0)", _lgamma,
        "gammaln log_gamma")
_define("digamma", "derivative of lgamma (4 ulp; 1e-6 near its zeros)", _digamma, "psi")
_define("i0", "modified Bessel function of order 0 (8 ulp)", _bessel(0, False))
_define("i0e", "exp(-abs(x))*i0(x) (4 ulp)", _bessel(0, True))
_define("i1", "modified Bessel function of order 1 (8 ulp)", _bessel(1, False))
_define("i1e", "exp(-abs(x))*i1(x) (4 ulp)", _bessel(1, True))
