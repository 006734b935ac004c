"""Measure one kernel at its workload: the least work it must do, its time in the sandbox, its outputs checked after timing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelcat_core.errors import Failure
from kernelcat_core.ir.expr import Op, evaluate, walk
from kernelcat_core.ir.graph import Graph, Scatter, Select, inner_axes
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import require_workload
from kernelcat_core.runtime.measure import Measurement, Work, measure_job

_ORACLE_LIMIT = 1 << 31  # scalar operations that the oracle is asked to repeat after a timing


def work(graph: Graph, sizes: Mapping[str, int]) -> Work:
    """Bytes of inputs and outputs once each, and the floating-point operations as written (guards not subtracted)."""
    nbytes = sum(int(np.prod(hops.shape_of(t, sizes), dtype=np.int64)) * t.dtype.itemsize
                 for t in (*graph.inputs, *(graph.tensors[n] for n in graph.outputs)))
    return Work(nbytes, operations(graph, sizes))


def operations(graph: Graph, sizes: Mapping[str, int]) -> int:
    """Floating-point operations of every primitive: those of its element, plus one a folded point. Comparisons of orders do
    not count."""
    total = 0
    for node in graph.nodes:
        if isinstance(node, Select):
            continue
        points = 1
        for axis in node.updates if isinstance(node, Scatter) else (*node.axes, *inner_axes(node)):
            points *= max(0, evaluate(axis.size, sizes))
        elements = (node.value,) if isinstance(node, Scatter) else node.element
        each = sum(1 for e in elements for n in walk(e) if isinstance(n, Op) and n.dtype.is_float and n.name != "cast")
        total += points * (each + (node.monoid is not None and node.monoid.state[0].is_float))
    return total


def measure(a: hops.Analysis, r: hops.Rendering, library: Path, *, rounds: int = 3, samples: int = 10, budget_s: float = 0.6,
            seed: int = 0, verify: bool = True) -> Measurement | Failure:
    """Medians over `rounds` sandboxed runs; the outputs after timing are compared with the oracle when that is affordable.

    Times that the machine's measured peaks make impossible are a Failure (KC-M004).
    """
    sizes = require_workload(a)
    inputs = make_inputs(a.graph, sizes, seed)
    job = replace(hops.job(r, library, inputs, sizes), repeats=samples, budget_s=budget_s)
    measured = measure_job(job, rounds, seed, believable(a.graph, sizes))
    if isinstance(measured, Failure):
        return measured
    measurement, outcome = measured
    if verify and operations(a.graph, sizes) < _ORACLE_LIMIT:
        outputs = {t.name: x for t, x in zip(r.module.outputs, outcome.outputs)}
        verdict = worst(list(Oracle(a.graph, inputs, sizes).check(outputs).values()))
        if not verdict.ok:
            return Failure("KC-N001", verdict.message)
    return measurement


def believable(graph: Graph, sizes: Mapping[str, int]) -> Work:
    """What counts against a time: bytes only (operations as written can be saved by algebra), and at the speed of the
    cache level that holds the inputs or the outputs alone (inputs stay cached while outputs pass by them)."""
    total = work(graph, sizes).nbytes
    inputs = work(replace(graph, outputs=()), sizes).nbytes
    return Work(total, 0, max(inputs, total - inputs))
