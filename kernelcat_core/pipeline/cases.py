"""Cases: at which sizes and on which values a kernel is compared with the oracle."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import inner_axes
from kernelcat_core.numerics.compare import Oracle
from kernelcat_core.numerics.distributions import distributions_of, make_inputs
from kernelcat_core.pipeline.hops import Analysis, shape_of

_ODD = (1, 3, 17, 33, 70)
_MOST_ELEMENTS = 1 << 18


@dataclass(frozen=True)
class Case:
    """One set of sizes and inputs, with the oracle's answers (computed on first use, shared by all targets)."""

    name: str
    sizes: Mapping[str, int]
    oracle: Oracle


def size_sets(a: Analysis) -> list[dict[str, int]]:
    """The workload itself, then odd, unit and zero sizes as far as the formula allows them.

    Sizes that the caller fixed are the workload and nothing else varies.
    """
    default = dict(a.workload)
    sets = [default]
    free = [n for n in a.graph.size_names if n not in a.given]
    if not free:
        return sets
    odd = {n: _ODD[(k + 2) % len(_ODD)] for k, n in enumerate(free)}
    candidates = [odd, {n: max(1, v + 1) for n, v in default.items() if n in free}, dict.fromkeys(free, 1)]
    candidates += [{n: 0} for n in free]
    for change in candidates:
        sizes = {**default, **change}
        if sizes not in sets and a.is_legal(sizes) and most_elements(a, sizes) <= _MOST_ELEMENTS:
            sets.append(sizes)
    return sets


def most_elements(a: Analysis, sizes: Mapping[str, int]) -> int:
    """The number of elements of the largest tensor at these sizes."""
    total = 0
    for t in a.graph.tensors.values():
        count = 1
        for d in shape_of(t, sizes):
            count *= d
        total = max(total, count)
    return total


def cases(a: Analysis, seeds: int) -> Iterator[Case]:
    """`seeds` draws at the workload, each from another distribution after the first, then one at every other size set."""
    kinds = distributions_of(a.graph)
    sets = size_sets(a)
    for seed in range(max(1, seeds)):
        yield _case(a, sets[0], seed, kinds[seed % len(kinds)])
    for k, sizes in enumerate(sets[1:]):
        yield _case(a, sizes, seeds + k, kinds[0])
    if seeds > 1:
        small = next((s for s in sets[1:] if min(s.values(), default=0) > 1), sets[0])
        for k, kind in enumerate(kinds[seeds:]):  # ties and NaN need company: never at size 1
            yield _case(a, small, 100 + k, kind)


def _case(a: Analysis, sizes: Mapping[str, int], seed: int, kind: str) -> Case:
    require_feasible(a, sizes)
    inputs = make_inputs(a.graph, sizes, seed, kind)
    label = ", ".join(f"{k}={v}" for k, v in sizes.items())
    return Case(f"{kind} seed {seed} at {label or 'fixed sizes'}", sizes, Oracle(a.graph, inputs, sizes))


_MOST_POINTS = 1 << 38


def require_feasible(a: Analysis, sizes: Mapping[str, int]) -> None:
    """Raises KC-F020 where the oracle would not fit this machine's memory, or take many minutes."""
    count = sum(math.prod(shape_of(t, sizes)) for t in a.graph.tensors.values())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 24 * count > memory // 2:  # in f64, at the declared type, and its error bound
        raise KernelcatError("KC-F020", f"a comparison at these shapes takes about {24 * count >> 30} GiB",
                             hint="give a smaller --shape; sizes are run-time arguments of the kernel")
    points = sum(math.prod(evaluate(x.size, sizes) for x in (*n.axes, *inner_axes(n))) for n in a.graph.nodes)
    if points > _MOST_POINTS:
        raise KernelcatError("KC-F020", f"a comparison at these shapes walks {points:.1e} points", hint="give a smaller --shape")


def require_workload(a: Analysis) -> Mapping[str, int]:
    """The sizes at which a kernel is measured; raises KC-F020 when they are too large to run here."""
    if most_elements(a, a.workload) > 1 << 31:
        raise KernelcatError("KC-F020", "these shapes have more than 2^31 elements", hint="measure at a smaller shape")
    return a.workload
