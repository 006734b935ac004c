"""Operators that move elements and compute nothing: each is a formula over index arithmetic."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, Tensors, operator, wrong

_GROUP = "layout"
_DIM = {"dim": "axis", "dims": "axes", "input": "x"}


def _sizes(x: Tensor) -> list[str]:
    """Size expressions of x for use in the text: numbers, or the names N0 N1.. of `_declared`."""
    return [f"N{k}" if d is None else str(d) for k, d in enumerate(x.shape)]


def _declared(x: Tensor, name: str = "x") -> str:
    return f"{name}: [{', '.join(_sizes(x))}]" if x.rank else ""


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


@operator("transpose", group=_GROUP, summary="axes in another order (reversed when none is given)", aliases="permute Transpose",
          example="transpose(X, (1, 0))", renames={**_DIM, "perm": "axes"},
          onnx=OnnxNode("Transpose", ("x",), lambda a: {} if a["axes"] is None else {"perm": [
              k % a["x"].rank for k in a["axes"]]}))
def transpose(x: Tensor, axes: tuple[int, ...] | None = None) -> str:
    order = tuple(reversed(range(x.rank))) if axes is None else axes
    if not isinstance(order, tuple) or sorted(normalised(a, x.rank, "transpose") for a in order) != list(range(x.rank)):
        raise wrong(f"axes of transpose name each of the {x.rank} axes once")
    i = letters(x.rank)
    return f"{subscripted('y', [i[normalised(a, x.rank, 'transpose')] for a in order])} = {subscripted('x', i)}"


@operator("swapaxes", group=_GROUP, summary="two axes exchanged", example="swapaxes(X, 0, 1)",
          renames={"input": "x", "dim0": "axis1", "dim1": "axis2"})
def swapaxes(x: Tensor, axis1: int = -2, axis2: int = -1) -> str:
    a, b = normalised(axis1, x.rank, "swapaxes"), normalised(axis2, x.rank, "swapaxes")
    order = list(range(x.rank))
    order[a], order[b] = b, a
    return transpose(x, tuple(order))


def _regrouped(x: Tensor, groups: list[list[int]]) -> str:
    """Every group of neighbouring axes becomes one axis."""
    sizes = _sizes(x)
    left, inner = [], [""] * x.rank
    for n, group in enumerate(groups):
        total = "*".join(sizes[k] for k in group) or "1"
        left.append(f"j{n} in {total}")
        for place, k in enumerate(group):
            rest = "*".join(sizes[m] for m in group[place + 1:])
            part = f"j{n}//({rest})" if rest else f"j{n}"
            inner[k] = part if place == 0 else f"{part} % {sizes[k]}"
    return _lines(_declared(x), f"{subscripted('y', left)} = {subscripted('x', inner)}")


@operator("flatten", group=_GROUP, summary="neighbouring axes merged into one (all by default)", example="flatten(X, 1)",
          aliases="ravel", renames={**_DIM, "start_dim": "start", "end_dim": "end"},
          onnx=OnnxNode("Flatten", ("x",), lambda a: {"axis": 1},
                        applies=lambda a: a["x"].rank >= 2 and a["start"] == 1 and a["end"] in (-1, a["x"].rank - 1)))
def flatten(x: Tensor, start: int = 0, end: int = -1) -> str:
    first, last = normalised(start, max(1, x.rank), "flatten"), normalised(end, max(1, x.rank), "flatten")
    if first > last:
        raise wrong("flatten starts after its end")
    merged = list(range(first, min(last + 1, x.rank)))
    return _regrouped(x, [*([k] for k in range(first)), merged, *([k] for k in range(last + 1, x.rank))])


@operator("reshape", group=_GROUP, summary="the same elements in row-major order under another shape",
          example="reshape(X, (8, -1))", aliases="view", renames={"input": "x"},
          onnx=OnnxNode("Reshape", ("x", "shape"), lambda a: {"shape": list(a["shape"])}))
def reshape(x: Tensor, shape: tuple[int, ...]) -> str:
    dims = shape if isinstance(shape, tuple) else (shape,)
    if any(isinstance(d, bool) or not isinstance(d, int) or d < -1 for d in dims) or dims.count(-1) > 1:
        raise wrong("shape of reshape is whole numbers, at most one of them -1")
    known = 1
    for d in dims:
        known *= d if d >= 0 else 1
    total = "*".join(_sizes(x)) or "1"
    sizes = [f"({total})//{known}" if d == -1 else str(d) for d in dims]
    if -1 in dims and known == 0:
        raise wrong("reshape cannot infer -1 beside a size 0")
    left = [f"j{n} in {s}" for n, s in enumerate(sizes)]
    linear = " + ".join(f"j{n}" + "".join(f"*({s})" for s in sizes[n + 1:]) for n in range(len(dims))) or "0"
    inner: list[str] = []
    own = _sizes(x)
    for k in range(x.rank):
        rest = "*".join(own[k + 1:])
        part = f"({linear})//({rest})" if rest else f"({linear})"
        inner.append(part if k == 0 else f"{part} % {own[k]}")
    elements = "*".join(f"({s})" for s in sizes) or "1"
    return _lines(_declared(x), f"_: [{total}, {elements}]", f"{subscripted('y', left)} = {subscripted('x', inner)}")


def _places(axes: int | tuple[int, ...], rank: int, name: str) -> list[int]:
    """Distinct axes of a tensor with `rank` axes, in the order given."""
    found = [normalised(a, rank, name) for a in (axes if isinstance(axes, tuple) else (axes,))]
    if len(set(found)) != len(found):
        raise wrong(f"axes of {name} repeat")
    return found


@operator("expand_dims", group=_GROUP, summary="a new axis of size 1 (or several)", example="expand_dims(X, 0)",
          aliases="unsqueeze", renames={**_DIM, "axes": "axis"})
def expand_dims(x: Tensor, axis: int | tuple[int, ...]) -> str:
    rank = x.rank + (len(axis) if isinstance(axis, tuple) else 1)
    places = _places(axis, rank, "expand_dims")
    i = iter(letters(x.rank))
    left = [f"u{k} in 1" if k in places else next(i) for k in range(rank)]
    return f"{subscripted('y', left)} = {subscripted('x', letters(x.rank))}"


@operator("squeeze", group=_GROUP, summary="an axis of size 1 removed (or several; all that are known to be 1 by default)",
          example="squeeze(X, 0)", renames={**_DIM, "axes": "axis"})
def squeeze(x: Tensor, axis: int | tuple[int, ...] | None = None) -> str:
    places = [k for k, d in enumerate(x.shape) if d == 1] if axis is None else _places(axis, x.rank, "squeeze")
    i = letters(x.rank)
    shape = ["1" if k in places else f"N{k}" for k in range(x.rank)]
    inner = ["0" if k in places else n for k, n in enumerate(i)]
    kept = [n for k, n in enumerate(i) if k not in places]
    return _lines(f"x: [{', '.join(shape)}]" if shape else "", f"{subscripted('y', kept)} = {subscripted('x', inner)}")


@operator("concat", group=_GROUP, summary="tensors one after the other along an axis", aliases="concatenate cat Concat",
          example="concat((A, B), axis=0)", renames=_DIM,
          onnx=OnnxNode("Concat", ("tensors",), lambda a: {"axis": a["axis"]}))
def concat(tensors: Tensors, axis: int = 0) -> str:
    rank = tensors[0].rank
    if any(t.rank != rank for t in tensors) or rank == 0:
        raise wrong("concat takes tensors with the same number of axes")
    place = normalised(axis, rank, "concat")
    lines, ends = [], []
    for n, _ in enumerate(tensors):
        shape = [f"L{n}" if k == place else f"N{k}" for k in range(rank)]
        lines.append(f"tensors{n}: [{', '.join(shape)}]")
        ends.append(" + ".join(f"L{m}" for m in range(n + 1)))
    i = letters(rank)
    body = ""
    for n in reversed(range(len(tensors))):
        start = f" - ({ends[n - 1]})" if n else ""
        element = subscripted(f"tensors{n}", [f"{a}{start}" if k == place else a for k, a in enumerate(i)])
        body = element if not body else f"where({i[place]} < {ends[n]}, {element}, {body})"
    left = [f"{a} in {ends[-1]}" if k == place else f"{a} in N{k}" for k, a in enumerate(i)]
    return _lines(*lines, f"{subscripted('y', left)} = {body}")


@operator("stack", group=_GROUP, summary="tensors side by side along a new axis", example="stack((A, B), axis=0)",
          renames=_DIM)
def stack(tensors: Tensors, axis: int = 0) -> str:
    rank = tensors[0].rank
    if any(t.rank != rank for t in tensors):
        raise wrong("stack takes tensors with the same shape")
    place = normalised(axis, rank + 1, "stack")
    i = letters(rank)
    body = subscripted(f"tensors{len(tensors) - 1}", i)
    for n in reversed(range(len(tensors) - 1)):
        body = f"where(u < {n + 1}, {subscripted(f'tensors{n}', i)}, {body})"
    sizes = [f"tensors{n}: [{', '.join(f'N{k}' for k in range(rank))}]" for n in range(len(tensors)) if rank]
    left = [f"{a} in N{k}" for k, a in enumerate(i)]
    left.insert(place, f"u in {len(tensors)}")
    return _lines(*sizes, f"{subscripted('y', left)} = {body}")


@operator("flip", group=_GROUP, summary="an axis backwards (or several)", example="flip(X, axis=-1)",
          renames={**_DIM, "dims": "axis"})
def flip(x: Tensor, axis: int | tuple[int, ...] = -1) -> str:
    places = _places(axis, x.rank, "flip")
    i = letters(x.rank)
    inner = [f"N{k} - 1 - {a}" if k in places else a for k, a in enumerate(i)]
    left = [f"{a} in N{k}" if k in places else a for k, a in enumerate(i)]
    shape = ", ".join(f"N{k}" for k in range(x.rank))
    return f"x: [{shape}]\n{subscripted('y', left)} = {subscripted('x', inner)}"


@operator("roll", group=_GROUP, summary="an axis moved on by `shift`, what leaves comes in again (or several)",
          example="roll(X, 1)", renames={**_DIM, "dims": "axis", "shifts": "shift"})
def roll(x: Tensor, shift: int | tuple[int, ...], axis: int | tuple[int, ...] = -1) -> str:
    places = _places(axis, x.rank, "roll")
    shifts = shift if isinstance(shift, tuple) else (shift,)
    if len(shifts) != len(places) or any(isinstance(n, bool) or not isinstance(n, int) for n in shifts):
        raise wrong("roll takes one whole shift for each axis")
    by = dict(zip(places, shifts, strict=True))
    i = letters(x.rank)
    inner = [f"(i{k} - ({by[k]})) % N{k}" if k in by else a for k, a in enumerate(i)]
    left = [f"{a} in N{k}" if k in by else a for k, a in enumerate(i)]
    shape = ", ".join(f"N{k}" for k in range(x.rank))
    return f"x: [{shape}]\n{subscripted('y', left)} = {subscripted('x', inner)}"


@operator("tile", group=_GROUP, summary="the tensor repeated along every axis", example="tile(X, (2, 1))", aliases="repeat",
          renames={"input": "x", "reps": "repeats"},
          onnx=OnnxNode("Tile", ("x", "repeats"), lambda a: {"repeats": a["repeats"]}))
def tile(x: Tensor, repeats: tuple[int, ...]) -> str:
    counts = repeats if isinstance(repeats, tuple) else (repeats,)
    if len(counts) < x.rank or any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in counts):
        raise wrong(f"repeats of tile is at least {x.rank} whole numbers, none negative")
    lead = counts[:len(counts) - x.rank]
    own = counts[len(lead):]
    left = [*(f"j{k} in {c}" for k, c in enumerate(lead)), *(f"i{k} in N{k}*{c}" for k, c in enumerate(own))]
    inner = [f"i{k} % N{k}" if c > 1 else f"i{k}" for k, c in enumerate(own)]
    shape = ", ".join(f"N{k}" for k in range(x.rank))
    return _lines(f"x: [{shape}]" if x.rank else "", f"{subscripted('y', left)} = {subscripted('x', inner)}")


@operator("broadcast_to", group=_GROUP, summary="stretched to a shape, axes aligned on the right",
          example="broadcast_to(X, (8, 4, 4))", aliases="expand", renames={"input": "x"},
          onnx=OnnxNode("Expand", ("x", "shape"), lambda a: {"shape": list(a["shape"])}))
def broadcast_to(x: Tensor, shape: tuple[int, ...]) -> str:
    if not isinstance(shape, tuple) or len(shape) < x.rank or any(not isinstance(d, int) or d < 0 for d in shape):
        raise wrong(f"shape of broadcast_to is at least {x.rank} whole numbers")
    own = shape[len(shape) - x.rank:]
    i = [f"i{k}" for k in range(len(shape))]
    inner = ["0" if d == 1 and s != 1 else n
             for d, s, n in zip(x.shape, own, i[len(shape) - x.rank:], strict=True)]
    declared = ", ".join("1" if d == 1 else str(s) for d, s in zip(x.shape, own, strict=True))
    left = [f"{n} in {s}" for n, s in zip(i, shape, strict=True)]
    return _lines(f"x: [{declared}]" if x.rank else "", f"{subscripted('y', left)} = {subscripted('x', inner)}")


@operator("take", group=_GROUP, summary="parts of x along an axis, by position (0 outside)", aliases="gather Gather index_select",
          example="take(X, indices, axis=0)", ranks={"indices": 1}, renames=_DIM,
          onnx=OnnxNode("Gather", ("x", "indices"), lambda a: {"axis": a["axis"]}))
def take(x: Tensor, indices: Tensor, axis: int = 0) -> str:
    place = normalised(axis, x.rank, "take")
    i, j = letters(x.rank), [f"j{k}" for k in range(indices.rank)]
    chosen = subscripted("indices", j) if indices.dtype.is_integer else f"i64({subscripted('indices', j)})"
    inner = [chosen if k == place else a for k, a in enumerate(i)]
    return f"{subscripted('y', [*i[:place], *j, *i[place + 1:]])} = {subscripted('x', inner)}"


@operator("embedding", group=_GROUP, summary="rows of a table, by position (0 outside)", example="embedding(indices, table)",
          ranks={"indices": 1}, renames={"input": "indices", "weight": "table"},
          onnx=OnnxNode("Gather", ("table", "indices"), lambda a: {"axis": 0}))
def embedding(indices: Tensor, table: Tensor) -> str:
    return take(Tensor("table", table.dtype, table.shape), indices, 0).replace("x[", "table[")


def _triangle(x: Tensor, k: int, sign: str, name: str) -> str:
    if x.rank < 2 or not isinstance(k, int):
        raise wrong(f"{name} takes at least two axes and a whole number k")
    i = letters(x.rank)
    return f"{subscripted('y', i)} = where({i[-1]} {sign} {i[-2]} + ({k}), {subscripted('x', i)}, 0)"


@operator("tril", group=_GROUP, summary="0 above a diagonal", example="tril(X)", renames={"input": "x", "diagonal": "k"},
          onnx=OnnxNode("Trilu", ("x",), lambda a: {"upper": 0}, applies=lambda a: a["k"] == 0))
def tril(x: Tensor, k: int = 0) -> str:
    return _triangle(x, k, "<=", "tril")


@operator("triu", group=_GROUP, summary="0 below a diagonal", example="triu(X)", renames={"input": "x", "diagonal": "k"},
          onnx=OnnxNode("Trilu", ("x",), lambda a: {"upper": 1}, applies=lambda a: a["k"] == 0))
def triu(x: Tensor, k: int = 0) -> str:
    return _triangle(x, k, ">=", "triu")


@operator("cast", group=_GROUP, summary="another element type", example="cast(X, f16)", aliases="astype",
          renames={"input": "x", "to": "dtype"}, elementwise=True,
          onnx=OnnxNode("Cast", ("x",), lambda a: {"to": a["dtype"]}))
def cast(x: Tensor, dtype: str) -> str:
    return f"{dtype}(x)"
