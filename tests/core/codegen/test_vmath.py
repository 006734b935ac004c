"""Vector functions against float64: accuracy in ulp over the whole range, and special values."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from kernelcat_core.backends.c.renderer import part
from kernelcat_core.backends.c.toolchain import FLAGS
from kernelcat_core.codegen.vhelpers import vector_definitions
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain

COMPILER = toolchain.find_c()
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
NAMES = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "sin", "cos", "sqrt", "rsqrt", "floor", "rint")
WIDTHS = (4, 8)


def _function(name: str, width: int) -> str:
    v = f"v{width}f32"
    return (f"void {name}{width}(int64_t n, const float *x, float *y) {{\n  for (int64_t i = 0; i < n; i += L{width}) {{\n"
            f"    {v} a = kc{width}_load_f32(x + i);\n    a = kc{width}_{name}_f32(a);\n    kc{width}_store_f32(y + i, a);\n"
            "  }\n}")


@cache
def _library() -> ctypes.CDLL:
    functions = [_function(n, w) for n in NAMES for w in WIDTHS]
    halves = []
    for t in ("f16", "bf16"):
        halves.append(f"void {t}_out(int64_t n, const float *x, uint16_t *y) {{\n  for (int64_t i = 0; i < n; i += L4) "
                      f"kc4_store_{t}(y + i, kc4_f32_to_{t}(kc4_load_f32(x + i)));\n}}")
        halves.append(f"void {t}_in(int64_t n, const uint16_t *x, float *y) {{\n  for (int64_t i = 0; i < n; i += L4) "
                      f"kc4_store_f32(y + i, kc4_{t}_to_f32(kc4_load_{t}(x + i)));\n}}")
    texts = [*functions, *halves]
    text = "\n".join([part("prelude.h"), vector_definitions(texts), *texts])
    assert COMPILER is not None
    made = toolchain.compile(COMPILER, text, flags=("-O2", *FLAGS, "-lm"))
    assert not isinstance(made, Failure), made.detail
    return ctypes.CDLL(str(made.path("shared")))


def _call(name: str, x: np.ndarray, dtype: Any) -> np.ndarray:
    y = np.empty(x.shape, dtype)
    getattr(_library(), name)(ctypes.c_int64(x.size), ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
    return y


def _exact(name: str) -> Callable[[np.ndarray], np.ndarray]:
    special = {"erf": np.vectorize(math.erf), "rsqrt": lambda v: 1 / np.sqrt(v)}
    return special.get(name) or getattr(np, name)


def _inputs() -> np.ndarray:
    """Every 4099th float, NaN and infinities included, and dense samples where functions bend."""
    every = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    dense = np.concatenate([np.linspace(a, b, 20000) for a, b in ((-1, 1), (0.5, 2), (-20, 20), (-110, 95), (0.8, 1.2))])
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 88.7228, 88.7229, -103.97, -87.4, 127.9])
    x = np.concatenate([every, dense.astype(np.float32), special.astype(np.float32)])
    return np.ascontiguousarray(x[:x.size // 64 * 64])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_functions_are_within_two_ulp(name: str, width: int) -> None:
    x = _inputs()
    with np.errstate(all="ignore"):
        expected = _exact(name)(x.astype(np.float64))
        rounded = expected.astype(np.float32)
    got = _call(f"{name}{width}", x, np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded), err_msg="NaN")
    finite = np.isfinite(rounded) & np.isfinite(got)
    beyond = ~finite & ~np.isnan(rounded)
    off = np.abs(got[beyond].astype(np.float64) - expected[beyond]) > np.abs(expected[beyond]) * 3e-7
    off &= got[beyond] != rounded[beyond]
    assert not off.any(), x[beyond][off][:5]
    ulp = np.spacing(np.abs(rounded[finite])).astype(np.float64)
    error = np.abs(got[finite].astype(np.float64) - expected[finite]) / ulp
    worst = int(error.argmax())
    assert error[worst] <= 2.0, (x[finite][worst], got[finite][worst], expected[finite][worst], error[worst])


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "erf", "sin", "rint"])
def test_signed_zero_survives(name: str) -> None:
    y = _call(f"{name}4", np.full(64, -0.0, np.float32), np.float32)
    assert np.signbit(y).all() and (y == 0).all()


def test_half_conversions_agree_with_numpy() -> None:
    import ml_dtypes

    bits = np.arange(1 << 16, dtype=np.uint16)
    random = np.random.default_rng(1).integers(0, 1 << 32, 1 << 18, dtype=np.uint64).astype(np.uint32).view(np.float32)
    for name, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(_call(f"{name}_in", bits, np.float32), bits.view(dtype).astype(np.float32))
            halves = bits.view(dtype).astype(np.float32)
            x = np.concatenate([random, halves, np.nextafter(halves, np.float32(np.inf)), (halves + np.roll(halves, 1)) / 2])
            got = _call(f"{name}_out", np.ascontiguousarray(x), np.uint16).view(dtype)
            np.testing.assert_array_equal(got.astype(np.float32), x.astype(dtype).astype(np.float32))
