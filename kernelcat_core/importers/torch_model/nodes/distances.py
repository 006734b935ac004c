"""Distances, bilinear forms and counts of ATen; operators whose number of results data decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL, I64
from kernelcat_core.importers.torch_model.node import Node, at, aten_op, indices, left
from kernelcat_core.importers.torch_model.nodes.convolution import per_axis, pullback
from kernelcat_core.importers.torch_model.nodes.indexing import true_places
from kernelcat_core.importers.torch_model.nodes.layout import expanded, reshaped
from kernelcat_core.importers.trace import Value, literal


@aten_op("_cdist_forward")
def cdist(n: Node, a: Value, b: Value, p: float, _: Any = None) -> Value:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not a.shape[-1]:
        return n.full(n.out, 0)
    a, b = expanded(n, a, (*lead, *a.shape[-2:])), expanded(n, b, (*lead, *b.shape[-2:]))
    return n.call("cdist", a, b, p=int(p) if float(p).is_integer() else p)


@aten_op("_pdist_forward")
def pdist(n: Node, x: Value, p: float = 2.0) -> Value:
    """Distances of every pair of rows i < j, in order of (i, j)."""
    rows, columns = np.triu_indices(x.shape[0], 1)
    gap = "abs(x[r[i], k] - x[c[i], k])"
    text = {0.0: f"sum[k](where({gap} > 0, 1.0, 0.0))", 1.0: f"sum[k]({gap})", 2.0: "sqrt(sum[k]((x[r[i], k] - x[c[i], k])**2))",
            math.inf: f"max[k]({gap})"}.get(float(p), f"sum[k]({gap}**{float(p)!r})**{1 / p if p else 0!r}")
    if not x.shape[1]:
        return n.full(n.out, 0)
    return n.formula(f"y[i] = {text}", x=x, r=n.const(rows.astype(np.int64)), c=n.const(columns.astype(np.int64)))


@aten_op("_cdist_backward")
def cdist_backward(n: Node, g: Value, a: Value, b: Value, p: float, d: Value) -> Value:
    return distance_gradient(n, g, a, b, p, d)


def distance_gradient(n: Node, g: Value, a: Value, b: Value, p: float, d: Value) -> Value:
    """d|a - b|_p / da: nothing where the distance is 0."""
    i = indices("b", a.rank - 2)
    x, y, gd, dd = (at("a", [*i, "p", "m"]), at("b", [*i, "r", "m"]), at("g", [*i, "p", "r"]), at("d", [*i, "p", "r"]))
    gap = f"({x} - {y})"
    if p == 0:
        return n.full(n.out, 0)
    if p == 1:
        text = f"{gd}*sign{gap}"
    elif p == 2:
        text = f"where({dd} == 0, 0.0, {gd}*{gap}/{dd})"
    elif math.isinf(p):
        text = f"{gd}*sign{gap}*where(abs{gap} == {dd}, 1.0, 0.0)"
    elif p < 2:
        text = f"where({dd} == 0 or {gap} == 0, 0.0, sign{gap}*abs{gap}**({p - 1!r})*{gd}/{dd}**({p - 1!r}))"
    else:
        text = f"where({dd} == 0, 0.0, {gap}*abs{gap}**({p - 2!r})*{gd}/{dd}**({p - 1!r}))"
    names = [*i, "p", "m"]
    return n.formula(f"{left(names, a.shape)} = sum[r in {b.shape[-2]}]({text})", g=g, a=a, b=b, d=d)


@aten_op("_trilinear")
def trilinear(n: Node, a: Value, b: Value, c: Value, of_a: Sequence[int], of_b: Sequence[int], of_c: Sequence[int],
              summed: Sequence[int], _: int = 1) -> Value:
    """The product of three tensors after each gets axes of size 1, summed over some axes."""
    rank = a.rank + len(of_a)
    inputs = []
    for x, added in ((a, of_a), (b, of_b), (c, of_c)):
        sizes = iter(x.shape)
        inputs.append(reshaped(n, x, [1 if k in added else next(sizes) for k in range(rank)]))
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    i = indices("i", rank)
    terms = [at(t, ["0" if s == 1 else q for q, s in zip(i, x.shape, strict=True)]) for t, x in zip("abc", inputs, strict=True)]
    over = ", ".join(f"{i[k]} in {shape[k]}" for k in summed)
    kept = [k for k in range(rank) if k not in summed]
    product = "*".join(terms)
    body = f"sum[{over}]({product})" if summed else product
    return n.formula(f"{left([i[k] for k in kept], [shape[k] for k in kept])} = {body}", **dict(zip("abc", inputs, strict=True)))


@aten_op("angle")
def angle(n: Node, x: Value) -> Value:
    return n.pointwise("where(isnan(a), nan, where(a < 0, pi, 0))", n.out.dtype, a=x)


@aten_op("_upsample_bilinear2d_aa _upsample_bicubic2d_aa")
def antialiased(n: Node, x: Value, size: Any, corners: bool, *scales: Any) -> Value:
    return n.formula(_antialiased(n, size, corners, scales), x=x)


@aten_op("_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward")
def antialiased_backward(n: Node, g: Value, size: Any, input_size: Any, corners: bool, *scales: Any) -> Value:
    return pullback(n, _antialiased(n, size, corners, scales), "x", g, x=n.const(np.zeros(input_size), g.dtype))


def _antialiased(n: Node, size: Any, corners: bool, scales: Any) -> str:
    if any(s is not None for s in scales):
        raise n.refuse("scale factors of its own")
    mode = "linear" if "bilinear" in n.name else "cubic"
    coordinates = "align_corners" if corners else "half_pixel"
    return (f'y = resize(x, sizes={literal(per_axis(size, 2))}, mode="{mode}", coordinates="{coordinates}", antialias=True, '
            f'axes=(2, 3), cubic_coeff_a=-0.5, exclude_outside=True)')


@aten_op("mode")
def mode(n: Node, x: Value, dim: int = -1, keep: bool = False) -> Any:
    """The most frequent element, the smallest of equally frequent ones, and the last place where it stands."""
    if not x.rank:
        return x, n.const(np.zeros((), np.int64))
    dim %= x.rank
    i = indices("i", x.rank)
    head = left(i, [1 if k == dim else s for k, s in enumerate(x.shape)])

    def along(name: str, place: str) -> str:
        return at(name, [place if k == dim else a for k, a in enumerate(i)])

    keys = n.cast(x, I64) if x.dtype == BOOL else x
    size = x.shape[dim]
    often = n.formula(f"{left(i, x.shape)} = sum[q in {size}](i64({along('x', 'q')} == {at('x', i)}))", x=keys)
    value = n.formula(f"{head.replace('y', 'most', 1)} = max[q in {size}]({along('c', 'q')})\n"
                      f"{head} = min[q in {size}](where({along('c', 'q')} == {along('most', '0')}, {along('x', 'q')}, "
                      f"{'inf' if x.dtype.is_float else (1 << min(keys.dtype.bits, 40) - 2) - 1}))\n-> y", x=keys, c=often)
    place = n.formula(f"{head} = max[q in {size}](where({along('x', 'q')} == {along('v', '0')}, q, 0))", x=keys, v=value)
    return reshaped(n, n.cast(value, x.dtype), n.out.shape), reshaped(n, place, n.out.shape)


@aten_op("histc")
def histc(n: Node, x: Value, bins: int = 100, low: float = 0, high: float = 0) -> Value:
    if not x.size:
        return n.full(n.out, 0)
    if low == 0 and high == 0:
        flat = reshaped(n, x, (x.size,))
        low, high = float(n.host(n.formula("y = min[k](x[k])", x=flat))), float(n.host(n.formula("y = max[k](x[k])", x=flat)))
    if low == high:
        low, high = low - 1, high + 1
    return n.call("histogram", x, bins=bins, low=float(low), high=float(high))


@aten_op("repeat_interleave.Tensor")
def repeat_interleave(n: Node, repeats: Value) -> Value:
    """Number k as often as repeats[k] says."""
    total = n.kw("output_size")
    count = int(n.host(n.formula("y = sum[k](i64(r[k]))", r=repeats))) if total is None else int(total)
    if not count:
        return n.const(np.empty(0, repeats.dtype.numpy))
    ends = n.formula('y = scan("sum", i64(r), 0)', r=repeats)
    return n.formula(f"y[i in {count}] = sum[k](i64(e[k] <= i))", e=ends)


@aten_op("nonzero_static")
def nonzero_static(n: Node, x: Value) -> Value:
    count, fill = int(n.kw("size")), int(n.kw("fill_value", -1))
    if not count or not x.rank:
        raise n.refuse("of a scalar")
    made = n.call("nonzero", x, capacity=count)
    return made if fill == -1 else n.formula(f"y = where(x == -1, {fill}, x)", x=made)


@aten_op("_unique2 unique_consecutive _unique")
def unique(n: Node, x: Value, *a: Any) -> tuple[Value, ...]:
    """Distinct elements (in order; or runs), the number of each element's, and how often each occurs."""
    runs = n.name == "unique_consecutive"
    wants_inverse, wants_counts = (a[0], a[1]) if runs else (a[1], len(a) > 2 and a[2])
    if runs and len(a) > 2 and a[2] is not None and x.rank != 1:
        raise n.refuse("along an axis")
    nothing = n.const(np.empty(0, np.int64))
    flat = reshaped(n, x, (x.size,))
    keys = n.cast(flat, I64) if x.dtype == BOOL else flat
    if not x.size:
        return (flat, n.const(np.empty(x.shape if wants_inverse else 0, np.int64)), nothing)[:len(n.specs)]
    order = n.const(np.arange(x.size)) if runs else n.call("argsort", keys)
    sorted_ = keys if runs else n.formula("y[k] = x[o[k]]", x=keys, o=order)
    fresh = n.formula(f"y[k in {x.size}] = where(k > 0, s[k] != s[k - 1], True)", s=sorted_)
    places = true_places(n, fresh)
    made = n.formula("y[k] = s[p[k]]", s=sorted_, p=places)
    inverse, counts = nothing, nothing
    if wants_inverse:
        group = n.formula('y = scan("sum", i64(f), 0) - 1', f=fresh)
        zero = n.const(np.zeros(x.size, np.int64))
        inverse = reshaped(n, n.formula("y = scatter[u](z, (o[u],), g[u])", z=zero, o=order, g=group), x.shape)
    if wants_counts:
        counts = n.formula(f"y[k in {places.size}] = where(k < {places.size - 1}, p[k + 1], {x.size}) - p[k]", p=places)
    return (n.cast(made, x.dtype), inverse, counts)[:len(n.specs)]
