"""Words and divisions that languages of GPUs share."""

from __future__ import annotations

_MATHEMATICS = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf exp exp10 exp2 expm1 fabs floor fma fmax fmin
fmod hypot isfinite isinf isnan log log10 log1p log2 max min nan pow rint round rsqrt signbit sin sinh sqrt tan tanh trunc
"""
_SINGLE = """
acosf acoshf asinf asinhf atan2f atanf atanhf cbrtf ceilf copysignf cosf coshf erff exp2f expf expm1f fabsf floorf fmaf
fmaxf fminf fmodf hypotf log10f log1pf log2f logf powf rintf roundf rsqrtf sinf sinhf sqrtf tanf tanhf truncf
"""
_CPP = """
assert blockDim blockIdx dim3 double2 errno float2 float3 float4 gridDim half half2 int2 int4 linux stderr stdin stdout
threadIdx uint2 uint3 uint4 unix warpSize
"""
_OURS = "sizes status stream tensors arguments cell cells"

MATHEMATICS: frozenset[str] = frozenset(_MATHEMATICS.split())
"""Functions under the names that C, CUDA and OpenCL have for them."""
CPP_RESERVED: frozenset[str] = MATHEMATICS | frozenset((*_SINGLE.split(), *_CPP.split(), *_OURS.split()))
"""What no identifier of a C++ kernel or its host function may be."""


def divisions(qualifier: str) -> dict[str, str]:
    """Index arithmetic mostly fits 32 bits, where a GPU divides several times faster."""
    return {
        "kc_floordiv_i64": f"""{qualifier} int64_t kc_floordiv_i64(int64_t a, int64_t b) {{
  if (((a | b) >> 31) == 0) return b == 0 ? 0 : (int64_t)((unsigned)a / (unsigned)b);
  if (b == 0) return 0;
  if (b == -1) return (int64_t)((uint64_t)0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}}""",
        "kc_mod_i64": f"""{qualifier} int64_t kc_mod_i64(int64_t a, int64_t b) {{
  if (((a | b) >> 31) == 0) return b == 0 ? 0 : (int64_t)((unsigned)a % (unsigned)b);
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}}""",
    }


def half_precision(qualifier: str, half: str, bfloat: str, to_bfloat: str) -> dict[str, str]:
    """Conversions of 16-bit floats by the functions that CUDA and HIP have for them, for helpers that call them by name."""
    return {
        "kc_f16_to_f32": f"{qualifier} float kc_f16_to_f32({half} a) {{ return __half2float(a); }}",
        "kc_f32_to_f16": f"{qualifier} {half} kc_f32_to_f16(float a) {{ return __float2half_rn(a); }}",
        "kc_bf16_to_f32": f"{qualifier} float kc_bf16_to_f32({bfloat} a) {{ return __bfloat162float(a); }}",
        "kc_f32_to_bf16": f"{qualifier} {bfloat} kc_f32_to_bf16(float a) {{ return {to_bfloat}(a); }}",
    }
