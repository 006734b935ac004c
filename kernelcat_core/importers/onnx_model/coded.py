"""Number types that the language lacks, as u8 codes: kernels decode them by a table and encode by comparing with midpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node
from kernelcat_core.importers.trace import CODED, Array, Value, uncoded

NUMBERS = {18: "float8_e4m3fnuz", 20: "float8_e5m2fnuz", 23: "float4_e2m1fn", 24: "float8_e8m0fnu", 25: "uint2", 26: "int2"}
"""Numbers of ONNX's TensorProto.DataType."""
_BITS = {"float4_e2m1fn": 4, "uint2": 2, "int2": 2}


@dataclass(frozen=True)
class Coding:
    """`values` is the number of every code; `positive` those of the codes from 0 up, ascending and finite; `sign` is the bit
    of negative numbers (0: none); `nan` the code of NaN and, without saturation, of what is too large."""

    values: Array
    positive: Array
    sign: int
    nan: int
    has_negative_zero: bool


@cache
def coding(code: str) -> Coding:
    """The numbers of a type in CODED."""
    assert code in CODED
    bits = _BITS.get(code, 8)
    values = uncoded(np.arange(1 << bits, dtype=np.uint8), code).astype(np.float32)
    signed = code not in ("float8_e8m0fnu", "uint2")
    positive = values[:1 << bits - 1] if signed else values
    positive = positive[np.isfinite(positive)]
    invalid = np.flatnonzero(np.isnan(values))
    sign = 1 << bits - 1 if signed else 0
    return Coding(values, positive, sign, int(invalid[0]) if len(invalid) else sign, code == "float4_e2m1fn")


def decoded(n: Node, x: Value) -> Value:
    """A value as f32 where it is coded, else itself."""
    if not x.code:
        return x
    values = coding(x.code).values
    i = ", ".join(f"i{k}" for k in range(x.rank))
    left = f"[{', '.join(f'i{k} in {s}' for k, s in enumerate(x.shape))}]" if x.rank else ""
    element = f"x[{i}]" if x.rank else "x"
    return n.formula(f"y{left} = T[i64(bitwise_and({element}, {len(values) - 1}))]", x=x, T=n.const(values))


def encoded(n: Node, x: Value, code: str, saturate: bool = True, rounding: str = "up") -> Value:
    """Numbers as codes: of integers the lowest bits, of floats the nearest (ties to the even code); what is too large becomes
    the largest number, or NaN without `saturate`. `rounding` (up, down, nearest) is for powers of two alone (e8m0)."""
    c = coding(code)
    i = ", ".join(f"i{k}" for k in range(x.rank))
    left = f"[{', '.join(f'i{k} in {s}' for k, s in enumerate(x.shape))}]" if x.rank else ""
    element = f"x[{i}]" if x.rank else "x"
    if code in ("int2", "uint2"):
        made = n.formula(f"y{left} = u8(bitwise_and(i32({element}), 3))", x=x)
        return _marked(made, code)
    steps, later = _steps(c, code, rounding)
    size = f"abs(f32({element}))" if c.sign else f"f32({element})"
    count = len(steps)
    lines = [f"m{left} = sum[k in {count}](i64(where(E[k], {size} >= M[k], {size} > M[k])))"]
    at = f"m[{i}]" if x.rank else "m"
    if c.sign:
        kept = "" if c.has_negative_zero else f" and {at} > 0"
        at = f"{at} + where(signbit(f32({element})){kept}, {c.sign}, 0)"
    most, next_ = (float(v) for v in c.positive[:-3:-1])
    over = "" if saturate or code == "float4_e2m1fn" else f" or {size} >= {most + (most - next_)/2!r}"
    lines.append(f"y{left} = u8(where(isnan(f32({element})){over}, {c.nan}, {at}))")
    made = n.formula("\n".join(lines), x=x, M=n.const(steps), E=n.const(later))
    return _marked(made, code)


def _steps(c: Coding, code: str, rounding: str) -> tuple[Array, Array]:
    """The bound below each code but the first, and whether the bound itself belongs above."""
    low, high = c.positive[:-1], c.positive[1:]
    if code == "float8_e8m0fnu" and rounding != "nearest":
        up = rounding == "up"
        return (low if up else high), np.full(len(low), not up)
    middle = ((low.astype(np.float64) + high)/2).astype(np.float32)
    return middle, np.arange(len(low)) % 2 == 1


def _marked(x: Value, code: str) -> Value:
    return Value(x.dtype, x.shape, x.name, x.constant, code)
