"""Operators of ONNX that read or write at computed places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
from kernelcat_core.importers.trace import Value

REDUCTIONS = {"none": "", "add": "sum", "mul": "prod", "max": "max", "min": "min"}


def indices(letter: str, count: int) -> list[str]:
    """Names of indices."""
    return [f"{letter}{k}" for k in range(count)]


def ranged(names: Sequence[str], sizes: Sequence[int]) -> str:
    """Indices with their ranges, as they stand on the left or in a reducer."""
    return ", ".join(f"{n} in {s}" for n, s in zip(names, sizes, strict=True))


def wrapped(place: str, size: int) -> str:
    """A computed subscript that counts from the end where it is negative."""
    return f"where({place} < 0, {place} + {size}, {place})"


@onnx_op("GatherElements")
def gather_elements(n: Node) -> Value:
    x, places = n.x(0), n.x(1)
    axis = n.attr("axis", 0) % x.rank
    i = indices("i", x.rank)
    inner = [wrapped(f"I[{', '.join(i)}]", x.shape[axis]) if k == axis else a for k, a in enumerate(i)]
    return n.formula(f"y[{ranged(i, places.shape)}] = x[{', '.join(inner)}]", x=x, I=places)


@onnx_op("GatherND")
def gather_nd(n: Node) -> Value:
    x, places = n.x(0), n.x(1)
    batch, depth = n.attr("batch_dims", 0), places.shape[-1]
    j, m = indices("j", places.rank - 1), indices("m", x.rank - batch - depth)
    computed = [wrapped(f"I[{', '.join([*j, str(k)])}]", x.shape[batch + k]) for k in range(depth)]
    left = ranged([*j, *m], [*places.shape[:-1], *x.shape[batch + depth:]])
    return n.formula(f"y{f'[{left}]' if left else ''} = x[{', '.join([*j[:batch], *computed, *m])}]", x=x, I=places)


@onnx_op("Scatter ScatterElements")
def scatter_elements(n: Node) -> Value:
    x, places, updates = n.x(0), n.x(1), n.x(2)
    axis = n.attr("axis", 0) % x.rank
    u = indices("u", x.rank)
    element = ", ".join(u)
    inner = [wrapped(f"I[{element}]", x.shape[axis]) if k == axis else a for k, a in enumerate(u)]
    return scattered(n, x, places, updates, ranged(u, updates.shape), inner, element)


@onnx_op("ScatterND")
def scatter_nd(n: Node) -> Value:
    x, places, updates = n.x(0), n.x(1), n.x(2)
    depth = places.shape[-1]
    j, m = indices("j", places.rank - 1), indices("m", x.rank - depth)
    computed = [wrapped(f"I[{', '.join([*j, str(k)])}]", x.shape[k]) for k in range(depth)]
    over = ranged([*j, *m], [*places.shape[:-1], *x.shape[depth:]])
    return scattered(n, x, places, updates, over, [*computed, *m], ", ".join([*j, *m]))


def scattered(n: Node, x: Value, places: Value, updates: Value, over: str, inner: Sequence[str], element: str) -> Value:
    """`x` with updates folded in by the node's reduction; 16-bit floats fold in f32."""
    name = REDUCTIONS[n.attr("reduction", "none")]
    kind = x.dtype
    if name in ("max", "min", "sum", "prod") and kind.is_float and kind.bits < 32:
        x, updates = convert(n, x, "f32"), convert(n, updates, "f32")
    if updates.size == 0:
        return n.x(0)
    how = f', "{name}"' if name else ""
    made = n.formula(f"y = scatter[{over}](x, ({', '.join(inner)},), U[{element}]{how})", x=x, I=places, U=updates)
    return convert(n, made, kind.name)


@onnx_op("OneHot")
def one_hot(n: Node) -> Value:
    depth = int(n.host(1).reshape(-1)[0])
    chosen = convert(n, n.x(0), "i64")
    axis = n.attr("axis", -1) % (chosen.rank + 1)
    i = indices("i", chosen.rank)
    all_ = [*i[:axis], "d", *i[axis:]]
    left = ranged(all_, [*chosen.shape[:axis], depth, *chosen.shape[axis:]])
    hit = wrapped(f"I[{', '.join(i)}]" if i else "I", depth)
    return n.formula(f"y[{left}] = where({hit} == d, v[1], v[0])", I=chosen, v=n.x(2))


@onnx_op("ReverseSequence")
def reverse_sequence(n: Node) -> Value:
    x, lengths = n.x(0), n.x(1)
    batch, time = n.attr("batch_axis", 1) % x.rank, n.attr("time_axis", 0) % x.rank
    i = indices("i", x.rank)
    length, t = f"L[{i[batch]}]", i[time]
    inner = [f"where({t} < {length}, {length} - 1 - {t}, {t})" if k == time else a for k, a in enumerate(i)]
    return n.formula(f"y[{ranged(i, x.shape)}] = x[{', '.join(inner)}]", x=x, L=lengths)


@onnx_op("TensorScatter")
def tensor_scatter(n: Node) -> Value:
    x, update = n.x(0), n.x(1)
    axis = n.attr("axis", -2) % x.rank
    i = indices("i", x.rank)
    here = i[axis] if not n.has(2) else f"({i[axis]} - w[i0])"
    place = f"({here}) % {x.shape[axis]}" if n.attr("mode", "linear") == "circular" else here
    inner = [place if k == axis else a for k, a in enumerate(i)]
    values = {"x": x, "u": update, **({"w": n.x(2)} if n.has(2) else {})}
    return n.formula(f"y[{ranged(i, x.shape)}] = where({place} >= 0 and {place} < {update.shape[axis]}, "
                     f"u[{', '.join(inner)}], x[{', '.join(i)}])", **values)


# -- what decides its own size: kernels give places and a count, the host reads the count


def true_places(n: Node, flags: Value) -> Value:
    """Positions (i64) of the true elements of a flat bool tensor, as many as there are."""
    count = int(n.trace.host(n.formula("y = sum[k](i64(p[k]))", p=flags)))
    if count == 0:
        return n.const(np.empty(0, np.int64))
    return n.formula(f"y = i64(first_true(p, {count}))", p=flags)


@onnx_op("NonZero")
def non_zero(n: Node) -> Value:
    x = n.x()
    places = true_places(n, convert(n, reshaped(n, x, (x.size,)), "bool"))
    if not places.size or not x.rank:
        return n.const(np.zeros((x.rank, places.size), np.int64))
    return unravelled(n, places, x.shape, 0)


def unravelled(n: Node, places: Value, shape: Sequence[int], axis: int) -> Value:
    """Row-major positions [n] as subscripts [rank, n] (axis 0) or [n, rank] (axis 1)."""
    parts: list[str] = []
    step = 1
    for k in reversed(range(len(shape))):
        parts.insert(0, f"p[i]//{step} % {shape[k]}")
        step *= shape[k]
    chosen = parts[-1]
    for k in reversed(range(len(parts) - 1)):
        chosen = f"where(d == {k}, {parts[k]}, {chosen})"
    left = ranged(["d", "i"] if axis == 0 else ["i", "d"],
                  [len(shape), places.size] if axis == 0 else [places.size, len(shape)])
    return n.formula(f"y[{left}] = {chosen}", p=places)


@onnx_op("Compress")
def compress(n: Node) -> Value:
    x, axis = n.x(0), n.attr("axis")
    if axis is None:
        x, axis = reshaped(n, x, (x.size,)), 0
    axis %= x.rank
    places = true_places(n, n.x(1))
    if not places.size:
        return n.const(np.empty([0 if k == axis else s for k, s in enumerate(x.shape)], x.dtype.numpy))
    return n.call("take", x, places, axis=axis)
