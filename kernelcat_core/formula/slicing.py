"""Slices of whole tensors: `X[1:, ::2, 0]`, with Python's meaning, on sizes that may be symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.context import Context
from kernelcat_core.formula.indexing import index_expression
from kernelcat_core.formula.syntax import Node, Slice, Subscript
from kernelcat_core.formula.values import Value, at
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import ZERO, Const, Expr, Var, add, index, mul, op, sub
from kernelcat_core.ir.graph import Axis

if TYPE_CHECKING:
    from kernelcat_core.formula.lower import Lowering


def sliced(node: Subscript, base: Value, low: Lowering, c: Context) -> Value:
    """A part of a whole tensor. Plain integers drop their axis; missing trailing subscripts keep theirs."""
    if len(node.indices) > base.rank:
        raise KernelcatError("KC-F014", f"{len(node.indices)} subscripts for {base.rank} axes", span=node.span,
                             hint="write at most one subscript an axis")
    axes: list[Axis] = []
    place: list[Expr] = []
    for k, a in enumerate(base.axes):
        size = low.sizes.resolve(a.size)
        item: Node | None = node.indices[k] if k < len(node.indices) else None
        if item is None or isinstance(item, Slice):
            start, length, step = _extent(item, size, low) if isinstance(item, Slice) else (ZERO, size, 1)
            axis = Axis(f"@{len(axes)}", length)
            axes.append(axis)
            place.append(add(mul(Var(axis.name), index(step)), start))
        else:
            place.append(_element(item, size, low))
    return Value(at(base, tuple(place)), tuple(axes), base.weak)


def _number(node: Node, low: Lowering) -> Expr:
    names = {n: low.sizes.resolve(e) for n, e in low.scope.size_names.items()}
    e = index_expression(node, names)
    if e is None:
        raise KernelcatError("KC-F015", "a slice is made of integers and sizes", span=node.span,
                             hint="use indices instead: Y[i in 8] = X[i + 1]")
    return e


def _element(node: Node, size: Expr, low: Lowering) -> Expr:
    e = _number(node, low)
    if isinstance(e, Const) and int(e.value) < 0:
        e = add(size, e)
    for value in (e, sub(sub(size, index(1)), e)):
        low.sizes.require(value, "KC-F013", lambda _: "the subscript leaves its tensor", "use a smaller subscript",
                          low.place(node.span))
    return e


def _extent(item: Slice, size: Expr, low: Lowering) -> tuple[Expr, Expr, int]:
    """(start, length, step) of a slice over an axis of this size; limits are clipped as Python does."""
    step = 1
    if item.step is not None:
        e = _number(item.step, low)
        if not isinstance(e, Const) or int(e.value) == 0:
            raise KernelcatError("KC-F015", "the step of a slice is a number that is not 0", span=item.span, hint="")
        step = int(e.value)

    def limit(node: Node | None, default: Expr, low_: Expr, high: Expr) -> Expr:
        if node is None:
            return default
        e = _number(node, low)
        if isinstance(e, Const) and int(e.value) < 0:
            e = add(size, e)
        return poly.normal(op("min", op("max", poly.normal(e), low_), high))

    if step > 0:
        start, stop = limit(item.start, ZERO, ZERO, size), limit(item.stop, size, ZERO, size)
        span = sub(stop, start)
    else:
        last = sub(size, index(1))
        start, stop = limit(item.start, last, index(-1), last), limit(item.stop, index(-1), index(-1), last)
        span = sub(start, stop)
    length = op("max", op("floordiv", add(span, index(abs(step) - 1)), index(abs(step))), ZERO)
    return start, poly.normal(length), step
