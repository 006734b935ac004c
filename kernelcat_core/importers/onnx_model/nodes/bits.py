"""BitCast of ONNX by arithmetic: the language has numbers, not their storage. NaNs come out as the quiet NaN."""

from __future__ import annotations

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.importers.onnx_model.node import Node, onnx_op, tensor_type
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged
from kernelcat_core.importers.trace import Value

_EXPONENTS = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


@onnx_op("BitCast", 26)
def bit_cast(n: Node) -> Value:
    x, to = n.x(), tensor_type(n.attr("to"))
    if x.dtype.bits != to.bits or any(t.is_float and t.name not in _EXPONENTS for t in (x.dtype, to)):
        raise n.refuse(f"from {x.dtype} to {to}")
    if x.dtype.is_float and x.dtype != to:
        x = _bits(n, x)
    return _number(n, convert(n, x, f"i{to.bits}"), to) if to.is_float and x.dtype != to else convert(n, x, to.name)


def _places(x: Value) -> tuple[str, str]:
    """Subscripts of an element, and with ranges."""
    i = indices("i", x.rank)
    return (f"[{', '.join(i)}]", f"[{ranged(i, x.shape)}]") if i else ("", "")


def _layout(kind: DType) -> tuple[int, int, int]:
    """(bits of the exponent, bits of the fraction, bias)."""
    e = _EXPONENTS[kind.name]
    return e, kind.bits - 1 - e, (1 << e - 1) - 1


def _powers(n: Node, e: int, bias: int) -> Value:
    """The least number of every exponent; infinity for the last."""
    inner = np.ldexp(1.0, np.arange(1, (1 << e) - 1) - bias)
    return n.const(np.concatenate([[0.0], inner, [np.inf]]))


def _bits(n: Node, x: Value) -> Value:
    """The bits of floats as signed integers of their width. The exponent is found in two rounds of comparisons."""
    e, p, bias = _layout(x.dtype)
    at, left = _places(x)
    inner = 1 << e // 2
    outer = (1 << e) // inner
    tiny = 2.0 ** ((bias - 1 + p) // 2), 2.0 ** (bias - 1 + p - (bias - 1 + p) // 2)
    size, half = f"abs(f64(x{at}))", 1 << x.dtype.bits - 2
    text = "\n".join([
        f"h{left} = sum[j in {outer - 1}](i64({size} >= P[{inner}*(j + 1)]))",
        f"e{left} = {inner}*h{at} + sum[j in {inner - 1}](i64({size} >= P[{inner}*h{at} + j + 1]))",
        f"m{left} = where(e{at} == 0, i64({size}*{tiny[0]!r}*{tiny[1]!r}), "
        f"where(e{at} < {(1 << e) - 1}, i64(({size}/P[e{at}] - 1)*{2.0 ** p!r}), 0))",
        f"b{left} = where(isnan(x{at}), {(1 << e) - 1}, e{at})*{1 << p} + where(isnan(x{at}), {1 << p - 1}, m{at})",
        f"y{left} = i{x.dtype.bits}(where(signbit(x{at}), b{at} - {half} - {half}, b{at}))"])
    return n.formula(text, x=x, P=_powers(n, e, bias))


def _number(n: Node, x: Value, kind: DType) -> Value:
    """The floats whose bits are given as signed integers."""
    e, p, bias = _layout(kind)
    at, left = _places(x)
    low, half = bias - 1 + p, 1 << kind.bits - 2
    tiny = 2.0 ** -(low // 2), 2.0 ** -(low - low // 2)
    text = "\n".join([
        f"b{left} = where(x{at} < 0, i64(x{at}) + {half} + {half}, i64(x{at}))",
        f"e{left} = b{at} // {1 << p}", f"m{left} = f64(b{at} % {1 << p})",
        f"v{left} = where(e{at} == 0, m{at}*{tiny[0]!r}*{tiny[1]!r}, "
        f"where((e{at} == {(1 << e) - 1}) and m{at} > 0, nan, (1 + m{at}*{2.0 ** -p!r})*P[e{at}]))",
        f"y{left} = {kind}(where(x{at} < 0, -v{at}, v{at}))"])
    return n.formula(text, x=x, P=_powers(n, e, bias))
