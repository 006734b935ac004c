"""How CUDA C++ differs from C in expressions: types, half precision, and words that names must not be."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, STORAGE_TYPES, Dialect

_RESERVED = frozenset(
    [
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "assert",
        "atan",
        "atan2",
        "atanh",
        "blockDim",
        "blockIdx",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "dim3",
        "double2",
        "erf",
        "errno",
        "exp",
        "exp10",
        "exp2",
        "expm1",
        "fabs",
        "float2",
        "float3",
        "float4",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "gridDim",
        "half",
        "half2",
        "hypot",
        "int2",
        "int4",
        "isfinite",
        "isinf",
        "isnan",
        "linux",
        "log",
        "log10",
        "log1p",
        "log2",
        "max",
        "min",
        "nan",
        "nv_bfloat16",
        "pow",
        "rint",
        "round",
        "rsqrt",
        "signbit",
        "sin",
        "sinh",
        "sqrt",
        "stderr",
        "stdin",
        "stdout",
        "tan",
        "tanh",
        "threadIdx",
        "trunc",
        "uint2",
        "uint3",
        "uint4",
        "unix",
        "warpSize",
        "acosf",
        "acoshf",
        "asinf",
        "asinhf",
        "atan2f",
        "atanf",
        "atanhf",
        "cbrtf",
        "ceilf",
        "copysignf",
        "cosf",
        "coshf",
        "erff",
        "exp2f",
        "expf",
        "expm1f",
        "fabsf",
        "floorf",
        "fmaf",
        "fmaxf",
        "fminf",
        "fmodf",
        "hypotf",
        "log10f",
        "log1pf",
        "log2f",
        "logf",
        "powf",
        "rintf",
        "roundf",
        "rsqrtf",
        "sinf",
        "sinhf",
        "sqrtf",
        "tanf",
        "tanhf",
        "truncf",
        "sizes",
        "status",
        "stream",
        "tensors",
        "arguments",
        "cell",
        "cells",
    ]
)

# Index arithmetic mostly fits 32 bits, where a GPU divides several times faster.
_DIVIDE = """static __device__ __forceinline__ int64_t kc_floordiv_i64(int64_t a, int64_t b) {
  if (((a | b) >> 31) == 0) return b == 0 ? 0 : (int64_t)((unsigned)a / (unsigned)b);
  if (b == 0) return 0;
  if (b == -1) return (int64_t)((uint64_t)0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}"""
_REMAINDER = """static __device__ __forceinline__ int64_t kc_mod_i64(int64_t a, int64_t b) {
  if (((a | b) >> 31) == 0) return b == 0 ? 0 : (int64_t)((unsigned)a % (unsigned)b);
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}"""
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
    reserved=_RESERVED,
    wraps=True,
    support=MappingProxyType(
        {
            "kc_floordiv_i64": _DIVIDE,
            "kc_mod_i64": _REMAINDER,
            "kc_f16_to_f32": f"{_INLINE} float kc_f16_to_f32(__half a) {{ return __half2float(a); }}",
            "kc_f32_to_f16": f"{_INLINE} __half kc_f32_to_f16(float a) {{ return __float2half_rn(a); }}",
            "kc_bf16_to_f32": f"{_INLINE} float kc_bf16_to_f32(__nv_bfloat16 a) {{ return __bfloat162float(a); }}",
            "kc_f32_to_bf16": f"{_INLINE} __nv_bfloat16 kc_f32_to_bf16(float a) {{ return __float2bfloat16_rn(a); }}",
        }
    ),
)
