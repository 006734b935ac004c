// Every broken rule of the functional model ends here: a Violation names the rule and the line of the kernel text.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include "half.h"

namespace twin {
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws a Violation "[rule] line N: text". `line` comes from __builtin_LINE() default arguments, so it is a line
/// of the kernel text; 0 means that the place is not known (operators cannot have default arguments).
[[noreturn]] inline void fail(const char *rule, int line, const std::string &text) {
    throw Violation("[" + std::string(rule) + "] line " + std::to_string(line) + ": " + text);
}

// ---- dtypes, as bits so that an instruction's legal set is one integer
enum : uint32_t { kHalf = 1, kFloat = 2, kBf16 = 4, kI8 = 8, kU8 = 16, kI16 = 32, kU16 = 64, kI32 = 128, kU32 = 256, kI64 = 512, kU64 = 1024, kF64 = 2048, kBool = 4096 };
template <class T> constexpr uint32_t dtype_bit() {
    if constexpr (std::is_same_v<T, half>) return kHalf;
    else if constexpr (std::is_same_v<T, float>) return kFloat;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return kBf16;
    else if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, char>) return kI8;
    else if constexpr (std::is_same_v<T, uint8_t>) return kU8;
    else if constexpr (std::is_same_v<T, int16_t>) return kI16;
    else if constexpr (std::is_same_v<T, uint16_t>) return kU16;
    else if constexpr (std::is_same_v<T, int32_t>) return kI32;
    else if constexpr (std::is_same_v<T, uint32_t>) return kU32;
    else if constexpr (std::is_same_v<T, double>) return kF64;
    else if constexpr (std::is_same_v<T, bool>) return kBool;
    else if constexpr (std::is_signed_v<T>) return kI64;
    else return kU64;
}
inline const char *dtype_name(uint32_t bit) {
    switch (bit) {
        case kHalf: return "half"; case kFloat: return "float"; case kBf16: return "bfloat16_t"; case kI8: return "int8_t";
        case kU8: return "uint8_t"; case kI16: return "int16_t"; case kU16: return "uint16_t"; case kI32: return "int32_t";
        case kU32: return "uint32_t"; case kI64: return "int64_t"; case kU64: return "uint64_t"; case kF64: return "double";
        default: return "bool";
    }
}
inline void need_dtype_bit(uint32_t bit, const char *op, uint32_t legal, int line) {
    if (!(bit & legal)) fail("dtype", line, std::string(op) + " has no " + dtype_name(bit) + " form on this core");
}
template <class T> void need_dtype(const char *op, uint32_t legal, int line) { need_dtype_bit(dtype_bit<T>(), op, legal, line); }
}  // namespace twin
