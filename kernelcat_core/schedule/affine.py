"""Index arithmetic for schedules: linear offsets, equality of polynomials, merging of neighbouring axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    Size,
    Var,
    add,
    coefficient,
    index,
    mul,
    op,
    product,
    transform,
    variables,
)
from kernelcat_core.ir.graph import Axis, Tensor
from kernelcat_core.ir.normal_form import same
from kernelcat_core.schedule.simplify import recombined


def linear(shape: tuple[Expr, ...], position: tuple[Expr, ...]) -> Expr:
    """The row-major offset of `position` in an array of `shape`, in elements."""
    total: Expr = index(0)
    for k, p in enumerate(position):
        total = add(total, mul(p, product(shape[k + 1:])))
    return recombined(total)


def flatten(e: Expr, tensors: Mapping[str, Tensor]) -> Expr:
    """`e` with every Load's index replaced by one row-major offset."""
    return transform(e, lambda n: Load(n.tensor, (linear(tensors[n.tensor].shape, n.index),), n.dtype, n.where, n.fill)
                     if isinstance(n, Load) else None)


@dataclass(frozen=True)
class Merge:
    """Axes `outer` and `inner` (of `inner_size`) walked as one axis: outer * inner_size + inner = `merged`."""

    outer: str
    inner: str
    inner_size: Expr
    merged: str

    def fits(self, e: Expr) -> bool:
        """Whether `e` depends on the two axes only through the merged one."""
        return self._rewritten(e) is not None

    def _rewritten(self, e: Expr) -> Expr | None:
        if not {self.outer, self.inner} & variables(e):
            return e
        a, b = coefficient(e, self.outer), coefficient(e, self.inner)
        if a is None or b is None or not same(a[0], mul(b[0], self.inner_size)):
            return None
        both = coefficient(a[1], self.inner)
        assert both is not None
        return add(both[1], mul(Var(self.merged), b[0]))

    def apply(self, e: Expr) -> Expr:
        """`e` over the merged axis: directly where it fits, by division and remainder elsewhere."""
        if not {self.outer, self.inner} & variables(e):
            return e
        if e.dtype == I64 and not isinstance(e, Load):
            direct = self._rewritten(e)
            if direct is not None:
                return direct
        if isinstance(e, Var):
            return op("floordiv" if e.name == self.outer else "mod", Var(self.merged), self.inner_size)
        if isinstance(e, Op):
            return Op(e.name, tuple(self.apply(a) for a in e.args), e.dtype)
        if isinstance(e, Load):
            return Load(e.tensor, tuple(self.apply(i) for i in e.index), e.dtype,
                        None if e.where is None else self.apply(e.where), None if e.fill is None else self.apply(e.fill))
        return e


def merge_axes(axes: list[Axis], offsets: Iterable[Expr], predicates: Iterable[Expr],
               fresh: Callable[[str], str]) -> tuple[list[Axis], list[Merge]]:
    """Merge neighbouring axes, innermost first, as long as every offset fits and no predicate looks inside."""
    offsets, predicates = list(offsets), list(predicates)
    merges: list[Merge] = []
    axes = list(axes)
    place = len(axes) - 1
    while place > 0:
        outer, inner = axes[place - 1], axes[place]
        m = Merge(outer.name, inner.name, inner.size, "")
        blocked = any({outer.name, inner.name} & variables(p) for p in predicates)
        if not blocked and all(m.fits(o) for o in offsets):
            m = replace(m, merged=fresh("f"))
            merges.append(m)
            offsets = [m.apply(o) for o in offsets]
            axes[place - 1:place + 1] = [Axis(m.merged, mul(outer.size, inner.size))]
        place -= 1
    return axes, merges


def constant(e: Expr) -> int | None:
    """The value of a literal, None of anything else."""
    return int(e.value) if isinstance(e, Const) else None


def most(e: Expr) -> int | None:
    """An upper bound of a size expression: of literals, of Sizes with a maximum, of what is made of them; None when unknown."""
    if isinstance(e, Const):
        return int(e.value)
    if isinstance(e, Size):
        return e.maximum
    if not isinstance(e, Op):
        return None
    bounds = [most(a) for a in e.args]
    known = [b for b in bounds if b is not None]
    if e.name == "min" and known:
        return min(known)
    if e.name == "sub" and bounds[0] is not None:
        return bounds[0] - (int(e.args[1].value) if isinstance(e.args[1], Const) else 0)  # sizes are not negative
    if len(known) < len(bounds) or any(b < 0 for b in known):
        return None
    if e.name == "floordiv":
        return known[0] // known[1] if isinstance(e.args[1], Const) and known[1] > 0 else None
    if e.name == "add":
        return sum(known)
    if e.name == "mul":
        return prod(known)
    return max(known) if e.name == "max" else None


def fitted(size: Expr, lanes: int) -> int:
    """Lanes for an axis of this size: `lanes`, fewer (a multiple of 16) when it is known to be shorter."""
    bound = most(size)
    return lanes if bound is None else min(lanes, max(16, -(-bound // 16) * 16))
