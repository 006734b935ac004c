"""Ranges of indices, inferred from how a statement uses them (docs/notation.md, Ranges)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula.indexing import exact
from kernelcat_core.formula.sizes import INFERRED, Sizes
from kernelcat_core.ir import polynomial as poly
from kernelcat_core.ir.expr import Expr, Size, Var, evaluate, index, op, walk
from kernelcat_core.ir.polynomial import Polynomial
from kernelcat_core.ir.printer import print_expr


@dataclass(frozen=True)
class Use:
    """A subscript made of indices: axis `axis` (of size `dim`) of `tensor` is read at `expr`."""

    tensor: str
    axis: int
    dim: Expr
    expr: Expr
    guarded: bool
    span: Span

    @property
    def bare(self) -> str | None:
        return self.expr.name if isinstance(self.expr, Var) else None


@dataclass
class Uses:
    """What one statement says about its indices. Keys tell apart equal names of different reducers."""

    found: list[Use] = field(default_factory=list)
    explicit: dict[str, Expr] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    """Key -> the name in the text."""

    def title(self, key: str) -> str:
        return self.titles.get(key, key)


def solve(uses: Uses, sizes: Sizes, optional: frozenset[str] = frozenset(), naming: bool = True) -> dict[str, Expr]:
    """Index key -> size of its range. Keys in `optional` may stay without one if nothing uses them.

    With `naming`, an axis without a name of its own is called by the index that runs over it.

    Raises KC-F011 (no size), KC-F012 (two sizes), KC-F013 (an unguarded load would leave its tensor).
    """
    ranges = dict(uses.explicit)
    _bare(uses, sizes, ranges)
    if naming:
        _name(uses, sizes)
    _shrink(uses, sizes, ranges)
    for key, span in uses.spans.items():
        if key not in ranges and not (key in optional and not _used(uses, key)):
            raise _no_size(uses, key, span)
    for use in uses.found:
        if not use.guarded:
            _inside(use, uses, sizes, ranges)
    return ranges


def _bare(uses: Uses, sizes: Sizes, ranges: dict[str, Expr]) -> None:
    first: dict[str, Use] = {}
    for guarded in (False, True):
        for use in uses.found:
            key = use.bare
            if key is None or key in uses.explicit or use.guarded != guarded:
                continue
            earlier = first.get(key)
            if earlier is None:
                first[key], ranges[key] = use, use.dim
            elif earlier.guarded == guarded:
                _equate(uses, sizes, key, earlier, use)


def _name(uses: Uses, sizes: Sizes) -> None:
    for use in uses.found:
        dim = sizes.resolve(use.dim)
        if use.bare is not None and isinstance(dim, Size) and sizes.rank.get(dim.name) == INFERRED:
            sizes.nickname.setdefault(dim.name, uses.title(use.bare))


def _used(uses: Uses, key: str) -> bool:
    return any(isinstance(n, Var) and n.name == key for u in uses.found for n in walk(u.expr))


def _equate(uses: Uses, sizes: Sizes, key: str, a: Use, b: Use) -> None:
    name = uses.title(key)

    def error(p: int | None, q: int | None) -> KernelcatError:
        left = p if p is not None else _shown(sizes, a.dim)
        right = q if q is not None else _shown(sizes, b.dim)
        if a.tensor == b.tensor:
            message = f"index '{name}' ranges over {left} and {right} on two axes of {a.tensor}"
        else:
            message = f"index '{name}' ranges over {left} in {a.tensor} but {right} in {b.tensor}"
        return KernelcatError("KC-F012", message, span=b.span,
                              hint=f"make the two sizes agree, or give a range: {name} in N")

    swap = sizes.number(a.dim), sizes.number(b.dim)
    sizes.equate(a.dim, b.dim, lambda p, q: error(*swap) if None not in swap else error(p, q))


def _shown(sizes: Sizes, e: Expr) -> str:
    return print_expr(sizes.resolve(e))


def _shrink(uses: Uses, sizes: Sizes, ranges: dict[str, Expr]) -> None:
    pending = [(u, poly.of(sizes.resolve(u.expr))) for u in uses.found
               if u.bare is None and not u.guarded and poly.affine(poly.of(u.expr)) and poly.indices(poly.of(u.expr))]
    pending.sort(key=lambda item: len(poly.indices(item[1])))
    progress = True
    while progress and pending:
        progress = False
        later = []
        for use, p in pending:
            here = poly.indices(p)
            unknown = [k for k in here if k not in ranges]
            loose = unknown or [k for k in here if k not in uses.explicit]
            if len(unknown) > 1:
                later.append((use, p))
                continue
            progress = True
            if len(loose) == 1:
                size = _prefix(use, p, loose[0], uses, sizes, ranges)
                if size is not None:
                    known = ranges.get(loose[0])
                    ranges[loose[0]] = size if known is None else poly.normal(op("min", sizes.resolve(known), size))
        pending = later
    if pending:
        use, p = pending[0]
        unknown = [uses.title(k) for k in poly.indices(p) if k not in ranges]
        names = " nor ".join(unknown)
        raise KernelcatError("KC-F011", f"neither {names} has a size", span=use.span,
                             hint=f"give all but one of them a range: {unknown[-1]} in N")


def _prefix(use: Use, p: Polynomial, key: str, uses: Uses, sizes: Sizes, ranges: dict[str, Expr]) -> Expr | None:
    """The size of the largest range 0..n-1 of `key` that keeps the load inside, the other ranges known."""
    split = poly.linear(p, key)
    step = None if split is None else poly.number(split[0])
    if split is None or not step:
        return None
    others = poly.bounds(split[1], ranges)
    if others is None:
        return None
    low, high = others
    if step > 0:
        room = poly.plus(poly.plus(poly.of(sizes.resolve(use.dim)), poly.constant(1), -1), high, -1)
    else:
        room = low
    size = op("add", op("floordiv", poly.expression(room), index(abs(step))), index(1))
    size = poly.normal(size)

    def message(given: Mapping[str, int]) -> str:
        return f"the load leaves {use.tensor} wherever '{uses.title(key)}' is"

    sizes.require(size, "KC-F013", message, f"axis {use.axis} of {use.tensor} is too short for this subscript", use.span)
    return size


def _inside(use: Use, uses: Uses, sizes: Sizes, ranges: dict[str, Expr]) -> None:
    """An unguarded load must stay inside: proved, refused, or left as a requirement on sizes."""
    p = poly.of(sizes.resolve(use.expr))
    resolved = {k: sizes.resolve(v) for k, v in ranges.items()}
    found = poly.bounds(p, resolved)
    if found is None or not exact(use.expr):
        return  # read through a check at run time, like a computed subscript
    last = poly.plus(poly.of(sizes.resolve(use.dim)), poly.constant(1), -1)
    for value in (poly.plus(last, found[1], -1), found[0]):
        sizes.require(poly.expression(value), "KC-F013", lambda given: _leaves(use, uses, sizes, resolved, given),
                      f"guard it, e.g. where(condition, {use.tensor}[...], 0.0), or give a smaller range", use.span)


def _leaves(use: Use, uses: Uses, sizes: Sizes, ranges: Mapping[str, Expr], given: Mapping[str, int]) -> str:
    """Names the first index value at which the load is outside, where one index decides it."""
    keys = poly.indices(poly.of(use.expr))
    try:
        size = evaluate(sizes.resolve(use.dim), given)
        extent = {k: evaluate(ranges[k], given) for k in keys}
        if len(keys) == 1:
            key = keys[0]
            name = uses.title(key)
            for v in range(min(extent[key], 100_000)):
                if not 0 <= evaluate(sizes.resolve(use.expr), given, {key: v}) < size:
                    return f"the load leaves {use.tensor} (size {size}) at {name} = {v}"
        if not keys:
            return f"subscript {evaluate(sizes.resolve(use.expr), given)} leaves {use.tensor} (size {size})"
        shown = ", ".join(f"{uses.title(k)} in {extent[k]}" for k in keys)
        return f"the load leaves {use.tensor} (size {size} on axis {use.axis}) with {shown}"
    except (KeyError, ZeroDivisionError):
        return f"the load leaves {use.tensor}"


def _no_size(uses: Uses, key: str, span: Span) -> KernelcatError:
    name = uses.title(key)
    why = f"index '{name}' has only a guarded affine use" if _used(uses, key) else f"index '{name}' has no size"
    return KernelcatError("KC-F011", why, span=span, hint=f"give its range: {name} in N")
