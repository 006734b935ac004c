"""Chains of two reductions over the same axes whose second uses the first: they are one reduction with a composite state.

- sum of exp(x - max x): the state (m, l), corrected by exp(m - m') when a block raises m to m' (see schedule/online.py).
- sum of (x - mean x)^2: the state (n, sum, squares); two parts add their squares and d^2 na nb / (na + nb), where d is the
  difference of their means. Source: T. Chan, G. Golub, R. LeVeque, Updating formulae and a pairwise algorithm for computing
  sample variances, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Var, op, product, substitute
from kernelcat_core.ir.graph import Compute
from kernelcat_core.ir.normal_form import same
from kernelcat_core.schedule.emit import compute_dtype
from kernelcat_core.schedule.online import POWERS, core
from kernelcat_core.schedule.rules.common import Placed


@dataclass(frozen=True)
class Chain:
    """`kind` "powers" is a maximum, then a sum of `power`s of what lies below it; "squares" a mean, then squared deviations.

    `guarded` powers subtract no maximum that is not finite.
    """

    kind: Literal["powers", "squares"]
    power: str = "exp"
    guarded: bool = False


def chains_of(placed: Sequence[Placed]) -> dict[int, Chain]:
    """Place of the first -> chains of neighbouring nodes over one reduced axis; no node is in two."""
    found: dict[int, Chain] = {}
    for k, (p, q) in enumerate(pairwise(placed)):
        pair = chain(p, q) if k - 1 not in found and len(p.reduce_axes) == 1 else None
        if pair is not None:
            found[k] = pair
    return found


def chain(first: Placed, second: Placed) -> Chain | None:
    """What the two reductions are together; None when they are not a chain."""
    a, b = first.node, second.node
    if a.monoid is None or b.monoid is None or b.monoid.name != "sum" or len(a.reduce_axes) != len(b.reduce_axes):
        return None
    pairs = list(zip(first.reduce_axes, second.reduce_axes, strict=True))
    dtype = compute_dtype(a.monoid.state[0])
    if not all(same(x.size, y.size) for x, y in pairs) or not dtype.is_float or dtype != compute_dtype(b.monoid.state[0]):
        return None
    x = core(substitute(a.element[0], first.names))
    value = core(substitute(substitute(b.element[0], second.names), {y.name: x.var for x, y in pairs}))
    if not isinstance(value, Op):
        return None
    if value.name in POWERS and a.monoid.name == "max" and a.finish is None:
        taken = _subtracted(value.args[0], x)
        if taken is not None and _is_result(taken, a):
            return Chain("powers", value.name)
        guard = isinstance(taken, Op) and taken.name == "where" and _is_result(core(taken.args[1]), a)
        if isinstance(taken, Op) and guard and taken.args[0] == op("isfinite", taken.args[1]):
            return Chain("powers", value.name, True) if isinstance(taken.args[2], Const) else None
    if value.name == "mul" and value.args[0] == value.args[1] and a.monoid.name == "sum" and _is_mean(a):
        taken = _subtracted(value.args[0], x)
        return Chain("squares") if taken is not None and _is_result(taken, a) else None
    return None


def _subtracted(e: Expr, x: Expr) -> Expr | None:
    """What `e` is x less of."""
    e = core(e)
    return core(e.args[1]) if isinstance(e, Op) and e.name == "sub" and core(e.args[0]) == x else None


def _is_result(e: Expr, node: Compute) -> bool:
    return isinstance(e, Load) and e.tensor == node.output.name and e.where is None


def _is_mean(node: Compute) -> bool:
    """Whether a sum is divided by the number of its elements."""
    assert node.monoid is not None
    finish = None if node.finish is None else core(node.finish)
    if not isinstance(finish, Op) or finish.name != "div" or core(finish.args[0]) != Var("s0", node.monoid.state[0]):
        return False
    count = core(finish.args[1])
    elements = product([a.size for a in node.reduce_axes])
    if isinstance(count, Const):
        return isinstance(elements, Const) and float(count.value) == float(elements.value)
    return isinstance(count, Op) and count.name == "cast" and count.args[0].dtype == I64 and same(count.args[0], elements)
