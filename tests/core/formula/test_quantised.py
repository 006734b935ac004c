"""Quantised operators against ONNX's reference evaluator and onnxruntime: every whole number agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.formula.operator_cases import Case, agrees, onnxruntime, reference
from tests.core.formula.running import Array, fails

RNG = np.random.default_rng(0)


def u8(*shape: int) -> Array:
    return RNG.integers(0, 256, shape).astype("u1")


def i8(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape).astype("i1")


def scales(*shape: int) -> Array:
    return (RNG.random(shape) * 0.1 + 0.02).astype("f4")


def one(dtype: str, value: float) -> Array:
    return np.array(value, dtype)


X = (RNG.standard_normal((3, 4, 8)) * 6).astype("f4")
NODE, STEP = {"s": one("f4", 0.05), "z": one("u1", 100)}, "s: f32; z: u8; "
AXIS = {"s": scales(4), "z": i8(4)}
BLOCKS = {"s": scales(3, 4, 2), "z": i8(3, 4, 2)}
MATRICES = {"a": u8(5, 7), "sa": one("f4", 0.02), "za": one("u1", 120), "b": u8(7, 6), "sb": one("f4", 0.03),
            "zb": one("u1", 99), "sy": one("f4", 0.4), "zy": one("u1", 110)}
IMAGE = {"x": u8(2, 4, 6, 7), "sx": one("f4", 0.02), "zx": one("u1", 120), "w": i8(6, 2, 3, 3), "sw": scales(6),
         "zw": np.zeros(6, "i1"), "sy": one("f4", 0.4), "zy": one("u1", 110), "b": RNG.integers(-500, 500, 6).astype("i4")}


def _dynamic(x: Any, output: int) -> Array:
    return reference("DynamicQuantizeLinear", x, outputs=3, output=output)


CASES: dict[str, Case] = {
    "quantize": (f"{STEP}y = quantize_linear(x, s, z)", {"x": X, **NODE}, lambda *t: reference("QuantizeLinear", *t)),
    "quantize axis": ("z: i8[C]; s: f32[C]; y = quantize_linear(x, s, z)", {"x": X, **AXIS},
                      lambda *t: reference("QuantizeLinear", *t)),
    "quantize blocks": ("z: i8[3,4,2]; s: f32[3,4,2]; y = quantize_linear(x, s, z, axis=2, block_size=4)",
                        {"x": X, **BLOCKS}, lambda *t: reference("QuantizeLinear", *t, axis=2, block_size=4)),
    "quantize by numbers": ("y = quantize_linear(x, 0.05, 7, dtype=i8)", {"x": X},
                            lambda x: reference("QuantizeLinear", x, np.float32(0.05), np.int8(7))),
    "halves and limits": ("y = quantize_linear(x, 2.0, dtype=i8)",
                          {"x": np.array([1, 3, 5, -1, -3, -5, 1000, -1000], "f4")},
                          lambda x: reference("QuantizeLinear", x, np.float32(2), np.int8(0))),
    "dequantize": ("x: u8[A,B,C]; s: f32; z: u8; y = dequantize_linear(x, s, z)", {"x": u8(3, 4, 8), **NODE},
                   lambda *t: reference("DequantizeLinear", *t)),
    "dequantize axis": ("x: i8[A,B,C]; z: i8[B]; s: f32[B]; y = dequantize_linear(x, s, z)", {"x": i8(3, 4, 8), **AXIS},
                        lambda *t: reference("DequantizeLinear", *t)),
    "dequantize blocks": ("x: i8[3,4,8]; z: i8[3,4,2]; s: f32[3,4,2]; "
                          "y = dequantize_linear(x, s, z, axis=2, block_size=4)", {"x": i8(3, 4, 8), **BLOCKS},
                          lambda *t: reference("DequantizeLinear", *t, axis=2, block_size=4)),
    "dynamic": ("y = dynamic_quantize(x)", {"x": X}, lambda x: _dynamic(x, 0)),
    "dynamic scale": ("y = dynamic_quantize_scale(x)", {"x": X}, lambda x: _dynamic(x, 1)),
    "dynamic zero point": ("y = dynamic_quantize_zero_point(x)", {"x": X}, lambda x: _dynamic(x, 2)),
    "matmul": ("a: u8[M,K]; b: i8[K,N]; c: u8; d: i8; y = matmul_integer(a, b, c, d)",
               {"a": u8(5, 7), "b": i8(7, 6), "c": one("u1", 12), "d": one("i1", -3)},
               lambda *t: reference("MatMulInteger", *t)),
    "matmul batches": ("a: u8[B,M,K]; b: i8[B,K,N]; y = matmul_integer(a, b)", {"a": u8(2, 5, 7), "b": i8(2, 7, 6)},
                       lambda *t: reference("MatMulInteger", *t)),
    "matmul rows": ("a: u8[M,K]; b: i8[K,N]; c: u8[M]; d: i8[N]; y = matmul_integer(a, b, c, d)",
                    {"a": u8(5, 7), "b": i8(7, 6), "c": u8(5), "d": i8(6)},
                    lambda a, b, c, d: (a.int() - c.int()[:, None]) @ (b.int() - d.int())),
    "qlinear matmul": ("a: u8[M,K]; b: u8[K,N]; za: u8; zb: u8; zy: u8; y = qlinear_matmul(a, sa, za, b, sb, zb, sy, zy)",
                       MATRICES, lambda *t: onnxruntime("QLinearMatMul", *t)),
    "convolution": ("x: u8[N,C,H,W]; w: u8[F,C,A,B]; z: u8; y = conv_integer(x, w, z, padding=1)",
                    {"x": u8(2, 3, 6, 7), "w": u8(4, 3, 3, 2), "z": one("u1", 5)},
                    lambda *t: onnxruntime("ConvInteger", *t, pads=[1] * 4)),
    "qlinear convolution": ("x: u8[N,C,H,W]; w: i8[F,G,A,B]; sw: f32[F]; zw: i8[F]; zx: u8; zy: u8; b: i32[F]; "
                            "y = qlinear_conv(x, sx, zx, w, sw, zw, sy, zy, b, padding=1, stride=2, groups=2)", IMAGE,
                            lambda *t: onnxruntime("QLinearConv", *t, pads=[1] * 4, strides=[2, 2], group=2)),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case], rtol=1e-6, atol=1e-6)


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = matmul_integer(a, b)")
    fails("KC-F005", "y = quantize_linear(x, 0.5, dtype=f32)")
    fails("KC-F005", "s: f32[A, B]; y = quantize_linear(x, s)", x="3x4")
