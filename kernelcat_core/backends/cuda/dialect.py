"""How CUDA C++ differs from C in expressions: types, half precision, and words that names must not be."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, STORAGE_TYPES, Dialect
from kernelcat_core.codegen.simt_words import CPP_RESERVED, divisions, half_precision

_INLINE = "static __device__ __forceinline__"

CUDA = Dialect(
    name="CUDA C++",
    types=MappingProxyType({**C_TYPES, **STORAGE_TYPES, "f16": "__half", "bf16": "__nv_bfloat16"}),
    calls=MappingProxyType({"rsqrt.f32": "rsqrtf({0})", "rsqrt.f64": "rsqrt({0})"}),
    casts=MappingProxyType(
        {
            "f16>f32": "__half2float({0})",
            "f32>f16": "__float2half_rn({0})",
            "bf16>f32": "__bfloat162float({0})",
            "f32>bf16": "__float2bfloat16_rn({0})",
        }
    ),
    qualifier=_INLINE,
    infinity="__int_as_float(0x7f800000)",
    nan="__int_as_float(0x7fc00000)",
    reserved=CPP_RESERVED | {"nv_bfloat16"},
    wraps=True,
    support=MappingProxyType(
        {**divisions(_INLINE), **half_precision(_INLINE, "__half", "__nv_bfloat16", "__float2bfloat16_rn")}
    ),
)
