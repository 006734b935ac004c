"""How BANG C spells types, scalar expressions and buffer accesses: the dialect over the shared C table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, Dialect, identifier
from kernelcat_core.codegen.dma_ast import DmaProgram, View, other_slot
from kernelcat_core.codegen.dma_text import ProgramNames
from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ZERO, Load

# There is no 64-bit float. 8-bit floats are only kept in memory; bool tensors are bytes of 0 and 1, and bf16 scalars their
# bits: below 500 only vector conversions know bfloat16_t.
_TYPES: Mapping[str, str] = MappingProxyType(
    {**{k: v for k, v in C_TYPES.items() if k != "f64"}, "f16": "half", "bf16": "uint16_t",
     "f8e4m3": "uint8_t", "f8e5m2": "uint8_t"}
)
STORAGE: Mapping[str, str] = MappingProxyType({**_TYPES, "bool": "uint8_t"})
# What vector instructions call the elements of a dtype.
_ELEMENTS: Mapping[str, str] = MappingProxyType(
    {"f32": "float", "f16": "half", "bf16": "bfloat16_t", "i8": "int8_t", "u8": "unsigned char", "bool": "unsigned char"}
)


def storage(dtype: DType) -> str:
    """The type of an element in memory. Raises KC-R001 for one that MLU cores have no arithmetic or conversion for."""
    if dtype.name not in STORAGE:
        raise KernelcatError("KC-R001", f"BANG C kernels have no storage for {dtype}",
                             hint="cast the input to another type first")
    return STORAGE[dtype.name]


def element_type(dtype: DType) -> str:
    """The element type that vector instructions take."""
    return _ELEMENTS.get(dtype.name) or storage(dtype)


# Names of the language and of our own functions that a formula's names must not hide.
_WORDS = frozenset(
    [
        "CopyRowsIn", "CopyRowsOut", "Div", "Exp", "Load64", "Log", "Log10", "Max", "Min", "Product", "ReduceMax", "ReduceMin",
        "ReduceSum", "Turn", "next", "bfloat16_t", "cell", "cells", "clusterDim", "clusterId", "coreDim", "coreId", "cores",
        "clusters", "device", "dim", "half", "filter", "queue", "rest", "taskDim", "taskDimX", "taskDimY", "taskDimZ", "taskId",
        "taskIdX", "taskIdY", "taskIdZ", "GDRAM2NRAM", "NRAM2GDRAM", "cnrtDim3_t",
    ]
)


def _function(returns: str, name: str, argument: str, body: str) -> str:
    return f"__mlu_func__ {returns} {name}({argument}) {{ {body} }}"


def _bits(name: str, bits: str) -> str:
    """A float constant by its bits."""
    return _function("float", name, "", f"union {{ uint32_t u; float f; }} x = {{{bits}}}; return x.f;")


def _from_f8(name: str, mantissa: int, bias: int, special: str) -> str:
    """A value from its sign, exponent and mantissa; the largest exponent may be `special`."""
    exponent, fraction = (1 << 7 - mantissa) - 1, (1 << mantissa) - 1
    body = (
        f"const int e = b >> {mantissa} & {exponent}, m = b & {fraction}; "
        f"float r = e == 0 ? scalbnf((float)m, {1 - bias - mantissa}) "
        f": {special} : scalbnf((float)({fraction + 1} + m), e - {bias + mantissa}); return b & 128 ? -r : r;"
    )
    return _function("float", f"kc_{name}_to_f32", "uint8_t b", body)


def _to_f8(name: str, mantissa: int, least: int, greatest: int, infinity: int) -> str:
    """The nearest value, ties to even; what is too large becomes `infinity`, NaN 127."""
    body = (
        "union { float f; uint32_t u; } x = {a}; const int sign = x.u >> 24 & 128; const float y = fabsf(a); "
        f"if (a != a) return (uint8_t)(sign | 127); if (y > 1e6f) return (uint8_t)(sign | {infinity}); "
        f"int e = (int)(x.u >> 23 & 255) - 127; e = e < {least} ? {least} : e; "
        f"const float z = scalbnf(y, {mantissa} - e); int n = (int)z; const float r = z - (float)n; "
        "n += r > 0.5f || (r == 0.5f && (n & 1)); "
        f"const int code = ((e - ({least})) << {mantissa}) + n; "
        f"return (uint8_t)(sign | (code > {greatest} ? {infinity} : code));"
    )
    return _function("uint8_t", f"kc_f32_to_{name}", "float a", body)


_FUNCTIONS: dict[str, str] = {
    "kc_f8e4m3_to_f32": _from_f8("f8e4m3", 3, 7, "(b & 127) == 127 ? kc_nan()"),
    "kc_f8e5m2_to_f32": _from_f8("f8e5m2", 2, 15, "e == 31 ? (m ? kc_nan() : kc_infinity())"),
    "kc_f32_to_f8e4m3": _to_f8("f8e4m3", 3, -6, 126, 127),
    "kc_f32_to_f8e5m2": _to_f8("f8e5m2", 2, -14, 123, 124),
    "kc_infinity": _bits("kc_infinity", "0x7f800000u"),
    "kc_nan": _bits("kc_nan", "0x7fc00000u"),
    "kc_f16_to_f32": _function("float", "kc_f16_to_f32", "half a", "return __half2float(a);"),
    "kc_f32_to_f16": _function("half", "kc_f32_to_f16", "float a", "return __float2half_rn(a);"),
    "kc_bf16_to_f32": _function(
        "float", "kc_bf16_to_f32", "uint16_t a", "union { uint32_t u; float f; } x = {(uint32_t)a << 16}; return x.f;"
    ),
    "kc_f32_to_bf16": _function(
        "uint16_t",
        "kc_f32_to_bf16",
        "float a",
        "union { float f; uint32_t u; } x = {a}; if (a != a) return (uint16_t)(x.u >> 16 | 0x40); "
        "return (uint16_t)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);",
    ),
}

DIALECT = Dialect(
    name="BANG C",
    types=_TYPES,
    casts=MappingProxyType({"f16>f32": "__half2float({0})", "f32>f16": "__float2half_rn({0})"}),
    qualifier="__mlu_func__",
    infinity="kc_infinity()",
    nan="kc_nan()",
    reserved=_WORDS,
    wraps=True,
    support=MappingProxyType(_FUNCTIONS),
)


class Names(ProgramNames):
    """Spells scalar expressions of one program: tiles are NRAM arrays, tensors pointers to global memory."""

    def __init__(self, program: DmaProgram) -> None:
        super().__init__(program, DIALECT)
        self.buffers |= {other_slot(b.name): b for b in program.buffers if b.slots > 1}
        self.wide: dict[str, None] = {}

    def tensor(self, name: str) -> str:
        """The pointer to a tensor."""
        return f"{identifier(name)}_gdram"

    def typed(self, buffer: str, kind: str) -> str:
        """A buffer's array, as elements of C type `kind`."""
        name = self.of(buffer)
        return name if storage(self.buffers[buffer].dtype) == kind else f"({kind} *){name}"

    def at(self, base: str, offset: str) -> str:
        """The address of an element."""
        return base if offset == "0" else f"{base} + {offset}"

    def view(self, v: View, kind: str = "") -> str:
        """A vector operand; `kind` overrides the element type (for functions on bytes, say)."""
        offset = "0" if v.offset == ZERO else self.text(v.offset, 13)
        place = self.at(self.typed(v.buffer, element_type(v.dtype)), offset)
        return place if not kind else f"({kind} *)({place})" if offset != "0" else f"({kind} *){self.of(v.buffer)}"

    def address(self, name: str, offset: str, kind: str) -> str:
        """The address of one element of a buffer or tensor for the scalar unit."""
        return self.at(self.typed(name, kind) if name in self.buffers else self.tensor(name), offset)

    def element(self, e: Load) -> str:
        kind = storage(e.dtype)
        place = self.address(e.tensor, self.text(e.index[0], 13), kind)
        space = "nram" if e.tensor in self.buffers else "gdram"
        if e.dtype.itemsize < 8:
            return f"__load_{space}({place})"
        self.wide[f"load_{space}"] = None
        return f"({kind})Load64(__load_{space}((const uint32_t *)({place})), __load_{space}((const uint32_t *)({place}) + 1))"
