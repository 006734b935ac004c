"""Sums of products as matrix products: the fast path of the oracle for contractions, windows and gathers
alike.

`sum[k, r](X[i, k+r] * W[j, k, r])` is a matrix product of what X's factor gives over (i, k, r) and W's over
(j, k, r). Factors are evaluated by the caller as arrays over the axes that they use, so that nothing is
assumed about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Expr, Op, variables

Array = npt.NDArray[Any]
Range = tuple[int, int]
Evaluate = Callable[[Expr, tuple[Range, ...]], Array]

PANEL = 1 << 22  # elements of one operand evaluated at once: 32 MiB of f64
EXACT = 1 << 53  # integers below it are exact in f64


def factors_of(e: Expr, dtype: DType, precision: str) -> list[Expr]:
    """The factors of a product formed in `dtype`; casts between floats mean nothing in precision
    "float64"."""
    if isinstance(e, Op):
        if e.name == "mul" and (e.dtype == dtype or (precision == "float64" and e.dtype.is_float and dtype.is_float)):
            return [f for a in e.args for f in factors_of(a, dtype, precision)]
        if e.name == "cast" and precision == "float64" and e.dtype.is_float and e.args[0].dtype.is_float:
            return factors_of(e.args[0], dtype, precision)
    return [e]


def contract(
    factors: list[Expr],
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    outer: int,
    dtype: np.dtype[Any],
    value: Evaluate,
) -> Array | None:
    """The sum over the axes `names[outer:]` of the product of `factors`, an array over `names[:outer]`.

    `value(e, ranges)` gives `e` over a box of all axes. None when the factors do not fall into two groups of
    axes, each missing some output axis of the other, or when 16-bit floats would have to be accumulated.
    """
    if dtype.kind not in "iuf" or dtype.itemsize < 4 or 0 in sizes:
        return None
    groups = _groups(factors, names)
    if len(groups) != 2:
        return None
    left, right = ([n in used for n in names] for used, _ in groups)
    if not any(a and not b for a, b in zip(left[:outer], right[:outer], strict=True)):
        return None
    if not any(b and not a for a, b in zip(left[:outer], right[:outer], strict=True)):
        return None
    inner = tuple((0, n) for n in sizes[outer:])
    out = np.empty(sizes[:outer], dtype)
    for box in _boxes(sizes[:outer], [left, right], math.prod(sizes[outer:])):
        ranges = (*box, *inner)
        a, b = (_product(terms, ranges, dtype, value) for _, terms in groups)
        out[tuple(slice(*r) for r in box)] = _matmul(a, b, tuple(hi - lo for lo, hi in ranges), left, right, outer)
    return out


def _groups(factors: list[Expr], names: tuple[str, ...]) -> list[tuple[frozenset[str], list[Expr]]]:
    """Factors by the axes they use; one whose axes another group has joins it."""
    groups: list[tuple[frozenset[str], list[Expr]]] = []
    for used, factor in sorted(((variables(f) & set(names), f) for f in factors), key=lambda p: -len(p[0])):
        for axes, terms in groups:
            if used <= axes:
                terms.append(factor)
                break
        else:
            groups.append((used, [factor]))
    return groups


def _boxes(sizes: tuple[int, ...], uses: list[list[bool]], inner: int) -> list[tuple[Range, ...]]:
    """Boxes of output indices for which neither operand (nor the result) has more than PANEL elements, if
    possible."""
    boxes = [tuple((0, n) for n in sizes)]
    while boxes:
        box = boxes[0]
        extents = [hi - lo for lo, hi in box]
        weights = [inner * math.prod(n for n, u in zip(extents, use, strict=False) if u) for use in uses]
        worst = max(range(len(uses)), key=lambda k: weights[k])
        widest = max((n, -k) for k, n in enumerate(extents) if uses[worst][k])
        if weights[worst] <= PANEL or widest[0] <= 1:
            return boxes
        axis = -widest[1]
        boxes = [half for b in boxes for half in _halves(b, axis)]
    return boxes


def _halves(box: tuple[Range, ...], axis: int) -> list[tuple[Range, ...]]:
    lo, hi = box[axis]
    middle = (lo + hi + 1) // 2
    cuts = [(lo, middle), (middle, hi)] if middle < hi else [(lo, hi)]
    return [(*box[:axis], cut, *box[axis + 1 :]) for cut in cuts]


def _product(terms: list[Expr], ranges: tuple[Range, ...], dtype: np.dtype[Any], value: Evaluate) -> Array:
    total = value(terms[0], ranges)
    for term in terms[1:]:
        total = total * value(term, ranges)
    return np.asarray(total).astype(dtype, copy=False)


def _matmul(a: Array, b: Array, extents: tuple[int, ...], left: list[bool], right: list[bool], outer: int) -> Array:
    """Both operands (over all axes, broadcastable) as [batch, m, k] x [batch, k, n], the result over the
    output axes."""
    batch = [k for k in range(outer) if left[k] == right[k]]
    rows = [k for k in range(outer) if left[k] and not right[k]]
    columns = [k for k in range(outer) if right[k] and not left[k]]
    reduced = list(range(outer, len(extents)))

    def operand(x: Array, *parts: list[int]) -> Array:
        order = [k for part in parts for k in part]
        used = np.broadcast_to(x, [n if k in order else 1 for k, n in enumerate(extents)])
        rest = [k for k in range(len(extents)) if k not in order]
        return used.transpose(order + rest).reshape([math.prod(extents[k] for k in part) for part in parts])

    one, two = operand(a, batch, rows, reduced), operand(b, batch, reduced, columns)
    product = _exact_matmul(one, two)
    order = batch + rows + columns
    back = np.argsort(order)
    return np.asarray(product.reshape([extents[k] for k in order]).transpose(back))


def _exact_matmul(a: Array, b: Array) -> Array:
    """a @ b; integers through f64 where that is exact (BLAS has no integer product)."""
    if a.dtype.kind == "f":
        return np.asarray(a @ b)
    bound = _magnitude(a) * _magnitude(b) * a.shape[-1]
    if bound < EXACT:
        return np.asarray((a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64).astype(a.dtype))
    return np.asarray(a @ b)


def _magnitude(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
