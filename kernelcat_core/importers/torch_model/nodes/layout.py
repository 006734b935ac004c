"""Operators of ATen that move elements: views, slices, joins, padding, triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcat_core.importers.torch_model.node import Node, Spec, at, aten_op, indices, left, number
from kernelcat_core.importers.trace import Value


def reshaped(n: Node, x: Value, shape: Sequence[int]) -> Value:
    """`x` with another shape of as many elements."""
    target = tuple(int(s) for s in shape)
    if target == x.shape:
        return x
    if x.constant is not None:
        return n.const(x.constant.reshape(target))
    if x.size == 1:
        return n.formula(f"{left(indices('i', len(target)), target)} = {at('x', ['0'] * x.rank)}", x=x)
    if [s for s in x.shape if s != 1] == [s for s in target if s != 1]:
        i = indices("i", len(target))
        places = iter([a for a, s in zip(i, target) if s != 1])
        return n.formula(f"{left(i, target)} = {at('x', ['0' if s == 1 else next(places) for s in x.shape])}", x=x)
    return n.call("reshape", x, shape=target)


def moved(n: Node, x: Value, shape: Sequence[int], subscripts: Sequence[str]) -> Value:
    """y[i0, i1..] of `shape` = x[subscripts]."""
    return n.formula(f"{left(indices('i', len(shape)), shape)} = {at('x', subscripts)}", x=x)


def expanded(n: Node, x: Value, shape: Sequence[int]) -> Value:
    """`x` stretched to a shape, axes aligned on the right."""
    if x.shape == tuple(shape):
        return x
    if x.constant is not None and x.size == 1:
        return n.const(np.broadcast_to(x.constant, tuple(shape)))
    i = indices("i", len(shape))[len(shape) - x.rank:]
    return moved(n, x, shape, ["0" if s == 1 else a for a, s in zip(i, x.shape, strict=True)])


@aten_op("view _unsafe_view reshape view_copy _reshape_alias unsqueeze squeeze squeeze.dim squeeze.dims flatten.using_ints "
         "unflatten.int squeeze_copy unsqueeze_copy")
def view(n: Node, x: Value, *_: Any) -> Value:
    return reshaped(n, x, n.out.shape)


@aten_op("view.dtype")
def view_type(n: Node, x: Value, *_: Any) -> Value:
    if x.dtype == n.out.dtype:
        return x
    raise n.refuse("bits of one type are not read as another")


@aten_op("permute t transpose.int permute_copy t_copy transpose_copy.int numpy_T")
def permute(n: Node, x: Value, *dims: Any) -> Value:
    match n.name.removesuffix("_copy"):
        case "permute":
            order = [d % max(1, x.rank) for d in dims[0]]
        case "transpose":
            order = list(range(x.rank))
            if x.rank:
                a, b = dims[0] % x.rank, dims[1] % x.rank
                order[a], order[b] = b, a
        case _:
            order = list(reversed(range(x.rank)))
    if order == list(range(x.rank)):
        return x
    inner = [""] * x.rank
    for place, axis in enumerate(order):
        inner[axis] = f"i{place}"
    return moved(n, x, n.out.shape, inner)


@aten_op("expand expand_copy broadcast_to")
def expand(n: Node, x: Value, *_: Any) -> Value:
    return expanded(n, x, n.out.shape)


@aten_op("slice.Tensor slice_copy.Tensor")
def slice_(n: Node, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    dim %= x.rank
    first, _, by = slice(start, end, step).indices(x.shape[dim])
    if n.out.shape == x.shape and first == 0 and by == 1:
        return x
    i = indices("i", x.rank)
    i[dim] = f"{i[dim]}*{by} + {first}"
    return moved(n, x, n.out.shape, i)


@aten_op("select.int select_copy.int")
def select(n: Node, x: Value, dim: int, index: int) -> Value:
    dim %= x.rank
    i = indices("i", x.rank - 1)
    return moved(n, x, n.out.shape, [*i[:dim], str(index % x.shape[dim]), *i[dim:]])


@aten_op("split.Tensor split_with_sizes split_with_sizes_copy split_copy.Tensor unsafe_split.Tensor unsafe_split_with_sizes "
         "unbind.int unbind_copy.int chunk unsafe_chunk")
def split(n: Node, x: Value, first: Any = 0, dim: int = 0) -> list[Value | None]:
    drops = n.name.startswith("unbind")
    dim = (first if drops else dim) % x.rank
    made: list[Value | None] = []
    start = 0
    for spec in n.specs:
        assert spec is not None
        i = indices("i", len(spec.shape))
        if drops:
            inner = [*i[:dim], str(start), *i[dim:]]
            start += 1
        else:
            inner = [f"{a} + {start}" if k == dim else a for k, a in enumerate(i)]
            start += spec.shape[dim]
        made.append(moved(n, x, spec.shape, inner) if spec.size else n.const(np.empty(spec.shape, spec.dtype.numpy)))
    return made


@aten_op("as_strided as_strided_copy")
def as_strided(n: Node, x: Value, size: Sequence[int], stride: Sequence[int], offset: int | None = None) -> Value:
    """Of a tensor that lies in row-major order from the start of its memory."""
    meta = n.metas[0]
    if not meta.is_contiguous():
        raise n.refuse("a strided view of a tensor that does not lie in row-major order")
    flat = reshaped(n, x, (x.size,))
    start = int(offset if offset is not None else meta.storage_offset()) - int(meta.storage_offset())
    i = indices("i", len(size))
    place = " + ".join([str(start), *(f"{a}*{s}" for a, s in zip(i, stride, strict=True))])
    return moved(n, flat, size, [place])


@aten_op("cat")
def cat(n: Node, tensors: Sequence[Value], dim: int = 0) -> Value:
    kept = [n.cast(t, n.out.dtype) for t in tensors if t.size]
    return joined(n, kept, dim % len(n.out.shape))


_AT_ONCE = 16
"""Tensors that one formula joins: their choice is a nest of conditions."""


def joined(n: Node, tensors: Sequence[Value], dim: int) -> Value:
    """Tensors of one type, one after the other."""
    if len(tensors) == 1:
        return tensors[0]
    if len(tensors) > _AT_ONCE:
        each = -(-len(tensors) // -(-len(tensors) // _AT_ONCE))
        return joined(n, [joined(n, tensors[k:k + each], dim) for k in range(0, len(tensors), each)], dim)
    shape = list(tensors[0].shape)
    ends = np.cumsum([t.shape[dim] for t in tensors]).tolist()
    shape[dim] = ends[-1]
    i = indices("i", len(shape))
    text = ""
    for k in reversed(range(len(tensors))):
        start = ends[k - 1] if k else 0
        element = at(f"x{k}", [f"{a} - {start}" if d == dim and start else a for d, a in enumerate(i)])
        text = f"where(i{dim} < {ends[k]}, {element}, {text})" if text else element
    return n.formula(f"{left(i, shape)} = {text}", **{f"x{k}": t for k, t in enumerate(tensors)})


@aten_op("stack")
def stack(n: Node, tensors: Sequence[Value], dim: int = 0) -> Value:
    dim %= len(n.out.shape)
    kept = [n.cast(t, n.out.dtype) for t in tensors]
    return joined(n, [reshaped(n, t, (*t.shape[:dim], 1, *t.shape[dim:])) for t in kept], dim)


@aten_op("flip fliplr flipud")
def flip(n: Node, x: Value, dims: Sequence[int] | None = None) -> Value:
    chosen = {"fliplr": [1], "flipud": [0]}.get(n.name, list(dims or ()))
    turned = {d % max(1, x.rank) for d in chosen} if x.rank else set()
    inner = [f"{s} - 1 - i{k}" if k in turned else f"i{k}" for k, s in enumerate(x.shape)]
    return moved(n, x, x.shape, inner) if turned else n.formula("y = +x", x=x)


@aten_op("roll")
def roll(n: Node, x: Value, shifts: Any, dims: Any = ()) -> Value:
    shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    dims = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if not dims:
        return reshaped(n, _rolled(n, reshaped(n, x, (x.size,)), {0: shifts[0]}), x.shape)
    total: dict[int, int] = {}
    for d, s in zip(dims, shifts, strict=True):
        total[d % x.rank] = total.get(d % x.rank, 0) + s
    return _rolled(n, x, total)


def _rolled(n: Node, x: Value, shifts: dict[int, int]) -> Value:
    inner = [f"(i{k} + {-shifts[k] % s}) % {s}" if shifts.get(k, 0) % s else f"i{k}" for k, s in enumerate(x.shape)]
    return moved(n, x, x.shape, inner)


@aten_op("repeat")
def repeat(n: Node, x: Value, _: Any) -> Value:
    own = (1,) * (len(n.out.shape) - x.rank) + x.shape
    inner = [f"i{k} % {s}" if s != t else f"i{k}" for k, (s, t) in enumerate(zip(own, n.out.shape, strict=True))]
    return moved(n, x, n.out.shape, ["0" if s == 1 else t for s, t in zip(own, inner, strict=True)][len(own) - x.rank:])


@aten_op("constant_pad_nd")
def constant_pad(n: Node, x: Value, pads: Sequence[int], value: float = 0) -> Value:
    i, shape = indices("i", x.rank), n.out.shape
    guards, inner = [], list(i)
    for k in range(len(pads) // 2):
        axis, before, after = x.rank - 1 - k, pads[2 * k], pads[2 * k + 1]
        if before:
            inner[axis] = f"{i[axis]} - {before}" if before > 0 else f"{i[axis]} + {-before}"
        if before > 0:
            guards.append(f"{i[axis]} >= {before}")
        if after > 0:
            guards.append(f"{i[axis]} < {before + x.shape[axis]}")
    element = at("x", inner)
    if not guards:
        return n.formula(f"{left(i, shape)} = {element}", x=x)
    fill = number(value, x.dtype)
    return n.formula(f"{left(i, shape)} = where({' and '.join(guards)}, {element}, {fill})", x=x)


@aten_op("reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d")
def edge_pad(n: Node, x: Value, pads: Sequence[int]) -> Value:
    inner = indices("i", x.rank)
    for k in range(len(pads) // 2):
        axis, before = x.rank - 1 - k, pads[2 * k]
        inner[axis] = edge(f"({inner[axis]} - ({before}))", x.shape[axis], n.name.startswith("reflection"))
    return moved(n, x, n.out.shape, inner)


def edge(place: str, size: int, reflects: bool) -> str:
    """A place outside as a place inside: mirrored at the edge element, or the edge element itself."""
    if not reflects:
        return f"maximum(0, minimum({place}, {size - 1}))"
    return f"({size - 1} - abs({size - 1} - abs({place})))"


@aten_op("tril triu")
def triangle(n: Node, x: Value, k: int = 0) -> Value:
    i = indices("i", x.rank)
    sign = "<=" if n.name == "tril" else ">="
    zero = "False" if x.dtype.kind == "b" else "0"
    return n.formula(f"{left(i, x.shape)} = where({i[-1]} {sign} {i[-2]} + ({k}), {at('x', i)}, {zero})", x=x)


@aten_op("diagonal diagonal_copy")
def diagonal(n: Node, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    dim1, dim2 = dim1 % x.rank, dim2 % x.rank
    i = indices("i", x.rank - 1)
    others = iter(i[:-1])
    row = f"{i[-1]} + {max(0, -offset)}"
    column = f"{i[-1]} + {max(0, offset)}"
    inner = [row if k == dim1 else column if k == dim2 else next(others) for k in range(x.rank)]
    return moved(n, x, n.out.shape, inner)


@aten_op("unfold unfold_copy")
def unfold(n: Node, x: Value, dim: int, size: int, step: int) -> Value:
    if not x.rank:
        return moved(n, x, n.out.shape, [])
    dim %= x.rank
    i = indices("i", x.rank)
    return moved(n, x, n.out.shape, [f"{a}*{step} + i{x.rank}" if k == dim else a for k, a in enumerate(i)])


@aten_op("slice_scatter select_scatter diagonal_scatter as_strided_scatter")
def write_view(n: Node, x: Value, src: Value, *a: Any) -> Value:
    """`x` with a view of it replaced by `src`."""
    i = indices("i", x.rank)
    src = n.cast(src, x.dtype)
    if n.name == "select_scatter":
        dim, place = a[0] % x.rank, a[1] % x.shape[a[0]]
        chosen = [c for k, c in enumerate(i) if k != dim]
        guard = f"{i[dim]} == {place}"
    elif n.name == "slice_scatter":
        dim = (a[0] if a else 0) % x.rank
        first, _, step = slice(*(a[1] if len(a) > 1 else None, a[2] if len(a) > 2 else None,
                                 a[3] if len(a) > 3 else 1)).indices(x.shape[dim])
        src = expanded(n, src, [len(range(first, _, step)) if k == dim else s for k, s in enumerate(x.shape)])
        count = src.shape[dim]
        if not count:
            return x
        guard = f"{i[dim]} >= {first} and {i[dim]} < {first + (count - 1) * step + 1}"
        if step != 1:
            guard += f" and ({i[dim]} - {first}) % {step} == 0"
        place = f"{i[dim]} - {first}" if step == 1 else f"({i[dim]} - {first}) // {step}"
        chosen = [place if k == dim else c for k, c in enumerate(i)]
    elif n.name == "diagonal_scatter":
        offset, dim1, dim2 = (a[0] if a else 0), (a[1] if len(a) > 1 else 0) % x.rank, (a[2] if len(a) > 2 else 1) % x.rank
        chosen = [*(c for k, c in enumerate(i) if k not in (dim1, dim2)), f"{i[dim1]} - {max(0, -offset)}"]
        guard = f"{i[dim2]} - {i[dim1]} == {offset}"
    else:
        return _strided_scatter(n, x, src, *a)
    return n.formula(f"{left(i, x.shape)} = where({guard}, {at('s', chosen)}, {at('x', i)})", x=x, s=src)


def _strided_scatter(n: Node, x: Value, src: Value, size: Sequence[int], stride: Sequence[int],
                     offset: int | None = None) -> Value:
    flat = reshaped(n, x, (x.size,))
    u = indices("u", len(size)) or ["u"]
    over = ", ".join(f"{c} in {s}" for c, s in zip(u, size or [1]))
    place = " + ".join([str(offset or 0), *(f"{c}*{s}" for c, s in zip(u, stride))])
    made = n.formula(f"y = scatter[{over}](x, ({place},), {at('s', u if size else [])})", x=flat, s=src)
    return reshaped(n, made, x.shape)


@aten_op("full ones zeros full_like zeros_like ones_like empty.memory_format new_empty new_zeros new_ones new_full empty_like "
         "empty_strided new_empty_strided scalar_tensor empty_permuted fill.Scalar")
def filled(n: Node, *a: Any) -> Value:
    value = 0.0
    match n.name:
        case "full" | "full_like" | "fill":
            value = a[1]
        case "new_full":
            value = a[2]
        case "ones" | "ones_like" | "new_ones":
            value = 1.0
        case "scalar_tensor":
            value = a[0]
    return n.full(n.out, value)


@aten_op("fill.Tensor")
def filled_by(n: Node, x: Value, value: Value) -> Value:
    return expanded(n, n.cast(value, n.out.dtype), x.shape)


@aten_op("arange.start_step arange arange.start")
def arange(n: Node, *a: Any) -> Value:
    start, step = (0, 1) if len(a) == 1 else (a[0], a[2] if len(a) > 2 else 1)
    kind = n.out.dtype
    made = np.arange(n.out.size, dtype=np.float64 if kind.is_float else np.int64)
    return n.const(start + made * step, kind)


@aten_op("eye eye.m")
def eye(n: Node, *_: Any) -> Value:
    return n.const(np.eye(n.out.shape[0], n.out.shape[1]), n.out.dtype)


def spec_of(x: Value) -> Spec:
    """The Spec of a value in row-major order."""
    return Spec(x.dtype, x.shape, tuple(math.prod(x.shape[k + 1:]) for k in range(x.rank)))
