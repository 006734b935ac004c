"""Operators of ONNX that move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.trace import Value


def reshaped(n: Node, x: Value, shape: Sequence[int]) -> Value:
    """`x` with another shape of as many elements."""
    target = tuple(int(s) for s in shape)
    if target == x.shape:
        return x
    if x.constant is not None:
        return n.const(x.constant.reshape(target))
    if not target:
        return n.formula(f"y = x[{', '.join('0' * x.rank)}]", x=x)
    if not x.rank:
        left = ", ".join(f"i{k} in 1" for k in range(len(target)))
        return n.formula(f"y[{left}] = x", x=x)
    if x.size == 0:
        return n.const(np.empty(target, x.dtype.numpy))
    return n.call("reshape", x, shape=target)


@onnx_op("Reshape")
def reshape(n: Node) -> Value:
    x = n.x()
    wanted = list(n.ints(1, "shape") or ())
    for k, s in enumerate(wanted):
        if s == 0 and not n.attr("allowzero", 0):
            wanted[k] = x.shape[k]
    if -1 in wanted:
        others = math.prod(s for s in wanted if s != -1)
        wanted[wanted.index(-1)] = x.size // others if others else 0
    return reshaped(n, x, wanted)


@onnx_op("Flatten")
def flatten(n: Node) -> Value:
    x = n.x()
    axis = n.attr("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    return reshaped(n, x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@onnx_op("Squeeze")
def squeeze(n: Node) -> Value:
    x = n.x()
    axes = n.ints(1, "axes")
    gone = {a % x.rank for a in axes} if axes is not None else {k for k, s in enumerate(x.shape) if s == 1}
    return reshaped(n, x, [s for k, s in enumerate(x.shape) if k not in gone])


@onnx_op("Unsqueeze")
def unsqueeze(n: Node) -> Value:
    x = n.x()
    axes = n.ints(1, "axes") or ()
    rank = x.rank + len(axes)
    places = {a % rank for a in axes}
    rest = iter(x.shape)
    return reshaped(n, x, [1 if k in places else next(rest) for k in range(rank)])


@onnx_op("Transpose")
def transpose(n: Node) -> Value:
    x = n.x()
    if x.rank < 2:
        return x
    return n.call("transpose", x, axes=tuple(n.attr("perm", tuple(reversed(range(x.rank))))))


@onnx_op("Expand")
def expand(n: Node) -> Value:
    shape = np.broadcast_shapes(n.x().shape, n.ints(1) or ())
    return expanded(n, n.x(), shape)


def expanded(n: Node, x: Value, shape: tuple[int, ...]) -> Value:
    """`x` stretched to a shape that it broadcasts to."""
    if shape == x.shape:
        return x
    left = ", ".join(f"i{k} in {s}" for k, s in enumerate(shape))
    lead = len(shape) - x.rank
    inner = ", ".join("0" if s == 1 else f"i{k + lead}" for k, s in enumerate(x.shape))
    return n.formula(f"y[{left}] = x{f'[{inner}]' if x.rank else ''}", x=x)


@onnx_op("Tile", 6)
def tile(n: Node) -> Value:
    return sliced_like(n, n.x(), [(0, 1, s * r) for s, r in zip(n.x().shape, n.ints(1) or (), strict=True)], wrap=True)


@onnx_op("Slice")
def slice_(n: Node) -> Value:
    x = n.x()
    starts, ends = n.ints(1, "starts") or (), n.ints(2, "ends") or ()
    axes = n.ints(3, "axes") or tuple(range(len(starts)))
    steps = n.ints(4) or (1,) * len(starts)
    parts = [(0, 1, s) for s in x.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        found = range(*slice(start, end if end > -(1 << 62) else None, step).indices(x.shape[axis]))
        parts[axis] = (found.start, step, len(found))
    return sliced_like(n, x, parts)


def sliced_like(n: Node, x: Value, parts: Sequence[tuple[int, int, int]], wrap: bool = False) -> Value:
    """Element `start + step*i` of every axis, for (start, step, count); with `wrap` modulo the axis."""
    if not wrap and all(p == (0, 1, s) for p, s in zip(parts, x.shape, strict=True)):
        return x
    if any(count == 0 for _, _, count in parts):
        return n.const(np.empty([p[2] for p in parts], x.dtype.numpy))
    left, inner = [], []
    for k, ((start, step, count), size) in enumerate(zip(parts, x.shape, strict=True)):
        left.append(f"i{k} in {count}")
        place = f"i{k}" if step == 1 else f"{start} - {-step}*i{k}" if step < 0 else f"{step}*i{k}"
        if start and step > 0:
            place += f" + {start}"
        inner.append(f"({place}) % {size}" if wrap and count > size else place)
    return n.formula(f"y[{', '.join(left)}] = x[{', '.join(inner)}]", x=x)


@onnx_op("Split")
def split(n: Node) -> tuple[Value, ...]:
    x, axis = n.x(), n.attr("axis", 0)
    sizes = n.ints(1, "split")
    count = n.attr("num_outputs", len(n.outputs))
    if sizes is None:
        each = -(-x.shape[axis] // count)
        sizes = tuple(max(0, min(each, x.shape[axis] - k * each)) for k in range(count))
    return split_at(n, x, axis, sizes)


def split_at(n: Node, x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Pieces of the given sizes along an axis."""
    made, start = [], 0
    for s in sizes:
        parts = [(0, 1, d) for d in x.shape]
        parts[axis] = (start, 1, s)
        made.append(sliced_like(n, x, parts))
        start += s
    return tuple(made)


@onnx_op("Concat")
def concat(n: Node) -> Value:
    return concatenated(n, [n.x(k) for k in range(len(n))], n.attr("axis", 1))


def concatenated(n: Node, values: Sequence[Value], axis: int) -> Value:
    """Tensors one after the other; a few at a time, so that formulas stay short."""
    axis %= max(1, values[0].rank)
    kept = [v for v in values if v.shape[axis]] or list(values[:1])
    while len(kept) > 1:
        kept = [_joined(n, kept[k:k + 8], axis) for k in range(0, len(kept), 8)]
    return kept[0]


def _joined(n: Node, values: Sequence[Value], axis: int) -> Value:
    if len(values) == 1:
        return values[0]
    names = {f"t{k}": v for k, v in enumerate(values)}
    return n.formula(f"y = concat(({', '.join(names)}), axis={axis})", **names)


@onnx_op("Gather")
def gather(n: Node) -> Value:
    x, places, axis = n.x(), n.x(1), n.attr("axis", 0)
    size = x.shape[axis]
    if places.constant is not None and not places.name:
        fixed = np.where(places.constant < 0, places.constant + size, places.constant).astype(np.int64)
        if fixed.ndim == 0:
            parts = [(0, 1, d) for d in x.shape]
            parts[axis] = (int(fixed), 1, 1)
            axis %= x.rank
            return reshaped(n, sliced_like(n, x, parts), [d for k, d in enumerate(x.shape) if k != axis])
        return n.call("take", x, n.const(fixed), axis=axis)
    fixed_value = n.formula(f"y = where(p < 0, p + {size}, p)", p=places)
    return n.call("take", x, fixed_value, axis=axis)


@onnx_op("Trilu")
def trilu(n: Node) -> Value:
    k = int(n.host(1).item()) if n.has(1) else 0
    return n.call("triu" if n.attr("upper", 1) else "tril", n.x(), k=k)
