"""Softmax-weighted sums, found in graphs by analysis: a sum over `s` of exp(x - max x) / sum exp(x - max x) times a load.

A chain of reductions over one axis, each of which uses what the earlier ones gave, needs the axis once for each. When the
later ones change by a known factor as the earlier ones grow, the chain is one reduction with a composite state: here
(m, l, acc), the greatest score so far, the sum of exponentials and the weighted sum relative to it. Adding a block of
scores with greatest value b makes m' = max(m, b), and corrects l and acc by exp(m - m'). The state starts from the least
finite m, so that no infinity is subtracted from itself; l is 0 exactly when every score so far was -inf.
Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax, 2018; T. Dao et al., FlashAttention, 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import (
    Const,
    Expr,
    Load,
    Op,
    Var,
    cast,
    conjunction,
    loads,
    op,
    substitute,
    transform,
    variables,
)
from kernelcat_core.ir.graph import Axis, Compute, Graph, reads
from kernelcat_core.ir.normal_form import same
from kernelcat_core.schedule.emit import compute_dtype
from kernelcat_core.schedule.inline import expanded_load

POWERS = ("exp", "exp2")


@dataclass(frozen=True)
class WeightedSum:
    """`node.output[batch.., q, e] = finish(share(sum over s of lift(power(score - shift)) * value[s, e]))`.

    `score` is over s0, the sum over d of query[q, d] * key[s, d]; elements where one of `conditions` fails have score -inf.
    `shift` is over s2, the greatest score; `share` over s0, the weighted sum, s1, the sum of powers, and s2; it is linear in
    s0. `lift` is over w0, the power. `inside` names the tensors that nothing else needs. Axes are those of `node`, and d.
    """

    node: Compute
    inside: frozenset[str]
    query: Load
    key: Load
    value: Load
    batch: tuple[Axis, ...]
    q: Axis
    e: Axis
    s: Axis
    d: Axis
    conditions: tuple[Expr, ...]
    score: Expr
    lift: Expr
    shift: Expr
    share: Expr
    power: str
    dtype: DType


def weighted_sums(graph: Graph) -> dict[str, WeightedSum]:
    """Output name -> every softmax-weighted sum of products in `graph`."""
    nodes = {n.output.name: n for n in graph.nodes if isinstance(n, Compute)}
    derived: dict[str, Compute] = {}  # elementwise values of reductions
    for name, n in nodes.items():
        if n.monoid is None and name not in graph.outputs and any(
                r in derived or (r in nodes and nodes[r].monoid is not None) for r in reads(n)):
            derived[name] = n
    found: dict[str, WeightedSum] = {}
    users: dict[str, set[str]] = {}
    for node in graph.nodes:
        for name in reads(node):
            users.setdefault(name, set()).add(node.output.name)
    for name, node in nodes.items():
        match = _Matcher(node, graph, nodes, dict(derived)).match()
        while match is not None:
            outside = {t for t in match.inside if t in graph.outputs or users[t] - match.inside - {name}}
            if not outside:
                found[name] = match
                break
            if not outside <= set(derived):
                break
            match = _Matcher(node, graph, nodes, {k: v for k, v in derived.items() if k not in outside}).match()
    return found


def core(e: Expr) -> Expr:
    """`e` without casts between floats."""
    while isinstance(e, Op) and e.name == "cast" and e.dtype.is_float and e.args[0].dtype.is_float:
        e = e.args[0]
    return e


def factors(e: Expr) -> list[Expr]:
    """The factors of a product."""
    e = core(e)
    return [f for a in e.args for f in factors(a)] if isinstance(e, Op) and e.name == "mul" else [e]


def terms(condition: Expr | None) -> Iterator[Expr]:
    """The conditions that a conjunction consists of."""
    if isinstance(condition, Op) and condition.name == "and":
        for a in condition.args:
            yield from terms(a)
    elif condition is not None:
        yield condition


def _used(load: Load) -> frozenset[str]:
    return variables(Op("add", (*load.index, *(x for x in (load.where, load.fill) if x is not None)), load.dtype))


@dataclass(frozen=True)
class _Weight:
    """A weight as `share` of `lift` of `exponential` (see WeightedSum); share's other parts do not depend on s."""

    exponential: Op
    lift: Expr
    share: Expr


class _Matcher:
    """Tries to see `node` as a WeightedSum; `derived` are the values that may be computed again inside it."""

    def __init__(self, node: Compute, graph: Graph, nodes: Mapping[str, Compute], derived: dict[str, Compute]) -> None:
        self.node, self.graph, self.nodes, self.derived = node, graph, nodes, derived
        self.inside: set[str] = set()

    def match(self) -> WeightedSum | None:
        node = self.node
        if node.monoid is None or node.monoid.name != "sum" or len(node.reduce_axes) != 1 or not node.axes:
            return None
        self.s, self.dtype = node.reduce_axes[0], compute_dtype(node.monoid.state[0])
        parts = factors(node.element[0])
        if not self.dtype.is_float or len(parts) < 2:
            return None
        for value in parts:
            if not isinstance(core(value), Load) or self.s.name not in variables(value):
                continue
            rest = [p for p in parts if p is not value]
            own = frozenset().union(*(variables(p) for p in rest))
            along = [a for a in node.axes if a.name in variables(value) and a.name not in own]
            if along and self.s.name in own:
                load = core(value)
                assert isinstance(load, Load)
                found = self._from(load, rest, along[-1])
                if found is not None:
                    return found
        return None

    def _from(self, value: Load, rest: list[Expr], e: Axis) -> WeightedSum | None:
        total: Expr = rest[0]
        for f in rest[1:]:
            total = op("mul", cast(total, self.dtype), cast(f, self.dtype))
        weight = self._weight(self._expanded(total))
        if weight is None:
            return None
        difference = core(weight.exponential.args[0])
        if not isinstance(difference, Op) or difference.name != "sub" or self._in_row(difference.args[0]):
            return None
        score, shift = (core(a) for a in difference.args)
        shifted = self._shift(shift, score)
        share = None if shifted is None else self._normalised(weight, shifted[1])
        if shifted is None or share is None:
            return None
        conditions, inner = _conditions(score)
        return self._product(value, e, conditions, inner, weight, shifted[0], share)

    def _expanded(self, e: Expr) -> Expr:
        def f(n: Expr) -> Expr | None:
            if not isinstance(n, Load) or n.tensor not in self.derived:
                return None
            self.inside.add(n.tensor)
            value = expanded_load(n, self.derived[n.tensor])
            return None if value is None else self._expanded(value)

        return transform(e, f)

    def _in_row(self, e: Expr) -> bool:
        return self.s.name not in variables(e)

    def _weight(self, e: Expr) -> _Weight | None:
        e = core(e)
        if not isinstance(e, Op):
            return None
        if e.name in POWERS and not self._in_row(e):
            return _Weight(e, Var("w0", self.dtype), Var("s0", self.dtype))
        if e.name == "div" and self._in_row(e.args[1]):
            inner = self._weight(e.args[0])
            return inner and replace(inner, share=op("div", inner.share, cast(e.args[1], self.dtype)))
        if e.name == "mul":
            for part, other in (e.args, e.args[::-1]):
                inner = self._weight(part)
                if inner is not None:
                    factor = cast(other, self.dtype)
                    if self._in_row(other):
                        return replace(inner, share=op("mul", inner.share, factor))
                    return replace(inner, lift=op("mul", inner.lift, factor))
        if e.name == "where" and isinstance(core(e.args[2]), Const) and core(e.args[2]) == Const(0.0, e.args[2].dtype):
            inner = self._weight(e.args[1])
            if inner is not None and self._in_row(e.args[0]):
                nothing = op("mul", Var("s0", self.dtype), Const(0.0, self.dtype))  # 0 times a NaN among the values is NaN
                return replace(inner, share=op("where", e.args[0], inner.share, nothing))
        return None

    def _reduction(self, load: Load, name: str) -> Compute | None:
        """The reduction `name` over an axis like s that `load` reads at the row, over the names of `node`."""
        made = self.nodes.get(load.tensor)
        if (made is None or made.monoid is None or made.monoid.name != name or len(made.reduce_axes) != 1
                or load.where is not None or not same(made.reduce_axes[0].size, self.s.size)
                or compute_dtype(made.monoid.state[0]) != self.dtype):
            return None
        if not all(isinstance(i, Var) for i in load.index):
            return None
        names: dict[str, Expr] = {a.name: i for a, i in zip(made.axes, load.index, strict=True)}
        names[made.reduce_axes[0].name] = self.s.var
        element = tuple(substitute(x, names) for x in made.element)
        return replace(made, element=element, finish=None if made.finish is None else substitute(made.finish, names))

    def _shift(self, shift: Expr, score: Expr) -> tuple[Expr, Load] | None:
        """`shift` over s2, the greatest score, and the load of that."""
        for load in dict.fromkeys(loads(shift)):
            made = self._reduction(load, "max")
            if made is None or made.finish is not None or core(self._expanded(made.element[0])) != score:
                continue
            over = core(_replaced(shift, load, Var("s2", self.dtype)))
            finite = op("isfinite", Var("s2", self.dtype))
            kept = isinstance(over, Op) and over.name == "where" and over.args[:2] == (finite, Var("s2", self.dtype))
            if over == Var("s2", self.dtype) or (kept and isinstance(over.args[2], Const)):  # type: ignore[union-attr]
                self.inside.add(load.tensor)
                return over, load
        return None

    def _normalised(self, weight: _Weight, top: Load) -> Expr | None:
        """`weight.share` over s0, s1 and s2."""
        share = _replaced(weight.share, top, Var("s2", self.dtype))
        for load in dict.fromkeys(loads(share)):
            made = self._reduction(load, "sum")
            if made is None:
                continue
            if core(self._expanded(made.element[0])) != weight.exponential:
                return None
            total: Expr = Var("s1", self.dtype)
            if made.finish is not None:
                total = substitute(made.finish, {"s0": cast(total, made.monoid.state[0])})  # type: ignore[union-attr]
            self.inside.add(load.tensor)
            return _replaced(share, load, total)
        return share

    def _product(self, value: Load, e: Axis, conditions: tuple[Expr, ...], score: Expr, weight: _Weight, shift: Expr,
                 share: Expr) -> WeightedSum | None:
        node = self.node
        for load in dict.fromkeys(loads(score)):
            made = self._reduction_of_products(load)
            if made is None:
                continue
            d = made.reduce_axes[0]
            pair = [_wherever(f, conditions) for f in factors(made.element[0])]
            if len(pair) != 2 or not all(isinstance(f, Load) for f in pair):
                continue
            both = [_unguarded(f, conditions, self, made) for f in pair if isinstance(f, Load)]
            key = next((f for f in both if self.s.name in _used(f)), None)
            query = next((f for f in both if self.s.name not in _used(f)), None)
            if key is None or query is None or d.name not in _used(key) & _used(query):
                continue
            own = [a for a in node.axes if a.name in _used(query) and a.name not in _used(key) | _used(value)]
            if not own or any(a.name in _used(query) | _used(key) for a in (e,)):
                continue
            long = [a for a in own if not isinstance(a.size, Const) or int(a.size.value) >= 16] or own
            q = long[-1]
            first: Expr = Var("s0", self.dtype)
            if made.finish is not None:
                first = substitute(made.finish, {"s0": first})
            self.inside.add(load.tensor)
            if load.where is not None:
                first = op("where", load.where, first, cast(load.fill or Const(0.0, self.dtype), first.dtype))
            batch = tuple(a for a in node.axes if a not in (q, e))
            score = _unguarded_all(_replaced(score, load, first), conditions, self, made)
            return WeightedSum(node, frozenset(self.inside), query, key, value, batch, q, e, self.s, d, conditions,
                               score, weight.lift, shift, share, weight.exponential.name, self.dtype)
        return None

    def _reduction_of_products(self, load: Load) -> Compute | None:
        """The sum that gives the scores, over the names of `node`; its reduced axis is called apart from all of them."""
        made = self.nodes.get(load.tensor)
        if (made is None or made.monoid is None or made.monoid.name != "sum" or len(made.reduce_axes) != 1
                or compute_dtype(made.monoid.state[0]) != self.dtype):
            return None
        if not all(isinstance(i, Var) for i in load.index) or len(set(load.index)) != len(load.index):
            return None
        over = {a.name: a.size for a in (*self.node.axes, self.s)}
        names: dict[str, Expr] = {}
        for a, i in zip(made.axes, load.index, strict=True):
            if not isinstance(i, Var) or i.name not in over or not same(over[i.name], a.size):
                return None
            names[a.name] = i
        d = Axis(f"{made.reduce_axes[0].name} of {load.tensor}", made.reduce_axes[0].size)
        names[made.reduce_axes[0].name] = d.var
        return replace(made, reduce_axes=(d,), element=tuple(substitute(x, names) for x in made.element),
                       finish=None if made.finish is None else substitute(made.finish, names))


def _replaced(e: Expr, load: Load, by: Expr) -> Expr:
    """`e` with `load` replaced, in the type that is calculated in."""
    return transform(e, lambda n: cast(by, n.dtype) if n == load else None)


def _conditions(score: Expr) -> tuple[tuple[Expr, ...], Expr]:
    """The conditions without which a score is -inf, and the score where they hold."""
    found: list[Expr] = []
    while True:
        score = core(score)
        if isinstance(score, Op) and score.name == "where" and _is_least(score.args[2]):
            found += terms(score.args[0])
            score = score.args[1]
        elif isinstance(score, Op) and score.name == "where" and _is_least(score.args[1]):
            found.append(_negated(score.args[0]))
            score = score.args[2]
        else:
            return tuple(dict.fromkeys(found)), score


def _is_least(e: Expr) -> bool:
    e = core(e)
    return isinstance(e, Const) and e.value == float("-inf")


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


def _negated(e: Expr) -> Expr:
    if isinstance(e, Op) and e.name in _OPPOSITE and not e.args[0].dtype.is_float:
        return op(_OPPOSITE[e.name], *e.args)
    return e.args[0] if isinstance(e, Op) and e.name == "not" else op("not", e)


def _wherever(e: Expr, conditions: tuple[Expr, ...]) -> Expr:
    """`e` without the choice of 0 where a score does not count anyhow."""
    e = core(e)
    while isinstance(e, Op) and e.name == "where" and all(t in conditions for t in terms(e.args[0])):
        e = core(e.args[1])
    return e


def _unguarded_all(e: Expr, conditions: tuple[Expr, ...], matcher: _Matcher, made: Compute) -> Expr:
    return transform(e, lambda n: _unguarded(n, conditions, matcher, made) if isinstance(n, Load) else None)


def _unguarded(load: Load, conditions: tuple[Expr, ...], matcher: _Matcher, made: Compute) -> Load:
    """`load` without guards that hold wherever its value counts, where its index stays inside the tensor anyhow."""
    if load.where is None:
        return load
    sizes = {a.name: a.size for a in (*matcher.node.axes, matcher.s, *made.reduce_axes)}
    places = list(zip(load.index, matcher.graph.tensors[load.tensor].shape, strict=True))

    def needless(term: Expr) -> bool:
        return term in conditions and all(isinstance(i, Var) and i.name in sizes and same(sizes[i.name], n)
                                          for i, n in places if variables(i) & variables(term))

    where = conjunction(*(t for t in terms(load.where) if not needless(t)))
    return replace(load, where=where, fill=None if where is None else load.fill)
