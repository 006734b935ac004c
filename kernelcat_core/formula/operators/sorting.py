"""Orders: sorting, the largest and smallest, places of what holds, distinct values.

NaN is greater than every number, -0 equals 0, equal elements keep their order. What cannot be known in size before running
(nonzero, unique) has the greatest possible size, with its count as an operator of its own.
"""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import Tensor, operator, wrong

_NAMES = {"dim": "axis", "input": "x"}
_GROUP = "order"


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _order(x: Tensor, axis: int, count: str, descending: bool) -> tuple[list[str], list[str], int]:
    """Lines that define `order`, with the axis last; its subscripts for a place along the axis come from `_at`."""
    i = letters(x.rank)
    moved = [*i[:axis], *i[axis + 1:], i[axis]]
    key = "x" if axis == x.rank - 1 else "moved"
    lines = [] if key == "x" else [f"{subscripted('moved', moved)} = {subscripted('x', i)}"]
    lines.append(f'order = first_true(True, {count}, {key}, descending={descending})')
    return lines, i, axis


def _picked(i: list[str], axis: int, place: str) -> str:
    """The position along the axis that comes at `place` in the order."""
    return subscripted("order", [*i[:axis], *i[axis + 1:], place])


def _element(i: list[str], axis: int, place: str) -> str:
    return subscripted("x", [_picked(i, axis, place) if k == axis else n for k, n in enumerate(i)])


def _axis(x: Tensor, axis: int, name: str) -> int:
    if not x.rank:
        raise wrong(f"{name} of a scalar")
    return normalised(axis, x.rank, name)


@operator("sort", group=_GROUP, summary="the elements along an axis in order, equal ones in theirs", example="sort(X, axis=1)",
          renames=_NAMES)
def sort(x: Tensor, axis: int = -1, descending: bool = False) -> str:
    lines, i, a = _order(x, _axis(x, axis, "sort"), '"all"', bool(descending))
    return _lines(*lines, f"{subscripted('y', i)} = {_element(i, a, i[a])}")


@operator("argsort", group=_GROUP, summary="positions (i64) that sort along an axis, stable", example="argsort(X, axis=1)",
          renames=_NAMES)
def argsort(x: Tensor, axis: int = -1, descending: bool = False) -> str:
    lines, i, a = _order(x, _axis(x, axis, "argsort"), '"all"', bool(descending))
    return _lines(*lines, f"{subscripted('y', i)} = i64({_picked(i, a, i[a])})")


def _count(x: Tensor, k: int, axis: int, name: str) -> None:
    size = x.shape[axis]
    if isinstance(k, bool) or not isinstance(k, int) or k < 0 or (size is not None and k > size):
        raise wrong(f"k of {name} is a whole number, at most the size of the axis")


@operator("topk", group=_GROUP, summary="the k largest (or smallest) elements along an axis, in order",
          example="topk(X, 4)", aliases="TopK top_k", renames=_NAMES)
def topk(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> str:
    a = _axis(x, axis, "topk")
    _count(x, k, a, "topk")
    lines, i, _ = _order(x, a, str(k), bool(largest))
    left = [f"{n} in {k}" if d == a else n for d, n in enumerate(i)]
    return _lines(*lines, f"{subscripted('y', left)} = {_element(i, a, i[a])}")


@operator("topk_indices", group=_GROUP, summary="positions (i64) of the k largest (or smallest) elements along an axis",
          example="topk_indices(X, 4)", renames=_NAMES)
def topk_indices(x: Tensor, k: int, axis: int = -1, largest: bool = True) -> str:
    a = _axis(x, axis, "topk_indices")
    _count(x, k, a, "topk_indices")
    lines, i, _ = _order(x, a, str(k), bool(largest))
    left = [f"{n} in {k}" if d == a else n for d, n in enumerate(i)]
    return _lines(*lines, f"{subscripted('y', left)} = i64({_picked(i, a, i[a])})")


def _one(x: Tensor, a: int, place: str, count: str, keepdims: bool, position: bool) -> str:
    lines, i, _ = _order(x, a, count, False)
    left = [*i[:a], "u in 1", *i[a + 1:]] if keepdims else [*i[:a], *i[a + 1:]]
    value = f"i64({_picked(i, a, place)})" if position else _element(i, a, place)
    sizes = f"x: [{', '.join(f'N{d}' for d in range(x.rank))}]"
    return _lines(sizes, *lines, f"{subscripted('y', left)} = {value}")


@operator("kthvalue", group=_GROUP, summary="the k-th smallest element along an axis, k from 1", example="kthvalue(X, 2)",
          renames={**_NAMES, "keepdim": "keepdims"})
def kthvalue(x: Tensor, k: int, axis: int = -1, keepdims: bool = False) -> str:
    a = _axis(x, axis, "kthvalue")
    _count(x, k, a, "kthvalue")
    return _one(x, a, str(k - 1), str(k), keepdims, False)


@operator("kthvalue_indices", group=_GROUP, summary="position (i64) of the k-th smallest element along an axis, k from 1",
          example="kthvalue_indices(X, 2)", renames={**_NAMES, "keepdim": "keepdims"})
def kthvalue_indices(x: Tensor, k: int, axis: int = -1, keepdims: bool = False) -> str:
    a = _axis(x, axis, "kthvalue_indices")
    _count(x, k, a, "kthvalue_indices")
    return _one(x, a, str(k - 1), str(k), keepdims, True)


@operator("median", group=_GROUP, summary="the middle element along an axis, the lower of two; NaN where there is one",
          example="median(X, axis=1)", renames={**_NAMES, "keepdim": "keepdims"})
def median(x: Tensor, axis: int = -1, keepdims: bool = False) -> str:
    a = _axis(x, axis, "median")
    body = _one(x, a, f"(N{a} - 1) // 2", '"all"', keepdims, False)
    if not x.dtype.is_float:
        return body
    head, _, value = body.rpartition(" = ")  # NaN is the greatest: it stands at the end of the order
    i = letters(x.rank)
    return f"{head} = where(isnan({_element(i, a, f'N{a} - 1')}), nan, {value})"


@operator("mode", group=_GROUP, summary="the most frequent element along the last axis, the smallest of equals",
          example="mode(X)", renames=_NAMES)
def mode(x: Tensor) -> str:
    if not x.rank:
        raise wrong("mode of a scalar")
    i = letters(x.rank - 1)
    row, before = [*i, "k"], [*i, "k - 1"]
    starts = f"where(k > 0, where({subscripted('s', row)} != {subscripted('s', before)}, k, 0), 0)"
    return _lines(f"x: [{', '.join(f'N{d}' for d in range(x.rank))}]", "s = sort(x)",
                  f"{subscripted('new', [*i, f'k in N{x.rank - 1}'])} = {starts}", f'start = scan("max", new, {x.rank - 1})',
                  f"{subscripted('best', i)} = argmax[k](k - {subscripted('start', row)})",
                  f"{subscripted('y', i)} = {subscripted('s', [*i, subscripted('best', i)])}")


@operator("nonzero", group=_GROUP, summary="row-major positions (i64 [capacity, axes]) of what is not 0, -1 after the last",
          example="nonzero(X)", renames={**_NAMES, "size": "capacity"})
def nonzero(x: Tensor, capacity: int | None = None) -> str:
    if not x.rank:
        raise wrong("nonzero of a scalar")
    total = "*".join(f"N{k}" for k in range(x.rank))
    parts = []
    for k in range(x.rank):
        rest = "*".join(f"N{d}" for d in range(k + 1, x.rank))
        part = f"place[c] // ({rest})" if rest else "place[c]"
        parts.append(part if k == 0 else f"{part} % N{k}")
    chosen = parts[-1]
    for k in reversed(range(x.rank - 1)):
        chosen = f"where(d == {k}, {parts[k]}, {chosen})"
    count = '"all"' if capacity is None else str(capacity)
    return _lines(f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]", "flat = flatten(x) != 0",
                  "count = sum(i64(flat))", f"found = first_true(flat, {count})", "place[c] = i64(found[c])",
                  f"y[c in {total if capacity is None else capacity}, d in {x.rank}] = where(c < count, {chosen}, -1)")


@operator("nonzero_count", group=_GROUP, summary="how many elements are not 0 (i64)", example="nonzero_count(X)",
          renames=_NAMES)
def nonzero_count(x: Tensor) -> str:
    return "sum(i64(x != 0))"


_RUNS = """x: [N]
order = argsort(x)
s[k] = x[order[k]]
new[k in N] = where(k > 0, i64(s[k] != s[k - 1]), 1)
group = scan("sum", new, 0) - 1
"""


def _flat(x: Tensor, name: str) -> None:
    if x.rank != 1:
        raise wrong(f"{name} takes one axis", f"flatten it: {name}(X)")


@operator("unique", group=_GROUP, summary="the distinct elements in order, 0 after the last (see unique_count)",
          example="unique(X)", ranks={"x": 1}, renames=_NAMES)
def unique(x: Tensor) -> str:
    _flat(x, "unique")
    return _RUNS + 'none[k] = where(False, x[k], 0)\nscatter[u](none, (group[u],), s[u], "last", new[u] > 0)'


@operator("unique_count", group=_GROUP, summary="how many distinct elements there are (i64)", example="unique_count(X)",
          ranks={"x": 1}, renames=_NAMES)
def unique_count(x: Tensor) -> str:
    _flat(x, "unique_count")
    return _RUNS + "sum[k](new[k])"


@operator("unique_indices", group=_GROUP, summary="where each distinct element comes first (i64), -1 after the last",
          example="unique_indices(X)", ranks={"x": 1}, renames=_NAMES)
def unique_indices(x: Tensor) -> str:
    _flat(x, "unique_indices")
    return _RUNS + 'none[k in N] = -1\nscatter[u](none, (group[u],), order[u], "last", new[u] > 0)'


@operator("unique_inverse", group=_GROUP, summary="for every element its number among the distinct ones (i64)",
          example="unique_inverse(X)", ranks={"x": 1}, renames=_NAMES)
def unique_inverse(x: Tensor) -> str:
    _flat(x, "unique_inverse")
    return _RUNS + "none[k in N] = 0\nscatter[u](none, (order[u],), group[u])"


@operator("unique_counts", group=_GROUP, summary="how often each distinct element occurs (i64), 0 after the last",
          example="unique_counts(X)", ranks={"x": 1}, renames=_NAMES)
def unique_counts(x: Tensor) -> str:
    _flat(x, "unique_counts")
    return _RUNS + 'none[k in N] = 0\nscatter[u](none, (group[u],), 1, "sum")'


@operator("searchsorted", group=_GROUP, summary="how many elements of a sorted axis lie below each value (right: or at it)",
          example="searchsorted(edges, X)", ranks={"edges": 1, "x": 2},
          renames={"sorted_sequence": "edges", "values": "x", "input": "x"})
def searchsorted(edges: Tensor, x: Tensor, right: bool = False) -> str:
    i = letters(x.rank)
    rows = i[:-1] if edges.rank > 1 else []
    if edges.rank > 1 and edges.rank != x.rank:
        raise wrong("searchsorted takes edges with one axis, or with the rows of x")
    sign, value = "<=" if right else "<", subscripted("x", i)
    return (f"{subscripted('y', i)} = sum[k](i64({subscripted('edges', [*rows, 'k'])} {sign} {value}"
            f"{f' or isnan({value})' if x.dtype.is_float else ''}))")


@operator("bucketize", group=_GROUP, summary="searchsorted with its arguments in the other order", example="bucketize(X, edges)",
          ranks={"edges": 1}, renames={"boundaries": "edges", "input": "x"})
def bucketize(x: Tensor, edges: Tensor, right: bool = False) -> str:
    return searchsorted(edges, x, right)
