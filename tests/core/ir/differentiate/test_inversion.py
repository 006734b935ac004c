"""Index maps inverted: gathers of any kind against additions at the places that they read."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from kernelcat_core.dtypes import F64
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.differentiate import gradient
from kernelcat_core.ir.differentiate.inversion import invert
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, conjunction, index, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Scatter, Tensor
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph


def some_index(r: random.Random, names: list[str], sizes: dict[str, int]) -> Expr:
    """A subscript: affine, or with quotients and remainders of affine parts."""
    def affine() -> Expr:
        total: Expr = index(r.randint(-2, 3))
        for n in r.sample(names, r.randint(1, len(names))):
            total = ex.add(total, ex.mul(Var(n), index(r.choice([1, 1, 2, 3, -1]))))
        return total

    kind = r.randrange(6)
    if kind == 0:
        return Var(r.choice(names))
    if kind in (1, 2):
        return affine()
    if kind == 3:
        return op("floordiv", affine(), index(r.choice([2, 3])))
    if kind == 4:
        return op("mod", affine(), index(r.choice([2, 3, 4])))
    a, b = (r.choice(names), r.choice(names))
    flat = ex.add(ex.mul(Var(a), index(sizes[b])), Var(b)) if a != b else Var(a)
    return op(r.choice(["floordiv", "mod"]), flat, index(r.choice([2, 3])))


@pytest.mark.parametrize("seed", range(150))
def test_any_index_map_gives_back_what_it_took(seed: int) -> None:
    r = random.Random(seed)
    names = ["i", "j", "k"][: r.randint(1, 3)]
    sizes = {n: r.randint(1, 5) for n in names}
    shape = tuple(r.randint(1, 6) for _ in range(r.randint(1, 2)))
    where = [some_index(r, names, sizes) for _ in shape]
    guards = [c for e, n in zip(where, shape, strict=True) for c in (op("le", index(0), e), op("lt", e, index(n)))]
    if r.random() < 0.3:
        guards.append(op("eq", op("mod", Var(names[0]), index(2)), index(0)))
    x = Tensor("X", F64, tuple(index(n) for n in shape))
    weight = Tensor("W", F64, tuple(index(sizes[n]) for n in names))
    axes = tuple(Axis(n, index(sizes[n])) for n in names)
    read = Load("X", tuple(where), F64, conjunction(*guards), Const(0.0, F64))
    node = Compute(Tensor("Y", F64, weight.shape), axes, (op("mul", read, Load("W", tuple(a.var for a in axes), F64)),))
    graph = gradient(Graph((x, weight), (node,), ("Y",)), ["Y"], ["X"])
    verify_graph(graph)
    given = np.random.default_rng(seed).standard_normal(tuple(sizes.values()))
    (found,) = evaluate(graph, {"X": np.ones(shape), "W": given}).values()
    expected = np.zeros(shape)
    for place in np.ndindex(*given.shape):
        at = dict(zip(names, map(int, place), strict=True))
        if all(ex.evaluate(g, {}, at) for g in guards):
            expected[tuple(ex.evaluate(e, {}, at) for e in where)] += given[place]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def solved(e: Expr, over: dict[str, Expr], size: Expr) -> tuple[dict[str, str], list[str], list[str]]:
    from kernelcat_core.ir.printer import print_expr

    fresh: Callable[[str], str] = lambda stem: f"{stem}_new"  # noqa: E731
    axes = tuple(Axis(n, s) for n, s in over.items())
    found = invert(Load("X", (e,), F64), axes, (Axis("p", size),), fresh)
    assert found is not None
    return ({n: print_expr(b) for n, b in found.bound.items()}, [a.name for a in found.free],
            [print_expr(g) for g in found.guards])


def test_a_window_is_walked_over_its_taps() -> None:
    y, r = Var("y"), Var("r")
    e = ex.add(ex.mul(y, index(2)), r)
    assert solved(e, {"y": Size("Y"), "r": index(3)}, Size("X")) == (
        {"y": "(p - r) // 2"}, ["r"], ["0 <= p - r", "p - r < Y * 2", "(p - r) % 2 == 0"])


def test_windows_that_do_not_overlap_need_no_walk() -> None:
    y, r = Var("y"), Var("r")
    e = ex.add(ex.mul(y, index(2)), r)
    assert solved(e, {"y": Size("Y"), "r": index(2)}, Size("X")) == ({"y": "p // 2", "r": "p % 2"}, [], ["p < Y * 2"])


def test_flattening_is_undone_by_digits() -> None:
    e = ex.add(ex.mul(Var("i"), Size("N")), Var("j"))
    bound, free, _ = solved(e, {"i": Size("M"), "j": Size("N")}, ex.mul(Size("M"), Size("N")))
    assert (bound, free) == ({"i": "p // N", "j": "p % N"}, [])


def test_computed_subscripts_are_not_inverted() -> None:
    table = Tensor("T", ex.I64, (index(4),))
    x = Tensor("X", F64, (index(6),))
    i = Axis("i", index(4))
    node = Compute(Tensor("Y", F64, (index(4),)), (i,), (Load("X", (Load("T", (i.var,), ex.I64),), F64),))
    graph = gradient(Graph((table, x), (node,), ("Y",)), ["Y"], ["X"])
    assert any(isinstance(n, Scatter) for n in graph.nodes)
