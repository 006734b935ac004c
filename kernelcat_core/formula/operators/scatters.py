"""Reads and writes at computed places: gathers by element, scatters, histograms. What lies outside reads 0 or is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcat_core.dtypes import I32, I64
from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, Tensors, operator, wrong

_RENAMES = {"dim": "axis", "input": "x", "index": "indices", "data": "x", "src": "updates", "reduce": "reduction"}
_GROUP = "scatter"
_FOLDS = {"none": "last", "add": "sum", "sum": "sum", "mul": "prod", "prod": "prod", "max": "max", "amax": "max", "min": "min",
          "amin": "min"}
_ONNX = {"last": "none", "sum": "add", "prod": "mul", "max": "max", "min": "min"}


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _names(letter: str, rank: int) -> list[str]:
    return [f"{letter}{k}" for k in range(rank)]


def _shaped(name: str, sizes: list[str]) -> str:
    """A line that names the sizes of a tensor and demands that equal names are equal sizes."""
    return f"{name}: [{', '.join(sizes)}]" if sizes else ""


def _sizes(name: str, letter: str, rank: int) -> str:
    return _shaped(name, _names(letter, rank))


def whole(t: Tensor, name: str, indices: list[str]) -> str:
    """An element of an integer tensor, cast where people left the type open."""
    e = subscripted(name, indices)
    return e if t.dtype.is_integer else f"i64({e})"


def _whole_indices(arguments: Mapping[str, Any]) -> bool:
    """Standard nodes take i32 and i64 positions."""
    return arguments["indices"].dtype in (I32, I64)


def _fold(reduction: str, name: str) -> str:
    if reduction not in _FOLDS:
        raise wrong(f"reduction of {name} is one of {', '.join(_FOLDS)}, not {reduction}")
    return _FOLDS[reduction]


def _ranged(letter: str, sizes: str, rank: int) -> list[str]:
    return [f"{letter}{k} in {sizes}{k}" for k in range(rank)]


@operator("gather_elements", group=_GROUP, summary="one element of x for every index: its own place but along the axis",
          example="gather_elements(X, indices, axis=1)", aliases="take_along_axis GatherElements", ranks={"indices": 2},
          renames=_RENAMES,
          onnx=OnnxNode("GatherElements", ("x", "indices"), lambda a: {"axis": a["axis"]}, applies=_whole_indices))
def gather_elements(x: Tensor, indices: Tensor, axis: int = 0) -> str:
    if indices.rank != x.rank:
        raise wrong("gather_elements takes as many axes of indices as of x")
    place = normalised(axis, x.rank, "gather_elements")
    j = [f"j{k}" for k in range(x.rank)]
    inner = [whole(indices, "indices", j) if k == place else n for k, n in enumerate(j)]
    return _lines(_sizes("indices", "M", x.rank), f"{subscripted('y', _ranged('j', 'M', x.rank))} = {subscripted('x', inner)}")


def _depth(indices: Tensor, name: str) -> int:
    depth = indices.shape[-1] if indices.rank else None
    if depth is None:
        raise wrong(f"the last axis of the indices of {name} needs a number", "declare it, e.g. indices: i64[N, 2]")
    return depth


@operator("gather_nd", group=_GROUP, summary="parts of x at places given by vectors of positions",
          example="indices: i64[N, 2]; y = gather_nd(X, indices)", aliases="GatherND", renames=_RENAMES,
          onnx=OnnxNode("GatherND", ("x", "indices"), lambda a: {"batch_dims": a["batch_dims"]},
                        applies=lambda a: a["indices"].dtype == I64))
def gather_nd(x: Tensor, indices: Tensor, batch_dims: int = 0) -> str:
    depth = _depth(indices, "gather_nd")
    if not 0 <= batch_dims < indices.rank or batch_dims + depth > x.rank:
        raise wrong("gather_nd has more positions than x has axes")
    j, i = [f"j{k}" for k in range(indices.rank - 1)], letters(x.rank)[batch_dims + depth:]
    place = [whole(indices, "indices", [*j, str(k)]) for k in range(depth)]
    return f"{subscripted('y', [*j, *i])} = {subscripted('x', [*j[:batch_dims], *place, *i])}"


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    found = {"axis": arguments["axis"]} if "axis" in arguments else {}
    return {**found, "reduction": _ONNX[_FOLDS[arguments["reduction"]]]}


@operator("scatter", group=_GROUP, summary="x with the updates folded in at indices along an axis: "
          "none (the last stays), add, mul, max, min or mean", example='scatter(X, indices, updates, axis=1, reduction="add")',
          aliases="scatter_elements ScatterElements scatter_reduce", renames=_RENAMES,
          onnx=OnnxNode("ScatterElements", ("x", "indices", "updates"), _attributes,
                        applies=lambda a: _whole_indices(a) and a["reduction"] != "mean" and a["updates"].rank > 0))
def scatter(x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none") -> str:
    if indices.rank != x.rank or updates.rank not in (0, x.rank):
        raise wrong("scatter takes as many axes of indices and updates as of x")
    place = normalised(axis, x.rank, "scatter")
    u = [f"u{k}" for k in range(x.rank)]
    inner = [whole(indices, "indices", u) if k == place else n for k, n in enumerate(u)]
    bound, value = ", ".join(_ranged("u", "M", x.rank)), subscripted("updates", u if updates.rank else [])
    sizes = _lines(_sizes("indices", "M", x.rank), _sizes("updates", "M", updates.rank))
    if reduction != "mean":
        return _lines(sizes, f'scatter[{bound}](x, ({", ".join(inner)},), {value}, "{_fold(reduction, "scatter")}")')
    ones = subscripted("one", _ranged("i", "N", x.rank))
    return _lines(sizes, _sizes("x", "N", x.rank), f'total = scatter[{bound}](x, ({", ".join(inner)},), {value}, "sum")',
                  f"{ones} = 1.0", f'count = scatter[{bound}](one, ({", ".join(inner)},), 1.0, "sum")', "total / count")


@operator("scatter_add", group=_GROUP, summary="scatter with sums", example="scatter_add(X, indices, updates, axis=1)",
          renames=_RENAMES, aliases="scatter_elements_add")
def scatter_add(x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> str:
    return scatter(x, indices, updates, axis, "add")


@operator("scatter_nd", group=_GROUP, summary="x with parts renewed at places given by vectors of positions",
          example='indices: i64[M, 1]; y = scatter_nd(X, indices, updates, reduction="add")', aliases="ScatterND",
          renames=_RENAMES, onnx=OnnxNode("ScatterND", ("x", "indices", "updates"), _attributes,
                                        applies=lambda a: a["indices"].dtype == I64))
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none") -> str:
    depth = _depth(indices, "scatter_nd")
    outer, rest = indices.rank - 1, x.rank - depth
    if rest < 0 or updates.rank != outer + rest:
        raise wrong(f"scatter_nd takes updates with {outer + max(rest, 0)} axes")
    u = [f"u{k}" for k in range(updates.rank)]
    place = [whole(indices, "indices", [*u[:outer], str(k)]) for k in range(depth)]
    body = (f'scatter[{", ".join(u) or "u in 1"}](x, ({", ".join([*place, *u[outer:]])},), {subscripted("updates", u)}, '
            f'"{_fold(reduction, "scatter_nd")}")')
    return _lines(_sizes("x", "N", x.rank), _shaped("indices", [*_names("M", outer), str(depth)]),
                  _shaped("updates", [*_names("M", outer), *_names("N", x.rank)[depth:]]), body)


def _indexed(name: str, x: Tensor, axis: int, indices: Tensor, source: Tensor, fold: str) -> str:
    if indices.rank != 1 or source.rank != x.rank:
        raise wrong(f"{name} takes one axis of indices and as many axes of source as of x")
    place = normalised(axis, x.rank, name)
    u = [f"u{k}" for k in range(x.rank)]
    inner = [whole(indices, "indices", [n]) if k == place else n for k, n in enumerate(u)]
    shape = ["L" if k == place else n for k, n in enumerate(_names("N", x.rank))]
    return _lines(_sizes("x", "N", x.rank), "indices: [L]", _shaped("source", shape),
                  f'scatter[{", ".join(u)}](x, ({", ".join(inner)},), {subscripted("source", u)}, "{fold}")')


@operator("index_add", group=_GROUP, summary="slices of source added to slices of x along an axis",
          example="index_add(X, 0, indices, source)", ranks={"indices": 1}, renames=_RENAMES)
def index_add(x: Tensor, axis: int, indices: Tensor, source: Tensor) -> str:
    return _indexed("index_add", x, axis, indices, source, "sum")


@operator("index_copy", group=_GROUP, summary="slices of source in place of slices of x along an axis",
          example="index_copy(X, 0, indices, source)", ranks={"indices": 1}, renames=_RENAMES)
def index_copy(x: Tensor, axis: int, indices: Tensor, source: Tensor) -> str:
    return _indexed("index_copy", x, axis, indices, source, "last")


@operator("index_reduce", group=_GROUP, summary="slices of source folded into slices of x: add, mul, max or min",
          example='index_reduce(X, 0, indices, source, "max")', ranks={"indices": 1}, renames=_RENAMES)
def index_reduce(x: Tensor, axis: int, indices: Tensor, source: Tensor, reduction: str = "add") -> str:
    return _indexed("index_reduce", x, axis, indices, source, _fold(reduction, "index_reduce"))


@operator("index_fill", group=_GROUP, summary="slices of x along an axis set to a number",
          example="index_fill(X, 0, indices, 1)", ranks={"indices": 1}, renames=_RENAMES)
def index_fill(x: Tensor, axis: int, indices: Tensor, value: Scalar) -> str:
    place = normalised(axis, x.rank, "index_fill")
    u = [f"u{k}" for k in range(x.rank)]
    bound = [n if k == place else f"{n} in N{k}" for k, n in enumerate(u)]
    inner = [whole(indices, "indices", [n]) if k == place else n for k, n in enumerate(u)]
    return _lines(_sizes("x", "N", x.rank), f'scatter[{", ".join(bound)}](x, ({", ".join(inner)},), value)')


@operator("index_put", group=_GROUP, summary="values at places of the leading axes, given by one index tensor an axis",
          example="index_put(X, values, (indices,), accumulate=True)", ranks={"indices": 1}, renames={"input": "x"})
def index_put(x: Tensor, values: Tensor, indices: Tensors, accumulate: bool = False) -> str:
    outer, depth = indices[0].rank, len(indices)
    if any(t.rank != outer for t in indices) or depth > x.rank or values.rank != outer + x.rank - depth:
        raise wrong("index_put takes indices of one shape, and values with their axes and the rest of those of x")
    u = [f"u{k}" for k in range(values.rank)]
    place = [whole(t, f"indices{n}", u[:outer]) for n, t in enumerate(indices)]
    sizes = [_shaped(f"indices{n}", _names("M", outer)) for n in range(depth)]
    body = (f'scatter[{", ".join(u) or "u in 1"}](x, ({", ".join([*place, *u[outer:]])},), {subscripted("values", u)}, '
            f'"{"sum" if accumulate else "last"}")')
    return _lines(_sizes("x", "N", x.rank), *sizes, _shaped("values", [*_names("M", outer), *_names("N", x.rank)[depth:]]),
                  body)


@operator("bincount", group=_GROUP, summary="how often each number below `length` occurs, or the sums of its weights",
          example="bincount(indices, 16)", ranks={"x": 1, "weights": 1}, renames={"input": "x", "minlength": "length"})
def bincount(x: Tensor, length: int, weights: Tensor | None = None) -> str:
    if isinstance(length, bool) or not isinstance(length, int) or length < 0 or x.rank != 1:
        raise wrong("bincount takes one axis and a length")
    one, zero = ("1", "0") if weights is None else ("weights[u]", "0.0")
    return _lines(f"zero[c in {length}] = {zero}", f'scatter[u](zero, ({whole(x, "x", ["u"])},), {one}, "sum")')


@operator("histogram", group=_GROUP, summary="counts (i64) of the elements in `bins` equal parts of low to high, high included",
          example="histogram(X, 16, -1, 1)", aliases="histc", renames={"input": "x", "min": "low", "max": "high"})
def histogram(x: Tensor, bins: int, low: Scalar = 0, high: Scalar = 1) -> str:
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise wrong("histogram takes a positive number of bins")
    u = [f"u{k}" for k in range(x.rank)] or ["u in 1"]
    e = subscripted("x", u if x.rank else [])
    place = f"minimum(i64(floor(({e} - low) / (high - low) * {bins})), {bins - 1})"
    return _lines(f"zero[c in {bins}] = 0",
                  f'scatter[{", ".join(u)}](zero, ({place},), 1, "sum", {e} >= low and {e} <= high)')
