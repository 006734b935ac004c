"""The hardware mapping layer for Ascend vector cores (architecture 2201): tile operations and their instructions.

Sources: "API" is the Ascend C operator development interface reference (basic API, vector computation), "MATH" its math
library part. Rows that are not `confirmed` have a case that the reference leaves open (named in `meaning`).
"""

from __future__ import annotations

from kernelcat_core.codegen.dma_table import Instruction, Table

_NAN = "a NaN operand gives NaN (the reference does not say)"
_FLOATS = ("f32", "f16")


def _rows() -> tuple[Instruction, ...]:
    rows: list[Instruction] = []
    for dtype in _FLOATS:
        for op, name in {"exp": "Exp", "log": "Ln", "sqrt": "Sqrt", "abs": "Abs"}.items():
            rows.append(Instruction(op, dtype, "unary", name, source="API"))
        for op, name in {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}.items():
            rows.append(Instruction(op, dtype, "binary", name, source="API"))
        for op, name in {"min": "Min", "max": "Max"}.items():
            rows.append(Instruction(op, dtype, "binary", name, meaning=_NAN, source="API", confirmed=False))
        for op, name in {"add": "Adds", "mul": "Muls"}.items():
            rows.append(Instruction(op, dtype, "scalar", name, source="API"))
        for op, name in {"min": "Mins", "max": "Maxs"}.items():
            rows.append(Instruction(op, dtype, "scalar", name, meaning=_NAN, source="API", confirmed=False))
        for op in ("lt", "le", "gt", "ge", "eq", "ne"):
            rows.append(
                Instruction(
                    op,
                    dtype,
                    "compare",
                    op.upper(),
                    source="API",
                    meaning="one bit an element; count * size is a multiple of 256 B; NaN as in IEEE 754",
                    confirmed=False,
                )
            )
        for op, name in {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}.items():
            rows.append(
                Instruction(
                    op,
                    dtype,
                    "reduce",
                    name,
                    source="API",
                    confirmed=op == "sum",
                    meaning="a binary tree inside each 256 B, then over their results"
                    if op == "sum"
                    else _NAN,
                )
            )
    for op, name in {
        "sin": "Sin",
        "cos": "Cos",
        "tan": "Tan",
        "asin": "Asin",
        "acos": "Acos",
        "atan": "Atan",
        "sinh": "Sinh",
        "cosh": "Cosh",
        "tanh": "Tanh",
        "asinh": "Asinh",
        "acosh": "Acosh",
        "atanh": "Atanh",
        "erf": "Erf",
        "log2": "Log2",
        "log10": "Log10",
    }.items():
        rows.append(
            Instruction(
                op,
                "f32",
                "library",
                name,
                source="MATH",
                confirmed=False,
                apart=True,
                meaning="scratch of 2 KiB + 16 B an element is assumed to be enough",
            )
        )
    for op, name in {"pow": "Power", "fmod": "Fmod"}.items():
        rows.append(
            Instruction(
                op,
                "f32",
                "library2",
                name,
                source="MATH",
                confirmed=False,
                apart=True,
                meaning="scratch of 2 KiB + 16 B an element is assumed to be enough",
            )
        )
    for op, mode in {
        "floor": "FLOOR",
        "ceil": "CEIL",
        "trunc": "TRUNC",
        "rint": "RINT",
        "round_half_away": "ROUND",
    }.items():
        rows.append(
            Instruction(
                op,
                "f32",
                "unary",
                "Cast",
                mode=f"CAST_{mode}",
                source="API",
                meaning="float to float, rounded",
            )
        )
    for op, name in {"add": "Add", "sub": "Sub", "mul": "Mul", "min": "Min", "max": "Max"}.items():
        rows.append(Instruction(op, "i32", "binary", name, source="API", meaning="wraps around"))
        if name != "Sub":
            rows.append(Instruction(op, "i32", "scalar", name + "s", source="API", meaning="wraps around"))
    rows.append(
        Instruction("eq", "i32", "compare", "EQ", source="API", meaning="the only comparison of int32")
    )
    rows.append(Instruction("axpy", "f32", "fused", "Axpy", source="API", meaning="rounded after product and sum"))
    for source, to, mode in (
        ("f16", "f32", "NONE"),
        ("bf16", "f32", "NONE"),
        ("f32", "f16", "RINT"),
        ("f32", "bf16", "RINT"),
        ("f32", "i32", "TRUNC"),
        ("f32", "i64", "TRUNC"),
        ("i32", "f32", "RINT"),
        ("i64", "f32", "RINT"),
        ("i32", "i64", "NONE"),
        ("i16", "f32", "NONE"),
        ("u8", "f16", "NONE"),
        ("i8", "f16", "NONE"),
        ("f16", "u8", "TRUNC"),
        ("f16", "i8", "TRUNC"),
    ):
        rows.append(Instruction("cast", source, "cast", "Cast", mode=f"CAST_{mode}", to=to, source="API"))
    return tuple(rows)


# The scalar unit: integer arithmetic, and of floats what compiles to its instructions; no exponentials or roots.
_SCALAR = frozenset(
    [
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "abs",
        "sign",
        "min",
        "max",
        "fmin",
        "fmax",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "and",
        "or",
        "xor",
        "not",
        "where",
        "cast",
        "isnan",
        "isinf",
        "isfinite",
    ]
)

TABLE = Table(rows=_rows(), scalar_ops=_SCALAR)
