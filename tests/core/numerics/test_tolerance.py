"""Constants of float types against NumPy, ulp distances, and inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelcat_core.dtypes import BF16, F16, F32, F64, I32, I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import OPS, Load, Op, cast, op
from kernelcat_core.ir.graph import Compute, Tensor
from kernelcat_core.numerics.distributions import DISTRIBUTIONS, distributions_of, make_inputs
from kernelcat_core.numerics.tolerance import ULPS, greatest, growth, roundoff, underflow
from kernelcat_core.numerics.ulp import ulp, ulp_distance

from . import graphs


@pytest.mark.parametrize("dtype", [F64, F32, F16, BF16])
def test_float_constants(dtype: object) -> None:
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype.numpy)  # type: ignore[attr-defined]
    assert roundoff(dtype) == float(limits.eps) / 2  # type: ignore[arg-type]
    assert greatest(dtype) == float(limits.max)  # type: ignore[arg-type]
    assert underflow(dtype) in (float(limits.tiny), float(limits.smallest_subnormal) / 2)  # type: ignore[arg-type]
    assert ulp(np.array(1.0), dtype) == float(limits.eps)  # type: ignore[arg-type]


def test_every_documented_operation_exists() -> None:
    assert set(ULPS) <= set(OPS)


def test_growth_is_the_certain_bound_for_short_and_the_probable_one_for_long_sums() -> None:
    assert growth(10) == 10
    assert growth(1 << 20) == 8 * 1024


def test_ulp_distance() -> None:
    x = np.array([1.0, 0.0, np.nan, np.inf, 1.0, -np.inf], np.float32)
    y = np.array([np.nextafter(np.float32(1), np.float32(2)), 0.0, np.nan, np.inf, np.nan, np.inf], np.float32)
    assert ulp_distance(y, x, F32).tolist() == [1.0, 0.0, 0.0, 0.0, math.inf, math.inf]
    assert ulp_distance(np.array([7]), np.array([4]), I32).tolist() == [3.0]


def test_inputs_are_seeded_and_typed() -> None:
    g = graphs.matmul(F16)
    sizes = {"M": 3, "N": 5, "K": 4}
    for name in DISTRIBUTIONS:
        one, two = make_inputs(g, sizes, 1, name), make_inputs(g, sizes, 1, name)
        assert {k: (v.shape, v.dtype) for k, v in one.items()} == {"A": ((3, 4), np.float16), "B": ((4, 5), np.float16)}
        for key in one:
            np.testing.assert_array_equal(one[key], two[key])
    assert (make_inputs(g, sizes, 1)["A"] != make_inputs(g, sizes, 2)["A"]).any()
    assert not np.isfinite(make_inputs(g, {"M": 64, "N": 5, "K": 64}, 0, "special")["A"].astype(float)).all()
    for bad in ({"distribution": "unheard of"}, {"sizes": {"M": 3}}):
        with pytest.raises(KernelcatError) as caught:
            make_inputs(g, **{"sizes": sizes, **bad})  # type: ignore[arg-type]
        assert caught.value.code == "KC-F020"


def test_inputs_fit_what_the_formula_does_with_them() -> None:
    x, p, d = Tensor("X", F32, (graphs.M,)), Tensor("P", I32, (graphs.N,)), Tensor("D", I64, (graphs.N,))
    where = cast(graphs.at(p, graphs.COLUMN), I64)
    value = op("log", Load("X", (where,), F32))
    quotient = op("floordiv", graphs.COLUMN.var, graphs.at(d, graphs.COLUMN))
    whole = Op("cast", (value,), I64)
    node = Compute(Tensor("Y", I64, (graphs.N,)), (graphs.COLUMN,), (op("add", whole, quotient),))
    g = graphs.graph([x, p, d], node)
    for name in DISTRIBUTIONS:
        inputs = make_inputs(g, {"M": 3, "N": 200}, 0, name)
        if name not in ("special", "nan"):
            assert ((inputs["P"] >= 0) & (inputs["P"] < 3)).all()
            assert (inputs["X"] >= 0).all()
        assert (inputs["D"] > 0).all()
    assert set(DISTRIBUTIONS) - set(distributions_of(g)) == {"large", "special", "nan"}
    assert distributions_of(graphs.sums()) == tuple(DISTRIBUTIONS)
