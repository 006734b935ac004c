"""Orders and prefix folds of ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL, I64
from kernelcat_core.importers.torch_model.node import Node, Operand, at, aten_op, indices, left
from kernelcat_core.importers.torch_model.nodes.layout import reshaped
from kernelcat_core.importers.torch_model.nodes.reductions import wide
from kernelcat_core.importers.trace import Value


def _scalar(n: Node, x: Value) -> tuple[Value, Value]:
    """What orders of a scalar give: itself at place 0."""
    return x, n.const(np.zeros((), np.int64))


def picked(n: Node, x: Value, places: Value, dim: int) -> Value:
    """Elements of `x` at `places` along an axis."""
    i = indices("i", x.rank)
    return n.formula(f"{left(i, places.shape)} = {at('x', [at('p', i) if k == dim else a for k, a in enumerate(i)])}",
                     x=x, p=places)


@aten_op("sort sort.stable argsort argsort.stable")
def sort(n: Node, x: Value, *a: Any) -> Any:
    dim = n.kw("dim", a[0] if a else -1)
    descending = bool(n.kw("descending", a[1] if len(a) > 1 else False))
    if n.op.endswith(".stable") and len(a) > 1:
        dim, descending = a[1], bool(a[2]) if len(a) > 2 else False
    if not x.rank:
        value, place = _scalar(n, x)
    else:
        dim %= x.rank
        keys = n.cast(x, I64) if x.dtype == BOOL else x
        place = n.call("argsort", keys, axis=dim, descending=descending)
        value = picked(n, x, place, dim)
    return place if n.name == "argsort" else (value, place)


@aten_op("topk")
def topk(n: Node, x: Value, k: int, dim: int = -1, largest: bool = True, _: bool = True) -> Any:
    if not x.rank:
        return _scalar(n, x)
    dim %= x.rank
    place = n.call("topk_indices", x, k=int(k), axis=dim, largest=bool(largest))
    return picked(n, x, place, dim), place


@aten_op("kthvalue")
def kthvalue(n: Node, x: Value, k: int, dim: int = -1, keep: bool = False) -> Any:
    if not x.rank:
        return _scalar(n, x)
    dim %= x.rank
    place = n.call("kthvalue_indices", x, k=int(k), axis=dim, keepdims=True)
    return tuple(reshaped(n, v, n.out.shape) for v in (picked(n, x, place, dim), place))


@aten_op("median nanmedian")
def median_of_all(n: Node, x: Value) -> Value:
    flat = reshaped(n, x, (x.size,))
    return reshaped(n, _median(n, flat, 0, n.name.startswith("nan"))[0], ())


@aten_op("median.dim nanmedian.dim")
def median(n: Node, x: Value, dim: int, keep: bool = False) -> Any:
    if not x.rank:
        return _scalar(n, x)
    value, place = _median(n, x, dim % x.rank, n.name.startswith("nan"))
    return reshaped(n, value, n.out.shape), reshaped(n, place, n.out.shape)


def _median(n: Node, x: Value, dim: int, skips: bool) -> tuple[Value, Value]:
    """The lower of two middle elements; with a NaN the first NaN, unless they are skipped."""
    order = n.call("argsort", x, axis=dim)
    i = indices("i", x.rank)
    size = x.shape[dim]
    head = left(i, [1 if k == dim else s for k, s in enumerate(x.shape)])

    def along(name: str, place: str) -> str:
        return at(name, [place if k == dim else a for k, a in enumerate(i)])

    middle = str((size - 1) // 2)
    if x.dtype.is_float:
        inner = along("x", "k")
        count = n.formula(f"{head} = sum[k in {size}](i64(isnan({inner})))", x=x)
        if skips:
            middle = f"maximum(({size} - {along('c', '0')} - 1)//2, 0)"
        else:
            middle = f"where({along('c', '0')} > 0, {size} - {along('c', '0')}, {middle})"
        place = n.formula(f"{head} = {along('o', middle)}", o=order, c=count)
    else:
        place = n.formula(f"{head} = {along('o', middle)}", o=order)
    return picked(n, x, place, dim), place


@aten_op("cumsum cumprod logcumsumexp")
def cumulative(n: Node, x: Value, dim: int) -> Value:
    kind = n.out.dtype
    if not x.rank:
        return x
    return n.cast(n.call(n.name, n.cast(x, wide(kind)), axis=dim % x.rank), kind)


@aten_op("cummax cummin")
def cumulative_extreme(n: Node, x: Value, dim: int) -> Any:
    if not x.rank:
        return _scalar(n, x)
    keys = n.cast(x, I64) if x.dtype == BOOL else x
    place = n.call(f"{n.name}_indices", keys, axis=dim % x.rank)
    return picked(n, x, place, dim % x.rank), place


@aten_op("searchsorted.Tensor searchsorted.Scalar bucketize.Tensor bucketize.Scalar")
def searchsorted(n: Node, a: Operand, b: Operand, *_: Any) -> Value:
    right = bool(n.kw("right")) or n.kw("side") == "right"
    edges, x = (b, a) if n.name == "bucketize" else (a, b)
    assert isinstance(edges, Value)
    if not isinstance(x, Value):
        x = n.const(np.array(x), edges.dtype)
    i = indices("i", x.rank)
    rows = i[:-1] if edges.rank > 1 else []
    sorter = n.kw("sorter")
    values = {"e": edges, "x": x}
    place = "k"
    if sorter is not None:
        values["s"] = sorter
        place = at("s", [*rows, "k"])
    value, edge = at("x", i), at("e", [*rows, place])
    common = "f64" if x.dtype.is_float != edges.dtype.is_float else ""
    if common:
        value, edge = f"{common}({value})", f"{common}({edge})"
    beside = f" or isnan({value})" if x.dtype.is_float else ""
    test = f"{edge} {'<=' if right else '<'} {value}{beside}"
    return n.formula(f"{left(i, x.shape)} = sum[k in {edges.shape[-1]}](i64({test}))", **values)


@aten_op("bincount")
def bincount(n: Node, x: Value, weights: Value | None = None, _: int = 0) -> Value:
    zero = n.const(np.zeros(n.out.shape), n.out.dtype)
    value = "1" if weights is None else "w[u]"
    given = {} if weights is None else {"w": n.cast(weights, n.out.dtype)}
    return n.formula(f'y = scatter[u](z, (i64(x[u]),), {value}, "sum")', z=zero, x=x, **given)
