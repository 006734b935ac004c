"""Element types of the formula language (docs/notation.md) and their NumPy counterparts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """`kind` is f (float), i (signed), u (unsigned) or b (bool); `bits` is the storage width."""

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def itemsize(self) -> int:
        """Bytes an element takes in memory (4-bit types are unpacked here: 1)."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype[Any]:
        return _numpy(self.name)


F64, F32, F16, BF16 = DType("f64", "f", 64), DType("f32", "f", 32), DType("f16", "f", 16), DType("bf16", "f", 16)
F8E4M3, F8E5M2 = DType("f8e4m3", "f", 8), DType("f8e5m2", "f", 8)
I8, I16, I32, I64 = (DType(f"i{b}", "i", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", "u", b) for b in (8, 16, 32, 64))
I4, U4 = DType("i4", "i", 4), DType("u4", "u", 4)
BOOL = DType("bool", "b", 8)

DTYPES: dict[str, DType] = {t.name: t for t in (
    F64, F32, F16, BF16, F8E4M3, F8E5M2, I4, I8, I16, I32, I64, U4, U8, U16, U32, U64, BOOL)}
STORAGE_ONLY = frozenset({F8E4M3, F8E5M2, I4, U4})


@cache
def _numpy(name: str) -> np.dtype[Any]:
    if name in ("bf16", "f8e4m3", "f8e5m2", "i4", "u4"):
        import ml_dtypes  # NumPy has none of these; the package comes with onnx

        names = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "i4": "int4", "u4": "uint4"}
        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, names[name]))
        return found
    names = {"f": "float", "i": "int", "u": "uint"}
    return np.dtype("bool") if name == "bool" else np.dtype(f"{names[name[0]]}{name[1:]}")


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The DType of a NumPy dtype; raises KeyError for types the language does not have."""
    known = {t.numpy: t for t in DTYPES.values()}
    return known[np.dtype(dtype)]


def promote(a: DType, b: DType) -> DType:
    """The common type of two operands: float beats integer beats bool; wider wins; f16 with bf16 gives f32."""
    if a == b:
        return a
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.kind == "b":
        return b
    if b.kind == "b":
        return a
    if a.is_float:
        if a.bits == b.bits:
            return F32
        return a if a.bits > b.bits else b
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return DTYPES[f"i{min(64, unsigned.bits * 2)}"]


def accumulator(dtype: DType) -> DType:
    """The type in which a sum or product of `dtype` is formed: i64 for integers, f32 for 16-bit floats."""
    if dtype.is_integer or dtype.kind == "b":
        return I64
    return F64 if dtype == F64 else F32
