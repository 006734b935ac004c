"""Parts of tensors: slices, pieces, diagonals; and elements or axes in another order."""

from __future__ import annotations

from typing import Any

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, Tensors, operator, wrong
from kernelcat_core.formula.operators.windows import per_axis

_GROUP = "layout"
_DIM = {"dim": "axis", "input": "x", "dims": "axes"}
_FAR = 1 << 40


def _declared(x: Tensor) -> str:
    return f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]"


def _items(value: Any, name: str) -> tuple[int, ...]:
    items = value if isinstance(value, tuple) else (value,)
    if any(isinstance(v, bool) or not isinstance(v, int) for v in items):
        raise wrong(f"{name} of slice are whole numbers")
    return items


@operator("slice", group=_GROUP, summary="from starts to ends along axes, as Python's slices; steps may be negative",
          example="slice(X, (1,), (8,), (0,), (2,))", renames=_DIM,
          onnx=OnnxNode("Slice", ("x",), lambda a: {n: list(a[n]) for n in ("starts", "ends", "axes", "steps")
                                                    if a[n] is not None},
                        applies=lambda a: all(isinstance(a[n], tuple) or a[n] is None for n in (
                            "starts", "ends", "axes", "steps"))))
def slice_(x: Tensor, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None = None,
           steps: tuple[int, ...] | None = None) -> str:
    first, last = _items(starts, "starts"), _items(ends, "ends")
    over = tuple(range(len(first))) if axes is None else _items(axes, "axes")
    stride = (1,) * len(first) if steps is None else _items(steps, "steps")
    if not len(first) == len(last) == len(over) == len(stride) or 0 in stride:
        raise wrong("slice takes one start, end and step (not 0) for each of its axes")
    parts = [":"] * x.rank
    for a, start, end, step in zip(over, first, last, stride, strict=True):
        begin = "" if abs(start) > _FAR and (start < 0) == (step > 0) else str(max(-_FAR, min(_FAR, start)))
        stop = str(max(-_FAR, min(_FAR, end)))
        if abs(end) > _FAR and (end > 0) == (step > 0):
            stop = ""
        parts[normalised(a, x.rank, "slice")] = f"{begin}:{stop}:{step}"
    return f"y = x[{', '.join(parts)}]"


@operator("split_piece", group=_GROUP, summary="piece number `index` of an axis cut into pieces of the given sizes",
          example="split_piece(X, (5, 7), 0, axis=0)", renames=_DIM)
def split_piece(x: Tensor, sizes: tuple[int, ...], index: int, axis: int = 0) -> str:
    place = normalised(axis, x.rank, "split_piece")
    parts = per_axis(sizes, len(sizes) if isinstance(sizes, tuple) else 1, "sizes of split_piece", 0)
    (number,) = per_axis(index, 1, "index of split_piece", 0)
    if number >= len(parts):
        raise wrong(f"split_piece makes {len(parts)} pieces, there is none with number {number}")
    i = letters(x.rank)
    left = [f"{a} in {parts[number]}" if k == place else a for k, a in enumerate(i)]
    inner = [f"{a} + {sum(parts[:number])}" if k == place else a for k, a in enumerate(i)]
    shape = ", ".join(str(sum(parts)) if k == place else f"N{k}" for k in range(x.rank))
    return f"x: [{shape}]\n{subscripted('y', left)} = {subscripted('x', inner)}"


@operator("chunk_piece", group=_GROUP,
          summary="piece number `index` of an axis cut into `chunks` pieces of ceil(size / chunks), the last one shorter",
          example="chunk_piece(X, 3, 0, axis=0)", renames={**_DIM, "num_outputs": "chunks"})
def chunk_piece(x: Tensor, chunks: int, index: int, axis: int = 0) -> str:
    place = normalised(axis, x.rank, "chunk_piece")
    (count,), (number,) = per_axis(chunks, 1, "chunks"), per_axis(index, 1, "index of chunk_piece", 0)
    i, size = letters(x.rank), f"N{place}"
    width = f"(({size} + {count - 1})//{count})"
    left = [f"{a} in maximum(minimum({width}, {size} - {number}*{width}), 0)" if k == place else a for k, a in enumerate(i)]
    inner = [f"{a} + {number}*{width}" if k == place else a for k, a in enumerate(i)]
    return f"{_declared(x)}\n{subscripted('y', left)} = {subscripted('x', inner)}"


@operator("unflatten", group=_GROUP, summary="one axis as several, the last running fastest; one size may be -1",
          example="unflatten(X, 0, (4, -1))", renames={**_DIM, "shape": "sizes"})
def unflatten(x: Tensor, axis: int, sizes: tuple[int, ...]) -> str:
    place = normalised(axis, x.rank, "unflatten")
    if not isinstance(sizes, tuple) or sizes.count(-1) > 1 or any(
            isinstance(d, bool) or not isinstance(d, int) or d < -1 or d == 0 for d in sizes):
        raise wrong("sizes of unflatten are positive numbers, at most one of them -1")
    known = 1
    for d in sizes:
        known *= max(d, 1)
    texts = [f"(N{place}//{known})" if d == -1 else str(d) for d in sizes]
    i = letters(x.rank)
    inner = "0"
    for k, text in enumerate(texts):
        inner = f"j{k}" if inner == "0" else f"({inner})*{text} + j{k}"
    left = [*i[:place], *(f"j{k} in {t}" for k, t in enumerate(texts)), *i[place + 1:]]
    return "\n".join([_declared(x), f"_: [N{place}, {'*'.join(texts) or '1'}]",
                      f"{subscripted('y', left)} = {subscripted('x', [*i[:place], inner, *i[place + 1:]])}"])


@operator("movedim", group=_GROUP, summary="axes moved to other places, the rest in order", example="movedim(X, 0, 1)",
          aliases="moveaxis", renames={"input": "x"})
def movedim(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> str:
    froms = source if isinstance(source, tuple) else (source,)
    tos = destination if isinstance(destination, tuple) else (destination,)
    a = [normalised(v, x.rank, "movedim") for v in froms]
    b = [normalised(v, x.rank, "movedim") for v in tos]
    if len(a) != len(b) or len(set(a)) != len(a) or len(set(b)) != len(b):
        raise wrong("movedim takes as many distinct sources as destinations")
    order: list[int | None] = [None] * x.rank
    for s, d in zip(a, b, strict=True):
        order[d] = s
    rest = iter(k for k in range(x.rank) if k not in a)
    i = letters(x.rank)
    left = [i[next(rest) if k is None else k] for k in order]
    return f"{subscripted('y', left)} = {subscripted('x', i)}"


@operator("repeat_interleave", group=_GROUP, summary="each element of an axis `repeats` times", example=
          "repeat_interleave(X, 2, axis=1)", renames=_DIM)
def repeat_interleave(x: Tensor, repeats: int, axis: int | None = None) -> str:
    (count,) = per_axis(repeats, 1, "repeats of repeat_interleave", 0)
    if axis is None:
        total = "*".join(f"N{k}" for k in range(x.rank)) or "1"
        inner: list[str] = []
        rest = ""
        for k in reversed(range(x.rank)):
            digit = f"i//({count}{rest})" if count else "i"
            inner.insert(0, digit if k == 0 else f"{digit} % N{k}")
            rest += f"*N{k}"
        return f"{_declared(x)}\ny[i in {total}*{count}] = {subscripted('x', inner)}"
    place = normalised(axis, x.rank, "repeat_interleave")
    i = letters(x.rank)
    left = [f"{a} in N{k}*{count}" if k == place else a for k, a in enumerate(i)]
    inner = [f"{a}//{max(count, 1)}" if k == place else a for k, a in enumerate(i)]
    return f"{_declared(x)}\n{subscripted('y', left)} = {subscripted('x', inner)}"


def _diagonal(x: Tensor, offset: int, axis1: int, axis2: int, name: str) -> tuple[list[str], list[str], str]:
    """Kept indices, subscripts of x with d on the diagonal, and its length."""
    a, b = normalised(axis1, x.rank, name), normalised(axis2, x.rank, name)
    if a == b or isinstance(offset, bool) or not isinstance(offset, int):
        raise wrong(f"{name} takes two different axes and a whole offset")
    row, column = max(-offset, 0), max(offset, 0)
    i = letters(x.rank)
    inner = [f"d + {row}" if k == a else f"d + {column}" if k == b else t for k, t in enumerate(i)]
    length = f"maximum(minimum(N{a} - {row}, N{b} - {column}), 0)"
    return [t for k, t in enumerate(i) if k not in (a, b)], inner, length


@operator("diagonal", group=_GROUP, summary="a diagonal of two axes, as a new last axis", example="diagonal(X)",
          renames={"input": "x", "dim1": "axis1", "dim2": "axis2"})
def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> str:
    kept, inner, length = _diagonal(x, offset, axis1, axis2, "diagonal")
    return f"{_declared(x)}\n{subscripted('y', [*kept, f'd in {length}'])} = {subscripted('x', inner)}"


@operator("trace", group=_GROUP, summary="sum of a diagonal of two axes", example="trace(X)",
          renames={"input": "x", "dim1": "axis1", "dim2": "axis2"})
def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> str:
    kept, inner, length = _diagonal(x, offset, axis1, axis2, "trace")
    return f"{_declared(x)}\n{subscripted('y', kept)} = sum[d in {length}]({subscripted('x', inner)})"


@operator("diag_embed", group=_GROUP, summary="the last axis on a diagonal of matrices of 0", example="diag_embed(X)",
          aliases="diag", renames={"input": "x", "diagonal": "offset"})
def diag_embed(x: Tensor, offset: int = 0) -> str:
    if x.rank == 0 or isinstance(offset, bool) or not isinstance(offset, int):
        raise wrong("diag_embed takes at least one axis and a whole offset")
    i = letters(x.rank)
    row, column = max(-offset, 0), max(offset, 0)
    size = f"N{x.rank - 1} + {abs(offset)}"
    element = subscripted("x", [*i[:-1], f"p - {row}" if row else "p"])
    inside = f"p >= {row} and p - {row} < N{x.rank - 1}"
    value = f"where({inside}, where(q - {column} == p - {row}, {element}, 0), 0)"
    return f"{_declared(x)}\n{subscripted('y', [*i[:-1], f'p in {size}', f'q in {size}'])} = {value}"


@operator("meshgrid", group=_GROUP, summary="coordinate `index` of the grid of several vectors",
          example="meshgrid((A, B), index=0)", ranks={"vectors": 1}, renames={"tensors": "vectors"})
def meshgrid(vectors: Tensors, index: int = 0, indexing: str = "ij") -> str:
    if any(v.rank != 1 for v in vectors) or indexing not in ("ij", "xy") or not 0 <= index < len(vectors):
        raise wrong("meshgrid takes vectors, the number of one of them, and the indexing ij or xy")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    lines = [f"vectors{k}: [N{k}]" for k in range(len(vectors))]
    return "\n".join([*lines, f"y[{', '.join(f'i{k} in N{k}' for k in order)}] = vectors{index}[i{index}]"])


@operator("rot90", group=_GROUP, summary="turned by quarters in the plane of two axes, from the first towards the second",
          example="rot90(X)", renames={"input": "x", "dims": "axes"})
def rot90(x: Tensor, k: int = 1, axes: tuple[int, int] = (0, 1)) -> str:
    if not isinstance(axes, tuple) or len(axes) != 2 or isinstance(k, bool) or not isinstance(k, int):
        raise wrong("rot90 takes a whole number of quarters and two axes")
    a, b = (normalised(v, x.rank, "rot90") for v in axes)
    if a == b:
        raise wrong("the axes of rot90 differ")
    i, sizes = letters(x.rank), [f"N{n}" for n in range(x.rank)]
    inner, quarters = list(i), k % 4
    if quarters % 2:
        sizes[a], sizes[b] = sizes[b], sizes[a]
        inner[a], inner[b] = i[b], i[a]
    back = {1: [b], 2: [a, b], 3: [a]}.get(quarters, [])
    for n in back:
        inner[n] = f"N{n} - 1 - {inner[n]}"
    left = [f"{t} in {s}" for t, s in zip(i, sizes, strict=True)]
    return f"{_declared(x)}\n{subscripted('y', left)} = {subscripted('x', inner)}"


@operator("reverse_sequence", group=_GROUP,
          summary="the first `lengths` elements of every sequence backwards, the rest as they are",
          aliases="ReverseSequence", example="lengths: i64[N]; reverse_sequence(X, lengths)", ranks={"lengths": 1},
          renames={"input": "x", "sequence_lens": "lengths"})
def reverse_sequence(x: Tensor, lengths: Tensor, batch_axis: int = 1, time_axis: int = 0) -> str:
    batch, time = normalised(batch_axis, x.rank, "reverse_sequence"), normalised(time_axis, x.rank, "reverse_sequence")
    if batch == time or lengths.rank != 1 or not lengths.dtype.is_integer:
        raise wrong("reverse_sequence takes whole lengths[N], and different axes of sequences and of time")
    i = letters(x.rank)
    length = f"i64(lengths[{i[batch]}])"
    place = f"where({i[time]} < {length}, {length} - 1 - {i[time]}, {i[time]})"
    left = [f"{a} in N{k}" for k, a in enumerate(i)]
    return (f"{_declared(x)}\n{subscripted('y', left)} = "
            f"{subscripted('x', [place if k == time else a for k, a in enumerate(i)])}")
