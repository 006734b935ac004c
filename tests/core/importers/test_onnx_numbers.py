"""Numbers that the language lacks or draws: coded types, casts of bits, random operators."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline.network.model import OnnxNetwork


def one(op: str, inputs: list[Any], outputs: int = 1, opset: int = 26, **attributes: Any) -> OnnxNetwork:
    """A model of one node."""
    names = [f"i{k}" for k in range(len(inputs))]
    made = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, names, made, **attributes)
    kinds = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for n, a in zip(names, inputs, strict=True)]
    graph = helper.make_graph([node], "g", kinds, [helper.make_empty_tensor_value_info(m) for m in made])
    return OnnxNetwork(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), threads=1, opt_level="O1")


def ran(op: str, inputs: list[Any], opset: int = 26, **attributes: Any) -> Any:
    return one(op, inputs, opset=opset, **attributes)({f"i{k}": a for k, a in enumerate(inputs)})["o0"]


# -- types that the language lacks

CODED = ["float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"]


@pytest.mark.parametrize("name", CODED)
def test_every_code_survives_a_round_trip(name: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, name))
    bits = {"float4_e2m1fn": 4, "int2": 2, "uint2": 2}.get(name, 8)
    every = np.arange(1 << bits, dtype=np.uint8).view(kind)
    wide = ran("Cast", [every], to=1)
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    back = ran("Cast", [wide], to=helper.np_dtype_to_tensor_dtype(kind))
    assert back.dtype == kind
    np.testing.assert_array_equal(back.astype(np.float32), wide)


@pytest.mark.parametrize("name", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn"])
def test_casts_round_to_the_nearest(name: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, name))
    most = float({"float8_e4m3fnuz": 240, "float8_e5m2fnuz": 57344, "float4_e2m1fn": 6}[name])
    x = np.linspace(-most, most, 3001).astype(np.float32)
    got = ran("Cast", [x], to=helper.np_dtype_to_tensor_dtype(kind))
    np.testing.assert_array_equal(got.astype(np.float32), x.astype(kind).astype(np.float32))


def test_a_cast_saturates_only_when_asked() -> None:
    x = np.asarray([1e6, -1e6, np.inf, 0.5], np.float32)
    np.testing.assert_array_equal(ran("Cast", [x], to=18).astype(np.float32), [240, -240, 240, 0.5])
    np.testing.assert_array_equal(ran("Cast", [x], to=18, saturate=0).astype(np.float32), [np.nan, np.nan, np.nan, 0.5])


def test_quotients_are_exact_before_they_are_rounded() -> None:
    """A quotient an ulp beside a half would become another number."""
    draw = np.random.default_rng(9)
    for scale in (0.019607844, 0.1, 0.3):
        s = np.float32(scale)
        x = np.concatenate([(draw.integers(-127, 126, 4000) + 0.5)*s, draw.normal(0, 20*s, 4000)]).astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, -np.float32(np.inf))])
        wanted = np.clip(np.rint(x/s), -128, 127).astype(np.int8)
        got = ran("QuantizeLinear", [x, np.asarray(s), np.asarray(0, np.int8)], opset=21)
        np.testing.assert_array_equal(got, wanted)


# -- bits


@pytest.mark.parametrize(("real", "whole"), [(np.float32, np.int32), (np.float64, np.int64), (np.float16, np.uint16),
                                             (ml_dtypes.bfloat16, np.int16)])
def test_bits_of_floats(real: Any, whole: Any) -> None:
    draw = np.random.default_rng(1)
    low, high = np.iinfo(whole).min, np.iinfo(whole).max
    bits = np.concatenate([draw.integers(low, high, 2000, dtype=whole, endpoint=True), np.asarray([0, 1, 2, low, 5], whole)])
    x = bits.view(real)
    with np.errstate(invalid="ignore"):
        finite = ~np.isnan(x.astype(np.float64))
    np.testing.assert_array_equal(ran("BitCast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(whole)))[finite],
                                  bits[finite])
    back = ran("BitCast", [bits], to=helper.np_dtype_to_tensor_dtype(np.dtype(real)))
    np.testing.assert_array_equal(back.view(whole)[finite], bits[finite])
    assert np.isnan(back.astype(np.float64)[~finite]).all()


def test_bits_of_another_width_are_refused() -> None:
    with pytest.raises(KernelcatError) as raised:
        ran("BitCast", [np.zeros(4, np.float32)], to=7)
    assert raised.value.code == "KC-I004"


# -- random numbers


def test_uniform_numbers_fill_their_range_evenly() -> None:
    drawn = ran("RandomUniformLike", [np.zeros((200, 200), np.float32)], low=-1.0, high=3.0, seed=7.0)
    assert drawn.min() >= -1 and drawn.max() < 3
    counts = np.histogram(drawn, 16, (-1, 3))[0]
    assert abs(counts - 2500).max() < 6*np.sqrt(2500)
    neighbours = np.corrcoef(drawn[:, :-1].reshape(-1), drawn[:, 1:].reshape(-1))[0, 1]
    assert abs(neighbours) < 0.02


def test_normal_numbers_have_their_moments() -> None:
    drawn = ran("RandomNormalLike", [np.zeros((300, 200), np.float32)], mean=2.0, scale=0.5, seed=1.0)
    assert abs(drawn.mean() - 2) < 0.01 and abs(drawn.std() - 0.5) < 0.01
    assert abs((np.abs(drawn - 2) < 0.5).mean() - 0.6827) < 0.01


def test_a_seed_gives_the_same_numbers_and_no_seed_others() -> None:
    x = {"i0": np.zeros(64, np.float32)}
    seeded, free = one("RandomUniformLike", [x["i0"]], seed=3.0), one("RandomUniformLike", [x["i0"]])
    np.testing.assert_array_equal(seeded(x)["o0"], seeded(x)["o0"])
    assert (free(x)["o0"] != free(x)["o0"]).any()


def test_bernoulli_follows_its_probabilities() -> None:
    p = np.repeat(np.asarray([0.0, 0.2, 0.9, 1.0], np.float32), 5000).reshape(4, -1)
    shares = ran("Bernoulli", [p], seed=2.0).mean(1)
    np.testing.assert_allclose(shares, [0, 0.2, 0.9, 1], atol=0.03)


def test_multinomial_follows_its_probabilities() -> None:
    p = np.log(np.asarray([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32))
    drawn = ran("Multinomial", [p], sample_size=6000, seed=2.0)
    shares = np.stack([np.bincount(row, minlength=3)/6000 for row in drawn])
    np.testing.assert_allclose(shares, np.exp(p), atol=0.03)


def test_dropout_in_training_drops_its_share_and_scales_the_rest() -> None:
    inputs = [np.ones(20000, np.float32), np.asarray(0.3, np.float32), np.asarray(True)]
    y, mask = one("Dropout", inputs, 2, seed=4)({f"i{k}": a for k, a in enumerate(inputs)}).values()
    assert abs(mask.mean() - 0.7) < 0.02
    np.testing.assert_allclose(y, np.where(mask, 1/0.7, 0), rtol=1e-6)
