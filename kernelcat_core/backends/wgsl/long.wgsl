// 64-bit integers as vec2<u32>, the lower word first; WGSL has none. Signed ones are in two's complement. Exact throughout.

fn kc_i32_to_i64(a: i32) -> vec2<u32> { return vec2<u32>(bitcast<u32>(a), bitcast<u32>(a >> 31u)); }

fn kc_u32_to_i64(a: u32) -> vec2<u32> { return vec2<u32>(a, 0u); }

fn kc_add_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn kc_neg_64(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(~a.x + 1u, ~a.y + select(0u, 1u, a.x == 0u));
}

fn kc_sub_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn kc_mul_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x * b.x, kc_high_product(a.x, b.x) + a.x * b.y + a.y * b.x);
}

fn kc_eq_64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.x == b.x && a.y == b.y; }

fn kc_lt_u64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn kc_lt_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
  let x = bitcast<i32>(a.y);
  let y = bitcast<i32>(b.y);
  return x < y || (x == y && a.x < b.x);
}

fn kc_min_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, kc_lt_i64(a, b)); }

fn kc_max_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, kc_lt_i64(a, b)); }

fn kc_min_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(b, a, kc_lt_u64(a, b)); }

fn kc_max_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, kc_lt_u64(a, b)); }

fn kc_abs_i64(a: vec2<u32>) -> vec2<u32> { return select(a, kc_neg_64(a), (a.y >> 31u) != 0u); }

fn kc_sign_i64(a: vec2<u32>) -> vec2<u32> {
  if ((a.y >> 31u) != 0u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return kc_sign_u64(a);
}

fn kc_sign_u64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(select(1u, 0u, a.x == 0u && a.y == 0u), 0u); }

fn kc_shl_64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let n = b.x;
  if (b.y != 0u || n > 63u) { return vec2<u32>(0u, 0u); }
  if (n == 0u) { return a; }
  if (n > 31u) { return vec2<u32>(0u, a.x << (n & 31u)); }
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

fn kc_shr_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let n = b.x;
  if (b.y != 0u || n > 63u) { return vec2<u32>(0u, 0u); }
  if (n == 0u) { return a; }
  if (n > 31u) { return vec2<u32>(a.y >> (n & 31u), 0u); }
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

fn kc_shr_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if ((a.y >> 31u) == 0u) { return kc_shr_u64(a, b); }
  return ~kc_shr_u64(~a, b);
}

fn kc_divide_64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> { // (quotient, remainder) of unsigned numbers, bit by bit; b is not 0
  if (a.y == 0u && b.y == 0u) { return vec4<u32>(a.x / max(b.x, 1u), 0u, a.x % max(b.x, 1u), 0u); }
  var q = vec2<u32>(0u, 0u);
  var r = vec2<u32>(0u, 0u);
  for (var k = 0u; k < 64u; k++) {
    let bit = select((a.x >> (63u - max(k, 32u))) & 1u, (a.y >> (31u - min(k, 31u))) & 1u, k < 32u);
    let out = r.y >> 31u;
    r = vec2<u32>((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));
    q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
    if (out != 0u || !kc_lt_u64(r, b)) {
      r = kc_sub_64(r, b);
      q.x = q.x | 1u;
    }
  }
  return vec4<u32>(q, r);
}

fn kc_floordiv_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.x == 0u && b.y == 0u) { return b; }
  return kc_divide_64(a, b).xy;
}

fn kc_mod_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.x == 0u && b.y == 0u) { return b; }
  return kc_divide_64(a, b).zw;
}

fn kc_fmod_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return kc_mod_u64(a, b); }

fn kc_fmod_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { // the sign of the dividend
  if (b.x == 0u && b.y == 0u) { return b; }
  let r = kc_divide_64(kc_abs_i64(a), kc_abs_i64(b)).zw;
  return select(r, kc_neg_64(r), (a.y >> 31u) != 0u);
}

fn kc_mod_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { // the sign of the divisor
  let r = kc_fmod_i64(a, b);
  let apart = (r.x != 0u || r.y != 0u) && (r.y >> 31u) != (b.y >> 31u);
  return select(r, kc_add_64(r, b), apart);
}

fn kc_floordiv_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.x == 0u && b.y == 0u) { return b; }
  let both = kc_divide_64(kc_abs_i64(a), kc_abs_i64(b));
  if ((a.y >> 31u) == (b.y >> 31u)) { return both.xy; }
  let down = select(0u, 1u, both.z != 0u || both.w != 0u);
  return kc_neg_64(kc_add_64(both.xy, vec2<u32>(down, 0u)));
}

fn kc_pow_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  var x = a;
  var y = vec2<u32>(1u, 0u);
  for (var n = b; n.x != 0u || n.y != 0u; n = vec2<u32>((n.x >> 1u) | (n.y << 31u), n.y >> 1u)) {
    if ((n.x & 1u) != 0u) { y = kc_mul_64(y, x); }
    x = kc_mul_64(x, x);
  }
  return y;
}

fn kc_pow_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { // a negative exponent leaves 0 unless the base is 1 or -1
  if ((b.y >> 31u) == 0u) { return kc_pow_u64(a, b); }
  let zero = vec2<u32>(0u, 0u);
  let one = vec2<u32>(1u, 0u);
  if (kc_eq_64(a, one)) { return one; }
  return select(zero, select(one, a, (b.x & 1u) != 0u), kc_eq_64(a, vec2<u32>(0xffffffffu, 0xffffffffu)));
}

fn kc_u64_to_f32(a: vec2<u32>) -> f32 { // rounded once, to nearest even
  if (a.y == 0u && a.x < 16777216u) { return f32(a.x); }
  let n = select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
  let top = kc_shl_64(a, vec2<u32>(n, 0u)); // bit 63 is set
  let m = top.y >> 8u;
  let rest = top.y & 255u;
  let up = rest > 128u || (rest == 128u && (top.x != 0u || (m & 1u) != 0u));
  return kc_scale(f32(m + select(0u, 1u, up)), 40 - i32(n));
}

fn kc_i64_to_f32(a: vec2<u32>) -> f32 {
  let value = kc_u64_to_f32(kc_abs_i64(a));
  return select(value, -value, (a.y >> 31u) != 0u);
}

fn kc_f32_to_u64(a: f32) -> vec2<u32> { // cut off, saturated, 0 for NaN
  if (kc_isnan(a) || a < 1.0f) { return vec2<u32>(0u, 0u); }
  if (a >= 18446744073709551616.0f) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  let bits = bitcast<u32>(a);
  let m = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
  let e = i32(bits >> 23u) - 150;
  if (e < 0) { return kc_shr_u64(m, vec2<u32>(u32(-e), 0u)); }
  return kc_shl_64(m, vec2<u32>(u32(e), 0u));
}

fn kc_f32_to_i64(a: f32) -> vec2<u32> {
  if (kc_isnan(a)) { return vec2<u32>(0u, 0u); }
  if (a >= 9223372036854775808.0f) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
  if (a <= -9223372036854775808.0f) { return vec2<u32>(0u, 0x80000000u); }
  let m = kc_f32_to_u64(abs(a));
  return select(m, kc_neg_64(m), a < 0.0f);
}
