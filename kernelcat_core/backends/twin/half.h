// 16-bit floats of the functional model: storage plus exact conversions. Arithmetic happens in float and is
// rounded once, which equals native half arithmetic for + - * / and sqrt (24 >= 2 * 11 + 2 bits).
#pragma once
#include <cstdint>
#include <cstring>
namespace twin {
inline uint32_t float_bits(float x) { uint32_t u; std::memcpy(&u, &x, 4); return u; }
inline float bits_float(uint32_t u) { float x; std::memcpy(&x, &u, 4); return x; }

inline uint16_t half_from_float(float x) {
    uint32_t u = float_bits(x), sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
    if (mag > 0x7f800000u) return uint16_t(sign | 0x7e00u);              // NaN
    if (mag >= 0x477ff000u) return uint16_t(sign | 0x7c00u);             // rounds to infinity
    if (mag < 0x38800000u) {                                             // subnormal or zero: let the FPU round
        float scaled = bits_float(mag) + 0.5f;                           // ulp of 0.5 is 2^-24, half's smallest step
        return uint16_t(sign | (float_bits(scaled) - float_bits(0.5f)));
    }
    uint32_t odd = (mag >> 13) & 1u;
    return uint16_t(sign | ((mag - 0x38000000u + 0xfffu + odd) >> 13));
}
inline float half_to_float(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000u) << 16, mag = h & 0x7fffu;
    if (mag >= 0x7c00u) return bits_float(sign | 0x7f800000u | ((mag & 0x3ffu) << 13));
    if (mag >= 0x400u) return bits_float(sign | ((mag << 13) + 0x38000000u));
    float tiny = float(mag) * 5.9604644775390625e-8f;                    // mag * 2^-24
    return bits_float(sign | float_bits(tiny));
}
}  // namespace twin

struct half {
    uint16_t bits = 0;
    half() = default;
    half(float x) : bits(twin::half_from_float(x)) {}
    operator float() const { return twin::half_to_float(bits); }
};
struct bfloat16_t {
    uint16_t bits = 0;
    bfloat16_t() = default;
    bfloat16_t(float x) {
        uint32_t u = twin::float_bits(x);
        if ((u & 0x7fffffffu) > 0x7f800000u) { bits = uint16_t((u >> 16) | 0x40u); return; }
        bits = uint16_t((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
    }
    operator float() const { return twin::bits_float(uint32_t(bits) << 16); }
};
