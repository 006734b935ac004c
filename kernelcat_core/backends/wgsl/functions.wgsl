// Functions that kernels call where WGSL has none, or promises too little (its log, sin and cos have absolute error bounds).
// Each stands alone between blank lines; the renderer takes those that a kernel names, with those that they name.
// Errors in units of the last place are what tests/core/backends/wgsl/test_functions.py measures against f64, rounded up.
// Polynomials are near-minimax fits of our own. Infinities and NaN are made from private variables at run time, because a
// constant expression must not have such a value; they are recognised by their bits, because compilers may take
// comparisons as if no NaN existed.

var<private> kc_inf_bits: u32 = 0x7f800000u;

var<private> kc_nan_bits: u32 = 0x7fc00000u;

fn kc_inf() -> f32 { return bitcast<f32>(kc_inf_bits); }

fn kc_nan() -> f32 { return bitcast<f32>(kc_nan_bits); }

fn kc_run_f32(a: f32) -> f32 { return a; } // what follows is computed at run time

fn kc_run_i32(a: i32) -> i32 { return a; }

fn kc_run_u32(a: u32) -> u32 { return a; }

fn kc_run_bool(a: bool) -> bool { return a; }

fn kc_isnan(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u; }

fn kc_isinf(a: f32) -> bool { return (bitcast<u32>(a) & 0x7fffffffu) == 0x7f800000u; }

fn kc_isfinite(a: f32) -> bool { return (bitcast<u32>(a) & 0x7f800000u) != 0x7f800000u; }

fn kc_signbit(a: f32) -> bool { return (bitcast<u32>(a) >> 31u) != 0u; }

fn kc_copysign(a: f32, b: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}

fn kc_abs(a: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a) & 0x7fffffffu); }

fn kc_neg(a: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a) ^ 0x80000000u); }

fn kc_min_f32(a: f32, b: f32) -> f32 {
  return select(select(b, a, a < b), select(b, a, kc_isnan(a)), kc_isnan(a) || kc_isnan(b));
}

fn kc_max_f32(a: f32, b: f32) -> f32 {
  return select(select(b, a, a > b), select(b, a, kc_isnan(a)), kc_isnan(a) || kc_isnan(b));
}

fn kc_fmin(a: f32, b: f32) -> f32 { // a NaN operand is left out
  return select(select(select(b, a, a < b), a, kc_isnan(b)), b, kc_isnan(a));
}

fn kc_fmax(a: f32, b: f32) -> f32 {
  return select(select(select(b, a, a > b), a, kc_isnan(b)), b, kc_isnan(a));
}

fn kc_round_half_away(a: f32) -> f32 {
  let whole = trunc(a);
  return whole + select(0.0f, kc_copysign(1.0f, a), kc_abs(a - whole) >= 0.5f);
}

fn kc_head(a: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a) & 0xfffff000u); } // its upper 12 bits: products of two are exact

fn kc_lost(a: f32, b: f32, p: f32) -> f32 { // a * b - p, where p is their rounded product (T. J. Dekker, 1971)
  let ah = kc_head(a);
  let bh = kc_head(b);
  let al = a - ah;
  let bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

fn kc_scale(a: f32, n: i32) -> f32 { // a * 2^n for |n| <= 252
  let half = n >> 1u;
  return (a * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(n - half + 127) << 23u);
}

fn kc_sqrt(a: f32) -> f32 { // 1 ulp: what is left over corrects the built-in one
  let s = sqrt(a);
  if (!kc_isfinite(s) || s < 1e-15f || s > 1e15f) { return s; }
  let p = s * s;
  return s + ((a - p) - kc_lost(s, s, p)) * (0.5f / s);
}

fn kc_rsqrt(a: f32) -> f32 { return 1.0f / kc_sqrt(a); } // 3 ulp

fn kc_expm1_tail(r: f32) -> f32 { // exp(r) - 1 - r for |r| <= 0.35
  let p = 0.16666667f + r * (0.041666556f + r * (0.008333301f + r * (0.0013926215f + r * 0.00019899337f)));
  return r * r * (0.5f + r * p);
}

fn kc_exp(x: f32) -> f32 { // 2 ulp
  if (kc_isnan(x)) { return x; }
  if (x > 88.8f) { return kc_inf(); }
  if (x < -104.0f) { return 0.0f; }
  let n = round(x * 1.44269504f);
  let high = x - n * 0.693145752f; // ln 2 in two parts, the first with 15 bits: its products are exact
  let r = high - n * 1.42860682e-6f;
  return kc_scale(1.0f + (r + kc_expm1_tail(r)), i32(n));
}

fn kc_exp2(x: f32) -> f32 { // 2 ulp
  if (kc_isnan(x)) { return x; }
  if (x >= 128.0f) { return kc_inf(); }
  if (x < -150.0f) { return 0.0f; }
  let n = round(x);
  let r = (x - n) * 0.69314718f;
  return kc_scale(1.0f + (r + kc_expm1_tail(r)), i32(n));
}

fn kc_expm1(x: f32) -> f32 { // 2 ulp
  if (kc_isnan(x)) { return x; }
  if (x > 88.8f) { return kc_inf(); }
  if (x < -18.0f) { return -1.0f; }
  let n = round(x * 1.44269504f);
  let high = x - n * 0.693145752f;
  let low = n * 1.42860682e-6f;
  let r = high - low;
  let lost = (high - r) - low;
  let q = r + (kc_expm1_tail(r) + lost);
  if (n == 0.0f) { return select(q, x, x == 0.0f); }
  if (n > 24.0f) { return kc_scale(1.0f + q, i32(n)); }
  let unit = bitcast<f32>(u32(i32(n) + 127) << 23u);
  return (unit - 1.0f) + unit * q;
}

fn kc_sinh(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (!kc_isfinite(x) || a < 1e-4f) { return x; }
  if (a > 80.0f) {
    let h = kc_exp(0.5f * a);
    return kc_copysign((0.5f * h) * h, x);
  }
  let t = kc_expm1(a);
  return kc_copysign(0.5f * (t + t / (t + 1.0f)), x);
}

fn kc_cosh(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (a > 80.0f) {
    let h = kc_exp(0.5f * a);
    return (0.5f * h) * h;
  }
  let e = kc_exp(a);
  return 0.5f * e + 0.5f / e;
}

fn kc_tanh(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (kc_isnan(x) || a < 1e-4f) { return x; }
  if (a > 9.1f) { return kc_copysign(1.0f, x); }
  let t = kc_expm1(2.0f * a);
  return kc_copysign(t / (t + 2.0f), x);
}

fn kc_log_parts(x: f32) -> vec2<f32> { // (f, e) with x = (1 + f) * 2^e and 1 + f between sqrt(1/2) and sqrt(2), for normal x > 0
  let bits = bitcast<u32>(x) + 0x004afb0du; // carries into the exponent from sqrt(2) on
  let e = i32(bits >> 23u) - 127;
  let m = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
  return vec2<f32>(m - 1.0f, f32(e));
}

fn kc_log_tail(f: f32) -> f32 { // (log(1 + f) - f + f^2 / 2) / f^3
  let p = -0.16669151f + f * (0.14251156f + f * (-0.12396701f + f * (0.11634663f + f * (-0.11659929f + f * 0.07332529f))));
  return 0.3333333f + f * (-0.2499998f + f * (0.20000689f + f * p));
}

fn kc_log_of(x: f32, scale: f32, unit: f32, unit_low: f32) -> f32 { // log(x) * scale; unit + unit_low is that of 2
  if (kc_isnan(x) || x < 0.0f) { return kc_nan(); }
  if (x == 0.0f) { return kc_neg(kc_inf()); }
  if (kc_isinf(x)) { return x; }
  let small = x < 1.17549435e-38f;
  let parts = kc_log_parts(select(x, x * 8388608.0f, small));
  let f = parts.x;
  let e = parts.y - select(0.0f, 23.0f, small);
  let square = f * f;
  let rest = f * square * kc_log_tail(f) - 0.5f * square;
  if (scale == 1.0f) { return e * unit + (f + (rest + e * unit_low)); }
  return (e * unit + f * scale) + (rest * scale + (kc_lost(f, scale, f * scale) + e * unit_low));
}

fn kc_log(x: f32) -> f32 { return kc_log_of(x, 1.0f, 0.693145752f, 1.42860682e-6f); } // 2 ulp

fn kc_log2(x: f32) -> f32 { // 2 ulp
  let parts = kc_log2_parts(x);
  return parts.x + parts.y;
}

fn kc_log2_parts(x: f32) -> vec2<f32> { // log2(x) as a sum of two, the error below 2^-30 of it; for finite x > 0 else as log2
  if (kc_isnan(x) || x < 0.0f) { return vec2<f32>(kc_nan(), 0.0f); }
  if (x == 0.0f) { return vec2<f32>(kc_neg(kc_inf()), 0.0f); }
  if (kc_isinf(x)) { return vec2<f32>(x, 0.0f); }
  let small = x < 1.17549435e-38f;
  let parts = kc_log_parts(select(x, x * 8388608.0f, small));
  let f = parts.x;
  let e = parts.y - select(0.0f, 23.0f, small);
  let square = f * f;
  let square_low = kc_lost(f, f, square);
  let high = f - 0.5f * square; // log(1 + f) = high + low
  let low = ((f - high) - 0.5f * square) - 0.5f * square_low + f * square * kc_log_tail(f);
  let sum = high + low;
  let sum_low = (high - sum) + low;
  let product = sum * 1.44269502f; // 1 / ln 2 = 1.44269502 + 1.92596299e-8
  let product_low = kc_lost(sum, 1.44269502f, product) + (sum * 1.92596299e-8f + sum_low * 1.44269502f);
  let total = e + product;
  return vec2<f32>(total, select((product - total) + e, (e - total) + product, e != 0.0f) + product_low);
}

fn kc_log10(x: f32) -> f32 { return kc_log_of(x, 0.434294482f, 0.301025391f, 4.60503898e-6f); } // 3 ulp

fn kc_log1p(x: f32) -> f32 { // 2 ulp
  if (kc_abs(x) < 1e-7f || kc_isnan(x)) { return x; }
  let u = 1.0f + x;
  if (u <= 0.0f || kc_isinf(u)) { return kc_log(u); }
  let lost = select(1.0f - (u - x), x - (u - 1.0f), kc_abs(x) < 1.0f);
  return kc_log(u) + lost / u;
}

fn kc_pow(x: f32, y: f32) -> f32 { // 4 ulp
  if (y == 0.0f || x == 1.0f) { return 1.0f; }
  if (kc_isnan(x) || kc_isnan(y)) { return kc_nan(); }
  let a = kc_abs(x);
  let whole = kc_isinf(y) || trunc(y) == y;
  let odd = whole && kc_abs(y) < 16777216.0f && (i32(y) & 1) != 0;
  let negative = kc_signbit(x) && odd;
  var value: f32;
  if (a == 1.0f) {
    value = 1.0f;
  } else if (kc_isinf(y) || a == 0.0f || kc_isinf(a)) {
    value = select(0.0f, kc_inf(), (a > 1.0f) == (y > 0.0f));
  } else {
    let parts = kc_log2_parts(a);
    let high = y * parts.x;
    if (high > 130.0f) {
      value = kc_inf();
    } else if (high < -155.0f) {
      value = 0.0f;
    } else {
      let low = kc_lost(y, parts.x, high) + y * parts.y;
      let n = round(high);
      let r = ((high - n) + low) * 0.69314718f;
      value = kc_scale(1.0f + (r + kc_expm1_tail(r)), i32(n));
    }
  }
  if (x < 0.0f && !whole) { return kc_nan(); }
  return select(value, kc_neg(value), negative);
}

fn kc_cbrt(x: f32) -> f32 { // 2 ulp
  if (!kc_isfinite(x) || x == 0.0f) { return x; }
  let small = kc_abs(x) < 1e-30f;
  let a = kc_abs(select(x, x * 16777216.0f, small));
  var y = bitcast<f32>(bitcast<u32>(a) / 3u + 709921077u); // the exponent by three, 5 % off
  for (var k = 0; k < 3; k++) { y = y - (y - a / (y * y)) * 0.33333334f; }
  return kc_copysign(select(y, y * 0.00390625f, small), x);
}

fn kc_hypot(x: f32, y: f32) -> f32 { // 4 ulp
  if (kc_isinf(x) || kc_isinf(y)) { return kc_inf(); }
  if (kc_isnan(x) || kc_isnan(y)) { return kc_nan(); }
  let large = max(kc_abs(x), kc_abs(y));
  if (large == 0.0f) { return 0.0f; }
  let r = min(kc_abs(x), kc_abs(y)) / large;
  return large * kc_sqrt(1.0f + r * r);
}

fn kc_sin_of(r: f32) -> f32 { // |r| <= pi / 4
  let z = r * r;
  return r + r * z * (-0.16666667f + z * (0.008333332f + z * (-0.00019840083f + z * 2.7249391e-6f)));
}

fn kc_cos_of(r: f32) -> f32 {
  let z = r * r;
  return (1.0f - 0.5f * z) + z * z * (0.041666668f + z * (-0.0013888888f + z * (2.4800689e-5f + z * -2.730921e-7f)));
}

fn kc_high_product(a: u32, b: u32) -> u32 { // the upper word of a * b
  let p = (a & 0xffffu) * (b & 0xffffu);
  let q = (a >> 16u) * (b & 0xffffu) + (p >> 16u);
  let r = (a & 0xffffu) * (b >> 16u) + (q & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (q >> 16u) + (r >> 16u);
}

fn kc_quarters(x: f32) -> vec2<f32> { // (r, k): x = r + k pi / 2, |r| <= pi / 4, k modulo 4
  let a = kc_abs(x);
  if (a < 65536.0f) { // pi / 2 in four parts of 8 bits, so that the products with k are exact
    let k = round(x * 0.636619772f);
    let r = ((x - k * 1.5703125f) - k * 0.000482559204f) - k * 1.2665987e-6f;
    return vec2<f32>(r - k * 9.92093580e-10f, f32(i32(k) & 3));
  }
  // The bits of 2 / pi that matter for this exponent, times the significand (M. Payne, R. Hanek, 1983).
  var bits = array<u32, 10>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
                            0xdebbc561u, 0xb7246e3au);
  let at = (bitcast<u32>(a) >> 23u) - 120u; // the first bit whose product is no multiple of 4
  let m = (bitcast<u32>(a) & 0x7fffffu) | 0x800000u;
  let shift = at & 31u;
  var window = array<u32, 3>(0u, 0u, 0u);
  for (var k = 0u; k < 3u; k++) {
    let left = bits[(at >> 5u) + k];
    let right = bits[(at >> 5u) + k + 1u];
    window[k] = select((left << shift) | (right >> (32u - max(shift, 1u))), left, shift == 0u);
  }
  let low = kc_high_product(m, window[2]);
  let middle = m * window[1] + low;
  let carry = kc_high_product(m, window[1]) + select(0u, 1u, middle < low);
  let high = m * window[0] + carry; // high : middle is x * 2 / pi modulo 4, its two upper bits the whole part
  let rounded = high + 0x20000000u;
  let k = rounded >> 30u;
  let rest = high - (k << 30u); // signed, in units of 2^-30
  let negative = (rest >> 31u) != 0u;
  let up = select(rest, ~rest, negative);
  let down = select(middle, ~middle, negative);
  let r = (f32(up) * 9.31322575e-10f + f32(down) * 2.16840434e-19f) * 1.57079633f;
  let s = negative != kc_signbit(x);
  return vec2<f32>(select(r, -r, s), f32(select(k, (4u - k) & 3u, kc_signbit(x)) & 3u));
}

fn kc_sin(x: f32) -> f32 { // 2 ulp
  if (!kc_isfinite(x)) { return kc_nan(); }
  if (kc_abs(x) < 1e-4f) { return x; }
  let q = kc_quarters(x);
  let k = i32(q.y);
  let value = select(kc_sin_of(q.x), kc_cos_of(q.x), (k & 1) != 0);
  return select(value, -value, (k & 2) != 0);
}

fn kc_cos(x: f32) -> f32 { // 2 ulp
  if (!kc_isfinite(x)) { return kc_nan(); }
  let q = kc_quarters(x);
  let k = i32(q.y);
  let value = select(kc_cos_of(q.x), kc_sin_of(q.x), (k & 1) != 0);
  return select(value, -value, ((k + 1) & 2) != 0);
}

fn kc_tan(x: f32) -> f32 { // 4 ulp
  if (!kc_isfinite(x)) { return kc_nan(); }
  if (kc_abs(x) < 1e-4f) { return x; }
  let q = kc_quarters(x);
  let s = kc_sin_of(q.x);
  let c = kc_cos_of(q.x);
  return select(s / c, -(c / s), (i32(q.y) & 1) != 0);
}

fn kc_asin_of(a: f32) -> f32 { // |a| <= 1 / 2
  let z = a * a;
  let p = 0.04459618f + z * (0.031137573f + z * (0.016976982f + z * 0.033971902f));
  return a + a * z * (0.16666666f + z * (0.075001046f + z * p));
}

fn kc_asin(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (!(a <= 1.0f)) { return kc_nan(); }
  if (a <= 0.5f) { return select(kc_asin_of(x), x, a < 1e-4f); }
  return kc_copysign(1.57079637f - (2.0f * kc_asin_of(kc_sqrt(0.5f * (1.0f - a))) + 4.37113883e-8f), x);
}

fn kc_acos(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (!(a <= 1.0f)) { return kc_nan(); }
  if (a <= 0.5f) { return 1.57079637f - (kc_asin_of(x) + 4.37113883e-8f); }
  let half = 2.0f * kc_asin_of(kc_sqrt(0.5f * (1.0f - a)));
  return select(half, 3.14159274f - (half + 8.74227766e-8f), x < 0.0f);
}

fn kc_atan_of(a: f32) -> f32 { // |a| <= tan(pi / 8)
  let z = a * a;
  return a + a * z * (-0.3333333f + z * (0.19999558f + z * (-0.14264451f + z * (0.10748239f + z * -0.06464763f))));
}

fn kc_atan(x: f32) -> f32 { // 3 ulp
  let a = kc_abs(x);
  if (kc_isnan(x) || a < 1e-4f) { return x; }
  if (a > 2.41421356f) { return kc_copysign(1.57079637f + (kc_atan_of(-1.0f / a) - 4.37113883e-8f), x); }
  if (a > 0.414213562f) { return kc_copysign(0.785398185f + kc_atan_of((a - 1.0f) / (a + 1.0f)), x); }
  return kc_atan_of(x);
}

fn kc_atan2(y: f32, x: f32) -> f32 { // 5 ulp
  if (kc_isnan(x) || kc_isnan(y)) { return kc_nan(); }
  let a = kc_abs(x);
  let b = kc_abs(y);
  var angle: f32;
  if (kc_isinf(x) && kc_isinf(y)) {
    angle = 0.785398163f;
  } else if (a >= b) {
    angle = select(kc_atan(b / a), 0.0f, b == 0.0f);
  } else {
    angle = 1.57079637f - (kc_atan(a / b) + 4.37113883e-8f);
  }
  if (kc_signbit(x)) { angle = 3.14159274f - (angle + 8.74227766e-8f); }
  return kc_copysign(angle, y);
}

fn kc_asinh(x: f32) -> f32 { // 4 ulp
  let a = kc_abs(x);
  if (!kc_isfinite(x) || a < 1e-4f) { return x; }
  if (a > 1e4f) { return kc_copysign(kc_log(a) + 0.693147181f, x); }
  let z = a * a;
  return kc_copysign(kc_log1p(a + z / (1.0f + kc_sqrt(1.0f + z))), x);
}

fn kc_acosh(x: f32) -> f32 { // 4 ulp
  if (!(x >= 1.0f)) { return kc_nan(); }
  if (x > 1e4f) { return kc_log(x) + 0.693147181f; }
  let t = x - 1.0f;
  return kc_log1p(t + kc_sqrt(2.0f * t + t * t));
}

fn kc_atanh(x: f32) -> f32 { // 4 ulp
  let a = kc_abs(x);
  if (!(a <= 1.0f)) { return kc_nan(); }
  if (a < 1e-4f) { return x; }
  if (a == 1.0f) { return kc_copysign(kc_inf(), x); }
  return kc_copysign(0.5f * kc_log1p(2.0f * a / (1.0f - a)), x);
}

fn kc_erf(x: f32) -> f32 { // 4 ulp
  if (kc_isnan(x)) { return x; }
  let a = kc_abs(x);
  let z = x * x;
  if (a < 1.0f) {
    let p = -0.026865445f + z * (0.005221075f + z * (-0.0008484712f + z * (0.00011270546f + z * -9.68014e-6f)));
    return x * (1.1283792f + z * (-0.37612638f + z * (0.11283783f + z * p)));
  }
  if (a > 4.0f) { return kc_copysign(1.0f, x); }
  let p = 0.0262411f + a * (-0.004696803f + a * (0.00058351195f + a * (-4.4492957e-5f + a * 1.5585418e-6f)));
  let q = 0.0002689201f + a * (-1.1300291f + a * (0.36782962f + a * (-0.10975988f + a * p)));
  return kc_copysign(1.0f - kc_exp(q - z), x);
}

fn kc_fmod_f32(x: f32, y: f32) -> f32 { // exact: long division of the significands, a bit a step
  let a = kc_abs(x);
  let b = kc_abs(y);
  if (!kc_isfinite(x) || kc_isnan(y) || b == 0.0f) { return kc_nan(); }
  if (a < b) { return x; }
  let ea = max(i32(bitcast<u32>(a) >> 23u), 1);
  let eb = max(i32(bitcast<u32>(b) >> 23u), 1);
  var m = (bitcast<u32>(a) & 0x7fffffu) | select(0u, 0x800000u, bitcast<u32>(a) >= 0x800000u);
  let n = (bitcast<u32>(b) & 0x7fffffu) | select(0u, 0x800000u, bitcast<u32>(b) >= 0x800000u);
  m = m % n;
  for (var k = eb; k < ea; k++) { m = (m << 1u) % n; }
  if (m == 0u) { return kc_copysign(0.0f, x); }
  let up = min(countLeadingZeros(m) - 8u, u32(eb - 1)); // normal again where the exponent allows it
  m = m << up;
  let e = select(0u, u32(eb) - up, m >= 0x800000u);
  return kc_copysign(bitcast<f32>((m & 0x7fffffu) | (e << 23u)), x);
}

fn kc_mod_f32(a: f32, b: f32) -> f32 {
  let r = kc_fmod_f32(a, b);
  if (r == 0.0f) { return kc_copysign(0.0f, b); }
  return select(r, r + b, (r < 0.0f) != (b < 0.0f) && !kc_isnan(r));
}

fn kc_floordiv_f32(a: f32, b: f32) -> f32 {
  if (b == 0.0f) { return a / b; }
  let r = kc_fmod_f32(a, b);
  var q = (a - r) / b;
  if (r != 0.0f && (b < 0.0f) != (r < 0.0f)) { q = q - 1.0f; }
  if (kc_isnan(q)) { return q; }
  if (q == 0.0f) { return kc_copysign(0.0f, a / b); }
  let n = floor(q);
  return select(n, n + 1.0f, q - n > 0.5f);
}

fn kc_f32_to_i32(a: f32) -> i32 { // cut off, saturated, 0 for NaN
  if (kc_isnan(a)) { return 0; }
  if (a >= 2147483648.0f) { return 2147483647; }
  return select(i32(a), i32(-2147483648), a <= -2147483648.0f);
}

fn kc_f32_to_u32(a: f32) -> u32 {
  if (kc_isnan(a) || a <= 0.0f) { return 0u; }
  if (a >= 4294967296.0f) { return 4294967295u; }
  return u32(a);
}

fn kc_f16_to_f32(h: u32) -> f32 { // binary16 by its bits; subnormals are whole multiples of 2^-24
  let e = (h >> 10u) & 31u;
  let m = h & 1023u;
  var bits = ((e + 112u) << 23u) | (m << 13u);
  if (e == 0u) { bits = bitcast<u32>(f32(m) * 5.96046448e-8f); }
  if (e == 31u) { bits = 0x7f800000u | (m << 13u); }
  return bitcast<f32>(bits | ((h & 0x8000u) << 16u));
}

fn kc_f32_to_f16(a: f32) -> u32 { // to nearest even
  let bits = bitcast<u32>(a);
  let sign = (bits >> 16u) & 0x8000u;
  let x = bits & 0x7fffffffu;
  if (x > 0x7f800000u) { return sign | 0x7e00u; }
  if (x >= 0x477ff000u) { return sign | 0x7c00u; }
  if (x >= 0x38800000u) { return sign | ((x - 0x38000000u + 0xfffu + ((x >> 13u) & 1u)) >> 13u); }
  if (x < 0x33000000u) { return sign; }
  let m = (x & 0x7fffffu) | 0x800000u;
  let down = 126u - (x >> 23u); // 14 .. 24 bits go
  let half = 1u << (down - 1u);
  return sign | ((m + half - 1u + ((m >> down) & 1u)) >> down);
}

fn kc_bf16_to_f32(h: u32) -> f32 { return bitcast<f32>(h << 16u); }

fn kc_f32_to_bf16(a: f32) -> u32 {
  let bits = bitcast<u32>(a);
  if (kc_isnan(a)) { return (bits >> 16u) | 0x40u; }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn kc_round_f16(a: f32) -> f32 { return kc_f16_to_f32(kc_f32_to_f16(a)); }

fn kc_round_bf16(a: f32) -> f32 { return kc_bf16_to_f32(kc_f32_to_bf16(a)); }

fn kc_floordiv_i32(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  if (b == -1) { return -a; }
  let q = a / b;
  return q - select(0, 1, a % b != 0 && (a < 0) != (b < 0));
}

fn kc_mod_i32(a: i32, b: i32) -> i32 {
  if (b == 0 || b == -1) { return 0; }
  let r = a % b;
  return select(r, r + b, r != 0 && (r < 0) != (b < 0));
}

fn kc_fmod_i32(a: i32, b: i32) -> i32 {
  if (b == 0 || b == -1) { return 0; }
  return a % b;
}

fn kc_floordiv_u32(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a / b;
}

fn kc_mod_u32(a: u32, b: u32) -> u32 {
  if (b == 0u) { return 0u; }
  return a % b;
}

fn kc_shl_i32(a: i32, b: i32) -> i32 { return select(a << (u32(b) & 31u), 0, u32(b) > 31u); }

fn kc_shl_u32(a: u32, b: u32) -> u32 { return select(a << (b & 31u), 0u, b > 31u); }

fn kc_shr_i32(a: i32, b: i32) -> i32 { return a >> min(u32(b), 31u); }

fn kc_shr_u32(a: u32, b: u32) -> u32 { return select(a >> (b & 31u), 0u, b > 31u); }

fn kc_pow_i32(a: i32, b: i32) -> i32 { // by squaring; a negative exponent leaves 0 unless the base is 1 or -1
  if (b < 0) { return select(select(0, select(1, -1, (b & 1) != 0), a == -1), 1, a == 1); }
  return bitcast<i32>(kc_pow_u32(bitcast<u32>(a), u32(b)));
}

fn kc_pow_u32(a: u32, b: u32) -> u32 {
  var x = a;
  var y = 1u;
  for (var n = b; n > 0u; n = n >> 1u) {
    if ((n & 1u) != 0u) { y = y * x; }
    x = x * x;
  }
  return y;
}
