"""How Ascend C spells types, scalar expressions and buffer accesses: the dialect over the shared C table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, Dialect, identifier
from kernelcat_core.codegen.dma_ast import DmaProgram, View
from kernelcat_core.codegen.dma_text import ProgramNames
from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ZERO, Load

# bool tensors are bytes of 0 and 1 wherever they lie in memory.
STORAGE: Mapping[str, str] = MappingProxyType(
    {**C_TYPES, "f16": "half", "bf16": "bfloat16_t", "bool": "uint8_t"}
)


def storage(dtype: DType) -> str:
    """The type of an element in memory. Raises KC-R001 for one that Ascend C vector instructions do not move."""
    if dtype.name not in STORAGE:
        raise KernelcatError("KC-R001", f"Ascend C kernels have no storage for {dtype}",
                             hint="cast the input to a wider type first")
    return STORAGE[dtype.name]


# Names of the API that a formula's own names must not hide.
_API = frozenset(
    [
        "Abs",
        "Acos",
        "Acosh",
        "Add",
        "Adds",
        "And",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Axpy",
        "Cast",
        "Compare",
        "CompareScalar",
        "Cos",
        "Cosh",
        "DataCopy",
        "DataCopyPad",
        "Div",
        "Duplicate",
        "Erf",
        "Exp",
        "Fmod",
        "GetBlockIdx",
        "GetBlockNum",
        "GlobalTensor",
        "Init",
        "Ln",
        "LocalTensor",
        "Log10",
        "Log2",
        "Max",
        "Maxs",
        "Min",
        "Mins",
        "Mul",
        "Muls",
        "Not",
        "Or",
        "PipeBarrier",
        "Power",
        "Process",
        "ReduceMax",
        "ReduceMin",
        "ReduceSum",
        "Select",
        "SetFlag",
        "Sin",
        "Sinh",
        "Sqrt",
        "Sub",
        "Sync",
        "TBuf",
        "TPipe",
        "TQue",
        "Tan",
        "Tanh",
        "WaitFlag",
        "bfloat16_t",
        "cell",
        "cells",
        "half",
        "pipe",
        "rest",
        "tiling",
        "workspace",
        "CopyRowsIn",
        "CopyRowsOut",
        "CopyRowOut",
        "event_t",
    ]
)


def _function(returns: str, name: str, argument: str, body: str) -> str:
    return f"__aicore__ inline {returns} {name}({argument}) {{ {body} }}"


def _bits(name: str, bits: str) -> str:
    """A float constant by its bits: the language has no literal for it."""
    return _function("float", name, "", f"union {{ uint32_t u; float f; }} x = {{{bits}}}; return x.f;")


_FUNCTIONS: dict[str, str] = {
    "kc_abs_f32": _function("float", "kc_abs_f32", "float a", "return a < 0.0f ? -a : a == 0.0f ? 0.0f : a;"),
    "kc_abs_f64": _function("double", "kc_abs_f64", "double a", "return a < 0.0 ? -a : a == 0.0 ? 0.0 : a;"),
    "kc_infinity": _bits("kc_infinity", "0x7f800000u"),
    "kc_nan": _bits("kc_nan", "0x7fc00000u"),
    "kc_f16_to_f32": _function("float", "kc_f16_to_f32", "half a", "return static_cast<float>(a);"),
    "kc_f32_to_f16": _function("half", "kc_f32_to_f16", "float a", "return static_cast<half>(a);"),
    "kc_bf16_to_f32": _function("float", "kc_bf16_to_f32", "bfloat16_t a", "return ToFloat(a);"),
    "kc_f32_to_bf16": _function("bfloat16_t", "kc_f32_to_bf16", "float a", "return ToBfloat16(a);"),
}

DIALECT = Dialect(
    name="Ascend C",
    types=MappingProxyType({**C_TYPES, "f16": "half", "bf16": "bfloat16_t"}),
    calls=MappingProxyType({"abs.f": "kc_abs_{t}({0})"}),
    casts=MappingProxyType(
        {
            "f16>f32": "static_cast<float>({0})",
            "f32>f16": "static_cast<half>({0})",
            "bf16>f32": "ToFloat({0})",
            "f32>bf16": "ToBfloat16({0})",
        }
    ),
    qualifier="__aicore__ inline",
    infinity="kc_infinity()",
    nan="kc_nan()",
    reserved=_API,
    wraps=True,
    support=MappingProxyType(_FUNCTIONS),
)


class Names(ProgramNames):
    """Spells scalar expressions of one program: tiles are LocalTensors, tensors GlobalTensors, sizes members."""

    def __init__(self, program: DmaProgram) -> None:
        super().__init__(program, DIALECT)

    def tensor(self, name: str) -> str:
        """The GlobalTensor of a tensor."""
        return f"{identifier(name)}_gm"

    def typed(self, buffer: str, dtype: DType) -> str:
        """The LocalTensor of a buffer, read as `dtype`."""
        name = self.of(buffer)
        same = storage(self.buffers[buffer].dtype) == storage(dtype)
        return name if same else f"{name}.ReinterpretCast<{storage(dtype)}>()"

    def view(self, v: View) -> str:
        """A vector operand."""
        base = self.typed(v.buffer, v.dtype)
        return base if v.offset == ZERO else f"{base}[{self.text(v.offset)}]"

    def element(self, e: Load) -> str:
        base = self.typed(e.tensor, e.dtype) if e.tensor in self.buffers else self.tensor(e.tensor)
        return f"{base}.GetValue({self.text(e.index[0])})"
