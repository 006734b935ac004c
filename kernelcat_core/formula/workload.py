"""Default sizes: small, legal for the formula, and unequal where they may be."""

from __future__ import annotations

import random
from collections.abc import Mapping

from kernelcat_core.formula.lower import Lowered
from kernelcat_core.ir.expr import Const, evaluate, walk
from kernelcat_core.ir.graph import expressions

_PREFERRED = (16, 24, 12, 20, 8, 32, 10, 14)
_TRIES = 600
_ELEMENTS = 1 << 16


def default_workload(lowered: Lowered) -> dict[str, int]:
    """A value for every size of the graph: the given ones, and small ones (1 to 64, more only if needed) for the rest.

    They satisfy the formula's requirements and give no empty tensor, as far as a bounded search (fixed seed) finds such.
    """
    graph = lowered.graph
    names = [n for n in graph.size_names if n not in lowered.bindings]
    fixed = {n: v for n, v in lowered.bindings.items() if n in graph.size_names}
    first = {n: _PREFERRED[k % len(_PREFERRED)] for k, n in enumerate(names)}
    best = {**first, **fixed}
    if not names or _broken(lowered, best) == 0:
        return best
    chance = random.Random(0)
    values = sorted({*range(1, 17), 24, 32, 48, 64, *_mentioned(lowered)})
    faults = _broken(lowered, best)
    for _ in range(_TRIES):
        attempt = dict(best)
        for n in chance.sample(names, min(len(names), chance.choice((1, 1, 2, 3)))):
            attempt[n] = chance.choice(values)
        found = _broken(lowered, attempt)
        if found <= faults:
            best, faults = attempt, found
        if faults == 0:
            break
    return best


def _mentioned(lowered: Lowered) -> set[int]:
    """Numbers that the formula itself uses, and their neighbours."""
    found: set[int] = set()
    exprs = [e for n in lowered.graph.nodes for e in expressions(n)] + [r.value for r in lowered.requirements]
    for e in exprs:
        for n in walk(e):
            if isinstance(n, Const) and isinstance(n.value, int) and 0 < abs(n.value) <= 4096:
                found |= {abs(n.value), abs(n.value) + 1, 2 * abs(n.value)}
    return found


def _broken(lowered: Lowered, sizes: Mapping[str, int]) -> int:
    """How many requirements and shapes these sizes break."""
    count = sum(not r.holds(sizes) for r in lowered.requirements)
    for t in lowered.graph.tensors.values():
        total = 1
        for d in t.shape:
            try:
                size = evaluate(d, sizes)
            except ZeroDivisionError:
                size = 0
            count += size < 1
            total *= max(1, size)
        count += total > _ELEMENTS
    return count
