"""Expansions mean what the operation means, in f32 and to within a few roundings, special values included."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.codegen.dma_expand import expand
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import F32
from kernelcat_core.ir.expr import OPS, Const, Expr, Op, Var, op
from kernelcat_core.ir.scalar import Array, apply, constant

EXPANDED = ("rsqrt sign exp2 expm1 log1p cbrt hypot signbit copysign atan2 isnan isinf isfinite fmin fmax mod floordiv").split()
_X, _Y = Var("x", F32), Var("y", F32)


def evaluate(e: Expr, names: dict[str, Array]) -> Array:
    if isinstance(e, Var):
        return names[e.name]
    if isinstance(e, Const):
        return constant(e.value, e.dtype, "declared")
    assert isinstance(e, Op)
    with np.errstate(all="ignore"):
        return apply(e.name, [evaluate(a, names) for a in e.args], e.dtype, "declared")


def inputs(seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7, -1e-7, 0.5, -2.5, 88, -88, 3e38, 1e-38], np.float32)
    pairs = np.array(np.meshgrid(special, special)).reshape(2, -1)
    drawn = rng.standard_normal((2, 2000)) * 10.0 ** rng.integers(-4, 3, (2, 2000))
    x, y = np.concatenate([pairs, drawn], axis=1).astype(np.float32)
    return {"x": x, "y": y}


@pytest.mark.parametrize("name", EXPANDED)
def test_expansion_agrees_with_the_operation(name: str) -> None:
    args = (_X,) if OPS[name].arity == 1 else (_X, _Y)
    whole = op(name, *args)
    expanded = expand(whole, F32, Table((), frozenset()))
    assert expanded != whole
    names = inputs(3)
    if name in ("mod", "floordiv"):  # NumPy's own answer for huge quotients is a matter of rounding
        with np.errstate(all="ignore"):
            keep = ~(np.abs(names["x"] / np.where(names["y"] == 0, 1, names["y"])) > 1e6)
        names = {k: v[keep] for k, v in names.items()}
    got, wanted = evaluate(expanded, names), evaluate(whole, names)
    if name in ("signbit", "copysign", "hypot"):  # the sign of a NaN is not seen; hypot(inf, nan) is C's rule
        known = ~(np.isnan(names["x"]) | np.isnan(names["y"]))
        got, wanted = got[known], wanted[known]
    if wanted.dtype == bool:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=1e-37)


def test_other_dtypes_are_left_alone() -> None:
    from kernelcat_core.dtypes import F64

    e = op("log1p", Var("x", F64))
    assert expand(e, F32, Table((), frozenset())) == e
