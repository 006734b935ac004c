"""Panels: the shape of the register block of a matrix product on vector registers, which packed operands follow.

MR rows by two 64-byte vectors of columns: 28 accumulators, two vectors of b and one broadcast fill 31 of 32 registers.
"""

from __future__ import annotations

from kernelcat_core.dtypes import DType

MR = 14


def columns(dtype: DType) -> int:
    """NR: two 64-byte vectors of `dtype`."""
    return 128 // dtype.itemsize
