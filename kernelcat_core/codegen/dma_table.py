"""The instruction table of a `dma` target: tile operations, the vector instructions that do them, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Instruction:
    """`op` on operands of `dtype` is the vendor's `name` (with `mode`, a round mode say).

    `kind` says how it is called: "unary" (target, source), "binary" (target, a, b), "scalar" (target, source, scalar),
    "library" (a math-library call that wants scratch), "library2" (the same with two sources), "cast" (`to` is the
    result), "reduce" (a whole tile to one value) or "compare". `meaning` is in words where the name does not say it;
    `source` names the document; `confirmed` is False where the documentation leaves a case open.
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


@dataclass(frozen=True)
class Table:
    """All instructions of a target. `scalar_floats` are operations on floats that the scalar unit has."""

    rows: tuple[Instruction, ...]
    scalar_ops: frozenset[str]

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
