"""Operators of ATen that read or write at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL, I64
from kernelcat_core.importers.torch_model.node import Node, Operand, at, aten_op, indices, left, number, ranged
from kernelcat_core.importers.torch_model.nodes.layout import expanded, reshaped
from kernelcat_core.importers.torch_model.nodes.reductions import wide
from kernelcat_core.importers.trace import Value


def wrapped(place: str, size: int) -> str:
    """A computed subscript that counts from the end where it is negative."""
    return f"where({place} < 0, {place} + {size}, {place})"


def true_places(n: Node, flags: Value) -> Value:
    """Row-major positions (i64) of the true elements, as many as the host counts in a kernel's answer."""
    flat = reshaped(n, n.cast(flags, BOOL), (flags.size,))
    count = int(n.host(n.formula("y = sum[k](i64(p[k]))", p=flat))) if flags.size else 0
    if count == 0:
        return n.const(np.empty(0, np.int64))
    return n.formula(f"y = i64(first_true(p, {count}))", p=flat)


def unravelled(n: Node, places: Value, shape: Sequence[int]) -> list[Value]:
    """Row-major positions as one vector of subscripts an axis."""
    made: list[Value] = []
    step = 1
    for size in reversed(shape):
        made.insert(0, n.formula(f"y[i] = p[i]//{step} % {size}", p=places) if places.size else places)
        step *= size
    return made


class _Places:
    """Subscripts of an advanced index: `names` of the result's axes with `sizes`, `inner` subscripts of the tensor."""

    def __init__(self, n: Node, x: Value, listed: Sequence[Value | None]) -> None:
        given: list[Value | None] = []
        for i in listed:
            if i is not None and i.dtype.name in ("bool", "u8"):
                given += unravelled(n, true_places(n, i), i.shape)
            else:
                given.append(i)
        given += [None] * (x.rank - len(given))
        used = [k for k, v in enumerate(given) if v is not None]
        shape = np.broadcast_shapes(*(v.shape for v in given if v is not None))
        self.values = {f"I{k}": n.cast(v, I64) for k, v in enumerate(given) if v is not None}
        j = indices("j", len(shape))
        together = used == list(range(used[0], used[-1] + 1))
        first = used[0] if together else 0
        kept = [(f"i{k}", x.shape[k]) for k in range(x.rank) if given[k] is None]
        before = sum(1 for k in range(first) if given[k] is None) if together else 0
        axes = [*kept[:before], *zip(j, shape, strict=True), *kept[before:]]
        self.names, self.sizes = [a for a, _ in axes], [int(s) for _, s in axes]
        self.inner: list[str] = []
        for k, v in enumerate(given):
            if v is None:
                self.inner.append(f"i{k}")
                continue
            own = j[len(shape) - v.rank:]
            element = at(f"I{k}", ["0" if s == 1 else a for a, s in zip(own, v.shape, strict=True)])
            self.inner.append(wrapped(element, x.shape[k]))


@aten_op("index.Tensor _unsafe_index.Tensor")
def index(n: Node, x: Value, listed: Sequence[Value | None]) -> Value:
    p = _Places(n, x, listed)
    if not np.prod(p.sizes):
        return n.const(np.empty(p.sizes, x.dtype.numpy))
    return n.formula(f"{left(p.names, p.sizes)} = {at('x', p.inner)}", x=x, **p.values)


@aten_op("index_put _unsafe_index_put")
def index_put(n: Node, x: Value, listed: Sequence[Value | None], values: Value, accumulate: bool = False) -> Value:
    p = _Places(n, x, listed)
    if not np.prod(p.sizes):
        return x
    source = expanded(n, n.cast(values, x.dtype), p.sizes)
    how = (', "any"' if x.dtype == BOOL else ', "sum"') if accumulate else ""
    over = ranged(p.names, p.sizes) or "u in 1"
    return n.cast(n.formula(f"y = scatter[{over}](x, ({', '.join(p.inner)},), s{_subscripts(p.names)}{how})", x=x,
                            s=source, **p.values),
                  x.dtype)


def _subscripts(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]" if names else ""


@aten_op("gather")
def gather(n: Node, x: Value, dim: int, places: Value) -> Value:
    if not x.rank:
        return expanded(n, x, n.out.shape)
    dim %= x.rank
    i = indices("i", x.rank)
    own = reshaped(n, places, places.shape or (1,))
    inner = [at("p", i) if k == dim else a for k, a in enumerate(i)]
    return reshaped(n, n.formula(f"{left(i, own.shape)} = {at('x', inner)}", x=x, p=own), n.out.shape)


@aten_op("index_select")
def index_select(n: Node, x: Value, dim: int, places: Value) -> Value:
    if not x.rank:
        return x
    dim %= x.rank
    i = indices("i", x.rank)
    place = at("p", [i[dim]] if places.rank else [])
    return n.formula(f"{left(i, n.out.shape)} = {at('x', [place if k == dim else a for k, a in enumerate(i)])}", x=x, p=places)


@aten_op("embedding")
def embedding(n: Node, table: Value, places: Value, *_: Any) -> Value:
    j = indices("j", places.rank)
    return n.formula(f"{left([*j, 'e'], n.out.shape)} = w[{at('p', j)}, e]", w=table, p=places)


@aten_op("embedding_dense_backward")
def embedding_backward(n: Node, g: Value, places: Value, count: int, padding: int, by_frequency: bool) -> Value:
    if by_frequency:
        raise n.refuse("gradients scaled by frequency")
    kind = wide(g.dtype)
    u = indices("u", places.rank)
    over = ranged([*u, "e"], [*places.shape, g.shape[-1]])
    zero = n.const(np.zeros((count, g.shape[-1])), kind)
    condition = f", {at('p', u)} != {padding}" if padding >= 0 else ""
    return n.formula(f'y = scatter[{over}](z, ({at("p", u)}, e), g[{", ".join([*u, "e"])}], "sum"{condition})',
                     z=zero, p=places, g=n.cast(g, kind))


_FOLDS = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "amax": "max", "amin": "min", "mean": "sum"}


def _scattered(n: Node, x: Value, dim: int, places: Value, source: Operand, fold: str) -> Value:
    """`x` with elements of `source` folded in at `places` along an axis; "" writes them, the last wins."""
    if not places.size:
        return x
    shape = x.shape
    x, places = reshaped(n, x, shape or (1,)), reshaped(n, places, places.shape or (1,))
    dim %= x.rank
    u = indices("u", x.rank)
    inner = [at("p", u) if k == dim else a for k, a in enumerate(u)]
    values: dict[str, Value] = {"p": n.cast(places, I64)}
    kind = x.dtype
    work = wide(kind) if fold else kind
    if kind == BOOL and fold:
        fold = {"sum": "any", "prod": "all", "max": "any", "min": "all"}[fold]
    if isinstance(source, Value):
        values["s"] = n.cast(reshaped(n, source, source.shape or (1,)), work)
        value = at("s", u)
    else:
        value = number(source, work) if work == BOOL else f"{work}({number(source, work)})"
    how = f', "{fold}"' if fold else ""
    made = n.formula(f"y = scatter[{ranged(u, places.shape)}](x, ({', '.join(inner)},), {value}{how})", x=n.cast(x,
                                                                                                                 work), **values)
    return reshaped(n, n.cast(made, kind), shape)


@aten_op("scatter.src scatter.value scatter.reduce scatter.value_reduce scatter_add")
def scatter(n: Node, x: Value, dim: int, places: Value, source: Operand) -> Value:
    fold = "sum" if n.name == "scatter_add" else _FOLDS[n.kw("reduce")] if n.kw("reduce") else ""
    return _scattered(n, x, dim, places, source, fold)


@aten_op("scatter_reduce.two")
def scatter_reduce(n: Node, x: Value, dim: int, places: Value, source: Value, reduce: str) -> Value:
    return _folded(n, x, dim, places, source, reduce, bool(n.kw("include_self", True)))


def _folded(n: Node, x: Value, dim: int, places: Value, source: Value, reduce: str, include: bool) -> Value:
    fold, kind = _FOLDS[reduce], x.dtype
    if not places.size:
        return x
    work = wide(kind)
    start = n.cast(x, work)
    ones = n.const(np.ones(x.shape), I64)
    count = None
    if not include or reduce == "mean":
        zeros = n.const(np.zeros(x.shape), I64)
        count = _scattered(n, ones if include else zeros, dim, places, 1, "sum")
    if not include:
        identity = {"sum": "0", "prod": "1", "max": _least(work), "min": _greatest(work)}[fold]
        hit = _scattered(n, n.const(np.zeros(x.shape, bool)), dim, places, True, "")
        start = n.formula(f"y = where(h, {work}({identity}), x)", h=hit, x=start)
    made = _scattered(n, start, dim, places, source, fold)
    if reduce == "mean" and count is not None:
        over = n.cast(n.formula("y = maximum(c, 1)", c=count), work)
        made = n.formula("y = x / c" if work.is_float else "y = x // c", x=made, c=over)
    return n.cast(made, kind)


def _least(kind: Any) -> str:
    return "-inf" if kind.is_float else "False" if kind == BOOL else str(-(1 << kind.bits - 1) + 1 if kind.kind == "i" else 0)


def _greatest(kind: Any) -> str:
    return "inf" if kind.is_float else "True" if kind == BOOL else str((1 << kind.bits - (kind.kind == "i")) - 1)


def _spread(n: Node, places: Value, shape: tuple[int, ...], dim: int) -> Value:
    """A vector of places along one axis, for every element of `shape`."""
    i = indices("i", len(shape))
    return n.formula(f"{left(i, shape)} = {at('p', [i[dim]] if places.rank else [])}", p=places)


@aten_op("index_add index_copy index_reduce index_fill.int_Scalar index_fill.int_Tensor")
def index_update(n: Node, x: Value, dim: int, places: Value, source: Operand, reduce: str = "") -> Value:
    shape = x.shape
    x = reshaped(n, x, shape or (1,))
    dim %= x.rank
    count = places.size
    if not count:
        return reshaped(n, x, shape)
    target = tuple(count if k == dim else s for k, s in enumerate(x.shape))
    everywhere = _spread(n, places, target, dim)
    if isinstance(source, Value):
        source = n.cast(expanded(n, source,
                                 target) if source.rank <= 1 < x.rank or source.shape == target else reshaped(n, source, target),
                        x.dtype)
    if n.name == "index_add" and n.kw("alpha", 1) != 1 and isinstance(source, Value):
        source = n.pointwise("a*b", x.dtype, a=source, b=n.kw("alpha"))
    if n.name == "index_reduce" and isinstance(source, Value):
        return reshaped(n, _folded(n, x, dim, everywhere, source, {"mean": "mean"}.get(reduce, reduce),
                                   bool(n.kw("include_self", True))), shape)
    return reshaped(n, _scattered(n, x, dim, everywhere, source, "sum" if n.name == "index_add" else ""), shape)


@aten_op("masked_fill.Scalar masked_fill.Tensor")
def masked_fill(n: Node, x: Value, mask: Value, fill: Operand) -> Value:
    text = "f" if isinstance(fill, Value) else number(fill, x.dtype)
    if not isinstance(fill, Value) and x.dtype != BOOL:
        text = f"{x.dtype}({text})"
    values = {"f": n.cast(fill, x.dtype)} if isinstance(fill, Value) else {}
    return n.formula(f"y = where(m, {text}, x)", m=n.cast(mask, BOOL), x=x, **values)


@aten_op("take")
def take(n: Node, x: Value, places: Value) -> Value:
    flat = reshaped(n, x, (x.size,))
    j = indices("j", places.rank)
    return n.formula(f"{left(j, places.shape)} = x[{wrapped(at('p', j), x.size)}]", x=flat, p=places)


@aten_op("put")
def put(n: Node, x: Value, places: Value, source: Value, accumulate: bool = False) -> Value:
    if not places.size:
        return x
    flat, p, s = reshaped(n, x, (x.size,)), reshaped(n, places, (places.size,)), reshaped(n, source, (places.size,))
    how = (', "any"' if x.dtype == BOOL else ', "sum"') if accumulate else ""
    made = n.formula(f"y = scatter[u](x, ({wrapped('p[u]', x.size)},), s[u]{how})", x=flat, p=p, s=n.cast(s, x.dtype))
    return reshaped(n, n.cast(made, x.dtype), x.shape)


@aten_op("masked_scatter")
def masked_scatter(n: Node, x: Value, mask: Value, source: Value) -> Value:
    """The places under the mask take the source's elements in order."""
    x = expanded(n, x, n.out.shape)
    flat = reshaped(n, expanded(n, n.cast(mask, BOOL), x.shape), (x.size,))
    before = n.formula('y = scan("sum", i64(m), 0, exclusive=True)', m=flat)
    s = n.cast(reshaped(n, source, (source.size,)), x.dtype)
    made = n.formula("y[i] = where(m[i], s[b[i]], x[i])", m=flat, b=before, s=s, x=reshaped(n, x, (x.size,)))
    return reshaped(n, made, x.shape)


@aten_op("nonzero")
def nonzero(n: Node, x: Value) -> Value:
    places = true_places(n, x)
    if not places.size or not x.rank:
        return n.const(np.zeros((places.size, x.rank), np.int64))
    parts = unravelled(n, places, x.shape)
    text = f"p{len(parts) - 1}[i]"
    for k in reversed(range(len(parts) - 1)):
        text = f"where(d == {k}, p{k}[i], {text})"
    return n.formula(f"y[i in {places.size}, d in {len(parts)}] = {text}", **{f"p{k}": p for k, p in enumerate(parts)})


@aten_op("masked_select")
def masked_select(n: Node, x: Value, mask: Value) -> Value:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    places = true_places(n, expanded(n, mask, shape))
    if not places.size:
        return n.const(np.empty(0, x.dtype.numpy))
    return n.formula("y[i] = x[p[i]]", x=reshaped(n, expanded(n, x, shape), (int(np.prod(shape)),)), p=places)


@aten_op("grid_sampler_2d grid_sampler_3d")
def grid_sampler(n: Node, x: Value, grid: Value, mode: int, padding: int, corners: bool) -> Value:
    return n.call("grid_sample", x, grid, **_sampling(mode, padding, corners))


@aten_op("grid_sampler_2d_backward grid_sampler_3d_backward")
def grid_sampler_backward(n: Node, g: Value, x: Value, grid: Value, mode: int, padding: int, corners: bool, mask: Sequence[bool]
                          ) -> list[Value | None]:
    from kernelcat_core.importers.torch_model.nodes.convolution import pullback
    from kernelcat_core.importers.trace import literal

    text = f"y = grid_sample(x, i, {', '.join(f'{k}={literal(v)}' for k, v in _sampling(mode, padding, corners).items())})"
    return [pullback(n, text, by, g, x=x, i=grid) if mask[k] else None for k, by in enumerate("xi")]


def _sampling(mode: int, padding: int, corners: bool) -> dict[str, Any]:
    return {"mode": ("linear", "nearest", "cubic")[mode], "padding_mode": ("zeros", "border", "reflection")[padding],
            "align_corners": bool(corners)}
