"""The hardware mapping layer for MLU cores: tile operations and their instructions, by architecture.

Sources: "GUIDE" is the Cambricon BANG C developer guide (4.7, built-in functions), "TABLES" its appendix on special values,
"PROGRAMMING" the programming guide. "OWN" marks functions of `library.py`, written with the guide's instructions. Rows that
are not `confirmed` have a case that the guide leaves open (named in `meaning`).
"""

from __future__ import annotations

from functools import cache

from kernelcat_core.codegen.dma_table import Instruction, Table

_INTEGERS = ("i32", "i16", "u32", "u16")
_WRAPS = "wraps around"


def _floats(arch: int) -> list[Instruction]:
    rows = [
        Instruction(op, "f32", "unary", f"__bang_{name}", source="GUIDE")
        for op, name in {"abs": "abs", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos"}.items()
    ]
    rows += [
        Instruction("exp2", "f32", "unary", "__bang_pow2", source="GUIDE"),
        Instruction("log2", "f32", "unary", "__bang_log", source="GUIDE", meaning="the binary logarithm"),
    ]
    rows += [
        Instruction(op, "f32", "unary", f"__bang_{name}", source="GUIDE", apart=True)
        for op, name in {"floor": "floor", "rint": "nearbyint", "round_half_away": "round"}.items()
    ]
    rows += [
        Instruction("log", "f32", "unary", "Log", source="OWN", meaning="the binary logarithm times ln 2"),
        Instruction("log10", "f32", "unary", "Log10", source="OWN", meaning="the binary logarithm times log10 2"),
        Instruction("exp", "f32", "library", "Exp", source="OWN", meaning="2^n 2^f with n whole and f small"),
        Instruction("div", "f32", "library2", "Div", source="OWN", meaning="times the reciprocal; __bang_div forbids 0"),
    ]
    for op in ("add", "sub", "mul"):
        rows.append(Instruction(op, "f32", "binary", f"__bang_{op}", source="GUIDE"))
    for op in ("add", "mul"):
        rows.append(Instruction(op, "f32", "scalar", f"__bang_{op}_scalar", source="GUIDE"))
    return rows + _extremes(arch) + _reductions(arch)


def _extremes(arch: int) -> list[Instruction]:
    """min and max that give NaN for NaN: one instruction from 520 on, a function below."""
    rows: list[Instruction] = []
    for op, long in {"min": "minimum", "max": "maximum"}.items():
        if arch >= 520:
            rows.append(Instruction(op, "f32", "binary", f"__bang_nan_{long}", source="GUIDE"))
            rows.append(Instruction(op, "f32", "scalar", f"__bang_nan_{long}_scalar", source="GUIDE"))
            continue
        rows.append(Instruction(op, "f32", "library2", op.capitalize(), source="OWN", meaning="NaN if either is"))
        rows.append(
            Instruction(op, "f32", "scalar", f"__bang_{op}eq_scalar", source="GUIDE", constants=True,
                        meaning="a NaN in the vector stays; one in the scalar would be lost")
        )
    return rows


def _reductions(arch: int) -> list[Instruction]:
    how = "__bang_sum" if arch >= 520 else "halves added, then 128 B by __bang_reduce_sum"
    nan = "__bang_nan_arg*" if arch >= 520 else "__bang_arg* skips NaN, so NaN are counted first"
    rows = [Instruction("sum", "f32", "reduce", "ReduceSum", source="OWN", meaning=how)]
    rows += [Instruction(op, "f32", "reduce", f"Reduce{op.capitalize()}", source="OWN", meaning=nan) for op in ("max", "min")]
    return rows


def _comparisons(arch: int) -> list[Instruction]:
    meaning = "1 or 0 in the type of the operands"
    rows = [
        Instruction(op, dtype, "compare", f"__bang_{op}", source="GUIDE", meaning=meaning)
        for dtype in ("f32", *_INTEGERS)
        for op in ("lt", "le", "gt", "ge", "eq")
    ]
    rows += [Instruction("ne", dtype, "compare", "__bang_ne", source="GUIDE", meaning=meaning) for dtype in _INTEGERS]
    if arch >= 520:
        rows.append(
            Instruction("ne", "f32", "compare", "__bang_neu", source="GUIDE", confirmed=False,
                        meaning="not equal or unordered; below 520 __bang_ne gives 0 for NaN (TABLES)")
        )
    rows += [
        Instruction(op, "f32", "logic", f"__bang_{op}", source="GUIDE", meaning="of numbers: not 0 is true")
        for op in ("and", "or", "xor", "not")
    ]
    rows += [
        Instruction(f"{op}_bits", "i32", "bits", f"__bang_b{op}", source="GUIDE", meaning="byte by byte")
        for op in ("and", "or", "xor")
    ]
    return rows


def _integers() -> list[Instruction]:
    rows: list[Instruction] = []
    for dtype in _INTEGERS:
        for op in ("add", "sub", "mul"):
            rows.append(Instruction(op, dtype, "binary", f"__bang_{op}", source="GUIDE", meaning=_WRAPS, confirmed=False))
        for op in ("add", "mul"):
            rows.append(
                Instruction(op, dtype, "scalar", f"__bang_{op}_scalar", source="GUIDE", meaning=_WRAPS, confirmed=False)
            )
        for op in ("min", "max"):
            rows.append(Instruction(op, dtype, "binary", f"__bang_{op}equal", source="GUIDE"))
            rows.append(Instruction(op, dtype, "scalar", f"__bang_{op}eq_scalar", source="GUIDE"))
    rows.append(Instruction("abs", "i32", "unary", "__bang_abs", source="GUIDE"))
    return rows


# source, result, function, how it is called: plainly, with one position of the binary point, or with two.
_CASTS = (
    ("f16", "f32", "__bang_half2float", ""),
    ("f32", "f16", "__bang_float2half_rn", ""),
    ("bf16", "f32", "__bang_bfloat162float", ""),
    ("f32", "bf16", "__bang_float2bfloat16_rn", ""),
    ("f32", "i32", "__bang_float2int32_tz", "0"),
    ("i32", "f32", "__bang_int322float_rn", "0"),
    ("f32", "i16", "__bang_float2int16_tz", "0"),
    ("i16", "f32", "__bang_int162float", "0"),
    ("u16", "f32", "__bang_uint162float", "0"),
    ("u8", "f32", "__bang_uchar2float", ""),
    ("f32", "u8", "__bang_float2uchar_tz", ""),
    ("i8", "f32", "__bang_int82float", "0"),
    ("f32", "i8", "__bang_float2int8_tz", "0"),
    ("i8", "i32", "__bang_int82int32", "0, 0"),
    ("i16", "i32", "__bang_int162int32", "0, 0"),
)
# The scalar unit: arithmetic, and the single-precision functions of the programming guide's list.
_SCALAR = frozenset(
    [
        "add", "sub", "mul", "div", "neg", "abs", "sign", "min", "max", "fmin", "fmax", "lt", "le", "gt", "ge", "eq", "ne",
        "and", "or", "xor", "not", "where", "cast", "isnan", "isinf", "isfinite", "exp", "exp2", "expm1", "log", "log2",
        "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
        "atanh", "floor", "ceil", "trunc", "round_half_away", "pow", "fmod", "mod", "floordiv", "atan2", "copysign", "signbit",
    ]
)


@cache
def table(arch: int) -> Table:
    """The instructions of an architecture, by __BANG_ARCH__."""
    casts = [
        Instruction("cast", source, "cast", name, mode, to, source="GUIDE", confirmed=to not in ("i32", "i16", "i8", "u8"),
                    meaning="a NaN saturates below 520, and gives 0 from there (TABLES)" if to[0] in "iu" else "")
        for source, to, name, mode in _CASTS
    ]
    renewals = [
        Instruction("add", dtype, "renew", "__bang_atomic_reduce_add", source="GUIDE")
        for dtype in ("f32", "f16", "i32", "u32", "i16", "u16")
    ]
    renewals += [
        Instruction(op, dtype, "renew", f"__bang_atomic_reduce_{op}", source="GUIDE")
        for op in ("min", "max")
        for dtype in ("i32", "u32", "i16", "u16")
    ]
    products = [
        Instruction("mma", dtype, "matrix", "Product", source="OWN", confirmed=dtype != "f32",
                    meaning="__bang_matmul with the second factor in WRAM; how exact its f32 products are is not said")
        for dtype in ("f32", "f16", "bf16")
    ]
    rows = [*products, *_floats(arch), *_comparisons(arch), *_integers(), *casts, *renewals]
    return Table(
        tuple(rows),
        _SCALAR,
        masks="numbers",
        fills=frozenset(("f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "bool")),
        moves=frozenset((1, 2, 4, 8)),
        selects=frozenset(("f32", "i32", "u32", "f16", "bf16", "i16", "u16")),
        scalar_stores=True,
        scratch=(0, 12),
        whole_work=True,
        nan_saturates=arch < 520,
        matrix_columns=64,
    )
