"""From what a load receives at every point of a loop to what an element of its tensor receives: sums, scatters, factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelcat_core.ir.differentiate.algebra import (
    assuming,
    computed,
    core,
    is_number,
    neg,
    number,
    over,
    times,
    where,
)
from kernelcat_core.ir.differentiate.inversion import Inversion, invert, is_affine
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    cast,
    conjunction,
    conjuncts,
    product,
    substitute,
    transform,
    variables,
)
from kernelcat_core.ir.graph import Axis, Compute, Scatter, Tensor, monoid


@dataclass(frozen=True)
class Share:
    """What one load gives to its tensor, over the tensor's axes: `factor` times the sum of `element` over `reduced`.

    Without `reduced` it is `element` itself. `scattered` holds it instead where only the loop's points know their element.
    """

    element: Expr
    reduced: tuple[Axis, ...] = ()
    factor: Expr | None = None
    scattered: Scatter | None = None


def share(load: Load, axes: tuple[Axis, ...], value: Expr, tensor: Tensor, target: tuple[Axis, ...]) -> Share | None:
    """The share of `load`, which receives `value` at every point of `axes`, in the gradient of `tensor` over `target`.

    None when it is zero everywhere. The names of `axes` may occur in `target`.
    """
    inner = {a.name: Axis(f"%{a.name}", a.size) for a in axes}
    moved: dict[str, Expr] = {n: a.var for n, a in inner.items()}
    here, value = substitute(load, moved), substitute(value, moved)
    assert isinstance(here, Load)
    count = iter(range(len(axes) + 16))
    found = invert(here, tuple(inner.values()), target, lambda stem: f"%{stem}{next(count)}")
    if found is None:
        return _scattered(here, tuple(inner.values()), value, tensor, target)
    element = Load(tensor.name, tuple(a.var for a in target), tensor.dtype)
    value = transform(assuming(value, conjuncts(here.where)), lambda n: element if n == here else None)
    value = _guarded(value, found)
    if is_number(value, 0.0):
        return None
    return _folded(value, found.free, target)


def _guarded(value: Expr, found: Inversion) -> Expr:
    """`value` at the solution: 0 where a guard fails, and nothing is loaded there that may lie outside."""
    guard = conjunction(*found.guards)
    leading = next((f for f in _flat(value) if isinstance(core(f), Load) and _needs(core(f), found)), None)

    def protect(n: Expr) -> Expr | None:
        if not isinstance(n, Load):
            return None
        needed = set(found.guards) if leading is not None and n == core(leading) else _needs(n, found)
        if not needed and n.where is None:
            return None
        both = dict.fromkeys([c for c in found.guards if c in needed] + found.predicate(n.where))
        where_ = conjunction(*sorted(both, key=is_affine, reverse=True))
        return replace(n, where=where_, fill=None if where_ is None else n.fill if n.fill is not None else _nothing(n))

    value = substitute(transform(value, protect), found.bound)
    if guard is None or _vanishes(value, set(found.guards)):
        return value
    return where(guard, value, number(0.0, value))


def _needs(n: Expr, found: Inversion) -> set[Expr]:
    """The guards without which a load may lie outside."""
    used = {v for i in n.index for v in variables(i)} if isinstance(n, Load) else set()
    return {c for v in used for c in found.outside.get(v, ())}


def _nothing(n: Load) -> Const:
    return Const(0.0 if n.dtype.is_float else False if n.dtype.kind == "b" else 0, n.dtype)


def _vanishes(e: Expr, guards: set[Expr]) -> bool:
    """Whether a product of plain factors is 0 where a guard fails: one of them is a load that is 0 there."""
    if isinstance(e, Op) and e.name == "where" and is_number(e.args[2], 0.0):
        return _vanishes(e.args[1], guards)
    if isinstance(e, Op) and e.name == "div" and isinstance(e.args[1], Const):
        return _vanishes(e.args[0], guards)
    factors = [core(f) for f in _flat(e)]
    read = [f for f in factors if isinstance(f, Load)]
    zero = any(f.fill is not None and is_number(f.fill, 0.0) and guards <= set(conjuncts(f.where)) for f in read)
    return zero and all(isinstance(f, Load | Const) for f in factors)


def _flat(e: Expr) -> list[Expr]:
    if isinstance(e, Op) and e.name == "mul":
        return [f for a in e.args for f in _flat(a)]
    return _flat(e.args[0]) if isinstance(e, Op) and e.name == "neg" else [e]


def _folded(value: Expr, free: tuple[Axis, ...], target: tuple[Axis, ...]) -> Share:
    """The sum of `value` over `free`, factors that do not vary with it in front."""
    names = {a.name for a in free}
    inside, factor = _split(value, names)
    used = set() if inside is None else variables(inside)
    silent = [a.size for a in free if a.name not in used]
    if silent:
        count = product(silent)
        times_count = number(float(count.value), value) if isinstance(count, Const) else cast(count, value.dtype)
        factor = times_count if factor is None else times(factor, times_count)
    if inside is None:
        return Share(number(1.0, value) if factor is None else factor)
    reduced = tuple(a for a in free if a.name in used)
    if not reduced:
        return Share(inside if factor is None else times(inside, factor))
    named = _readable(reduced, {a.name for a in target})
    return Share(substitute(inside, {a.name: b.var for a, b in zip(reduced, named, strict=True)}), named, factor)


def _readable(axes: tuple[Axis, ...], taken: set[str]) -> tuple[Axis, ...]:
    """Axes under their names in the loop, apart from those of the tensor's axes."""
    found: list[Axis] = []
    taken = set(taken)
    for a in axes:
        name = a.name.removeprefix("%")
        name = f"i{name[1:]}" if name.startswith("@") else name
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(Axis(name, a.size))
    return tuple(found)


def _split(e: Expr, names: set[str]) -> tuple[Expr | None, Expr | None]:
    """`e` as inside * outside, where `outside` uses none of `names` (None: one)."""
    if not variables(e) & names:
        return None, e
    if isinstance(e, Op) and e.name == "neg":
        inside, outside = _split(e.args[0], names)
        return inside, neg(number(1.0, e) if outside is None else outside)
    if isinstance(e, Op) and e.name == "mul":
        (a, p), (b, q) = (_split(x, names) for x in e.args)
        return _both(a, b, times), _both(p, q, times)
    if isinstance(e, Op) and e.name == "div":
        (a, p), (b, q) = (_split(x, names) for x in e.args)
        one = number(1.0, e)
        return (a if b is None else over(one if a is None else a, b)), (p if q is None else over(one if p is None else p, q))
    if isinstance(e, Op) and e.name == "where" and is_number(e.args[2], 0.0) and not variables(e.args[0]) & names:
        inside, outside = _split(e.args[1], names)
        return inside, where(e.args[0], number(1.0, e) if outside is None else outside, e.args[2])
    if isinstance(e, Op) and e.name == "where" and is_number(e.args[2], 0.0):
        inside, outside = _split(e.args[1], names)
        return where(e.args[0], number(1.0, e) if inside is None else inside, e.args[2]), outside
    return e, None


def _both(a: Expr | None, b: Expr | None, join: Callable[[Expr, Expr], Expr]) -> Expr | None:
    return b if a is None else a if b is None else join(a, b)


def _scattered(load: Load, axes: tuple[Axis, ...], value: Expr, tensor: Tensor, target: tuple[Axis, ...]) -> Share:
    """Adds the value of every point to the element that it reads."""
    named = _readable(axes, {a.name for a in target})
    names: dict[str, Expr] = {a.name: b.var for a, b in zip(axes, named, strict=True)}
    index = tuple(substitute(i, names) for i in load.index)
    inside = conjunction(*(c for c in conjuncts(load.where) if not _is_bound(c, load)))
    value = substitute(assuming(value, conjuncts(load.where)), names)
    dtype = computed(tensor.dtype)
    output = replace(tensor, dtype=dtype)
    node = Scatter(output, target, Const(0.0, dtype), named, index, value, monoid("sum", dtype),
                   None if inside is None else substitute(inside, names))
    return Share(Load(output.name, tuple(a.var for a in target), dtype), scattered=node)


def _is_bound(c: Expr, load: Load) -> bool:
    """0 <= subscript and subscript < size: an update that breaks them is dropped anyway."""
    if not isinstance(c, Op) or c.name not in ("le", "lt"):
        return False
    if c.name == "le":
        return is_zero_index(c.args[0]) and c.args[1] in load.index
    return c.args[0] in load.index and not variables(c.args[1])


def is_zero_index(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 0


def used_axes(e: Expr, target: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes among `target` that `e` varies with."""
    names = variables(e)
    return tuple(a for a in target if a.name in names)


def summed(name: str, s: Share, axes: tuple[Axis, ...], finish: Expr | None = None) -> Compute:
    """The reduction of a share as a primitive over `axes`."""
    dtype = s.element.dtype
    shape = tuple(a.size for a in axes)
    return Compute(Tensor(name, dtype if finish is None else finish.dtype, shape), axes, (s.element,), s.reduced,
                   monoid("sum", dtype), finish)
