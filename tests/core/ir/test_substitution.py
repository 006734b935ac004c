"""Substitution happens once, and folding stays inside 64 bits."""

from __future__ import annotations

from kernelcat_core.dtypes import F32, I64
from kernelcat_core.ir.expr import Const, Load, Op, Var, add, index, sub, substitute, walk


def test_an_index_that_folds_back_to_itself_is_not_moved_twice() -> None:
    i = Var("i")
    moved = substitute(Load("x", (add(i, index(4)),), F32), {"i": sub(i, index(4))})
    assert isinstance(moved, Load) and moved.index == (i,)


def test_swapped_names_swap() -> None:
    i, j = Var("i"), Var("j")
    assert substitute(Op("mul", (i, j), I64), {"i": j, "j": i}) == Op("mul", (j, i), I64)


def test_sums_of_large_literals_stay_in_range() -> None:
    half = index(1 << 62)
    made = add(add(Var("i"), half), half)
    assert all(-(1 << 63) <= int(e.value) < 1 << 63 for e in walk(made) if isinstance(e, Const))
