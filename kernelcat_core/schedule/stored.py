"""Types that are only kept in memory, for targets that have no names for them: tensors of bytes, read and written in f32.

A tensor of f8e4m3, f8e5m2, i4 or u4 becomes one of u8: the bytes stay as they are (four bits lie in the low half). What is
read as a number is decoded by a primitive of its own, which `inline` moves into readers that gain by it; contractions keep
reading plain f32.

Eight-bit floats are taken apart in f32 arithmetic, with floors in place of shifts: all of it is exact (whole numbers below
2^8 and powers of two), and units without integer shifts have it too. Rounding is to nearest even; what lies past the
greatest number is NaN in e4m3, which has no infinity, and an infinity in e5m2 (P. Micikevicius et al., "FP8 formats for deep
learning", 2022). The sign of a NaN is not kept everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kernelcat_core.dtypes import F32, I4, I32, STORAGE_ONLY, U4, U8, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, cast, f32, op, walk
from kernelcat_core.ir.graph import Axis, Compute, Graph, Primitive, Scan, Select, Tensor, expressions, map_expressions


@dataclass(frozen=True)
class Format:
    """An eight-bit float: `mantissa` bits, the exponent of its least normal number, the codes of its greatest number, of what
    lies past that, and of NaN (signs apart)."""

    mantissa: int
    least: int
    greatest: int
    past: int
    nan: int

    @property
    def exponent_bits(self) -> int:
        return 7 - self.mantissa

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Powers of two from which on the last place is worth twice as much."""
        top = self.greatest >> self.mantissa
        return tuple(2.0 ** (self.least + k) for k in range(1, top))


FORMATS = {"f8e4m3": Format(3, -6, 126, 127, 127), "f8e5m2": Format(2, -14, 123, 124, 127)}


def held_as(dtype: DType) -> DType:
    """The type of the byte that holds an element."""
    return U8 if dtype in STORAGE_ONLY else dtype


def _arithmetic(dtype: DType) -> DType:
    """The type in which its values are read."""
    return F32 if dtype.is_float else I32


def _product(factors: list[Expr]) -> Expr:
    total = factors[0]
    for x in factors[1:]:
        total = op("mul", total, x)
    return total


def decoded(byte: Expr, dtype: DType) -> Expr:
    """The number that a byte stands for: f32 for floats, i32 for integers."""
    if not dtype.is_float:
        low = op("and_bits", cast(byte, I32), Const(15, I32))
        if dtype == U4:
            return low
        return op("sub", op("xor_bits", low, Const(8, I32)), Const(8, I32))
    form = FORMATS[dtype.name]
    whole = cast(byte, F32)

    def floored(x: Expr, bits: int) -> Expr:
        return op("floor", op("mul", x, f32(2.0 ** -bits)))

    magnitude = op("sub", whole, op("mul", floored(whole, 7), f32(128.0)))
    exponent = floored(magnitude, form.mantissa)
    mantissa = op("sub", magnitude, op("mul", exponent, f32(2.0 ** form.mantissa)))
    subnormal = op("lt", magnitude, f32(2.0 ** form.mantissa))
    # The exponent's bit number k multiplies by 2^(2^k); a subnormal has the exponent of the least normal number.
    factors = [op("where", subnormal, f32(2.0 ** (form.least - form.mantissa)), f32(2.0 ** (form.least - 1 - form.mantissa)))]
    for k in range(form.exponent_bits):
        bit = op("sub", floored(magnitude, form.mantissa + k), op("mul", floored(magnitude, form.mantissa + k + 1), f32(2.0)))
        factors.append(op("add", op("mul", bit, f32(2.0 ** (1 << k) - 1)), f32(1.0)))
    units = op("add", mantissa, op("where", subnormal, f32(0.0), f32(2.0 ** form.mantissa)))
    value = _product([units, *factors])
    if form.past != form.nan:
        value = op("where", op("eq", magnitude, f32(form.past)), f32(float("inf")), value)
    value = op("where", op("gt", magnitude, f32(max(form.greatest, form.past if form.past != form.nan else 0))),
               f32(float("nan")), value)
    return op("where", op("ge", whole, f32(128.0)), op("neg", value), value)


def _units(x: Expr, form: Format) -> tuple[Expr, Expr]:
    """(|x|, |x| in units of its last place, rounded): the unit is a product of one factor for each threshold below."""
    magnitude = op("abs", x)
    factors: list[Expr] = [f32(2.0 ** (form.mantissa - form.least))]
    factors += [op("where", op("ge", magnitude, f32(t)), f32(0.5), f32(1.0)) for t in form.thresholds]
    return magnitude, op("rint", op("mul", magnitude, _product(factors)))


def encoded(x: Expr, dtype: DType) -> Expr:
    """The byte that holds `x` (f32 for floats; integers wrap around, as a cast between integers does)."""
    if not dtype.is_float:
        return cast(op("and_bits", cast(_whole(x, dtype), I32), Const(15, I32)), U8)
    form = FORMATS[dtype.name]
    magnitude, code = _units(x, form)
    step = 2.0 ** form.mantissa
    for t in form.thresholds:  # each starts a new exponent, whose first code is that many units further on
        code = op("add", code, op("where", op("ge", magnitude, f32(t)), f32(step), f32(0.0)))
    code = op("where", op("gt", code, f32(form.greatest)), f32(form.past), code)
    code = op("where", op("isnan", x), f32(form.nan), code)
    return cast(cast(op("add", code, op("where", op("signbit", x), f32(128.0), f32(0.0))), I32), U8)


def rounded(x: Expr, dtype: DType) -> Expr:
    """The number that is left of `x` after a cast to `dtype`."""
    if not dtype.is_float:
        return decoded(encoded(x, dtype), dtype)
    form = FORMATS[dtype.name]
    magnitude, units = _units(x, form)
    factors: list[Expr] = [f32(2.0 ** (form.least - form.mantissa))]
    factors += [op("where", op("ge", magnitude, f32(t)), f32(2.0), f32(1.0)) for t in form.thresholds]
    value = _product([units, *factors])
    greatest = float(np.uint8(form.greatest).view(dtype.numpy))
    past = float("nan") if form.past == form.nan else float("inf")
    value = op("where", op("gt", value, f32(greatest)), f32(past), value)
    return op("where", op("signbit", x), op("neg", value), value)


def _whole(x: Expr, dtype: DType) -> Expr:
    """`x` as an integer: floats are cut off and saturate, NaN is 0."""
    if not x.dtype.is_float:
        return x
    low, high = (-8.0, 7.0) if dtype == I4 else (0.0, 15.0)
    x = cast(x, F32)
    x = op("where", op("isnan", x), f32(0.0), x)
    return cast(op("trunc", op("max", op("min", x, f32(high)), f32(low))), I32)


@lru_cache(maxsize=256)
def stored_as_bytes(graph: Graph) -> Graph:
    """`graph` with its storage-only tensors as tensors of bytes; itself where it has none."""
    used = any(t.dtype in STORAGE_ONLY for t in graph.tensors.values()) or any(
        n.dtype in STORAGE_ONLY for node in graph.nodes for e in expressions(node) for n in walk(e))
    return _Rewrite(graph).graph() if used else graph


class _Rewrite:
    """One pass over a graph; `nodes` grows by decoding primitives just before their first readers."""

    def __init__(self, graph: Graph) -> None:
        self.given = graph
        self.nodes: list[Primitive] = []
        self.values: dict[str, str] = {}
        self.taken = {*graph.tensors, *graph.size_names}

    def graph(self) -> Graph:
        for node in self.given.nodes:
            self._node(node)
        inputs = tuple(replace(t, dtype=held_as(t.dtype)) for t in self.given.inputs)
        return Graph(inputs, tuple(self.nodes), self.given.outputs)

    def _fresh(self, stem: str) -> str:
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name

    def _node(self, node: Primitive) -> None:
        dtype = node.output.dtype
        made: Callable[[Expr], Expr] = self.number if isinstance(node, Select) else self.either
        last = _last_cast(node)
        if dtype not in STORAGE_ONLY or last is None:
            node = map_expressions(node, made)
            self.nodes.append(replace(node, output=replace(node.output, dtype=held_as(dtype))))
            return
        # Encoding names its operand dozens of times: the value gets a name, and most often shares the kernel.
        number = cast(self.number(last.args[0]), F32) if dtype.is_float else self.number(last.args[0])
        value = replace(node.output, name=self._fresh(f"{node.output.name}_value"), dtype=number.dtype)
        self.nodes.append(replace(_ending_with(map_expressions(_ending_with(node, None), made), number), output=value))
        self.nodes.append(Compute(replace(node.output, dtype=held_as(dtype)), node.axes,
                                  (encoded(_at(value, node.axes), dtype),)))

    def either(self, e: Expr) -> Expr:
        """A byte where `e` has a storage-only type, else its value."""
        return self.byte(e) if e.dtype in STORAGE_ONLY else self.number(e)

    def byte(self, e: Expr) -> Expr:
        """The byte that holds `e`, an expression of a storage-only type."""
        match e:
            case Const():
                return Const(int(np.asarray(e.value).astype(e.dtype.numpy).view(np.uint8)), U8)
            case Load():
                return Load(e.tensor, tuple(map(self.number, e.index)), U8, self._condition(e),
                            None if e.fill is None else self.byte(e.fill))
            case Op(name="where"):
                return op("where", self.number(e.args[0]), self.byte(e.args[1]), self.byte(e.args[2]))
            case Op(name="cast"):
                return encoded(self._operand(e), e.dtype)
        raise AssertionError(f"{e} is kept in memory only")

    def number(self, e: Expr) -> Expr:
        """The value of `e`; of a storage-only type in f32 or i32."""
        kept = e.dtype in STORAGE_ONLY
        match e:
            case Const() if kept:
                value = np.asarray(e.value).astype(e.dtype.numpy)
                return f32(float(value)) if e.dtype.is_float else Const(int(value), I32)
            case Load():
                dtype = _arithmetic(e.dtype) if kept else e.dtype
                return Load(self._decoded(e.tensor) if kept else e.tensor, tuple(map(self.number, e.index)), dtype,
                            self._condition(e), None if e.fill is None else self.number(e.fill))
            case Op(name="cast"):
                return rounded(self._operand(e), e.dtype) if kept else cast(self.number(e.args[0]), e.dtype)
            case Op():
                args = tuple(map(self.number, e.args))
                return e if args == e.args else op(e.name, *args)
        return e

    def _operand(self, e: Op) -> Expr:
        """What a cast to a storage-only type starts from: f32 for floats, its own type for integers."""
        x = self.number(e.args[0])
        return cast(x, F32) if e.dtype.is_float else x

    def _condition(self, e: Load) -> Expr | None:
        return None if e.where is None else self.number(e.where)

    def _decoded(self, name: str) -> str:
        """The tensor that holds the values of tensor `name`, made when it is first asked for."""
        if name not in self.values:
            t = self.given.tensors[name]
            axes = tuple(Axis(self._fresh(f"{name}_{k}"), d) for k, d in enumerate(t.shape))
            value = Tensor(self._fresh(f"{name}_value"), _arithmetic(t.dtype), t.shape)
            byte = _at(replace(t, dtype=held_as(t.dtype)), axes)
            self.nodes.append(Compute(value, axes, (decoded(byte, t.dtype),)))
            self.values[name] = value.name
        return self.values[name]


def _at(t: Tensor, axes: tuple[Axis, ...]) -> Load:
    return Load(t.name, tuple(a.var for a in axes), t.dtype)


def _last_cast(node: Primitive) -> Op | None:
    """The cast that ends a primitive, if it ends so."""
    if not isinstance(node, Compute | Scan):
        return None
    last = node.element[0] if node.monoid is None else node.finish
    return last if isinstance(last, Op) and last.name == "cast" else None


def _ending_with(node: Primitive, last: Expr | None) -> Primitive:
    """The primitive that ends with `last` (None: without its last expression)."""
    assert isinstance(node, Compute | Scan)
    if node.monoid is None:
        return replace(node, element=() if last is None else (last,))
    return replace(node, finish=last)
