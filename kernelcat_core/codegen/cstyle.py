"""How C-family languages spell scalar expressions: one table, with a Dialect for what differs.

`Speller(dialect, leaf).text(e)` spells an expression; `leaf` spells Loads, Vars and Sizes. Functions that the language
lacks (`kc_*`) are noted while spelling and defined by `Speller.support()`. Semantics are those of NumPy's ufuncs, made
total: integer division by zero gives 0, shifts by the width or more push everything out, conversions from float to
integer truncate, saturate, and turn NaN into 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from kernelcat_core.codegen.chelpers import SUPPORT
from kernelcat_core.dtypes import I4, I8, U4, U8, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var, loads

Leaf = Callable[[Load | Var | Size], str]

C_TYPES: Mapping[str, str] = MappingProxyType({
    "f64": "double", "f32": "float", "f16": "kc_f16", "bf16": "kc_bf16", "i8": "int8_t", "i16": "int16_t",
    "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "bool": "bool"})
STORAGE_TYPES: Mapping[str, str] = MappingProxyType({
    "f8e4m3": "kc_f8e4m3", "f8e5m2": "kc_f8e5m2", "i4": "kc_i4", "u4": "kc_u4"})
"""Types that are only kept in memory, one byte an element, where a dialect's prelude defines them."""

_RESERVED = frozenset(
    [
        "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const",
        "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum", "explicit",
        "export", "extern", "false", "float", "for", "friend", "goto", "half", "if", "inline", "int", "int8_t",
        "int16_t", "int32_t", "int64_t", "long", "main", "mutable", "namespace", "new", "not", "nullptr",
        "operator", "or", "private", "protected", "public", "register", "restrict", "return", "short", "signed",
        "sizeof", "size_t", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
        "typename", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "union", "unsigned", "using", "virtual", "void",
        "volatile", "while", "xor", "NULL", "NAN", "INFINITY", "I",
    ])


@dataclass(frozen=True)
class Dialect:
    """What one language does differently from C.

    `calls` overrides templates of _CALLS by "op.dtype", "op.kind" (f, i, u, b) or "op"; {0} {1} stand for operands.
    `casts` overrides conversions by "from>to" dtype names. `qualifier` starts every helper function. `infinity` and
    `nan` are f32 literals. `reserved` are more words that no identifier may be. `support` overrides definitions. `wraps`: signed
    overflow of data must be spelled through unsigned types, because compilers of this language take it for impossible.
    `single` ends the names of functions of f32, `long` the literals of 64-bit integers.
    """

    name: str = "c"
    types: Mapping[str, str] = field(default_factory=lambda: C_TYPES)
    calls: Mapping[str, str] = field(default_factory=dict)
    casts: Mapping[str, str] = field(default_factory=dict)
    qualifier: str = "static inline"
    infinity: str = "INFINITY"
    nan: str = "NAN"
    reserved: frozenset[str] = frozenset()
    support: Mapping[str, str] = field(default_factory=dict)
    wraps: bool = False
    single: str = "f"
    long: str = "ll"

    def type(self, dtype: DType) -> str:
        """The type of a value in a register; KC-R001 where the language has none."""
        if dtype.name not in self.types:
            raise KernelcatError("KC-R001", f"{self.name} has no arithmetic or storage for {dtype}",
                                 hint="cast the input to a wider type first")
        return self.types[dtype.name]


C = Dialect(types=MappingProxyType({**C_TYPES, **STORAGE_TYPES}))

# Operators: C text and precedence level (a C++ compiler reads them alike).
_INFIX: dict[str, tuple[str, int]] = {
    "add": ("+", 12), "sub": ("-", 12), "mul": ("*", 13), "div": ("/", 13), "lt": ("<", 10), "le": ("<=", 10),
    "gt": (">", 10), "ge": (">=", 10), "eq": ("==", 9), "ne": ("!=", 9), "and": ("&&", 5), "or": ("||", 4),
    "xor": ("!=", 9), "and_bits": ("&", 8), "or_bits": ("|", 6), "xor_bits": ("^", 7)}
_UNARY = {"neg": "-", "not": "!", "not_bits": "~"}
_PRIMARY, _PREFIX, _TERNARY = 15, 14, 3
_OVERFLOWS = frozenset({"add", "sub", "mul"})

# Calls: "op.kind" or "op"; {f} is "f" for f32 and "" for f64, {t} the dtype's name. Names kc_* come from SUPPORT.
_LIBM = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "trunc", "rint",
]
_CALLS: dict[str, str] = {
    **{f"{n}.f": n + "{f}({0})" for n in _LIBM},
    **{f"{n}.f": n + "{f}({0}, {1})" for n in ("fmod", "pow", "atan2", "hypot", "copysign", "fmin", "fmax")},
    "rsqrt.f": "kc_rsqrt_{t}({0})", "round_half_away.f": "round{f}({0})",
    "abs.f": "fabs{f}({0})", "abs.i": "kc_abs_{t}({0})", "abs.u": "{0}", "abs.b": "{0}",
    "sign.f": "kc_sign_{t}({0})", "sign.i": "kc_sign_{t}({0})", "sign.u": "kc_sign_{t}({0})",
    "isnan.f": "kc_isnan_{t}({0})", "isinf.f": "kc_isinf_{t}({0})", "isfinite.f": "kc_isfinite_{t}({0})",
    "signbit.f": "kc_signbit_{t}({0})", "signbit.i": "({0} < 0)", "signbit.u": "((void){0}, false)",
    "isnan": "((void){0}, false)", "isinf": "((void){0}, false)", "isfinite": "((void){0}, true)",
    "min.f": "kc_min_{t}({0}, {1})", "max.f": "kc_max_{t}({0}, {1})",
    "min": "kc_min_{t}({0}, {1})", "max": "kc_max_{t}({0}, {1})",
    "fmin": "kc_min_{t}({0}, {1})", "fmax": "kc_max_{t}({0}, {1})",
    "min.b": "({0} && {1})", "max.b": "({0} || {1})", "fmin.b": "({0} && {1})", "fmax.b": "({0} || {1})",
    "floordiv": "kc_floordiv_{t}({0}, {1})", "mod": "kc_mod_{t}({0}, {1})", "fmod": "kc_fmod_{t}({0}, {1})",
    "pow": "kc_pow_{t}({0}, {1})", "shl": "kc_shl_{t}({0}, {1})", "shr": "kc_shr_{t}({0}, {1})",
}


def identifier(name: str, reserved: Iterable[str] = ()) -> str:
    """A C identifier for `name`, the name itself where that is legal; distinct names stay distinct."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    if plain and name not in _RESERVED and name not in reserved and not name.startswith(("kc_", "_", "v_")):
        return name
    return "v_" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def literal(value: bool | int | float, dtype: DType, dialect: Dialect = C) -> str:
    """A literal of `dtype`; index literals that fit an int stay bare."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(float(value), dtype, dialect)
    v = int(value)
    if dtype.name == "u64":
        return f"{v}u{dialect.long}"
    if dtype.name == "i64" and not -(1 << 31) < v < 1 << 31:
        return f"(-9223372036854775807{dialect.long} - 1)" if v == -(1 << 63) else f"{v}{dialect.long}"
    if dtype.name == "i32" and v == -(1 << 31):
        return "(-2147483647 - 1)"
    return f"{v}u" if dtype.name == "u32" else str(v)


def _float_literal(v: float, dtype: DType, dialect: Dialect) -> str:
    if dtype.bits == 8:  # kept in memory only: the byte itself
        return f"({dialect.type(dtype)}){int(np.asarray(v, dtype.numpy).view(np.uint8))}"
    if dtype.bits == 16:
        return dialect.casts.get(f"f32>{dtype}", f"kc_f32_to_{dtype}({{0}})").format(_float_literal(v, _F32, dialect))
    double = dtype.name == "f64"
    if math.isnan(v) or math.isinf(v):
        text = dialect.nan if math.isnan(v) else dialect.infinity
        text = f"(double){text}" if double else text
        return f"(-{text})" if v < 0 else f"({text})" if double else text
    with np.errstate(over="ignore"):
        text = repr(v) if double else str(np.float32(v))
    if text in ("inf", "-inf"):
        return _float_literal(float(text), dtype, dialect)
    if not re.search(r"[.e]", text):
        text += ".0"
    return text if double else text + "f"


_F32 = DType("f32", "f", 32)


class Speller:
    """Spells expressions in one dialect and remembers which helper functions they need."""

    def __init__(self, dialect: Dialect, leaf: Leaf) -> None:
        self.dialect = dialect
        self.leaf = leaf
        self.used: dict[str, None] = {}

    def text(self, e: Expr, level: int = 0) -> str:
        """`e` as text, in parentheses when it binds weaker than `level` (15: must be a primary expression)."""
        text, mine = self._spell(e)
        return f"({text})" if mine < level else text

    def support(self) -> str:
        """Definitions of the helper functions used so far, in an order in which each is defined before its use."""
        return support_text(self.used, self.dialect)

    def _spell(self, e: Expr) -> tuple[str, int]:
        if isinstance(e, Const):
            text = literal(e.value, e.dtype, self.dialect)
            if e.dtype.bits == 16 and e.dtype.is_float:
                self._note(text)
            return text, _PREFIX if text.startswith("-") else _PRIMARY
        if isinstance(e, Load | Var | Size):
            return self.leaf(e), _PRIMARY
        return self._operation(e)

    def _operation(self, e: Op) -> tuple[str, int]:
        operand = e.args[0].dtype
        template = self._template(e.name, operand)
        if template is None and e.name == "cast":
            return self._cast(e)
        if template is not None:
            call = "{0}, {1}" in template or template.endswith("({0})")
            atoms = [self.text(a, 0 if call else _PRIMARY) for a in e.args]
            text = template.format(*atoms, f=self.dialect.single if operand.name == "f32" else "", t=operand.name)
            self._note(text)
            return text, _PRIMARY
        if e.name == "where":
            c, a, b = (self.text(x, _TERNARY + 1) for x in e.args)
            return f"{c} ? {a} : {b}", _TERNARY
        if e.name in _UNARY:
            inner = self.text(e.args[0], _PREFIX)
            text = _UNARY[e.name] + (f"({inner})" if inner.startswith(("-", "~")) else inner)
            return self._narrow(text, _PREFIX, e.dtype)
        if e.name in _INFIX:
            if e.name in _OVERFLOWS and self.dialect.wraps and e.dtype.kind == "i" and (
                    e.dtype.bits == 32 or (e.dtype.bits == 64 and loads(e))):
                return self._wrapped(e), _PREFIX
            sign, mine = _INFIX[e.name]
            # Comparisons and bit operators get parentheses inside each other: compilers warn, readers stumble.
            least = mine if mine >= 12 or (mine in (4, 5) and all(not _is_mixed(e.name, a) for a in e.args)) else 11
            text = f"{self.text(e.args[0], least)} {sign} {self.text(e.args[1], least + (mine >= 12))}"
            return self._narrow(text, mine, e.dtype)
        raise KernelcatError("KC-R001", f"{self.dialect.name} has no spelling for {e.name} of {operand}")

    def _template(self, name: str, operand: DType) -> str | None:
        for table in (self.dialect.calls, _CALLS):
            for key in (f"{name}.{operand.name}", f"{name}.{operand.kind}", name):
                if key in table:
                    return table[key]
        return None

    def _wrapped(self, e: Op) -> str:
        """Signed arithmetic on data through the unsigned type: overflow wraps there, and is undefined in the signed one."""
        unsigned = self.dialect.types[f"u{e.dtype.bits}"]
        a, b = (f"({unsigned}){self.text(x, _PREFIX)}" for x in e.args)
        return f"({self.dialect.type(e.dtype)})({a} {_INFIX[e.name][0]} {b})"

    def _narrow(self, text: str, level: int, dtype: DType) -> tuple[str, int]:
        """C computes 8- and 16-bit integers in int: convert back so that they wrap."""
        if dtype.is_integer and dtype.bits < 32:
            return f"({self.dialect.type(dtype)})({text})", _PREFIX
        return text, level

    def _cast(self, e: Op) -> tuple[str, int]:
        source, to = e.args[0].dtype, e.dtype
        template = self.dialect.casts.get(f"{source}>{to}") or cast_template(source, to, self.dialect)
        if template == "{0}":
            return self._spell(e.args[0])
        text = template.format(self.text(e.args[0], _PREFIX))
        self._note(text)
        return text, _PREFIX

    def _note(self, text: str) -> None:
        for name in re.findall(r"\bkc_\w+(?=\()", text):
            self.used[name] = None


def _is_mixed(name: str, a: Expr) -> bool:
    return isinstance(a, Op) and a.name in ("and", "or", "xor") and a.name != name


def cast_template(source: DType, to: DType, dialect: Dialect = C) -> str:
    """How to convert a value: a plain C cast where its meaning is defined and right, else a helper function."""
    dialect.type(source), dialect.type(to)
    if source == to:
        return "{0}"
    if source in (I4, U4):
        wide = I8 if source == I4 else U8
        return cast_template(wide, to, dialect).replace("{0}", f"kc_{source}_to_{wide}({{0}})")
    if to in (I4, U4) and not source.is_float:
        wide = I8 if to == I4 else U8
        return f"kc_{wide}_to_{to}({cast_template(source, wide, dialect)})"
    half, target_half = (t.is_float and t.bits <= 16 for t in (source, to))
    if half and to.name != "f32":
        return cast_template(_F32, to, dialect).replace("{0}", f"kc_{source}_to_f32({{0}})")
    if target_half and source.name != "f32":
        return f"kc_f32_to_{to}({cast_template(source, _F32, dialect)})"
    if half or target_half or (source.is_float and to.is_integer):
        return f"kc_{source}_to_{to}({{0}})"
    if to.kind == "b":
        return "({0} != 0)"
    return f"({dialect.type(to)}){{0}}"


def support_text(names: Iterable[str], dialect: Dialect) -> str:
    """Definitions of helper functions (and of those that they call), each once, callees first."""
    order: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in order:
            return
        body = dialect.support.get(name) or _definition(name, dialect)
        if body is None:
            return  # the language brings it
        for callee in re.findall(r"\bkc_\w+(?=\()", body):
            if callee != name:
                visit(callee)
        order[name] = body

    for n in names:
        visit(n)
    return "\n".join(t for t in order.values() if t)


def _definition(name: str, dialect: Dialect) -> str | None:
    """The text of helper `kc_<op>_<dtype>` or `kc_<from>_to_<to>` from SUPPORT."""
    conversion = re.fullmatch(r"kc_(\w+?)_to_(\w+)", name)
    if conversion:
        a, b = conversion.groups()
        key = next((k for k in (f"{a}_to_{b}", f"f_to_{b[0]}") if k in SUPPORT), None)
        return None if key is None else _fill(SUPPORT[key], b, dialect, source=a)
    parts = re.fullmatch(r"kc_(\w+)_(\w+)", name)
    if parts is None:
        return None
    operation, dtype = parts.groups()
    key = next((k for k in (f"{operation}.{dtype}", f"{operation}.{dtype[0]}", operation) if k in SUPPORT), None)
    return None if key is None else _fill(SUPPORT[key], dtype, dialect)


def _fill(template: str, dtype: str, dialect: Dialect, source: str = "") -> str:
    bits = int(re.sub(r"\D", "", dtype) or 8)
    high = (1 << bits - (dtype[0] == "i")) - 1
    words = {"Q": dialect.qualifier, "T": dialect.types.get(dtype, ""), "t": dtype, "f": dialect.single if dtype == "f32" else "",
             "g": dialect.single,
             "bits": str(bits), "U": dialect.types.get(f"u{max(bits, 32)}", ""), "S": dialect.types.get(source, ""),
             "s": source, "nan": dialect.nan, "inf": dialect.infinity,
             "one": "1.0f" if dtype == "f32" else "1.0", "min": f"(-{high}{dialect.long} - 1)",
             "max": f"{high}{'u' if dtype[0] == 'u' else ''}{dialect.long}"}
    return re.sub(r"@(\w+)@", lambda m: words[m.group(1)], template)
