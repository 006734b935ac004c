"""Elementary functions of f32 vectors without branches, and conversions of 16-bit floats.

Polynomials are our own least-maximum fits (Lawson's iteration on Chebyshev nodes) of the function named beside them, with
the leading terms kept exact. Errors are at most 2 ulp (tests/core/codegen/test_vmath.py measures them); NaN, infinities,
signed zeros and subnormals come out as the mathematical functions want them. Large arguments of sin and cos go to libm.
"""

from __future__ import annotations

MATH: dict[str, str] = {
    # IEEE binary16 by its bits: rescaling by 2^112 makes subnormals come out right.
    "f16_to_f32": """KC_INLINE @V@ @p@_f16_to_f32(@p0@f16 a) {
  @p0@u32 h = __builtin_convertvector(a, @p0@u32), m = (h & 0x7fff) << 13;
  @p0@u32 special = (@p0@u32)((h & 0x7c00) == 0x7c00) & 0x7f800000u;
  m = (@p0@u32)((@V@)m * 0x1p112f);
  return (@V@)(m | special | (h & 0x8000) << 16);
}""",
    # Adding a power of two that leaves exactly the bits binary16 keeps rounds to nearest even in the float unit.
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
    "pick.f32": """KC_INLINE @V@ @p@_pick_f32(@I@ m, @V@ a, @V@ b) {
  return (@V@)((m & (@I@)a) | (~m & (@I@)b));
}""",
    # low <= a <= high, NaN kept. The instructions give their second operand when either is NaN.
    "clamp.f32": """KC_INLINE @V@ @p@_clamp_f32(@V@ a, float low, float high) {
#if defined(__AVX512F__) && !defined(__clang__)
  typedef float wide __attribute__((vector_size(64)));
  if (sizeof a == 64) {
    union { @V@ v; wide w; } x = { a };
    x.w = __builtin_ia32_minps512_mask(high - (wide){0}, x.w, x.w, (unsigned short)-1, 4);
    x.w = __builtin_ia32_maxps512_mask(low - (wide){0}, x.w, x.w, (unsigned short)-1, 4);
    return x.v;
  }
#endif
  a = @p@_pick_f32(a > high, high - (@V@){0}, a);
  return @p@_pick_f32(a < low, low - (@V@){0}, a);
}""",
    # a * 2^k for whole k, subnormal results rounded once.
    "scale.f32": """KC_INLINE @V@ @p@_scale_f32(@V@ a, @V@ k) {
#if defined(__AVX512F__)
  if (sizeof a == 64) {
    typedef float wide __attribute__((vector_size(64)));
    union { @V@ v; wide w; } p = { a }, e = { k };
    p.w = __builtin_ia32_scalefps512_mask(p.w, e.w, p.w, (unsigned short)-1, 4);
    return p.v;
  }
#endif
  @I@ n = __builtin_convertvector(k, @I@), h = n >> 1;
  return a * (@V@)((h + 127) << 23) * (@V@)((n - h + 127) << 23);
}""",
    # e^a - 1 = 2^k (1 + q) - 1 with q = e^r - 1, r = a - k ln 2: q and k for a in [-104, 89].
    "expq.f32": """KC_INLINE @V@ @p@_expq_f32(@V@ a, @V@ *k) {
  @V@ t = a * 1.44269504f + 12582912.0f;
  *k = t - 12582912.0f;
  @V@ r = a - *k * 0.693359375f;
  r = r - *k * -2.12194440e-4f;
  @V@ p = r * 1.3814433e-3f + 8.3687985e-3f;
  p = p * r + 4.1668396e-2f;
  p = p * r + 1.666652e-1f;
  p = p * r + 4.9999994e-1f;
  return p * (r * r) + r;
}""",
    "exp.f32": """KC_INLINE @V@ @p@_exp_f32(@V@ a) {
  @V@ k;
  @V@ q = @p@_expq_f32(@p@_clamp_f32(a, -104.0f, 89.0f), &k);
  return @p@_scale_f32(q + 1.0f, k);
}""",
    # The argument is reduced by whole numbers exactly; only the rest is multiplied by ln 2.
    "exp2.f32": """KC_INLINE @V@ @p@_exp2_f32(@V@ a) {
  @V@ b = @p@_pick_f32(a > 129.0f, 129.0f - (@V@){0}, a), k;
  b = @p@_pick_f32(b < -151.0f, -151.0f - (@V@){0}, b);
  @V@ n = b + 12582912.0f - 12582912.0f;
  @V@ q = @p@_expq_f32((b - n) * 0.693147182f + (b - n) * -1.9046542e-9f, &k);
  return @p@_scale_f32(q + 1.0f, n + k);
}""",
    # Half the power first: 2^k itself overflows where the result does not.
    "expm1.f32": """KC_INLINE @V@ @p@_expm1_f32(@V@ a) {
  @V@ k, x = @p@_pick_f32(a > 89.0f, 89.0f - (@V@){0}, a);
  x = @p@_pick_f32(x < -18.0f, -18.0f - (@V@){0}, x);
  @V@ q = @p@_expq_f32(x, &k), s = @p@_scale_f32(0.5f - (@V@){0}, k);
  return @p@_pick_f32(a == 0, a, (q * s + (s - 0.5f)) * 2.0f);
}""",
    # a = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)): f and k for finite positive a; log(1 + f) as f + tail.
    "split.f32": """KC_INLINE @V@ @p@_split_f32(@V@ a, @V@ *k) {
  @I@ small = a < 0x1p-126f;
  @V@ x = @p@_pick_f32(small, a * 0x1p25f, a);
  @I@ e = ((@I@)x - 0x3f3504f3) >> 23;
  *k = __builtin_convertvector(e + (small & -25), @V@);
  return (@V@)((@I@)x - (e << 23)) - 1.0f;
}""",
    "logtail.f32": """KC_INLINE @V@ @p@_logtail_f32(@V@ f) {
  @V@ p = f * 6.74655e-2f + -1.1675726e-1f;
  p = p * f + 1.1888242e-1f;
  p = p * f + -1.24055795e-1f;
  p = p * f + 1.421954e-1f;
  p = p * f + -1.6667996e-1f;
  p = p * f + 2.0002119e-1f;
  p = p * f + -2.500001e-1f;
  p = p * f + 3.3333313e-1f;
  return (p * f - 0.5f) * (f * f);
}""",
    # Zero, negative, infinite and NaN arguments of a logarithm whose value for the others is r.
    "logedge.f32": """KC_INLINE @V@ @p@_logedge_f32(@V@ a, @V@ r) {
  r = @p@_pick_f32(a == INFINITY, a, r);
  r = @p@_pick_f32(a == 0, -INFINITY - (@V@){0}, r);
  return @p@_pick_f32((a < 0) | (a != a), NAN - (@V@){0}, r);
}""",
    "log.f32": """KC_INLINE @V@ @p@_log_f32(@V@ a) {
  @V@ k, f = @p@_split_f32(a, &k), t = @p@_logtail_f32(f) + k * -2.12194440e-4f;
  return @p@_logedge_f32(a, k * 0.693359375f + (f + t));
}""",
    "log2.f32": """KC_INLINE @V@ @p@_log2_f32(@V@ a) {
  @V@ k, f = @p@_split_f32(a, &k), t = @p@_logtail_f32(f);
  @V@ low = f * 1.925963e-8f + t * 1.44269502f;
  return @p@_logedge_f32(a, k + (f * 1.44269502f + low));
}""",
    "log10.f32": """KC_INLINE @V@ @p@_log10_f32(@V@ a) {
  @V@ k, f = @p@_split_f32(a, &k), t = @p@_logtail_f32(f);
  @V@ low = f * -1.0108696e-8f + (t * 0.434294492f + k * -1.1435782e-8f);
  return @p@_logedge_f32(a, k * 0.30103f + (f * 0.434294492f + low));
}""",
    # log(u) for u = 1 + a rounded, corrected by what the rounding lost.
    "log1p.f32": """KC_INLINE @V@ @p@_log1p_f32(@V@ a) {
  @V@ u = 1.0f + a, k, f = @p@_split_f32(u, &k);
  @V@ lost = @p@_pick_f32(a > 1.0f, 1.0f - (u - a), a - (u - 1.0f)) / u;
  @V@ t = @p@_logtail_f32(f) + (k * -2.12194440e-4f + lost);
  @V@ r = @p@_logedge_f32(u, k * 0.693359375f + (f + t));
  return @p@_pick_f32(a == 0, a, r);
}""",
    # x + x^3 P(x^2) near 0, 1 - 2 / (e^2x + 1) elsewhere.
    "tanh.f32": """KC_INLINE @V@ @p@_tanh_f32(@V@ a) {
  @V@ k, x = @p@_pick_f32(a < 0, -a, a), s = a * a;
  @V@ p = s * -5.7428787e-3f + 2.0671362e-2f;
  p = p * s + -5.374908e-2f;
  p = p * s + 1.3331547e-1f;
  p = p * s + -3.3333287e-1f;
  @V@ near = p * s * a + a;
  x = @p@_pick_f32(x > 10.0f, 10.0f - (@V@){0}, x);
  @V@ e = @p@_expq_f32(x + x, &k) + 1.0f;
  e = @p@_scale_f32(e, k);
  @V@ r = @p@_pick_f32((x < 0.62f) | (a != a), near, 1.0f - 2.0f / (e + 1.0f));
  return (@V@)((@I@)r | ((@I@)a & (-2147483647 - 1)));
}""",
    # x P(x^2) near 0, 1 - exp(-P(x)) elsewhere, where P fits -log(erfc).
    "erf.f32": """KC_INLINE @V@ @p@_erf_f32(@V@ a) {
  @V@ k, x = @p@_pick_f32(a < 0, -a, a), s = a * a;
  @V@ p = s * 8.513095e-5f + -8.1756373e-4f;
  p = p * s + 5.203859e-3f;
  p = p * s + -2.6860509e-2f;
  p = p * s + 1.1283715e-1f;
  p = p * s + -3.7612635e-1f;
  @V@ near = (p * s + 0.12837917f) * a + a;
  x = @p@_pick_f32(x > 4.0f, 4.0f - (@V@){0}, x);
  @V@ q = x * 2.053077e-5f + -4.2798612e-4f;
  q = q * x + 4.139941e-3f;
  q = q * x + -2.503823e-2f;
  q = q * x + 1.081558e-1f;
  q = q * x + 6.334586e-1f;
  q = q * x + 1.1294603f;
  q = q * x + -1.6347693e-4f;
  @V@ e = @p@_expq_f32(-q, &k) + 1.0f, r = @p@_pick_f32((x < 0.88f) | (a != a), near, 1.0f - @p@_scale_f32(e, k));
  return (@V@)((@I@)r | ((@I@)a & (-2147483647 - 1)));
}""",
    # r = a - q pi/2 with pi/2 in three parts (exact up to |a| of some 40000); the sine or cosine of r by its quadrant.
    "trig.f32": """KC_INLINE @V@ @p@_trig_f32(@V@ a, int shift) {
  @V@ t = a * 0.636619747f + 12582912.0f, k = t - 12582912.0f;
  @I@ q = (@I@)t + shift;
  @V@ r = a - k * 1.57079601f;
  r = r - k * 3.1391647e-7f;
  r = r - k * 5.3903025e-15f;
  @V@ s = r * r, p = s * 2.717157e-6f + -1.983921e-4f;
  p = p * s + 8.333329e-3f;
  p = p * s + -1.6666667e-1f;
  @V@ sine = p * s * r + r;
  @V@ c = s * 2.44236e-5f + -1.3887233e-3f;
  c = c * s + 4.1666646e-2f;
  @V@ cosine = c * s * s + (1.0f - 0.5f * s);
  @V@ v = @p@_pick_f32((q & 1) == 0, sine, cosine);
  return (@V@)((@I@)v ^ ((q & 2) << 30));
}""",
    "sin.f32": """KC_INLINE @V@ @p@_sin_f32(@V@ a) {
  @I@ large = ~((a < 30000.0f) & (a > -30000.0f));
  @V@ r = @p@_trig_f32(a, 0);
  r = @p@_pick_f32(a == 0, a, r);
  for (int l = 0; l < @L@; l++) if (large[l]) r[l] = sinf(a[l]);
  return r;
}""",
    "cos.f32": """KC_INLINE @V@ @p@_cos_f32(@V@ a) {
  @I@ large = ~((a < 30000.0f) & (a > -30000.0f));
  @V@ r = @p@_trig_f32(a, 1);
  for (int l = 0; l < @L@; l++) if (large[l]) r[l] = cosf(a[l]);
  return r;
}""",
}
