"""The instruction table of a `dma` target: tile operations, the vector instructions that do them, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class Instruction:
    """`op` on operands of `dtype` is the vendor's `name` (with `mode`, a round mode say).

    `kind` says how it is called: "unary" (target, source), "binary" (target, a, b), "scalar" (target, source, scalar),
    "library" (a math-library call that wants scratch), "library2" (the same with two sources), "cast" (`to` is the
    result), "reduce" (a whole tile to one value), "compare", "logic" and "bits" (of masks and words), "renew" (an
    element of global memory, atomically), "fused" (target += source * scalar), or "matrix" (target += a b, whole tiles).
    `meaning` is in words where the name does not say it; `source` names the document; `confirmed` is False where the
    documentation leaves a case open. The result of one that is `apart` may not lie over an operand; a "scalar" form
    with `constants` is right for constants that are numbers only.
    """

    op: str
    dtype: str
    kind: str
    name: str
    mode: str = ""
    to: str = ""
    meaning: str = ""
    source: str = ""
    confirmed: bool = True
    apart: bool = False
    constants: bool = False


@dataclass(frozen=True)
class Table:
    """All instructions of a target. `scalar_ops` are operations on floats that the scalar unit has.

    Comparisons give one bit an element ("bits"), or 1 and 0 in the type of the operands ("numbers"). `fills` are the
    dtypes that one instruction sets to a value, `moves` the element sizes in bytes that one copies on chip;
    `selects` the dtypes that `where` chooses from by vectors. `scalar_stores`: the scalar unit may write global memory.
    `scratch` is what a library call wants: so many bytes, and so many more for each element. With `whole_work` a reduction
    wants room for a copy of what it reduces, otherwise for two numbers a vector repeat. `nan_saturates`: conversions of NaN
    to integers give a largest number, where 0 is wanted. `matrix_columns`: what the width of a matrix product divides by.
    """

    rows: tuple[Instruction, ...]
    scalar_ops: frozenset[str]
    masks: Literal["bits", "numbers"] = "bits"
    fills: frozenset[str] = frozenset(("f32", "f16", "bf16", "i16", "i32", "u16", "u32"))
    moves: frozenset[int] = frozenset((2, 4))
    selects: frozenset[str] = frozenset(("f32", "f16", "i32"))
    scalar_stores: bool = False
    scratch: tuple[int, int] = (2048, 16)
    whole_work: bool = False
    nan_saturates: bool = False
    matrix_columns: int = 1

    @cached_property
    def _by_key(self) -> dict[tuple[str, str, str], Instruction]:
        return {(r.kind, r.op, f"{r.dtype}>{r.to}" if r.kind == "cast" else r.dtype): r for r in self.rows}

    def find(self, kind: str, op: str, dtype: str, to: str = "") -> Instruction | None:
        """The instruction for `op` on `dtype`, or None."""
        return self._by_key.get((kind, op, f"{dtype}>{to}" if kind == "cast" else dtype))

    def any(self, op: str, dtype: str) -> Instruction | None:
        """The tensor form of `op` on `dtype`, whatever its kind (scalar forms and casts apart)."""
        for kind in ("unary", "binary", "library", "library2", "compare"):
            row = self.find(kind, op, dtype)
            if row is not None:
                return row
        return None
