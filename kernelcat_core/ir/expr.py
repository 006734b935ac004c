"""Scalar expressions: the one expression language of graphs and tile programs.

An expression is a tree of `Const`, `Var` (an index, a loop variable or a reduction state), `Size` (a run-time size),
`Load` (an element of a tensor or of a tile) and `Op`. Every node knows its dtype. Trees are frozen and compare by value.
Integer division and remainder floor, as in Python. Comparisons with NaN are false but for `ne`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernelcat_core.dtypes import BOOL, F32, I64, DType


@dataclass(frozen=True)
class Const:
    """A literal. `value` is a Python bool, int or float (inf and nan included)."""

    value: bool | int | float
    dtype: DType

    def __hash__(self) -> int:  # nan hashes by identity otherwise
        return hash((repr(self.value), self.dtype.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and repr(self.value) == repr(other.value) and self.dtype == other.dtype


@dataclass(frozen=True)
class Var:
    """A bound name: a grid, loop or element index (i64), or a reduction state."""

    name: str
    dtype: DType = I64


@dataclass(frozen=True)
class Size:
    """A run-time size (i64, >= 0), passed to kernels as an argument; `maximum` bounds it when known."""

    name: str
    maximum: int | None = None

    @property
    def dtype(self) -> DType:
        return I64


@dataclass(frozen=True)
class Load:
    """The element of `tensor` at `index` (i64 expressions, one a dimension).

    With `where`, the load happens only where it is true; elsewhere the value is `fill`. In a tile program `tensor`
    names a tile and `where`/`fill` are None.
    """

    tensor: str
    index: tuple[Expr, ...]
    dtype: DType
    where: Expr | None = None
    fill: Expr | None = None


@dataclass(frozen=True)
class Op:
    """`name` from OPS applied to `args`; `dtype` is the type of the value. `cast` converts its argument to `dtype`."""

    name: str
    args: tuple[Expr, ...]
    dtype: DType


Expr = Const | Var | Size | Load | Op


@dataclass(frozen=True)
class OpRule:
    """`arity` arguments; `gives` is "same" (as the operands), "bool", "arg1" (as the second: where) or "cast"."""

    arity: int
    gives: str


# The closed list of scalar operations. Meaning: the NumPy ufunc in ir/interpreter.SCALAR. Backends spell each of them.
_UNARY_FLOAT = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "trunc", "rint", "round_half_away",
]
OPS: dict[str, OpRule] = {
    **{n: OpRule(1, "same") for n in _UNARY_FLOAT},
    **{n: OpRule(1, "same") for n in ("neg", "abs", "sign", "not_bits")},
    **{n: OpRule(1, "bool") for n in ("isnan", "isinf", "isfinite", "not", "signbit")},
    **{n: OpRule(2, "same") for n in ("add", "sub", "mul", "div", "floordiv", "mod", "fmod", "pow", "min", "max", "fmin",
                                      "fmax", "atan2", "hypot", "copysign", "and_bits", "or_bits", "xor_bits", "shl", "shr")},
    **{n: OpRule(2, "bool") for n in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor")},
    "where": OpRule(3, "arg1"),
    "cast": OpRule(1, "cast"),
}


def op(name: str, *args: Expr) -> Expr:
    """`Op` with its dtype derived from the operands (which must already agree), folded when constant."""
    rule = OPS[name]
    if len(args) != rule.arity:
        raise AssertionError(f"{name} takes {rule.arity} operands, got {len(args)}")
    dtype = BOOL if rule.gives == "bool" else args[1].dtype if rule.gives == "arg1" else args[0].dtype
    return simplify_node(Op(name, args, dtype))


def cast(e: Expr, dtype: DType) -> Expr:
    """`e` converted to `dtype`; nothing when it has it already; literals convert at once when exact."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const):
        if dtype.is_float:
            return Const(float(e.value), dtype)
        if dtype.kind == "b":
            return Const(bool(e.value), dtype)
        if isinstance(e.value, int):
            low = -(1 << dtype.bits - 1) if dtype.kind == "i" else 0
            high = (1 << dtype.bits - (dtype.kind == "i")) - 1
            if low <= e.value <= high:
                return Const(int(e.value), dtype)
    return Op("cast", (e,), dtype)


def index(value: int) -> Const:
    """An i64 literal."""
    return Const(value, I64)


def f32(value: float) -> Const:
    return Const(float(value), F32)


ZERO, ONE = index(0), index(1)
TRUE = Const(True, BOOL)


def add(a: Expr, b: Expr) -> Expr:
    return op("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    return op("sub", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    return op("mul", a, b)


def ceil_div(a: Expr, b: int) -> Expr:
    """ceil(a / b) for a >= 0 and a positive constant b."""
    return a if b == 1 else op("floordiv", add(a, index(b - 1)), index(b))


def product(items: tuple[Expr, ...] | list[Expr]) -> Expr:
    """The product of i64 expressions; 1 of none."""
    total: Expr = ONE
    for item in items:
        total = mul(total, item)
    return total


def conjunction(*conditions: Expr | None) -> Expr | None:
    """The `and` of the conditions that are there; None when none is."""
    total: Expr | None = None
    for c in conditions:
        if c is None or c == TRUE:
            continue
        total = c if total is None else op("and", total, c)
    return total


def conjuncts(e: Expr | None) -> list[Expr]:
    """The parts of a conjunction, left to right; none of None."""
    if isinstance(e, Op) and e.name == "and" and e.dtype == BOOL:
        return conjuncts(e.args[0]) + conjuncts(e.args[1])
    return [] if e is None else [e]


_FOLD: dict[str, Callable[[int, int], int | bool]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}


def simplify_node(e: Op) -> Expr:
    """One step of folding at the root: index (i64) arithmetic and boolean identities only, so floats keep their order."""
    a = e.args
    if e.name in ("and", "or") and e.dtype == BOOL:
        absorbing, neutral = (False, True) if e.name == "and" else (True, False)
        for one, other in ((a[0], a[1]), (a[1], a[0])):
            if isinstance(one, Const):
                if bool(one.value) is neutral:
                    return other
                if bool(one.value) is absorbing:
                    return Const(absorbing, BOOL)
        return e
    if e.name == "where" and isinstance(a[0], Const):
        return a[1] if a[0].value else a[2]
    if not a or any(x.dtype != I64 for x in a):
        return e
    x, y = a[0], a[1] if len(a) > 1 else None
    if isinstance(x, Const) and isinstance(y, Const):
        p, q = int(x.value), int(y.value)
        if e.name in _FOLD:
            v = _FOLD[e.name](p, q)
            return Const(v, e.dtype) if isinstance(v, bool) or -(1 << 63) <= v < 1 << 63 else e
        if e.name in ("floordiv", "mod") and q != 0:
            return index(p // q if e.name == "floordiv" else p % q)
    if isinstance(x, Const) and y is None and e.name == "neg":
        return index(-int(x.value))
    if y is None:
        return e
    if e.name == "add":
        if x == ZERO:
            return y
        if y == ZERO:
            return x
        if isinstance(x, Const):
            return simplify_node(Op("add", (y, x), I64))
        if isinstance(y, Const) and isinstance(x, Op) and x.name == "add" and isinstance(x.args[1], Const):
            total = int(x.args[1].value) + int(y.value)
            return simplify_node(Op("add", (x.args[0], index(total)), I64)) if -(1 << 63) <= total < 1 << 63 else e
    if e.name == "sub":
        if y == ZERO:
            return x
        if x == y:
            return ZERO
        if isinstance(y, Const):
            return simplify_node(Op("add", (x, index(-int(y.value))), I64))
    if e.name == "mul":
        if ZERO in (x, y):
            return ZERO
        if x == ONE:
            return y
        if y == ONE:
            return x
    if e.name == "floordiv" and y == ONE:
        return x
    if e.name == "mod" and y == ONE:
        return ZERO
    if e.name in ("min", "max") and x == y:
        return x
    return e


def children(e: Expr) -> tuple[Expr, ...]:
    """Direct operands, in order; those of a Load are its indices, then predicate and fill."""
    if isinstance(e, Op):
        return e.args
    if isinstance(e, Load):
        return e.index + tuple(x for x in (e.where, e.fill) if x is not None)
    return ()


def walk(e: Expr) -> Iterator[Expr]:
    """Every node, parents before children."""
    stack = [e]
    while stack:
        n = stack.pop()
        yield n
        stack.extend(reversed(children(n)))


def loads(e: Expr) -> list[Load]:
    """Every Load in `e`, outer before inner, in order of appearance."""
    return [n for n in walk(e) if isinstance(n, Load)]


def variables(e: Expr) -> frozenset[str]:
    """Names of the Vars that `e` uses."""
    return frozenset(n.name for n in walk(e) if isinstance(n, Var))


def sizes(e: Expr) -> list[str]:
    """Names of the Sizes that `e` uses, in order of first appearance."""
    return list(dict.fromkeys(n.name for n in walk(e) if isinstance(n, Size)))


def transform(e: Expr, f: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild `e` bottom-up; where `f(node)` gives an expression it replaces the node (whose children are done)."""
    if isinstance(e, Op):
        args = tuple(transform(a, f) for a in e.args)
        if args != e.args:
            e = simplify_node(Op(e.name, args, e.dtype))
            if not isinstance(e, Op):
                return e  # folded to a leaf below, which is done: `f` once more would move an index twice
    elif isinstance(e, Load):
        e = Load(e.tensor, tuple(transform(i, f) for i in e.index), e.dtype,
                 None if e.where is None else transform(e.where, f), None if e.fill is None else transform(e.fill, f))
    replacement = f(e)
    return e if replacement is None else replacement


def substitute(e: Expr, names: Mapping[str, Expr]) -> Expr:
    """`e` with Vars replaced by expressions of the same dtype."""
    if not names:
        return e
    return transform(e, lambda n: names.get(n.name) if isinstance(n, Var) else None)


def bind_sizes(e: Expr, values: Mapping[str, int]) -> Expr:
    """`e` with known Sizes replaced by their values."""
    return transform(e, lambda n: index(values[n.name]) if isinstance(n, Size) and n.name in values else None)


@lru_cache(maxsize=65536)
def coefficient(e: Expr, var: str) -> tuple[Expr, Expr] | None:
    """Write `e` (i64) as `coefficient * var + rest` with neither part using `var`; None when it is not of that form."""
    if isinstance(e, Var) and e.name == var:
        return ONE, ZERO
    if var not in variables(e):
        return ZERO, e
    if not isinstance(e, Op):
        return None
    if e.name == "neg":
        inner = coefficient(e.args[0], var)
        return None if inner is None else (sub(ZERO, inner[0]), sub(ZERO, inner[1]))
    if e.name in ("add", "sub"):
        left, right = coefficient(e.args[0], var), coefficient(e.args[1], var)
        return None if left is None or right is None else (op(e.name, left[0], right[0]), op(e.name, left[1], right[1]))
    if e.name == "mul":
        for a, b in (e.args, e.args[::-1]):
            if var not in variables(b):
                inner = coefficient(a, var)
                return None if inner is None else (mul(inner[0], b), mul(inner[1], b))
    return None


def evaluate(e: Expr, sizes_: Mapping[str, int], vars_: Mapping[str, int] | None = None) -> int:
    """The value of an i64 or bool expression over sizes and variables, in Python integers."""
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Size):
        return sizes_[e.name]
    if isinstance(e, Var):
        return (vars_ or {})[e.name]
    if isinstance(e, Op):
        v = [evaluate(a, sizes_, vars_) for a in e.args]
        match e.name:
            case "floordiv":
                return v[0] // v[1]
            case "mod":
                return v[0] % v[1]
            case "neg":
                return -v[0]
            case "and":
                return int(bool(v[0]) and bool(v[1]))
            case "or":
                return int(bool(v[0]) or bool(v[1]))
            case "not":
                return int(not v[0])
            case "where":
                return v[1] if v[0] else v[2]
            case "cast":
                return v[0]
            case name if name in _FOLD:
                return int(_FOLD[name](v[0], v[1]))
    raise AssertionError(f"not an index expression: {e}")
