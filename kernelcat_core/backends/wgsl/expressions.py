"""Spells scalar expressions in WGSL.

Registers hold f32 (16-bit floats too: a cast to one rounds), i32, u32 (narrow integers are wrapped after every operation),
bool, and vec2<u32> for 64 bits. Index arithmetic, which is i64 in expressions, is i32 here: the host refuses sizes where that
would not do. An i64 expression that depends on data is "wide" unless its value surely fits 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kernelcat_core.backends.wgsl.memory import Buffer
from kernelcat_core.backends.wgsl.names import kind, name
from kernelcat_core.dtypes import BOOL, F32, I64, U64, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var

_PRIMARY, _UNARY, _PRODUCT, _SUM, _LOOSE = 15, 14, 13, 12, 1
_INFIX = {"add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT), "div": ("/", _PRODUCT)}
_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_BITS = {"and_bits": "&", "or_bits": "|", "xor_bits": "^"}
_BUILTIN = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "round", "abs": "abs"}
_FLOATS = frozenset((
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
    "pow atan2 hypot copysign fmin fmax isnan isinf isfinite signbit round_half_away"
).split())  # fmt: skip
_TYPED = frozenset(("floordiv", "mod", "fmod", "min", "max", "sign"))
_UNBOUNDED = 65


class Speller:
    """`buffers` are the module's tensors; `wide` and `natural` name a kernel's 64-bit variables, and those never negative."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers
        self.wide: set[str] = set()
        self.natural: set[str] = set()
        self.renamed: dict[str, str] = {}

    def name(self, text: str) -> str:
        return self.renamed.get(text) or name(text)

    # -- 64-bit integers

    def is_wide(self, e: Expr) -> bool:
        """Whether the value of a 64-bit expression is spelled in two words."""
        return e.dtype == U64 or (e.dtype == I64 and not self._is_index(e) and self._width(e) > 32)

    def _is_index(self, e: Expr) -> bool:
        """Arithmetic of sizes, counters and places, which the host's check keeps within 31 bits."""
        if isinstance(e, Const):
            return self._width(e) <= 32
        if isinstance(e, Size):
            return True
        if isinstance(e, Var):
            return e.name not in self.wide
        if not isinstance(e, Op) or e.name == "cast":
            return False
        return all(a.dtype == I64 and self._is_index(a) for a in (e.args[1:] if e.name == "where" else e.args))

    def _width(self, e: Expr) -> int:
        """Bits that surely hold the value of an i64 expression, its sign included."""
        if isinstance(e, Const):
            return int(e.value).bit_length() + 1
        if isinstance(e, Size | Var):
            return _UNBOUNDED if isinstance(e, Var) and e.name in self.wide else 32
        if not isinstance(e, Op):
            return _UNBOUNDED
        if e.name == "cast":
            d = e.args[0].dtype
            return 2 if d == BOOL else d.bits + (d.kind == "u") if d.is_integer else _UNBOUNDED
        if e.name == "where":
            return max(map(self._width, e.args[1:]))
        if e.name not in ("add", "sub", "mul", "neg", "min", "max"):
            return _UNBOUNDED
        widths = [self._width(a) for a in e.args]
        return sum(widths) if e.name == "mul" else max(widths) + (e.name in ("add", "sub", "neg"))

    def long(self, e: Expr) -> str:
        """A 64-bit expression in two words."""
        if self.is_wide(e):
            return self.text(e)
        if isinstance(e, Const):
            v = int(e.value) & ((1 << 64) - 1)
            return f"vec2<u32>({v & 0xFFFFFFFF}u, {v >> 32}u)"
        return f"kc_i32_to_i64({self.text(e)})"

    def index(self, e: Expr, level: int = 0) -> str:
        """An i64 expression as i32, exact where its value fits; sums and products need no more than the lower words."""
        if not self.is_wide(e):
            return self.text(e, level)
        text, mine = f"bitcast<i32>({self.text(e, _PRIMARY)}.x)", _PRIMARY
        if isinstance(e, Op) and e.name in _INFIX and e.name != "div":
            sign, mine = _INFIX[e.name]
            text = f"{self.index(e.args[0], mine)} {sign} {self.index(e.args[1], mine + 1)}"
        elif isinstance(e, Op) and e.name == "where":
            text = f"select({self.index(e.args[2])}, {self.index(e.args[1])}, {self.text(e.args[0])})"
        elif isinstance(e, Op) and e.name == "cast" and kind(e.args[0].dtype) in ("i32", "u32"):
            text = self._to_i32(e.args[0])
        return f"({text})" if mine < level else text

    def is_natural(self, e: Expr) -> bool:
        """Whether an index is certainly >= 0."""
        if isinstance(e, Const):
            return e.value >= 0
        if isinstance(e, Size):
            return True
        if isinstance(e, Var):
            return e.name in self.natural
        if isinstance(e, Op) and e.name == "where":
            return all(self.is_natural(a) for a in e.args[1:])
        return isinstance(e, Op) and e.name in ("add", "mul", "floordiv", "mod", "min", "max") and all(
            self.is_natural(a) for a in e.args)

    # -- expressions

    def text(self, e: Expr, level: int = 0) -> str:
        """`e` as text, in parentheses when it binds weaker than `level`."""
        text, mine = self._spell(e)
        return f"({text})" if mine < level else text

    def _spell(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, Const):
            return self._literal(e)
        if isinstance(e, Load):
            at = [self.index(i) for i in e.index]
            if e.tensor in self.buffers:
                return self.buffers[e.tensor].load(at[0]), _PRIMARY
            return self.name(e.tensor) + "".join(f"[{i}]" for i in at), _PRIMARY
        if isinstance(e, Size):
            return f"kc_sizes.{name(e.name)}", _PRIMARY
        if isinstance(e, Var):
            return self.name(e.name), _PRIMARY
        kind(e.dtype), kind(e.args[0].dtype)
        text, mine = self._cast(e) if e.name == "cast" else self._operation(e)
        return text, mine

    def _literal(self, e: Const) -> tuple[str, int]:
        d = e.dtype
        kind(d)
        if d == BOOL:
            return ("true" if e.value else "false"), _PRIMARY
        if self.is_wide(e):
            v = int(e.value) & ((1 << 64) - 1)
            return f"vec2<u32>({v & 0xFFFFFFFF}u, {v >> 32}u)", _PRIMARY
        if not d.is_float:
            v = int(e.value)
            if v == -(1 << 31):
                return "i32(-2147483648)", _PRIMARY
            return f"{v}{'u' if d.kind == 'u' else ''}", _UNARY if v < 0 else _PRIMARY
        with np.errstate(over="ignore"):
            number = np.float32(np.asarray(e.value).astype(d.numpy))
        if np.isnan(number):
            return "kc_nan()", _PRIMARY
        if np.isinf(number):
            return ("kc_inf()", _PRIMARY) if number > 0 else ("-kc_inf()", _UNARY)
        return f"{number}f", _UNARY if math.copysign(1.0, float(number)) < 0 else _PRIMARY

    def _operation(self, e: Op) -> tuple[str, int]:
        operand = e.args[1 if e.name == "where" else 0].dtype
        if e.name == "where":
            side = self.long if self.is_wide(e) else self.text
            return f"select({side(e.args[2])}, {side(e.args[1])}, {self.text(e.args[0])})", _PRIMARY
        if operand == BOOL:
            return self._of_bools(e)
        if operand in (I64, U64) and any(map(self.is_wide, e.args)):
            return self._of_longs(e)
        if operand == I64 and self.is_wide(e):  # operands that fit, a result that may not
            return self._of_longs(e)
        if e.name in _COMPARE:
            return self._compared(e)
        if all(isinstance(a, Const) for a in e.args):  # a constant expression must not overflow: compute it at run time
            return self._plain(e, [f"kc_run_{kind(operand)}({self.text(e.args[0])})", *(self.text(a) for a in e.args[1:])])
        return self._plain(e, None)

    def _compared(self, e: Op) -> tuple[str, int]:
        a, b = (self.text(x, _SUM) for x in e.args)
        if e.name == "ne" and e.args[0].dtype.is_float:  # true for NaN, which a plain != need not be
            return f"!({a} == {b})", _UNARY
        return f"{a} {_COMPARE[e.name]} {b}", _LOOSE

    def _plain(self, e: Op, given: list[str] | None) -> tuple[str, int]:
        """Arithmetic in one word; `given` are the operands' texts where they are not simply those."""
        d = e.args[0].dtype
        floats = d.is_float
        args = given or [self.text(a) for a in e.args]
        if e.name in ("floordiv", "mod") and d == I64 and self.is_natural(e.args[0]) and _is_positive(e.args[1]):
            sign = "/" if e.name == "floordiv" else "%"
            return f"{self.text(e.args[0], _PRODUCT)} {sign} {self.text(e.args[1], _UNARY)}", _PRODUCT
        if e.name in _INFIX and (floats or e.name != "div"):
            sign, mine = _INFIX[e.name]
            if given is None:
                args = [self.text(e.args[0], mine), self.text(e.args[1], mine + 1)]
            return self._wrapped(f"{args[0]} {sign} {args[1]}", mine, d)
        if e.name in _BITS:
            a, b = (self.text(x, _UNARY) for x in e.args)
            return self._wrapped(f"{a} {_BITS[e.name]} {b}", _LOOSE, d)
        if e.name == "not_bits":
            return self._wrapped(f"~{self.text(e.args[0], _PRIMARY)}", _UNARY, d)
        if e.name == "neg":
            return self._wrapped(f"0u - {self.text(e.args[0], _PRODUCT)}" if kind(d) == "u32" else
                                 f"-{self.text(e.args[0], _PRIMARY)}", _SUM if kind(d) == "u32" else _UNARY, d)
        if e.name in ("isnan", "isinf", "isfinite") and not floats:
            return ("true" if e.name == "isfinite" else "false"), _PRIMARY
        return self._called(e, args, d)

    def _called(self, e: Op, args: list[str], d: DType) -> tuple[str, int]:
        joined, word = ", ".join(args), "i32" if d == I64 else kind(d)
        if d.is_float:
            if e.name in _BUILTIN:
                return f"{_BUILTIN[e.name]}({joined})", _PRIMARY
            if e.name in _FLOATS:
                return f"kc_{e.name}({joined})", _PRIMARY
            if e.name in _TYPED:
                return f"kc_{e.name}_f32({joined})", _PRIMARY
        elif e.name in ("floor", "ceil", "trunc", "rint", "round_half_away"):
            return self._spell(e.args[0])
        elif e.name in ("min", "max", "fmin", "fmax"):
            return f"{e.name[-3:]}({joined})", _PRIMARY
        elif e.name == "signbit":
            return (f"{self.text(e.args[0], _SUM)} < 0", _LOOSE) if word == "i32" else ("false", _PRIMARY)
        elif e.name == "abs":
            return self._wrapped(f"abs({joined})", _PRIMARY, d) if word == "i32" else self._spell(e.args[0])
        elif e.name == "sign":
            return (f"sign({joined})" if word == "i32" else f"min({joined}, 1u)"), _PRIMARY
        elif e.name in ("floordiv", "mod", "fmod", "pow", "shl", "shr"):
            called = "mod" if e.name == "fmod" and word == "u32" else e.name
            return self._wrapped(f"kc_{called}_{word}({joined})", _PRIMARY, d)
        raise KernelcatError("KC-R001", f"WGSL has no spelling for {e.name} of {d}")

    def _wrapped(self, text: str, level: int, d: DType) -> tuple[str, int]:
        """A narrow integer that an operation on 32 bits gave, brought back to its range."""
        if not d.is_integer or d.bits >= 32:
            return text, level
        if d.kind == "i":
            return f"extractBits({text}, 0u, {d.bits}u)", _PRIMARY
        return f"({text}) & {hex((1 << d.bits) - 1)}u", _LOOSE

    def _of_bools(self, e: Op) -> tuple[str, int]:
        a = self.text(e.args[0], _UNARY)
        b = self.text(e.args[1], _UNARY) if len(e.args) > 1 else ""
        match e.name:
            case "and" | "min" | "mul" | "fmin" | "and_bits":
                return f"{a} && {b}", _LOOSE
            case "or" | "max" | "add" | "fmax" | "or_bits":
                return f"{a} || {b}", _LOOSE
            case "xor" | "ne" | "xor_bits":
                return f"{a} != {b}", _LOOSE
            case "eq":
                return f"{a} == {b}", _LOOSE
            case "not" | "not_bits":
                return f"!{self.text(e.args[0], _PRIMARY)}", _UNARY
            case "lt":
                return f"!{self.text(e.args[0], _PRIMARY)} && {b}", _LOOSE
            case "le":
                return f"!{self.text(e.args[0], _PRIMARY)} || {b}", _LOOSE
            case "gt":
                return f"{a} && !{self.text(e.args[1], _PRIMARY)}", _LOOSE
            case "ge":
                return f"{a} || !{self.text(e.args[1], _PRIMARY)}", _LOOSE
            case "isnan" | "isinf" | "signbit":
                return "false", _PRIMARY
            case "isfinite":
                return "true", _PRIMARY
            case "abs" | "sign" | "floor" | "ceil" | "trunc" | "rint" | "round_half_away":
                return self._spell(e.args[0])
        raise KernelcatError("KC-R001", f"WGSL has no spelling for {e.name} of bool")

    def _of_longs(self, e: Op) -> tuple[str, int]:
        d = e.args[0].dtype
        args = [self.long(a) for a in e.args]
        a, b = args[0], args[-1]
        less = f"kc_lt_{d}"
        match e.name:
            case "lt":
                return f"{less}({a}, {b})", _PRIMARY
            case "gt":
                return f"{less}({b}, {a})", _PRIMARY
            case "le":
                return f"!{less}({b}, {a})", _UNARY
            case "ge":
                return f"!{less}({a}, {b})", _UNARY
            case "eq":
                return f"kc_eq_64({a}, {b})", _PRIMARY
            case "ne":
                return f"!kc_eq_64({a}, {b})", _UNARY
            case "add" | "sub" | "mul" | "shl":
                return f"kc_{e.name}_64({a}, {b})", _PRIMARY
            case "neg":
                return f"kc_neg_64({a})", _PRIMARY
            case "and_bits" | "or_bits" | "xor_bits":
                return f"{self._primary(a)} {_BITS[e.name]} {self._primary(b)}", _LOOSE
            case "not_bits":
                return f"~{self._primary(a)}", _UNARY
            case "abs" if d == I64:
                return f"kc_abs_i64({a})", _PRIMARY
            case "min" | "max" | "fmin" | "fmax":
                return f"kc_{e.name[-3:]}_{d}({a}, {b})", _PRIMARY
            case "floordiv" | "mod" | "fmod" | "pow" | "shr":
                return f"kc_{e.name}_{d}({a}, {b})", _PRIMARY
            case "sign":
                return f"kc_sign_{d}({a})", _PRIMARY
            case "signbit":
                return (f"({a}.y >> 31u) != 0u", _LOOSE) if d == I64 else ("false", _PRIMARY)
            case "isnan" | "isinf":
                return "false", _PRIMARY
            case "isfinite":
                return "true", _PRIMARY
            case "abs" | "floor" | "ceil" | "trunc" | "rint" | "round_half_away":
                return a, _PRIMARY
        raise KernelcatError("KC-R001", f"WGSL has no spelling for {e.name} of {d}")

    @staticmethod
    def _primary(text: str) -> str:
        return text if text.isidentifier() or (text.endswith(")") and " " not in text.partition("(")[0]) else f"({text})"

    # -- conversions

    def _cast(self, e: Op) -> tuple[str, int]:
        x, to = e.args[0], e.dtype
        source = x.dtype
        if to == BOOL:
            return self._to_bool(x)
        if to.is_float:
            return self._to_float(x, to), _PRIMARY
        if to in (I64, U64):
            return (self._to_long(x, to), _PRIMARY) if self.is_wide(e) else self._narrow_long(x)
        if source.is_float:
            whole = f"kc_f32_to_{kind(to)}({self.text(x)})"
            if to.bits == 32:
                return whole, _PRIMARY
            high = (1 << to.bits - (to.kind == "i")) - 1
            return (f"clamp({whole}, {-high - 1}, {high})" if to.kind == "i" else f"min({whole}, {high}u)"), _PRIMARY
        text = self._to_i32(x) if to.kind == "i" else self._to_u32(x)
        fits = source == BOOL or (source.kind == to.kind and source.bits <= to.bits) or (
            source.kind == "u" and source.bits < to.bits)
        return (text, _PRIMARY) if fits else self._wrapped(text, _PRIMARY, to)

    def _narrow_long(self, x: Expr) -> tuple[str, int]:
        return self._to_i32(x), _PRIMARY

    def _to_bool(self, x: Expr) -> tuple[str, int]:
        if x.dtype.is_float:
            return f"!({self.text(x, _SUM)} == 0.0f)", _UNARY
        if self.is_wide(x):
            return f"!kc_eq_64({self.text(x)}, vec2<u32>(0u, 0u))", _UNARY
        return f"{self.text(x, _SUM)} != {'0u' if kind(x.dtype) == 'u32' else '0'}", _LOOSE

    def _to_float(self, x: Expr, to: DType) -> str:
        d = x.dtype
        if d == BOOL:
            return f"select(0.0f, 1.0f, {self.text(x)})"
        if self.is_wide(x):
            text = f"kc_{d}_to_f32({self.text(x)})"
        elif d.is_float:
            text = self.text(x, _PRIMARY)
        else:
            text = f"f32({self.text(x)})"
        return text if to in (F32, d) else f"kc_round_{to}({text})"

    def _to_long(self, x: Expr, to: DType) -> str:
        d = x.dtype
        if d.is_float:
            return f"kc_f32_to_{to}({self.text(x)})"
        if d in (I64, U64):
            return self._primary(self.long(x))
        return f"kc_u32_to_i64({self.text(x)})" if kind(d) == "u32" else f"kc_i32_to_i64({self._to_i32(x)})"

    def _to_i32(self, x: Expr) -> str:
        """An integer or bool in an i32, its lower bits where it does not fit."""
        if x.dtype == BOOL:
            return f"select(0, 1, {self.text(x)})"
        if x.dtype in (I64, U64):
            return f"({self.index(x)})" if x.dtype == I64 else f"bitcast<i32>({self.text(x, _PRIMARY)}.x)"
        return f"bitcast<i32>({self.text(x)})" if kind(x.dtype) == "u32" else self.text(x, _PRIMARY)

    def _to_u32(self, x: Expr) -> str:
        if x.dtype == BOOL:
            return f"select(0u, 1u, {self.text(x)})"
        if kind(x.dtype) == "u32":
            return self.text(x, _PRIMARY)
        if self.is_wide(x):
            return f"{self.text(x, _PRIMARY)}.x"
        return f"bitcast<u32>({self.text(x) if x.dtype != I64 or not isinstance(x, Const) else f'i32({self.text(x)})'})"


def _is_positive(e: Expr) -> bool:
    return isinstance(e, Const) and e.value > 0


