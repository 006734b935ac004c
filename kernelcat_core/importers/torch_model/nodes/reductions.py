"""Reductions of ATen over any axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL, F32, I64, DType
from kernelcat_core.importers.torch_model.node import Node, at, aten_op, axes_of, indices, left
from kernelcat_core.importers.torch_model.nodes.layout import reshaped
from kernelcat_core.importers.trace import Value


def reduced(n: Node, x: Value, axes: tuple[int, ...], keep: bool, text: str) -> Value:
    """`text` holds {k} for the reduced indices and {x} for the element; a scalar is reduced over one place."""
    if not axes:
        one = reshaped(n, x, (*x.shape, 1))
        return reduced(n, one, (x.rank,), False, text)
    i = indices("i", x.rank)
    names = [f"u{k}" if k in axes else a for k, a in enumerate(i)]
    kept = [(a, 1 if k in axes else s) for k, (a, s) in enumerate(zip(i, x.shape)) if keep or k not in axes]
    over = ", ".join(f"u{k}" for k in axes)
    return n.formula(f"{left([a for a, _ in kept], [s for _, s in kept])} = {text.format(k=over, x=at('x', names))}", x=x)


def wide(kind: DType) -> DType:
    """The type in which torch reduces: f32 for 16-bit floats."""
    return F32 if kind.is_float and kind.bits == 16 else kind


@aten_op("sum sum.dim_IntList prod prod.dim_int mean mean.dim nansum")
def total(n: Node, x: Value, dim: Any = None, keep: bool = False) -> Value:
    axes = axes_of(dim, x.rank)
    kind = n.out.dtype
    name = {"nansum": "sum"}.get(n.name, n.name)
    if x.size == 0:
        return n.full(n.out, {"sum": 0, "prod": 1}.get(name, np.nan))
    x = n.cast(x, wide(kind) if kind.is_float else I64)
    element = "where(isnan({x}), 0, {x})" if n.name == "nansum" and kind.is_float else "{x}"
    return n.cast(reduced(n, x, axes, keep, f"{name}[{{k}}]({element})"), kind)


@aten_op("amax amin max min")
def extreme(n: Node, x: Value, dim: Any = None, keep: bool = False) -> Value:
    name = n.name.removeprefix("a")
    axes = axes_of(dim, x.rank)
    if x.dtype == BOOL:
        return reduced(n, x, axes, keep, f"{'any' if name == 'max' else 'all'}[{{k}}]({{x}})")
    return reduced(n, x, axes, keep, f"{name}[{{k}}]({{x}})")


@aten_op("any any.dim any.dims all all.dim all.dims")
def holds(n: Node, x: Value, dim: Any = None, keep: bool = False) -> Value:
    if isinstance(dim, (list, tuple)) and not dim:
        return n.cast(x, BOOL) if x.dtype != BOOL else n.formula("y = x or x", x=x)
    axes = axes_of(dim, x.rank)
    if x.size == 0:
        return n.full(n.out, n.name == "all")
    return reduced(n, n.cast(x, BOOL), axes, keep, f"{n.name}[{{k}}]({{x}})")


@aten_op("argmax argmin")
def arg(n: Node, x: Value, dim: int | None = None, keep: bool = False) -> Value:
    axes = axes_of(dim, x.rank)
    made = reduced(n, x, axes, keep and dim is not None, f"{n.name}[{{k}}]({{x}})")
    return reshaped(n, made, n.out.shape)


@aten_op("max.dim min.dim")
def extreme_with_place(n: Node, x: Value, dim: int, keep: bool = False) -> tuple[Value, Value]:
    axes = axes_of(dim, x.rank)
    value = extreme_of(n, x, axes, keep)
    return value, reduced(n, x if x.dtype != BOOL else n.cast(x, I64), axes, keep, f"arg{n.name}[{{k}}]({{x}})")


def extreme_of(n: Node, x: Value, axes: tuple[int, ...], keep: bool) -> Value:
    if x.dtype == BOOL:
        return reduced(n, x, axes, keep, f"{'any' if n.name == 'max' else 'all'}[{{k}}]({{x}})")
    return reduced(n, x, axes, keep, f"{n.name}[{{k}}]({{x}})")


@aten_op("aminmax")
def both(n: Node, x: Value) -> tuple[Value, Value]:
    axes, keep = axes_of(n.kw("dim"), x.rank), bool(n.kw("keepdim"))
    return reduced(n, x, axes, keep, "min[{k}]({x})"), reduced(n, x, axes, keep, "max[{k}]({x})")


def correction_of(n: Node, a: tuple[Any, ...]) -> tuple[Any, float, bool]:
    """(dim, correction, keepdim) of var and its like, whose overloads say them in three ways."""
    overload = n.op.rsplit(".", 1)[1]
    if overload == "correction":
        c = n.kw("correction")
        return (a[0] if a else None), 1 if c is None else c, bool(n.kw("keepdim"))
    if overload == "dim":
        return a[0], 1 if a[1] else 0, bool(a[2])
    return None, 1 if not a or a[0] else 0, False


@aten_op("var var.dim var.correction std std.dim std.correction var_mean var_mean.dim var_mean.correction std_mean "
         "std_mean.dim std_mean.correction")
def spread(n: Node, x: Value, *a: Any) -> Any:
    dim, correction, keep = correction_of(n, a)
    kind = n.out.dtype
    axes = axes_of(dim, x.rank)
    x = n.cast(x, wide(kind))
    count = 1
    for k in axes:
        count *= x.shape[k]
    if count == 0:
        return [n.full(s, np.nan) for s in n.specs if s is not None]
    mean = reduced(n, x, axes, True, "mean[{k}]({x})")
    off = n.formula("y = (x - m)*(x - m)", x=x, m=mean)
    divisor = max(0.0, count - correction)
    square = reduced(n, off, axes, keep, f"sum[{{k}}]({{x}}) / {divisor!r}" if divisor else "sum[{k}]({x}) / 0.0")
    if n.name.startswith("std"):
        square = n.formula("y = sqrt(x)", x=square)
    if n.name.endswith("mean"):
        shape = n.specs[1].shape if n.specs[1] is not None else ()
        return square, reshaped(n, mean, shape)
    return square


@aten_op("logsumexp")
def logsumexp(n: Node, x: Value, dim: Any, keep: bool = False) -> Value:
    kind = n.out.dtype
    if x.size == 0:
        return n.full(n.out, -np.inf)
    return n.cast(reduced(n, n.cast(x, wide(kind)), axes_of(dim, x.rank), keep, "logsumexp[{k}]({x})"), kind)


@aten_op("linalg_vector_norm norm.Scalar norm.ScalarOpt_dim")
def vector_norm(n: Node, x: Value, order: Any = 2, dim: Any = None, keep: bool = False) -> Value:
    kind = n.out.dtype
    order = 2.0 if order is None else float(order)
    if x.size == 0:
        return n.full(n.out, 0 if order >= 0 else np.inf)
    x = n.cast(x, wide(kind))
    text = {0.0: f"sum[{{k}}]({x.dtype}({{x}} != 0))", 1.0: "sum[{k}](abs({x}))", 2.0: "sqrt(sum[{k}]({x}*{x}))",
            float("inf"): "max[{k}](abs({x}))", float("-inf"): "min[{k}](abs({x}))"}.get(
        order, f"sum[{{k}}](abs({{x}})**({order!r}))**({1 / order if order else 0!r})")
    return n.cast(reduced(n, x, axes_of(dim, x.rank), keep, text), kind)


@aten_op("count_nonzero count_nonzero.dim_IntList")
def count(n: Node, x: Value, dim: Any = None) -> Value:
    if x.size == 0:
        return n.full(n.out, 0)
    return reduced(n, n.cast(x, BOOL), axes_of(dim, x.rank), False, "sum[{k}](i64({x}))")


@aten_op("softmax.int log_softmax.int _softmax _log_softmax")
def softmax(n: Node, x: Value, dim: int, *_: Any) -> Value:
    kind = n.out.dtype
    if not x.rank:
        return n.full(n.out, 0 if "log" in n.name else 1)
    name = "log_softmax" if "log" in n.name else "softmax"
    return n.cast(n.call(name, n.cast(x, wide(kind)), axis=dim % x.rank), kind)


@aten_op("_softmax_backward_data _log_softmax_backward_data")
def softmax_backward(n: Node, grad: Value, y: Value, dim: int, *_: Any) -> Value:
    kind = wide(n.out.dtype)
    g, y = n.cast(grad, kind), n.cast(y, kind)
    axes = (dim % g.rank,) if g.rank else ()
    if "log" in n.name:
        total_ = reduced(n, g, axes, True, "sum[{k}]({x})") if g.rank else g
        return n.cast(n.formula("d = g - exp(y)*t", g=g, y=y, t=total_), n.out.dtype)
    product = n.formula("p = g*y", g=g, y=y)
    total_ = reduced(n, product, axes, True, "sum[{k}]({x})") if g.rank else product
    return n.cast(n.formula("d = p - y*t", p=product, y=y, t=total_), n.out.dtype)


