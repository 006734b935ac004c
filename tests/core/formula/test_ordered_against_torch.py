"""Scans, scatters and orders against an independent implementation: types, axes, empty and odd sizes, ties and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.core.formula.running import Array, fails, graph, normal, outputs, run

torch = pytest.importorskip("torch")
SHAPES = ((7,), (0,), (1,), (3, 5), (0, 4), (4, 0), (2, 3, 7), (2, 1, 4))
TYPES = ("float32", "float64", "int32", "int64", "uint8")


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Small values with ties; NaN among floats."""
    x = np.random.default_rng(seed).integers(-3 if dtype != "uint8" else 0, 4, shape)
    found = x.astype(dtype)
    if found.dtype.kind == "f" and found.size > 4:
        found.reshape(-1)[found.size // 2] = np.nan
    return found


def same(found: Array, wanted: Any, **tolerance: float) -> None:
    wanted = wanted.numpy() if isinstance(wanted, torch.Tensor) else np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=tolerance.get("rtol", 1e-5), atol=tolerance.get("atol", 1e-6))


SCANS: dict[str, Callable[..., Any]] = {
    "cumsum": torch.cumsum, "cumprod": torch.cumprod, "cummax": lambda x, d: torch.cummax(x, d)[0],
    "cummin": lambda x, d: torch.cummin(x, d)[0], "cummax_indices": lambda x, d: torch.cummax(x, d)[1],
    "cummin_indices": lambda x, d: torch.cummin(x, d)[1]}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", list(SCANS))
def test_scans(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = drawn(shape, dtype)
        for axis in range(-1, len(shape)):
            same(run(f"y = {name}(x, dim={axis})", x=x), SCANS[name](torch.tensor(x), axis))
            back = SCANS[name](torch.tensor(x).flip(axis), axis).flip(axis)
            if name.endswith("indices"):
                back = shape[axis] - 1 - back
            same(run(f"y = {name}(x, axis={axis}, reverse=True)", x=x), back)


def test_logcumsumexp() -> None:
    for shape in SHAPES:
        x = normal(*shape) * 30
        if x.size > 6:
            x.reshape(-1)[2], x.reshape(-1)[5] = -np.inf, np.inf
        for axis in range(len(shape)):
            same(run(f"y = logcumsumexp(x, {axis})", x=x), torch.logcumsumexp(torch.tensor(x), axis), rtol=1e-5)
    lone = np.full((2, 3), -np.inf, "f4")
    same(run("y = logcumsumexp(x)", x=lone), lone)


def test_exclusive_scans_start_with_the_identity() -> None:
    x = normal(3, 4)
    zeros = np.zeros((3, 1), "f4")
    same(run("y = cumsum(x, 1, exclusive=True)", x=x), np.hstack([zeros, x.cumsum(1)[:, :-1]]))
    same(run("y = cumprod(x, 1, exclusive=True)", x=x), np.hstack([zeros + 1, x.cumprod(1)[:, :-1]]))
    same(run("y = cumsum(x, 0, exclusive=True, reverse=True)", x=x), x[::-1].cumsum(0)[::-1] - x, atol=1e-5)


def test_sixteen_bit_scans_accumulate_in_f32() -> None:
    x = np.full((1, 4096), 1.0, "f2")
    assert run("y = cumsum(x)", x=x)[0, -1] == 4096
    assert run("y = cumsum(x)", x=x).dtype == np.float16


def _updates(seed: int = 0) -> tuple[Array, Array, Array]:
    choice = np.random.default_rng(seed)
    return normal(5, 6), choice.integers(0, 5, (4, 6)), normal(4, 6, seed=seed + 1)


@pytest.mark.parametrize(("reduction", "name"), [("add", "sum"), ("mul", "prod"), ("max", "amax"), ("min", "amin"),
                                                 ("mean", "mean")])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_reduces(reduction: str, name: str, axis: int) -> None:
    x, i, v = _updates()
    x, i, v = (x, i, v) if axis == 0 else (x.T.copy(), i.T.copy(), v.T.copy())
    found = run(f'y = scatter(x, i, v, axis={axis}, reduction="{reduction}")', x=x, i=i, v=v)
    same(found, torch.scatter_reduce(torch.tensor(x), axis, torch.tensor(i), torch.tensor(v), name), rtol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "uint8"])
def test_scatter_keeps_the_last_update_and_drops_what_is_outside(dtype: str) -> None:
    x, i, v = (normal(7) * 9).astype(dtype), np.array([1, 3, 1, -1, 7, 3]), (normal(6) * 9).astype(dtype)
    wanted = x.copy()
    wanted[1], wanted[3] = v[2], v[5]
    same(run("y = scatter(x, i, v)", x=x, i=i, v=v), wanted)
    added = x.copy()
    for place, value in zip(i, v, strict=True):
        if 0 <= place < 7:
            added[place:place + 1] += value
    same(run("y = scatter_add(x, i, v)", x=x, i=i, v=v), added, rtol=2e-3 if dtype == "float16" else 1e-5)


def test_scatter_of_one_number_and_empty_updates() -> None:
    x, i = normal(3, 4), np.array([[0, 2, 2]])
    same(run("v: f32; y = scatter(x, i, v, 0)", x=x, i=i, v=np.float32(7)),
         torch.tensor(x).scatter(0, torch.tensor(i), 7.0))
    same(run("y = scatter_add(x, i, v)", x=x, i=np.zeros((0, 4), "i8"), v=np.zeros((0, 4), "f4")), x)


def test_bool_and_guards() -> None:
    b, i = np.array([True, False, False]), np.array([1, 1, 2])
    found = run('y = scatter[u](b, (i[u],), i[u] > 1, "any")', b=b, i=i)
    assert found.tolist() == [True, False, True]
    assert run('y = scatter[u](b, (i[u],), False, "all", i[u] < 2)', b=np.ones(3, bool), i=i).tolist() == [True, False, True]


def test_gathers() -> None:
    x, i = normal(4, 5), np.random.default_rng(1).integers(0, 4, (3, 5))
    same(run("y = gather_elements(x, i, 0)", x=x, i=i), torch.gather(torch.tensor(x), 0, torch.tensor(i)))
    same(run("y = take_along_axis(x, i, axis=1)", x=x, i=i.T.copy()[:4]), np.take_along_axis(x, i.T.copy()[:4], 1))
    place = np.array([[0, 1], [3, 4]])
    same(run("i: i64[N, 2]; y = gather_nd(x, i)", x=x, i=place), x[[0, 3], [1, 4]])
    same(run("i: i64[N, 1]; y = gather_nd(x, i)", x=x, i=place[:, :1]), x[[0, 3]])
    rows = np.array([[1], [0], [4], [2]])
    same(run("i: i64[N, 1]; y = gather_nd(x, i, batch_dims=1)", x=x, i=rows), x[np.arange(4), rows[:, 0]])
    fails("KC-F005", "x: f32[4, 5]; i: i64[N, D]; y = gather_nd(x, i)")


@pytest.mark.parametrize("accumulate", [False, True])
def test_writes_by_position(accumulate: bool) -> None:
    x, i, v = normal(5, 3), np.array([4, 0, 4]), normal(3, 3, seed=4)
    t, place, source = torch.tensor(x), torch.tensor(i), torch.tensor(v)
    if accumulate:
        same(run("y = index_add(x, 0, i, v)", x=x, i=i, v=v), t.index_add(0, place, source))
        same(run('i: i64[N, 1]; y = scatter_nd(x, i, v, "add")', x=x, i=i[:, None], v=v), t.index_add(0, place, source))
        same(run("y = index_put(x, v, (i,), accumulate=True)", x=x, i=i, v=v), t.index_put((place,), source, True))
        same(run('y = index_reduce(x, 1, i, v, "max")', x=x.T.copy(), i=i, v=v), np.maximum(
            x.T, np.stack([v[:, 1], np.full(3, -9), np.full(3, -9), np.full(3, -9), np.maximum(v[:, 0], v[:, 2])], 1)
        ).astype("f4"))
        return
    wanted = x.copy()
    wanted[0], wanted[4] = v[1], v[2]
    same(run("y = index_copy(x, 0, i, v)", x=x, i=i, v=v), wanted)
    same(run("y = index_put(x, v, (i,))", x=x, i=i, v=v), wanted)
    same(run("i: i64[N, 1]; y = scatter_nd(x, i, v)", x=x, i=i[:, None], v=v), wanted)
    pair = run("y = index_put(x, w, (i, j))", x=x, i=i, j=np.array([1, 1, 2]), w=np.float32([7, 8, 9]))
    wanted = x.copy()
    wanted[4, 1], wanted[0, 1], wanted[4, 2] = 7, 8, 9
    same(pair, wanted)
    same(run("y = index_fill(x, 0, i, 3)", x=x, i=i), t.index_fill(0, place, 3.0))


def test_counts() -> None:
    x = np.random.default_rng(0).integers(0, 6, 50)
    same(run("y = bincount(x, 8)", x=x), torch.bincount(torch.tensor(x), minlength=8))
    w = normal(50)
    same(run("y = bincount(x, 8, w)", x=x, w=w), torch.bincount(torch.tensor(x), torch.tensor(w), 8), rtol=1e-4)
    v = np.append(normal(200), np.float32([-1, 1, np.nan, np.inf, -2]))
    same(run("y = histogram(v, 10, -1, 1)", v=v), np.histogram(v, 10, (-1, 1))[0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype: str, descending: bool) -> None:
    for shape in (*SHAPES, (2, 70)):
        x = drawn(shape, dtype)
        for axis in range(-1, len(shape)):
            values, positions = torch.sort(torch.tensor(x), dim=axis, descending=descending, stable=True)
            found = outputs(f"a = sort(x, {axis}, {descending}); b = argsort(x, {axis}, {descending})", x=x)
            same(found["a"], values)
            same(found["b"], positions)


def test_integers_at_their_limits_and_signed_zeros() -> None:
    least = np.array([0, -(1 << 31), (1 << 31) - 1, -1], "i4")
    same(run("y = sort(x, descending=True)", x=least), np.sort(least)[::-1])
    zeros = np.array([0.0, -0.0, -0.0, 0.0], "f4")
    assert run("y = argsort(x)", x=zeros).tolist() == [0, 1, 2, 3]
    assert run("y = argsort(x, descending=True)", x=zeros).tolist() == [0, 1, 2, 3]
    special = np.array([np.nan, 1, -np.inf, np.nan, np.inf, -1], "f4")
    assert run("y = argsort(x)", x=special).tolist() == [2, 5, 1, 4, 0, 3]
    assert run("y = argsort(x, descending=True)", x=special).tolist() == [0, 3, 4, 1, 5, 2]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_topk(k: int, largest: bool) -> None:
    x = normal(4, 30, 2)
    values, positions = torch.topk(torch.tensor(x), k, 1, largest)
    found = outputs(f"a = topk(x, {k}, 1, {largest}); b = topk_indices(x, {k}, 1, {largest})", x=x)
    same(found["a"], values)
    same(found["b"], positions)
    fails("KC-F005", "x: f32[4, 2]; y = topk(x, 3)")


def test_chosen_elements() -> None:
    x = normal(4, 9, 3)
    for axis in (0, 1, 2):
        same(run(f"y = kthvalue(x, 2, {axis})", x=x), torch.kthvalue(torch.tensor(x), 2, axis)[0])
        same(run(f"y = kthvalue_indices(x, 2, {axis}, keepdims=True)", x=x),
             torch.kthvalue(torch.tensor(x), 2, axis, keepdim=True)[1])
        same(run(f"y = median(x, {axis})", x=x), torch.median(torch.tensor(x), axis)[0])
    x[0, 3, 1] = np.nan
    same(run("y = median(x, 1)", x=x), torch.median(torch.tensor(x), 1)[0])
    same(run("y = median(x)", x=np.array([3, 1, 2, 9], "i4")), np.int32(2))
    ties = np.random.default_rng(0).integers(0, 3, (5, 8))
    same(run("y = mode(x)", x=ties), torch.mode(torch.tensor(ties), 1)[0])


@pytest.mark.parametrize("shape", [(6,), (0,), (4, 5), (2, 3, 4)])
def test_nonzero(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 2, shape).astype("f4")
    found = outputs("a = nonzero(x); n = nonzero_count(x); b = nonzero(x, capacity=2)", x=x)
    wanted = torch.nonzero(torch.tensor(x)).numpy()
    assert found["n"] == len(wanted)
    same(found["a"][:len(wanted)], wanted)
    assert (found["a"][len(wanted):] == -1).all()
    same(found["b"], np.concatenate([wanted, np.full((2, len(shape)), -1)])[:2])


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8"])
@pytest.mark.parametrize("size", [0, 1, 9, 60])
def test_unique(size: int, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 7, size).astype(dtype)
    found = outputs("v = unique(x); n = unique_count(x); i = unique_indices(x); r = unique_inverse(x); c = unique_counts(x)", x=x)
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    n = len(values)
    assert found["n"] == n
    same(found["v"], np.append(values, np.zeros(size - n, dtype)))
    same(found["i"], np.append(first, np.full(size - n, -1)))
    same(found["r"], inverse)
    same(found["c"], np.append(counts, np.zeros(size - n, "i8")))


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right: bool) -> None:
    edges, x = np.array([-1, 0, 0, 2], "f4"), np.array([[-3, -1, 0], [1, 2, np.nan]], "f4")
    wanted = torch.searchsorted(torch.tensor(edges), torch.tensor(x), right=right)
    same(run(f"y = searchsorted(e, x, right={right})", e=edges, x=x), wanted)
    same(run(f"y = bucketize(x, e, right={right})", e=edges, x=x), wanted)
    rows = np.sort(normal(2, 5), 1)
    same(run(f"y = searchsorted(e, x, right={right})", e=rows, x=x),
         torch.searchsorted(torch.tensor(rows), torch.tensor(x), right=right))


def test_equal_orders_are_one_primitive() -> None:
    both = graph("a = topk(x, 3); b = topk_indices(x, 3)", x="4x5")
    assert sum(type(n).__name__ == "Select" for n in both.nodes) == 1


def test_mistakes_are_placed() -> None:
    fails("KC-F005", 'y = scan("mean", x, 0)', x="4")
    fails("KC-F005", 'y = scan("sum", x, 2)', x="4")
    fails("KC-F005", "y = scatter[u](b, i[u], v[u])", b="4", i="3:i64", v="3")
    fails("KC-F014", "y = scatter[u](b, (i[u], 0), v[u])", b="4", i="3:i64", v="3")
    fails("KC-F005", 'y = scatter[u](b, (i[u],), v[u], "mean")', b="4", i="3:i64", v="3")
    fails("KC-F014", "y[j] = scatter[u](b, (i[u],), v[u] + x[j])[j]", b="4", i="3:i64", v="3", x="4")
