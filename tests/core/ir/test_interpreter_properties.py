"""Random graphs: the vectorised oracle equals loops over Python integers, in whatever blocks it works."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcat_core.dtypes import I64
from kernelcat_core.ir import contraction, interpreter
from kernelcat_core.ir import expr as ex
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, add, index, mul, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Tensor, monoid

SHAPES = {"A": (3, 4), "B": (5,)}
NAMES = ("i", "j", "k", "l")


def positions(draw: st.DrawFn, extent: int) -> Expr:
    """An affine index (or a product of two), which may leave 0 .. extent-1."""
    e: Expr = index(draw(st.integers(-1, 2)))
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=2)):
        e = add(e, mul(index(draw(st.integers(-1, 2))), Var(name)))
    return mul(e, Var(draw(st.sampled_from(NAMES)))) if draw(st.integers(0, 5)) == 0 else e


def guarded_load(draw: st.DrawFn) -> Expr:
    name = draw(st.sampled_from(sorted(SHAPES)))
    at = tuple(positions(draw, n) for n in SHAPES[name])
    inside: Expr = Const(True, ex.BOOL)
    for e, n in zip(at, SHAPES[name], strict=True):
        inside = op("and", inside, op("and", op("ge", e, index(0)), op("lt", e, index(n))))
    return Load(name, at, I64, inside, index(draw(st.integers(-2, 2))))


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> Expr:
    choice = draw(st.integers(0, 4)) if depth else draw(st.integers(0, 1))
    if choice <= 1:
        return guarded_load(draw) if choice == 0 else Var(draw(st.sampled_from(NAMES)))
    a, b = draw(elements(depth - 1)), draw(elements(depth - 1))
    return op(draw(st.sampled_from(["add", "sub", "mul", "mul", "min", "max"])), a, b)


def scalar(e: Expr, env: dict[str, int], tensors: dict[str, np.ndarray]) -> Any:
    """One element by hand."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return env[e.name]
    if isinstance(e, Load):
        assert e.where is not None
        assert e.fill is not None
        if not scalar(e.where, env, tensors):
            return scalar(e.fill, env, tensors)
        return int(tensors[e.tensor][tuple(scalar(i, env, tensors) for i in e.index)])
    assert isinstance(e, Op)
    args = [scalar(a, env, tensors) for a in e.args]
    plain = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "min": min, "max": max,
        "and": lambda x, y: x and y, "ge": lambda x, y: x >= y, "lt": lambda x, y: x < y,
    }  # fmt: skip
    return plain[e.name](*args)


@settings(max_examples=150, deadline=None)
@given(
    element=elements(), sizes=st.tuples(*[st.integers(0, 3)] * 4), reduced=st.integers(0, 3),
    name=st.sampled_from(["sum", "prod", "max", "min"]), block=st.sampled_from([1, 4, 1 << 19]), seed=st.integers(0, 99),
)  # fmt: skip
def test_oracle_equals_loops(
    element: Expr, sizes: tuple[int, ...], reduced: int, name: str, block: int, seed: int
) -> None:
    axes = tuple(Axis(n, index(s)) for n, s in zip(NAMES, sizes, strict=True))
    outer, inner = axes[: 4 - reduced], axes[4 - reduced :]
    m = monoid(name, I64) if inner else None
    out = Tensor("Y", I64, tuple(a.size for a in outer))
    inputs = tuple(Tensor(n, I64, tuple(index(d) for d in s)) for n, s in SHAPES.items())
    graph = Graph(inputs, (Compute(out, outer, (element,), inner, m),), ("Y",))
    rng = np.random.default_rng(seed)
    tensors = {n: rng.integers(-3, 4, s) for n, s in SHAPES.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "BLOCK", block)
        patch.setattr(contraction, "PANEL", block)
        got = interpreter.evaluate(graph, tensors)["Y"]
    fold = {"sum": sum, "prod": lambda v: np.prod(v, dtype=object), "max": max, "min": min}[name]
    lowest = {"sum": 0, "prod": 1, "max": -(1 << 63), "min": (1 << 63) - 1}[name]
    for at in itertools.product(*(range(s) for s in sizes[: 4 - reduced])):
        rest = itertools.product(*(range(s) for s in sizes[4 - reduced :]))
        values = [scalar(element, dict(zip(NAMES, (*at, *r), strict=True)), tensors) for r in rest]
        expected = values[0] if m is None else fold(values) if values else lowest
        wrapped = (int(expected) + (1 << 63)) % (1 << 64) - (1 << 63)
        assert got[at] == wrapped
