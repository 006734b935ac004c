"""Definitions of the helper functions that cstyle's spellings call, as templates.

Keys are "op.dtype", "op.kind" or "op"; conversions are "f_to_i", "f_to_u" (any float to any integer) or "from_to_to". In a
template @Q@ is the dialect's qualifier, @T@ the C type, @t@ the dtype's name, @f@ the libm suffix, @g@ that of f32, @U@ an
unsigned type of at least 32 bits, @S@ and @s@ the source of a conversion, @min@ and @max@ the range of an integer type, @one@ 1,
@nan@ and @inf@ those of f32.
"""

from __future__ import annotations

SUPPORT: dict[str, str] = {
    "isnan.f": "@Q@ bool kc_isnan_@t@(@T@ a) { return a != a; }",
    "isinf.f": "@Q@ bool kc_isinf_@t@(@T@ a) { return a - a != 0 && a == a; }",
    "isfinite.f": "@Q@ bool kc_isfinite_@t@(@T@ a) { return a - a == 0; }",
    "signbit.f": "@Q@ bool kc_signbit_@t@(@T@ a) { return copysign@f@(@one@, a) < 0; }",
    "rsqrt.f": "@Q@ @T@ kc_rsqrt_@t@(@T@ a) { return @one@ / sqrt@f@(a); }",
    "abs.i": "@Q@ @T@ kc_abs_@t@(@T@ a) { return (@T@)(a < 0 ? (@U@)0 - (@U@)a : (@U@)a); }",
    "sign.f": "@Q@ @T@ kc_sign_@t@(@T@ a) { return a > 0 ? @one@ : a < 0 ? -@one@ : a == 0 ? 0 : a; }",
    "sign.i": "@Q@ @T@ kc_sign_@t@(@T@ a) { return (@T@)((a > 0) - (a < 0)); }",
    "sign.u": "@Q@ @T@ kc_sign_@t@(@T@ a) { return (@T@)(a > 0); }",
    # Either operand NaN gives NaN; the comparison is false for NaN in b, so test b first.
    "min.f": "@Q@ @T@ kc_min_@t@(@T@ a, @T@ b) { return a < b || a != a ? a : b; }",
    "max.f": "@Q@ @T@ kc_max_@t@(@T@ a, @T@ b) { return a > b || a != a ? a : b; }",
    "min": "@Q@ @T@ kc_min_@t@(@T@ a, @T@ b) { return a < b ? a : b; }",
    "max": "@Q@ @T@ kc_max_@t@(@T@ a, @T@ b) { return a > b ? a : b; }",
    # Division that rounds down. b == -1 is split off because the lowest value has no positive counterpart.
    "floordiv.i": """@Q@ @T@ kc_floordiv_@t@(@T@ a, @T@ b) {
  if (b == 0) return 0;
  if (b == -1) return (@T@)((@U@)0 - (@U@)a);
  @T@ q = (@T@)(a / b);
  return (@T@)(q - (a % b != 0 && (a < 0) != (b < 0)));
}""",
    "mod.i": """@Q@ @T@ kc_mod_@t@(@T@ a, @T@ b) {
  if (b == 0 || b == -1) return 0;
  @T@ r = (@T@)(a % b);
  return (@T@)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}""",
    "fmod.i": "@Q@ @T@ kc_fmod_@t@(@T@ a, @T@ b) { return b == 0 || b == -1 ? 0 : (@T@)(a % b); }",
    "floordiv.u": "@Q@ @T@ kc_floordiv_@t@(@T@ a, @T@ b) { return b == 0 ? 0 : (@T@)(a / b); }",
    "mod.u": "@Q@ @T@ kc_mod_@t@(@T@ a, @T@ b) { return b == 0 ? 0 : (@T@)(a % b); }",
    "fmod.u": "@Q@ @T@ kc_fmod_@t@(@T@ a, @T@ b) { return b == 0 ? 0 : (@T@)(a % b); }",
    # Remainder with the divisor's sign, and the quotient that belongs to it.
    "mod.f": """@Q@ @T@ kc_mod_@t@(@T@ a, @T@ b) {
  @T@ r = fmod@f@(a, b);
  if (r == 0) return copysign@f@((@T@)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}""",
    "floordiv.f": """@Q@ @T@ kc_floordiv_@t@(@T@ a, @T@ b) {
  if (b == 0) return a / b;
  @T@ r = fmod@f@(a, b), q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q -= @one@;
  if (q == 0) return copysign@f@((@T@)0, a / b);
  @T@ n = floor@f@(q);
  return q - n > @one@ / 2 ? n + @one@ : n;
}""",
    # By squaring; a negative exponent leaves 0 unless the base is 1 or -1.
    "pow.i": """@Q@ @T@ kc_pow_@t@(@T@ a, @T@ b) {
  if (b < 0) return (@T@)(a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
  @U@ x = (@U@)a, y = 1;
  for (; b > 0; b = (@T@)(b / 2), x *= x) if (b % 2 == 1) y *= x;
  return (@T@)y;
}""",
    "pow.u": """@Q@ @T@ kc_pow_@t@(@T@ a, @T@ b) {
  @U@ x = (@U@)a, y = 1;
  for (; b > 0; b = (@T@)(b / 2), x *= x) if (b % 2 == 1) y *= x;
  return (@T@)y;
}""",
    "shl": "@Q@ @T@ kc_shl_@t@(@T@ a, @T@ b) { return (uint64_t)b < @bits@ ? (@T@)((@U@)a << b) : 0; }",
    "shr.i": "@Q@ @T@ kc_shr_@t@(@T@ a, @T@ b) { return (@T@)((uint64_t)b < @bits@ ? a >> b : a < 0 ? -1 : 0); }",
    "shr.u": "@Q@ @T@ kc_shr_@t@(@T@ a, @T@ b) { return (@T@)((uint64_t)b < @bits@ ? a >> b : 0); }",
    # Truncates, saturates, NaN gives 0: total where a C cast is undefined. The bounds are exact powers of two.
    "f_to_i": """@Q@ @T@ kc_@s@_to_@t@(@S@ a) {
  if (a != a) return 0;
  if (a >= (@S@)@max@) return (@T@)@max@;
  return a <= (@S@)@min@ ? (@T@)@min@ : (@T@)a;
}""",
    "f_to_u": """@Q@ @T@ kc_@s@_to_@t@(@S@ a) {
  if (!(a > 0)) return 0;
  return a >= (@S@)@max@ ? (@T@)@max@ : (@T@)a;
}""",
    # IEEE binary16 by its bits (kc_f16 is uint16_t): rescaling by 2^112 makes subnormals come out right.
    "f16_to_f32": """@Q@ float kc_f16_to_f32(kc_f16 h) {
  union { uint32_t u; float f; } m = { (uint32_t)(h & 0x7fff) << 13 }, r;
  m.f *= 0x1p112f;
  r.u = m.u | ((h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0) | (uint32_t)(h & 0x8000) << 16;
  return r.f;
}""",
    # Adding a power of two that leaves exactly the bits binary16 keeps rounds to nearest even in the float unit.
    "f32_to_f16": """@Q@ kc_f16 kc_f32_to_f16(float a) {
  union { float f; uint32_t u; } x = { a }, m, s;
  uint32_t sign = x.u >> 16 & 0x8000;
  x.u &= 0x7fffffff;
  if (x.u > 0x7f800000) return (kc_f16)(sign | 0x7e00);
  if (x.u >= 0x477ff000) return (kc_f16)(sign | 0x7c00);
  s.u = x.u < 0x38800000 ? 0x3f000000 : (x.u & 0x7f800000) + 0x06800000;
  m.f = x.f + s.f;
  if (x.u < 0x38800000) return (kc_f16)(sign | (m.u - s.u));
  m.f -= s.f;
  return (kc_f16)(sign | ((m.u - 0x38000000) >> 13));
}""",
    # Four-bit integers lie in the low half of a byte.
    "i4_to_i8": "@Q@ int8_t kc_i4_to_i8(kc_i4 a) { return (int8_t)((uint8_t)a << 4) >> 4; }",
    "u4_to_u8": "@Q@ uint8_t kc_u4_to_u8(kc_u4 a) { return a & 15; }",
    "i8_to_i4": "@Q@ kc_i4 kc_i8_to_i4(int8_t a) { return (kc_i4)((int8_t)((uint8_t)a << 4) >> 4); }",
    "u8_to_u4": "@Q@ kc_u4 kc_u8_to_u4(uint8_t a) { return a & 15; }",
    # Eight-bit floats (P. Micikevicius et al., "FP8 formats for deep learning", 2022): e4m3 has no infinity, so what is
    # past 448 is NaN; e5m2 is the upper half of a binary16. Rounding to nearest even in units of the last place.
    "f8e4m3_to_f32": """@Q@ float kc_f8e4m3_to_f32(kc_f8e4m3 b) {
  int e = b >> 3 & 15, m = b & 7;
  float r = e == 0 ? ldexp@g@((float)m, -9) : (b & 127) == 127 ? @nan@ : ldexp@g@((float)(8 + m), e - 10);
  return b & 128 ? -r : r;
}""",
    "f8e5m2_to_f32": """@Q@ float kc_f8e5m2_to_f32(kc_f8e5m2 b) {
  int e = b >> 2 & 31, m = b & 3;
  float r = e == 0 ? ldexp@g@((float)m, -16) : e == 31 ? (m ? @nan@ : @inf@) : ldexp@g@((float)(4 + m), e - 17);
  return b & 128 ? -r : r;
}""",
    **{f"f32_to_{name}": f"""@Q@ kc_{name} kc_f32_to_{name}(float a) {{
  float x = fabs@g@(a);
  int e = 0, sign = copysign@g@(1.0f, a) < 0 ? 128 : 0;
  if (!(x <= 3.4e38f)) return (kc_{name})(sign | (x != x ? 127 : {infinity}));
  if (x == 0) return (kc_{name})sign;
  frexp@g@(x, &e);
  e = e - 1 < {least} ? {least} : e - 1;
  int code = ((e - ({least})) << {mantissa}) + (int)rint@g@(ldexp@g@(x, {mantissa} - e));
  return (kc_{name})(sign | (code > {greatest} || x > 1e6f ? {infinity} : code));
}}""" for name, mantissa, least, greatest, infinity in (("f8e4m3", 3, -6, 126, 127), ("f8e5m2", 2, -14, 123, 124))},
    "bf16_to_f32": """@Q@ float kc_bf16_to_f32(kc_bf16 h) {
  union { uint32_t u; float f; } r = { (uint32_t)h << 16 };
  return r.f;
}""",
    "f32_to_bf16": """@Q@ kc_bf16 kc_f32_to_bf16(float a) {
  union { float f; uint32_t u; } x = { a };
  if (a != a) return (kc_bf16)(x.u >> 16 | 0x40);
  return (kc_bf16)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}""",
}
