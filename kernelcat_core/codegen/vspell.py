"""Spells expressions on vectors: uniform parts as C scalars, parts that depend on a lane as vector operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelcat_core.codegen.cstyle import Speller, literal
from kernelcat_core.codegen.vtypes import VectorClass
from kernelcat_core.dtypes import F32, I4, I32, I64, U4, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, children

_INFIX = {"add": ("+", 12), "sub": ("-", 12), "mul": ("*", 13), "div": ("/", 13), "and_bits": ("&", 8), "or_bits": ("|", 6),
          "xor_bits": ("^", 7)}
_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ROUNDINGS = frozenset({"floor", "ceil", "trunc", "rint", "round_half_away"})
_LOGIC = {"and": "&", "or": "|", "xor": "^"}


def is_small_index(e: Expr, lane: str) -> bool:
    """Whether `e` is the lane's own position in 32 bits, which vectors of 4-byte elements hold."""
    return isinstance(e, Op) and e.name == "cast" and e.dtype == I32 and e.args == (Var(lane),)


@dataclass(frozen=True)
class VectorSpeller:
    """Values of one loop: `lane` is its lane variable, `position` the C text of that variable's first value.

    `tile` gives the vector text of a tile read at the lane; `scalar` spells uniform expressions.
    """

    vc: VectorClass
    lane: str
    position: str
    tile: Callable[[Load], str]
    scalar: Speller

    def is_uniform(self, e: Expr) -> bool:
        """Whether `e` has one value for all lanes."""
        if isinstance(e, Var):
            return e.name != self.lane
        if isinstance(e, Load) and not e.index:
            return True
        return all(self.is_uniform(c) for c in children(e))

    def vector(self, e: Expr) -> str:
        """`e` as a vector (a mask for bool), whatever it depends on."""
        if self.is_uniform(e):
            return self.splat(self.scalar.text(e), e.dtype)
        return self._lanewise(e)[0]

    def splat(self, text: str, dtype: DType) -> str:
        name = f"{self.vc.prefix}_mask" if dtype.kind == "b" else f"{self.vc.prefix}_set_{dtype}"
        return f"{name}({text})"

    def _operand(self, e: Expr, level: int) -> str:
        text, mine = self._lanewise(e) if not self.is_uniform(e) else (self.vector(e), 15)
        return f"({text})" if mine < level else text

    def _lanewise(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, Var):
            return f"{self.vc.prefix}_index_i64({self.position})", 15
        if isinstance(e, Load):
            return self.tile(e), 15
        assert isinstance(e, Op)
        operand = e.args[0].dtype
        if e.name in _LOGIC and operand.kind == "b":
            sign = _LOGIC[e.name]
            inner = 8 if sign == "&" and all(isinstance(a, Op) and a.name == "and" for a in e.args) else 14
            return f"{self._operand(e.args[0], inner)} {sign} {self._operand(e.args[1], 14)}", 8
        if e.name == "not":
            return f"~{self._operand(e.args[0], 14)}", 14
        if e.name in _COMPARE:
            return self._comparison(e, operand)
        if e.name == "div" and operand == F32 and self.is_uniform(e.args[1]) and not isinstance(e.args[1], Const):
            return f"{self.vc.prefix}_over_f32({self._operand(e.args[0], 0)}, {self.scalar.text(e.args[1])})", 15
        if e.name in _INFIX and operand.kind != "b":
            return self._arithmetic(e)
        if e.name == "neg":
            return f"-{self._operand(e.args[0], 15)}", 14
        if e.name == "not_bits":
            return f"~{self._operand(e.args[0], 15)}", 14
        if e.name == "where":
            return f"{self.vc.prefix}_select_{e.dtype}({', '.join(self._operand(a, 0) for a in e.args)})", 15
        if is_small_index(e, self.lane):
            return f"{self.vc.prefix}_index_i32({self.position})", 15
        if e.name == "cast":
            return self._cast(e.args[0], e.dtype)
        if operand.kind == "b":
            return self._on_masks(e)
        if e.name in _ROUNDINGS and isinstance(e.args[0], Op) and e.args[0].name == "div":
            # a quotient that is rounded to a whole number is exact: one ulp at a half would be the next number
            return f"{self.vc.prefix}_{e.name}_{operand}({self._arithmetic(e.args[0])[0]})", 15
        arguments = ", ".join(self._operand(a, 0) for a in e.args)
        return f"{self.vc.prefix}_{e.name}_{operand}({arguments})", 15

    def _arithmetic(self, e: Op) -> tuple[str, int]:
        """Infix; a uniform operand stays scalar, which C spreads over the lanes."""
        sign, level = _INFIX[e.name]
        inner = level if level >= 12 else 14
        left, right = (self._scalar_or_vector(a, inner + k * (level >= 12)) for k, a in enumerate(e.args))
        return f"{left} {sign} {right}", level

    def _scalar_or_vector(self, e: Expr, level: int) -> str:
        if self.is_uniform(e):
            if (isinstance(e, Const) and e.dtype in (F32, I64)) or isinstance(e, Load):
                return self.scalar.text(e, 15)
            return self.vector(e)
        return self._operand(e, level)

    def _comparison(self, e: Op, operand: DType) -> tuple[str, int]:
        if operand.kind == "b":
            different = f"{self._operand(e.args[0], 14)} ^ {self._operand(e.args[1], 14)}"
            if e.name in ("eq", "ne"):
                return (different, 7) if e.name == "ne" else (f"~({different})", 14)
            # Masks are -1 and 0: the order of bools is the reverse of theirs.
            return f"({self.vc.mask})({self._operand(e.args[1], 11)} {_COMPARE[e.name]} {self._operand(e.args[0], 11)})", 14
        text = f"{self._operand(e.args[0], 11)} {_COMPARE[e.name]} {self._operand(e.args[1], 11)}"
        if operand.bits == 8 * self.vc.width:
            return f"({self.vc.mask})({text})", 14
        return f"__builtin_convertvector({text}, {self.vc.mask})", 15

    def _cast(self, inner: Expr, to: DType) -> tuple[str, int]:
        if inner.dtype == to:
            return self._lanewise(inner)
        return self._converted(self._operand(inner, 0), inner.dtype, to)

    def converted(self, text: str, source: DType, to: DType) -> str:
        """The text of a vector of `source` elements, converted to `to`."""
        return text if source == to else self._converted(text, source, to)[0]

    def _converted(self, text: str, source: DType, to: DType) -> tuple[str, int]:
        if source in (I4, U4) or to in (I4, U4):
            return f"{self.vc.prefix}_{source}_to_{to}({text})", 15
        half, target_half = (t.is_float and t.bits <= 16 for t in (source, to))
        if half and to != F32:
            return self._convert(f"{self.vc.prefix}_{source}_to_f32({text})", F32, to)
        if target_half and source != F32:
            return f"{self.vc.prefix}_f32_to_{to}({self._convert(text, source, F32)[0]})", 15
        if half or target_half:
            return f"{self.vc.prefix}_{source}_to_{to}({text})", 15
        return self._convert(text, source, to)

    def _convert(self, text: str, source: DType, to: DType) -> tuple[str, int]:
        if source == to:
            return text, 0
        if to.kind == "b":
            zero = literal(0, source)
            if source.bits == 8 * self.vc.width:
                return f"({self.vc.mask})({text} != {zero})", 14
            return f"__builtin_convertvector({text} != {zero}, {self.vc.mask})", 15
        if source.kind == "b" or (source.is_float and to.is_integer):
            return f"{self.vc.prefix}_{source}_to_{to}({text})", 15
        return f"__builtin_convertvector({text}, {self.vc.type(to)})", 15

    def _on_masks(self, e: Op) -> tuple[str, int]:
        """min, max and the like of bools."""
        a = [self._operand(x, 14) for x in e.args]
        match e.name:
            case "min" | "fmin" | "mul" | "and_bits":
                return f"{a[0]} & {a[1]}", 8
            case "max" | "fmax" | "add" | "or_bits":
                return f"{a[0]} | {a[1]}", 6
            case "abs":
                return a[0], 14
            case "isfinite":
                return f"{self.vc.prefix}_mask(true)", 15
        return f"{self.vc.prefix}_mask(false)", 15
