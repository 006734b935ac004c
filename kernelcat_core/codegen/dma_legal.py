"""Which unit of a core can do which scalar operation, by the target's instruction table."""

from __future__ import annotations

from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import BOOL, F16, F32, I8, I32, U8, DType
from kernelcat_core.ir.expr import Op


def scalar_legal(table: Table, e: Op) -> bool:
    """Whether the scalar unit has `e`: all integer arithmetic, and the float operations that the table lists."""
    floats = any(a.dtype.is_float for a in e.args) or e.dtype.is_float
    return not floats or e.name in table.scalar_ops


def vector_legal(table: Table, e: Op) -> bool:
    """Whether whole-tile instructions can do `e` on its operands' dtypes."""
    d = e.args[0].dtype
    if e.name in ("and", "or", "xor", "not") or (e.name in ("eq", "ne") and d == BOOL):
        return e.dtype == BOOL
    if e.name == "where":
        return e.dtype == BOOL or e.dtype.name in table.selects
    if e.name == "cast":
        if d == BOOL:
            return e.dtype == F32 or cast_path(table, F32, e.dtype) is not None
        if e.dtype == BOOL:
            return d in (F32, F16)
        return cast_path(table, d, e.dtype) is not None
    if e.name == "neg":
        return d in (F32, I32)
    return table.any(e.name, d.name) is not None


def cast_path(table: Table, source: DType, to: DType) -> tuple[DType, ...] | None:
    """The dtypes that a conversion goes through, `to` last; each step is an instruction, all but the last exact."""
    if table.find("cast", "cast", source.name, to.name):
        return (to,)
    for middle in (F16, F32) if source in (U8, I8) else (F32,):
        if (
            table.find("cast", "cast", source.name, middle.name)
            and table.find("cast", "cast", middle.name, to.name)
            and to.is_float
            and source.itemsize <= 2
        ):
            return (middle, to)
    return None
