"""Special functions and further elementwise arithmetic: accuracy against f64, and values at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees, reference
from tests.core.formula.running import Array, run

special = torch.special
AROUND = np.concatenate([np.linspace(-6, 6, 2001), np.linspace(-0.6, 0.6, 500), [np.inf, -np.inf, np.nan, 0.0, -0.0]])
BESSEL = np.concatenate([np.linspace(-8, 8, 1001), np.linspace(8, 85, 250)])

# name -> arguments, function of f64, ulp in f32, ulp in f64 (PyTorch's own f64 is a few ulp off)
ACCURATE: dict[str, tuple[Array, Callable[..., Any], float, float]] = {
    "erfc": (np.concatenate([AROUND, np.linspace(6, 9, 300)]), special.erfc, 5.5, 8),
    "erfcx": (np.concatenate([AROUND, np.logspace(0, 10, 200)]), special.erfcx, 5.5, 40),
    "ndtr": (np.linspace(-13, 8, 1001), lambda x: 0.5 * special.erfc(-x / 2 ** 0.5), 6, 300),
    "log_ndtr": (np.concatenate([AROUND, np.linspace(-100, -6, 300)]), special.log_ndtr, 6, 60),
    "erfinv": (np.concatenate([np.linspace(-1, 1, 2001), 1 - np.logspace(-6, -1, 100), np.logspace(-10, -2, 100),
                               [np.nan, 1.5]]), torch.erfinv, 3.5, 8),
    "lgamma": (np.concatenate([np.linspace(0.01, 4, 2000), np.linspace(4, 100, 500), np.logspace(-20, 30, 300),
                               [0, np.inf, 1, 2, np.nan, -1, -2]]), torch.lgamma, 12, 12),
    "digamma": (np.concatenate([np.linspace(0.01, 1.2, 1000), np.linspace(1.8, 100, 500), np.logspace(1, 30, 300),
                                [1e-10, 1e-5, 0.0, -0.0, np.inf, np.nan, -1]]), torch.digamma, 20, 40),
    "i0": (BESSEL, special.i0, 8, 12), "i0e": (BESSEL, special.i0e, 5, 12),
    "i1": (BESSEL, special.i1, 8, 16), "i1e": (BESSEL, special.i1e, 5, 16),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ACCURATE)
def test_accuracy(name: str, dtype: str) -> None:
    points, function, single, double = ACCURATE[name]
    x = points.astype(dtype)
    found = run(f"y = {name}(x)", x=x)
    assert found.dtype == x.dtype
    exact = function(torch.tensor(x.astype("f8"))).numpy()
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        special_case = ~np.isfinite(rounded)
        np.testing.assert_array_equal(found[special_case], rounded[special_case])
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny))[~special_case]
        error = np.abs(found.astype("f8") - exact)[~special_case] / unit
    assert error.max() <= (single if dtype == "f4" else double), points[~special_case][error.argmax()]


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_below_zero(name: str) -> None:
    x = np.linspace(-9.97, -0.01, 999).astype("f4")
    exact = getattr(torch, name)(torch.tensor(x.astype("f8"))).numpy()
    np.testing.assert_allclose(run(f"y = {name}(x)", x=x), exact, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("name", ["erfc", "lgamma", "i0"])
def test_sixteen_bits_round_once(name: str) -> None:
    x = np.linspace(0.1, 3, 50).astype("f2")
    found = run(f"y = {name}(x)", x=x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, run(f"y = {name}(x)", x=x.astype("f4")).astype("f2"), rtol=1e-3)
    np.testing.assert_array_equal(run(f"y[i] = {name}(x[i])", x=x), found)


X, BOTH = {"x": (4, 6)}, {"x": (4, 6), "z": (4, 6)}
EDGES = {"x": np.array([0, -0.0, 1, -1, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-30], "f4")}
WHOLE = {"x": np.array([7, -7, 7, -7, 0, 5, 6], "i4"), "z": np.array([2, 2, -2, -2, 3, -5, 3], "i4")}
CASES: dict[str, Case] = {
    **{f"{n} {k}": (f"y = {n}(x)", v, f) for k, v in (("normal", X), ("edges", EDGES)) for n, f in (
        ("frac", torch.frac), ("sinc", torch.sinc), ("entr", special.entr), ("isposinf", torch.isposinf),
        ("isneginf", torch.isneginf), ("nan_to_num", torch.nan_to_num))},
    **{n: (f"y = {n}(abs(x), abs(z))", BOTH, lambda x, z, f=f: f(x.abs(), z.abs())) for n, f in (
        ("xlogy", torch.xlogy), ("xlog1py", special.xlog1py), ("logaddexp2", torch.logaddexp2))},
    "floor mod": ("y = floor_mod(x, z)", BOTH, torch.remainder),
    "floor mod whole": ("x: i32[N]; z: i32[N]; y = floor_mod(x, z)", WHOLE, torch.remainder),
    "trunc divide": ("y = trunc_divide(x, z)", BOTH, lambda x, z: torch.div(x, z, rounding_mode="trunc")),
    "trunc divide whole": ("x: i32[N]; z: i32[N]; y = trunc_divide(x, z)", WHOLE,
                           lambda x, z: torch.div(x, z, rounding_mode="trunc")),
    "ldexp": ("y = ldexp(x, rint(z))", BOTH, lambda x, z: torch.ldexp(x, z.round())),
    "float power": ("y = float_power(abs(x), z)", BOTH, lambda x, z: torch.float_power(x.abs(), z)),
    "logit": ("y = logit(sigmoid(3*x), eps=0.1)", X, lambda x: torch.logit((3 * x).sigmoid(), 0.1)),
    "fused": ("y = addcmul(x, z, x, 0.3) + addcdiv(x, z, x, value=2)", BOTH,
              lambda x, z: torch.addcmul(x, z, x, value=0.3) + torch.addcdiv(x, z, x, value=2)),
    "decimals": ("y = round_decimals(x, 2)", X, lambda x: x.round(decimals=2)),
    "close": ("y = isclose(x, z, rtol=0.5)", BOTH, lambda x, z: torch.isclose(x, z, rtol=0.5)),
    "thresholded": ("y = thresholded_relu(x, alpha=0.3)", X, lambda x: reference("ThresholdedRelu", x, alpha=0.3)),
    "threshold": ("y = threshold(x, 0.1, 20)", X, lambda x: F.threshold(x, 0.1, 20)),
    "shrink": ("y = shrink(x, lambd=0.3, bias=0.2)", X, lambda x: reference("Shrink", x, lambd=0.3, bias=0.2)),
    "hard sigmoid": ("y = linear_sigmoid(x)", X, lambda x: reference("HardSigmoid", x)),
    "softplus": ("y = scaled_softplus(x, beta=3)", X, lambda x: F.softplus(x, 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case])
