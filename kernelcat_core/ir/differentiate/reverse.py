"""The reverse of each primitive: what its loads receive when its output does.

A `Received` is a load of a primitive, the axes over which the primitive makes it, and what it receives at each point.
Primitives that a reverse needs beside the forward ones (tie counts, scans back) are put into the `Tape`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kernelcat_core.dtypes import I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.differentiate.algebra import (
    computed,
    core,
    is_number,
    minus,
    number,
    over,
    times,
    where,
    widened,
)
from kernelcat_core.ir.differentiate.scalar_rules import partials
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    Var,
    cast,
    conjunction,
    op,
    substitute,
    transform,
    variables,
    walk,
)
from kernelcat_core.ir.expr import add as add_index
from kernelcat_core.ir.expr import index as whole
from kernelcat_core.ir.expr import mul as mul_index
from kernelcat_core.ir.graph import Axis, Compute, Primitive, Scan, Scatter, Select, Tensor, monoid

_LONG = 200  # operations of one expression


class Received(NamedTuple):
    load: Load
    axes: tuple[Axis, ...]
    value: Expr


@dataclass
class Tape:
    """Primitives added so far, by name. Mutable while one gradient is formed."""

    taken: set[str]
    nodes: list[Primitive] = field(default_factory=list)

    def name(self, wanted: str) -> str:
        name, count = wanted, 2
        while name in self.taken:
            name, count = f"{wanted}_{count}", count + 1
        self.taken.add(name)
        return name

    def put(self, node: Primitive) -> Load:
        """Add a primitive under a fresh name; the load of its element at its axes."""
        name = self.name(node.output.name)
        self.nodes.append(replace(node, output=replace(node.output, name=name)))
        return Load(name, tuple(a.var for a in node.axes), node.output.dtype)

    def compute(self, name: str, axes: tuple[Axis, ...], value: Expr) -> Load:
        return self.put(Compute(Tensor(name, value.dtype, tuple(a.size for a in axes)), axes, (value,)))


def received(node: Primitive, output: Expr, tape: Tape) -> Iterator[Received]:
    """What the float loads of `node` receive when its output's element receives `output` (an expression over its axes).

    Raises KC-G002 for what has no derivative here (a scan with products of an exclusive kind, say).
    """
    seed = cast(output, computed(node.output.dtype))
    match node:
        case Compute():
            yield from _compute(node, seed, tape)
        case Scan():
            yield from _scan(node, seed, tape)
        case Scatter():
            yield from _scatter(node, seed, tape)
        case Select():
            return


def _of(e: Expr, seed: Expr, axes: tuple[Axis, ...], shown: Expr | None = None) -> Iterator[Received]:
    """What the loads of `e` receive; where `e` itself comes up, it is read from `shown`."""
    e = widened(transform(e, _unfilled))
    for leaf, value in partials(e, seed).items():
        if isinstance(leaf, Load):
            yield Received(leaf, axes, value if shown is None else _reread(value, e, shown))


def _unfilled(n: Expr) -> Expr | None:
    """A load with a computed value elsewhere, as a choice."""
    if isinstance(n, Load) and n.where is not None and n.fill is not None and not isinstance(n.fill, Const):
        return op("where", n.where, replace(n, fill=Const(0.0 if n.dtype.is_float else 0, n.dtype)), n.fill)
    return None


def _reread(value: Expr, e: Expr, shown: Expr) -> Expr:
    if not isinstance(e, Op) or e.name in ("add", "sub", "mul", "neg", "cast", "where"):
        return value
    return transform(value, lambda n: cast(shown, e.dtype) if n == e else None)


def _shortened(value: Expr, node: Compute, tape: Tape) -> Expr:
    """A value that got long, with the parts that it repeats most in tensors of their own."""
    while True:
        count = Counter(n for n in walk(value) if isinstance(n, Op) and n.dtype.is_float)
        if count.total() <= _LONG:
            return value
        size = {n: sum(1 for _ in walk(n)) for n in count}
        best = max(size, key=lambda n: (count[n] - 1) * (size[n] - 1) if size[n] < _LONG else 0)
        if count[best] < 2 or size[best] < 3:
            return value
        axes = tuple(a for a in node.axes if a.name in variables(best))
        held = tape.compute(f"{node.output.name}_part", axes, best)
        value = transform(value, lambda n, best=best, held=held: held if n == best else None)  # type: ignore[misc]


# -- reductions


def _compute(node: Compute, seed: Expr, tape: Tape) -> Iterator[Received]:
    out = Load(node.output.name, tuple(a.var for a in node.axes), node.output.dtype)
    if node.monoid is None:
        for r in _of(node.element[0], seed, node.axes, out):
            yield r._replace(value=_shortened(r.value, node, tape))
        return
    for k, s, found in _states(node, seed, tape):
        if isinstance(found, Received):
            yield found
            continue
        yield from _fold(node, k, s, tape)


def _states(node: Compute | Scan, seed: Expr, tape: Tape) -> Iterator[tuple[int, Expr, Received | None]]:
    """What each state of the fold receives through `finish`, and what loads in `finish` receive."""
    assert node.monoid is not None
    if node.finish is None:
        yield 0, seed, None
        return
    names = {f"s{k}": k for k in range(len(node.monoid.state))}
    for leaf, value in partials(widened(node.finish), seed).items():
        read: dict[str, Expr] = {n: _state(node, names[n], tape) for n in sorted(variables(value) & set(names))}
        value = substitute(value, read)
        if isinstance(leaf, Load):
            yield 0, value, Received(leaf, node.axes, value)
        elif leaf.name in names:
            yield names[leaf.name], value, None


def _state(node: Compute | Scan, k: int, tape: Tape) -> Expr:
    """The value of a state at the axes: the output itself where that is the state, else a fold that is not finished."""
    assert node.monoid is not None
    at = tuple(a.var for a in node.axes)
    dtype = node.monoid.state[k]
    if node.finish is None:
        return Load(node.output.name, at, dtype)
    if node.finish == Var(f"s{k}", dtype):
        return Load(node.output.name, at, dtype)
    if core(node.finish) == Var(f"s{k}", dtype) and node.monoid.name in ("max", "min") and node.output.dtype == dtype:
        return Load(node.output.name, at, dtype)
    finish = None if k == 0 and len(node.monoid.state) == 1 else Var(f"s{k}", dtype)
    wanted = replace(node, output=Tensor("", dtype, node.output.shape), finish=finish)
    for other in tape.nodes:
        if isinstance(other, Compute | Scan) and replace(other, output=replace(other.output, name="")) == wanted:
            return Load(other.output.name, at, dtype)
    return tape.put(replace(wanted, output=replace(wanted.output, name=f"{node.output.name}_{node.monoid.name}")))


def _fold(node: Compute, k: int, seed: Expr, tape: Tape) -> Iterator[Received]:
    """What the loads of an element receive when state `k` of the fold does."""
    assert node.monoid is not None
    axes = (*node.axes, *node.reduce_axes)
    element = node.element[k]
    match node.monoid.name:
        case "sum":
            yield from _of(element, seed, axes)
        case "max" | "min":
            yield from _of(element, _shared(node, seed, tape), axes)
        case "prod":
            yield from _of(element, times(seed, _rest(node, tape)), axes)
        case "logsumexp":
            if k == 1:  # the shift by the greatest element is no change of the value: only l receives
                weight = op("exp", minus(widened(node.element[0]), _shift(node, tape)))
                yield from _of(node.element[0], times(times(seed, weight), widened(node.element[1])), axes)
                yield from _of(node.element[1], times(seed, weight), axes)
        case "argmax" | "argmin" | "argmax_last" | "argmin_last":
            hit = op("eq", node.element[1], _state(node, 1, tape))
            yield from _of(element, where(hit, seed, number(0.0, seed)), axes)
        case "any" | "all":
            return
        case name:
            raise _refused(f"the reduction {name}")


def _shift(node: Compute | Scan, tape: Tape) -> Expr:
    m = _state(node, 0, tape)
    return op("where", op("isfinite", m), m, number(0.0, m))


def _shared(node: Compute, seed: Expr, tape: Tape) -> Expr:
    """max and min: the elements that equal the result share what it receives evenly."""
    best = _state(node, 0, tape)
    equal = op("eq", node.element[0], best)
    dtype = seed.dtype
    one, zero = Const(1.0, dtype), Const(0.0, dtype)
    ties = tape.put(Compute(Tensor(f"{node.output.name}_ties", dtype, node.output.shape), node.axes,
                            (op("where", equal, one, zero),), node.reduce_axes, monoid("sum", dtype)))
    return where(equal, tape.compute(f"{node.output.name}_part", node.axes, over(seed, ties)), zero)


def _rest(node: Compute, tape: Tape) -> Expr:
    """prod: the product of the other elements, from the product of those that are not zero and the count of zeros."""
    e = widened(node.element[0])
    zero, one = number(0.0, e), number(1.0, e)
    is_zero = op("eq", e, zero)
    shape, name = node.output.shape, node.output.name
    zeros = tape.put(Compute(Tensor(f"{name}_zeros", e.dtype, shape), node.axes, (op("where", is_zero, one, zero),),
                             node.reduce_axes, monoid("sum", e.dtype)))
    others = tape.put(Compute(Tensor(f"{name}_others", e.dtype, shape), node.axes, (op("where", is_zero, one, e),),
                              node.reduce_axes, monoid("prod", e.dtype)))
    alone = op("and", is_zero, op("eq", zeros, one))
    return op("where", op("eq", zeros, zero), op("div", others, op("where", is_zero, one, e)), op("where", alone, others, zero))


# -- scans


def _scan(node: Scan, seed: Expr, tape: Tape) -> Iterator[Received]:
    for k, s, found in _states(node, seed, tape):
        if isinstance(found, Received):
            yield found
        else:
            yield from _unscan(node, k, s, tape)


def _unscan(node: Scan, k: int, seed: Expr, tape: Tape) -> Iterator[Received]:
    name = node.monoid.name
    if name == "sum":
        yield from _of(node.element[0], _back(node, seed, tape), node.axes)
    elif name == "prod" and not node.exclusive:
        value = times(seed, cast(_state(node, 0, tape), seed.dtype))
        e = widened(node.element[0])
        yield from _of(node.element[0], over(_back(node, value, tape), e), node.axes)
    elif name in ("max", "min"):
        yield from _of(node.element[0], _to_latest(node, seed, tape), node.axes)
    elif name == "logsumexp":
        if k == 1:
            yield from _of(node.element[0], _smoothed(node, seed, tape), node.axes)
    elif name not in ("any", "all", "argmax", "argmin", "argmax_last", "argmin_last"):
        raise _refused(f"an {'exclusive ' * node.exclusive}scan of {name}")


def _back(node: Scan, value: Expr, tape: Tape) -> Expr:
    """The sum of `value` over the points whose fold holds a point's element: a scan the other way."""
    dtype = value.dtype
    return tape.put(Scan(Tensor(f"{node.output.name}_back", dtype, node.output.shape), node.axes, node.over,
                         monoid("sum", dtype), (value,), not node.reverse, node.exclusive))


def _to_latest(node: Scan, seed: Expr, tape: Tape) -> Expr:
    """max and min: each point gives to the latest place that holds its value."""
    at = tuple(a.var for a in node.axes)
    e = node.element[0]
    m = monoid(f"arg{node.monoid.name}_last", e.dtype)
    place = at[node.over]
    order: Expr = place if not node.reverse else op("neg", place)
    found = tape.put(replace(node, output=Tensor(f"{node.output.name}_place", I64, node.output.shape), monoid=m,
                             element=(e, order), finish=Var("s1") if not node.reverse else op("neg", Var("s1"))))
    named = tuple(Axis(f"{a.name}_", a.size) for a in node.axes)
    names: dict[str, Expr] = {a.name: b.var for a, b in zip(node.axes, named, strict=True)}
    target = [b.var if k != node.over else substitute(found, names) for k, b in enumerate(named)]
    zeros = tape.compute(f"{node.output.name}_zero", node.axes, Const(0.0, seed.dtype))
    return tape.put(Scatter(Tensor(f"{node.output.name}_back", seed.dtype, node.output.shape), node.axes, zeros, named,
                            tuple(target), substitute(seed, names), monoid("sum", seed.dtype)))


def _smoothed(node: Scan, seed: Expr, tape: Tape) -> Expr:
    """logsumexp: every later point gives by the share that this element has in its sum."""
    axis = node.scanned
    later = Axis(f"{axis.name}_", axis.size)
    move: dict[str, Expr] = {axis.name: later.var}
    signs = {(False, False): "le", (False, True): "lt", (True, False): "ge", (True, True): "gt"}
    inside = op(signs[node.reverse, node.exclusive], axis.var, later.var)
    share = op("exp", minus(widened(node.element[0]), substitute(_shift(node, tape), move)))
    value = where(inside, times(substitute(seed, move), share), number(0.0, seed))
    return tape.put(Compute(Tensor(f"{node.output.name}_back", seed.dtype, node.output.shape), node.axes, (value,), (later,),
                            monoid("sum", seed.dtype)))


# -- scatters


def _scatter(node: Scatter, seed: Expr, tape: Tape) -> Iterator[Received]:
    name = "last" if node.monoid is None else node.monoid.name
    out = Load(node.output.name, tuple(a.var for a in node.axes), node.output.dtype)
    if name == "sum":
        yield from _of(node.base, seed, node.axes)
        yield from _updates(node, seed, tape)
    elif name == "last":
        last = _last_update(node, tape)
        zero = number(0.0, seed)
        yield from _of(node.base, where(op("lt", last, whole(0)), seed, zero), node.axes)
        own = op("eq", _at(node, last, whole(-1)), _number_of(node))
        yield from _updates(node, seed, tape, own)
    elif name in ("max", "min"):
        best = op("eq", node.base, out)
        dtype = seed.dtype
        one, zero = Const(1.0, dtype), Const(0.0, dtype)
        hit = op("eq", node.value, _at(node, out))
        ties = tape.put(replace(node, output=Tensor(f"{node.output.name}_ties", dtype, node.output.shape),
                                base=op("where", best, one, zero), value=op("where", hit, one, zero),
                                monoid=monoid("sum", dtype)))
        part = over(seed, ties)
        yield from _of(node.base, where(best, part, zero), node.axes)
        yield from _updates(node, part, tape, hit)
    elif name == "prod":
        value = times(seed, cast(out, seed.dtype))
        yield from _of(node.base, over(value, widened(node.base)), node.axes)
        held = tape.compute(f"{node.output.name}_times", node.axes, value)
        yield from _of(node.value, over(cast(_at(node, held), seed.dtype), widened(node.value)), node.updates)


def _updates(node: Scatter, seed: Expr, tape: Tape, condition: Expr | None = None) -> Iterator[Received]:
    if not (is_number(seed) or isinstance(core(seed), Load)):
        seed = tape.compute(f"{node.output.name}_part", node.axes, seed)
    value = transform(seed, lambda n: _at(node, n) if isinstance(n, Load) else None)
    if is_number(seed):
        value = where(_hits(node), seed, number(0.0, seed))
    if condition is not None:
        value = where(condition, value, number(0.0, value))
    yield from _of(node.value, value, node.updates)


def _hits(node: Scatter) -> Expr:
    """Whether an update takes place."""
    checks = [c for i, d in zip(node.index, node.output.shape, strict=True) for c in (
        op("le", whole(0), i), op("lt", i, d))]
    found = conjunction(node.where, *checks)
    assert found is not None
    return found


def _at(node: Scatter, load: Load, fill: Expr | None = None) -> Load:
    """A tensor of the output's shape, read over its axes, where an update writes."""
    names = {a.name: i for a, i in zip(node.axes, node.index, strict=True)}
    index = tuple(substitute(i, names) for i in load.index)
    zero = Const(0.0 if load.dtype.is_float else 0, load.dtype)
    return Load(load.tensor, index, load.dtype, _hits(node), zero if fill is None else fill)


def _number_of(node: Scatter) -> Expr:
    """The row-major number of an update."""
    total: Expr = node.updates[0].var if node.updates else whole(0)
    for a in node.updates[1:]:
        total = add_index(mul_index(total, a.size), a.var)
    return total


def _last_update(node: Scatter, tape: Tape) -> Load:
    """The number of the last update of every element, -1 where there is none."""
    none = tape.compute(f"{node.output.name}_none", node.axes, whole(-1))
    return tape.put(replace(node, output=Tensor(f"{node.output.name}_last", I64, node.output.shape), base=none,
                            value=_number_of(node)))


def _refused(what: str) -> KernelcatError:
    return KernelcatError("KC-G002", f"{what} has no gradient here", hint="write the gradient as a formula of its own")

