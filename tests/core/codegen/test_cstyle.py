"""Every scalar operation, spelled in C, compiled and compared with NumPy."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelcat_core.codegen.cstyle import C, Dialect, Speller, cast_template, identifier, literal
from kernelcat_core.dtypes import BF16, BOOL, DTYPES, F8E4M3, F16, F32, F64, I8, I64, STORAGE_ONLY, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import OPS, Const, Expr, Op, Var, op

COMPILER = shutil.which("gcc") or shutil.which("clang")
HEADER = ("#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
          "typedef uint16_t kc_f16; typedef uint16_t kc_bf16;\n")
FLOAT_ONLY = {n for n, r in OPS.items() if r.arity == 1 and r.gives == "same"} - {"neg", "abs", "sign", "not_bits"} | {
    "div", "atan2", "hypot", "copysign"}
INTEGER_ONLY = {"not_bits", "and_bits", "or_bits", "xor_bits", "shl", "shr"}
BOOLEAN = {"and", "or", "xor", "not"}


def _sign_half_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _erf(x: np.ndarray) -> np.ndarray:
    import math
    return np.array([math.erf(v) for v in x.tolist()])


NUMPY: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "rsqrt": lambda x: 1 / np.sqrt(x), "erf": _erf, "round_half_away": _sign_half_away,
    "neg": np.negative, "not_bits": np.invert, "not": np.logical_not, "add": np.add, "sub": np.subtract,
    "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide, "min": np.minimum, "max": np.maximum,
    "pow": np.power, "atan2": np.arctan2, "and_bits": np.bitwise_and, "or_bits": np.bitwise_or,
    "xor_bits": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "xor": np.logical_xor, "where": np.where}


def _applies(name: str, dtype: DType) -> bool:
    if name in FLOAT_ONLY:
        return dtype.is_float
    if name in INTEGER_ONLY:
        return dtype.is_integer
    if name in BOOLEAN:
        return dtype.kind == "b"
    if dtype.kind == "b":
        return name in ("min", "max", "eq", "ne", "where")
    return name not in ("signbit",) or dtype.is_float


def _operands(dtype: DType, arity: int) -> list[np.ndarray]:
    if dtype.kind == "b":
        values = [False, True]
    elif dtype.is_float:
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 1e-3, 700.0, -90.0, 1e30, np.inf, -np.inf,
                  np.nan]
    else:
        low, high = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        values = [v for v in (0, 1, -1, 2, -2, 3, 7, -7, 31, 63, 64, low, high, low + 1) if low <= v <= high]
    grids = np.meshgrid(*[np.array(values, dtype.numpy)] * arity)
    return [np.ascontiguousarray(g.ravel()) for g in grids]


def _compile(tmp_path: Path, functions: str) -> ctypes.CDLL:
    source, library = tmp_path / "t.c", tmp_path / "t.so"
    source.write_text(HEADER + functions)
    command = [COMPILER or "", "-O1", "-fwrapv", "-Wall", "-Wno-unused-value", "-Werror", "-shared", "-fPIC", "-o", str(library),
               str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def _function(name: str, e: Expr, arguments: list[DType], speller: Speller) -> str:
    parameters = ", ".join(f"const {C.type(t)} *a{k}" for k, t in enumerate(arguments))
    loads = " ".join(f"{C.type(t)} x{k} = a{k}[i];" for k, t in enumerate(arguments))
    return (f"void {name}(long n, {C.type(e.dtype)} *o, {parameters}) {{\n"
            f"  for (long i = 0; i < n; i++) {{ {loads} o[i] = {speller.text(e)}; }}\n}}\n")


def _run(library: ctypes.CDLL, name: str, arrays: list[np.ndarray], dtype: DType) -> np.ndarray:
    out = np.empty(arrays[0].shape, dtype.numpy)
    getattr(library, name)(ctypes.c_long(out.size), *(ctypes.c_void_p(a.ctypes.data) for a in (out, *arrays)))
    return out


def _leaf(e: Any) -> str:
    return str(e.name)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on PATH")
@pytest.mark.parametrize("dtype", [t for t in DTYPES.values() if t not in STORAGE_ONLY and t not in (F16, BF16)], ids=str)
def test_every_operation_agrees_with_numpy(dtype: DType, tmp_path: Path) -> None:
    cases: dict[str, tuple[Expr, list[DType]]] = {}
    for name, rule in OPS.items():
        if name == "cast" or not _applies(name, dtype):
            continue
        types = [BOOL, dtype, dtype] if name == "where" else [dtype] * rule.arity
        cases[name] = (Op(name, tuple(Var(f"x{k}", t) for k, t in enumerate(types)),
                          BOOL if rule.gives == "bool" else dtype), types)
    speller = Speller(C, _leaf)
    bodies = "".join(_function(f"f_{n}", e, types, speller) for n, (e, types) in cases.items())
    library = _compile(tmp_path, speller.support() + "\n" + bodies)
    for name, (e, types) in cases.items():
        arrays = _operands(dtype, len(types))
        if name == "where":
            arrays[0] = arrays[1] > 0 if dtype.kind != "b" else arrays[1]
        if name == "pow" and dtype.kind == "i":
            arrays = [np.ascontiguousarray(a[arrays[1] >= 0]) for a in arrays]  # NumPy refuses negative exponents
        with np.errstate(all="ignore"):
            expected = NUMPY.get(name, getattr(np, name, None))(*arrays)
            if name == "div" and dtype.is_float:
                expected = expected.astype(dtype.numpy)
        got = _run(library, f"f_{name}", arrays, e.dtype)
        if dtype.is_float and e.dtype.is_float:
            exact = name in ("add", "sub", "mul", "div", "floor", "ceil", "trunc", "rint", "neg", "abs", "min", "max", "mod")
            np.testing.assert_allclose(got, expected, rtol=0 if exact else 4 * np.finfo(dtype.numpy).eps, atol=0,
                                       err_msg=name)
        else:
            np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler on PATH")
def test_conversions_are_total_and_round_to_nearest_even(tmp_path: Path) -> None:
    types = [t for t in DTYPES.values() if t not in STORAGE_ONLY]
    speller = Speller(C, _leaf)
    bodies = "".join(_function(f"c_{a}_{b}", Op("cast", (Var("x0", a),), b), [a], speller) for a in types for b in types)
    library = _compile(tmp_path, speller.support() + "\n" + bodies)
    floats = np.array([0, -0.0, 1, 1.5, 2.5, -3.75, 65504, 65519.9, 65520, 1e-8, 5.97e-8, 2.98e-8, 6.1e-5, 1e30, -1e30,
                       np.inf, -np.inf, np.nan, 127.5, 255, 256, 2**31, 2**63, -2**63], np.float64)
    floats = np.concatenate([floats, np.random.default_rng(0).standard_normal(4000) * 2.0 ** np.arange(-30, 10).repeat(100)])
    integers = np.array([0, 1, -1, 127, -128, 255, 2**31 - 1, -2**31, 2**63 - 1, -2**63], np.int64)
    for a in types:
        with np.errstate(all="ignore"):
            x = (floats if a.is_float else integers).astype(a.numpy)
        for b in types:
            got = _run(library, f"c_{a}_{b}", [x], b)
            with np.errstate(all="ignore"):
                if a.is_float and b.is_integer:
                    limits = np.iinfo(b.numpy)
                    wide = [0 if v != v else max(limits.min, min(limits.max, int(v) if abs(v) < 1e300 else
                            (limits.max if v > 0 else limits.min))) for v in x.astype(np.float64).tolist()]
                    expected = np.array(wide, b.numpy)
                else:
                    expected = (x.astype(np.float32) if a.bits == 16 and b.bits == 16 and a.is_float else x).astype(b.numpy)
            if a.name == "f64" and b in (F16, BF16):
                expected = x.astype(np.float32).astype(b.numpy)  # through f32, as documented
            if b.is_float:
                np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64), err_msg=f"{a} to {b}")
            else:
                np.testing.assert_array_equal(got, expected, err_msg=f"{a} to {b}")


def test_every_half_survives_the_way_through_f32(tmp_path: Path) -> None:
    speller = Speller(C, _leaf)
    e = Op("cast", (Op("cast", (Var("x0", F16),), F32),), F16)
    body = _function("f", e, [F16], speller)
    library = _compile(tmp_path, speller.support() + "\n" + body)
    bits = np.arange(1 << 16, dtype=np.uint16)
    got = _run(library, "f", [bits.view(np.float16)], F16)
    same = (got.view(np.uint16) == bits) | np.isnan(got)
    assert same.all() and np.isnan(got).sum() == np.isnan(bits.view(np.float16)).sum()


@pytest.mark.parametrize(("value", "dtype", "text"), [
    (1.0, F32, "1.0f"), (0.1, F32, "0.1f"), (1e-6, F32, "1e-06f"), (float("-inf"), F32, "(-INFINITY)"),
    (float("nan"), F32, "NAN"), (2.0, F64, "2.0"), (float("inf"), F64, "((double)INFINITY)"), (-3, I64, "-3"),
    (-(1 << 63), I64, "(-9223372036854775807ll - 1)"), (1 << 40, I64, "1099511627776ll"), (True, BOOL, "true"),
    (1e300, F32, "INFINITY")])
def test_literals(value: float, dtype: DType, text: str) -> None:
    assert literal(value, dtype) == text


def test_parentheses_follow_precedence() -> None:
    a, b, c = (Var(n, F32) for n in "abc")
    i, j = Var("i"), Var("j")
    text = Speller(C, _leaf).text
    assert text(op("mul", op("add", a, b), c)) == "(a + b) * c"
    assert text(op("sub", a, op("sub", b, c))) == "a - (b - c)"
    assert text(op("sub", op("sub", a, b), c)) == "a - b - c"
    assert text(op("neg", op("neg", a))) == "-(-a)"
    assert text(op("where", op("lt", i, j), a, op("add", b, c))) == "i < j ? a : b + c"
    assert text(op("floordiv", op("add", i, j), Const(3, I64))) == "kc_floordiv_i64(i + j, 3)"
    assert text(Op("add", (Var("p", I8), Var("q", I8)), I8)) == "(int8_t)(p + q)"


def test_identifiers_stay_apart_and_avoid_keywords() -> None:
    names = ["x", "double", "int", "Σ", "α", "kc_max_f32", "v_x", "_a", "x_y", "lanes"]
    found = [identifier(n, reserved=("lanes",)) for n in names]
    assert len(set(found)) == len(names)
    assert found[0] == "x" and found[1] != "double" and all(f.isascii() for f in found)


def test_a_dialect_changes_spelling_and_reports_what_it_lacks() -> None:
    fast = Dialect("fast", calls={"exp.f32": "__expf({0})"}, types={"f32": "float"})
    assert Speller(fast, _leaf).text(op("exp", Var("a", F32))) == "__expf(a)"
    with pytest.raises(KernelcatError) as error:
        cast_template(F32, F8E4M3, fast)
    assert error.value.code == "KC-R001"
