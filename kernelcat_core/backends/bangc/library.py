"""BANG C functions of our own that kernels call: composed of the guide's instructions, named in the instruction table."""

from __future__ import annotations

_COPIES = {
    # One transfer where the strides can say it, else one a row; strides are in bytes between the starts of rows.
    "CopyRowsIn": """template <typename T>
__mlu_func__ void CopyRowsIn(T *to, const T *from, int64_t rows, int64_t length, int64_t stride, int64_t pitch) {
    const int64_t size = sizeof(T);
    if (rows == 1) {
        __memcpy_async(to, from, length * size, GDRAM2NRAM);
    } else if (stride >= 0 && stride * size < 2147483648 && rows <= 65536) {
        __memcpy_async(to, from, length * size, GDRAM2NRAM, pitch * size, stride * size, rows - 1);
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            __memcpy_async(to + r * pitch, from + r * stride, length * size, GDRAM2NRAM);
        }
    }
}""",
    "CopyRowsOut": """template <typename T>
__mlu_func__ void CopyRowsOut(T *to, const T *from, int64_t rows, int64_t length, int64_t stride, int64_t pitch) {
    const int64_t size = sizeof(T);
    if (rows == 1) {
        __memcpy_async(to, from, length * size, NRAM2GDRAM);
    } else if (stride >= length && stride * size < 4294967296 && rows <= 65536) {
        __memcpy_async(to, from, length * size, NRAM2GDRAM, stride * size, pitch * size, rows - 1);
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            __memcpy_async(to + r * stride, from + r * pitch, length * size, NRAM2GDRAM);
        }
    }
}""",
    # The slots of a buffer change places.
    "Turn": """template <typename T>
__mlu_func__ void Turn(T *&now, T *&other) {
    T *const held = now;
    now = other;
    other = held;
}""",
    "Load64": """__mlu_func__ uint64_t Load64(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }""",
}

_ARITHMETIC = {
    # n is the nearest whole number to x / ln 2, within the exponents of f32; f what is left of x, which a ln 2 in two parts
    # keeps exact (W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980).
    "Exp": """__mlu_func__ void Exp(float *to, const float *from, uint8_t *scratch, int64_t count) {
    float *product = (float *)scratch, *whole = product + count, *left = whole + count;
    __bang_mul_scalar(product, from, 1.44269504f, count);
    __bang_nearbyint(whole, product, count);
    __bang_mineq_scalar(whole, whole, 127.0f, count);
    __bang_maxeq_scalar(whole, whole, -126.0f, count);
    __bang_mul_scalar(product, whole, 0.693359375f, count);
    __bang_sub(left, from, product, count);
    __bang_mul_scalar(product, whole, -2.12194440e-4f, count);
    __bang_sub(left, left, product, count);
    __bang_mul_scalar(left, left, 1.44269504f, count);
    __bang_pow2(left, left, count);
    __bang_pow2(whole, whole, count);
    __bang_mul(to, left, whole, count);
}""",
    "Log": """__mlu_func__ void Log(float *to, const float *from, int64_t count) {
    __bang_log(to, from, count);
    __bang_mul_scalar(to, to, 0.693147181f, count);
}""",
    "Log10": """__mlu_func__ void Log10(float *to, const float *from, int64_t count) {
    __bang_log(to, from, count);
    __bang_mul_scalar(to, to, 0.301029996f, count);
}""",
    "Div": """__mlu_func__ void Div(float *to, const float *a, const float *b, uint8_t *scratch, int64_t count) {
    float *inverse = (float *)scratch;
    __bang_recip(inverse, b, count);
    __bang_mul(to, a, inverse, count);
}""",
}

# The second factor goes to WRAM by columns, in the order that __bang_reshape_filter gives it. What lies beyond the extents of
# the factors becomes 0. Elements are moved as words W of their size.
_PRODUCT = """template <typename T, typename W>
__mlu_func__ void Product(float *c, T *a, T *b, uint8_t *scratch, T *filter, int64_t m, int64_t k, int64_t n, int64_t depth,
                          int64_t width) {
    const int64_t size = sizeof(T);
    W *columns = (W *)scratch, *shaped = columns + depth * width;
    float *part = (float *)(shaped + depth * width);
    if (k < depth) {
        for (int64_t r = 0; r < m; ++r) __bang_write_value((W *)a + r * depth + k, depth - k, (W)0);
        __bang_write_value((W *)b + k * width, (depth - k) * width, (W)0);
    }
    if (n < width) {
        for (int64_t r = 0; r < k; ++r) __bang_write_value((W *)b + r * width + n, width - n, (W)0);
    }
    __bang_transpose(columns, (const W *)b, depth, width);
    __bang_reshape_filter(shaped, columns, width, 1, 1, depth);
    __sync_compute();
    __memcpy_async(filter, shaped, depth * width * size, NRAM2WRAM);
    __sync_move();
    __bang_matmul(part, a, filter, m, depth, width);
    if (n == width) {
        __bang_add(c, c, part, m * width);
    } else {
        for (int64_t r = 0; r < m; ++r) __bang_add(c + r * width, c + r * width, part + r * width, n);
    }
}"""

# Where b is NaN every bit of the result is set: maxequal and minequal give a, which may be a number.
_EXTREME = """__mlu_func__ void @Max@(float *to, const float *a, const float *b, uint8_t *scratch, int64_t count) {
    float *found = (float *)scratch, *same = found + count;
    int32_t *lost = (int32_t *)same;
    __bang_@max@equal(found, a, b, count);
    __bang_eq(same, b, b, count);
    __bang_eq_scalar(lost, lost, 0, count);
    __bang_mul_scalar(lost, lost, -1, count);
    __bang_bor((char *)to, (char *)found, (char *)lost, count * 4);
}"""

# Halves are added until 128 B are left: the sum of a tile is a tree, so its error grows with the logarithm.
_SUM_OLD = """__mlu_func__ void ReduceSum(float *to, const float *from, float *work, int64_t count) {
    int64_t groups = (count + 31) / 32;
    if (count % 32 != 0) __bang_write_value(work + count, groups * 32 - count, 0.0f);
    __bang_move(work, from, count * 4);
    while (groups > 1) {
        const int64_t half_ = groups / 2;
        __bang_add(work, work, work + (groups - half_) * 32, half_ * 32);
        groups -= half_;
    }
    __bang_reduce_sum(to, work, 32);
}"""
_SUM_NEW = """__mlu_func__ void ReduceSum(float *to, const float *from, float *work, int64_t count) {
    (void)work;
    __bang_write_value(to, 1, __bang_sum(from, count));
}"""

# __bang_argmax skips NaN: count what equals itself first.
_FOLD_OLD = """__mlu_func__ void Reduce@Max@(float *to, const float *from, float *work, int64_t count) {
    __bang_eq(work, from, from, count);
    if (__bang_count(work, count) < (uint32_t)count) {
        __bang_write_value(to, 1, kc_nan());
    } else {
        __bang_arg@max@(to, from, count);
    }
}"""
_FOLD_NEW = """__mlu_func__ void Reduce@Max@(float *to, const float *from, float *work, int64_t count) {
    (void)work;
    __bang_nan_arg@max@(to, from, count);
}"""


def functions(arch: int) -> dict[str, str]:
    """Name -> text for an architecture, by __BANG_ARCH__."""
    new = arch >= 520
    named = {"Max": "max", "Min": "min"}
    found = {**_COPIES, **_ARITHMETIC, "Product": _PRODUCT, "ReduceSum": _SUM_NEW if new else _SUM_OLD}
    for long, short in named.items():
        found[long] = _EXTREME.replace("@Max@", long).replace("@max@", short)
        found[f"Reduce{long}"] = (_FOLD_NEW if new else _FOLD_OLD).replace("@Max@", long).replace("@max@", short)
    return found


# Functions of the shared C table that these call.
CALLS = {"ReduceMax": ("kc_nan",), "ReduceMin": ("kc_nan",)}
