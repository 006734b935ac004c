"""Elementary functions of f32 vectors and conversions of 16-bit floats, without branches."""

from __future__ import annotations

MATH: dict[str, str] = {
    "f16_to_f32": """KC_INLINE @V@ @p@_f16_to_f32(@p0@f16 a) {
  @p0@u32 h = __builtin_convertvector(a, @p0@u32), m = (h & 0x7fff) << 13;
  @p0@u32 special = (@p0@u32)((h & 0x7c00) == 0x7c00) & 0x7f800000u;
  m = (@p0@u32)((@V@)m * 0x1p112f);
  return (@V@)(m | special | (h & 0x8000) << 16);
}""",
    "f32_to_f16": """KC_INLINE @p0@f16 @p@_f32_to_f16(@p0@f32 a) {
  @p0@u32 x = (@p0@u32)a & 0x7fffffff, sign = (@p0@u32)a >> 16 & 0x8000;
  @p0@u32 tiny = (@p0@u32)(x < 0x38800000), s = (tiny & 0x3f000000) | (~tiny & ((x & 0x7f800000) + 0x06800000));
  @p0@f32 m = (@p0@f32)x + (@p0@f32)s;
  @p0@u32 normal = (((@p0@u32)(m - (@p0@f32)s)) - 0x38000000) >> 13, r = (tiny & ((@p0@u32)m - s)) | (~tiny & normal);
  @p0@u32 large = (@p0@u32)(x >= 0x477ff000), nan = (@p0@u32)(x > 0x7f800000);
  r = (large & (0x7c00 | (nan & 0x200))) | (~large & r);
  return __builtin_convertvector(r | sign, @p0@f16);
}""",
    "bf16_to_f32": """KC_INLINE @V@ @p@_bf16_to_f32(@p0@bf16 a) {
  return (@V@)(__builtin_convertvector(a, @p0@u32) << 16);
}""",
    "f32_to_bf16": """KC_INLINE @p0@bf16 @p@_f32_to_bf16(@p0@f32 a) {
  @p0@u32 x = (@p0@u32)a, nan = (@p0@u32)(a != a);
  return __builtin_convertvector((((x + 0x7fff + (x >> 16 & 1)) & ~nan) | ((x | 0x400000) & nan)) >> 16, @p0@bf16);
}""",
}
