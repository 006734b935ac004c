"""Imported models as callables: traced once a signature, run on plans of generated kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.importers.onnx_model import Imported, trace_model
from kernelcat_core.importers.onnx_model.node import Item
from kernelcat_core.importers.trace import Array, Value, uncoded
from kernelcat_core.ir.graph import Graph
from kernelcat_core.pipeline.network.plan import Plan

PLANS = 256
"""Plans of graphs in which data decided something that a network keeps."""


@dataclass(frozen=True)
class _Ready:
    """A traced and compiled signature: `looked_at` are inputs whose contents it holds for."""

    imported: Imported
    plan: Plan

    def fits(self, inputs: Mapping[str, Any]) -> bool:
        return all(n in inputs and np.array_equal(inputs[n], a, equal_nan=a.dtype.kind == "f")
                   for n, a in self.imported.trace.looked_at.items())


class OnnxNetwork:
    """An ONNX model on generated C kernels. Call it with arrays by input name; gives a dict of outputs.

    Every set of input shapes is traced once; kernels that differ in large sizes only are shared between them. `threads`
    as for kernelcat.kernel; `opt_level` is the C compiler's.
    """

    def __init__(self, model: Any, *, threads: int | None = None, opt_level: str = "O3", folder: Path | None = None) -> None:
        self.model = model
        self.threads, self.opt_level, self.folder = threads, opt_level, folder
        self._ready: dict[tuple[Any, ...], list[_Ready]] = {}
        self._plans: dict[str, Plan] = {}

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        key = tuple((n, _signature(v)) for n, v in sorted(inputs.items()))
        for ready in self._ready.get(key, ()):
            if ready.fits(inputs):
                return self._run(ready, inputs)
        imported = trace_model(self.model, inputs, self._evaluate, self.folder)
        trace = imported.trace
        graph = trace.graph([trace.named(v) for _, item in imported.outputs for v in _tensors(item)])
        if trace.volatile:
            plan = self._kept(graph, trace.weights)
            arrays = plan.run({t.name: trace.contents(t.name) for t in plan.inputs})
            return {name: _contents(item, trace.named, arrays) for name, item in imported.outputs}
        ready = _Ready(imported, Plan(graph, trace.fixed, threads=self.threads, opt_level=self.opt_level))
        self._ready.setdefault(key, []).append(ready)
        return self._run(ready, inputs)

    @property
    def launches(self) -> int:
        """Kernels of the signature that was traced last."""
        found = [r for kept in self._ready.values() for r in kept]
        return len(found[-1].plan.steps) if found else 0

    def _evaluate(self, graph: Graph, feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        return self._kept(graph, {}).run(feeds)

    def _kept(self, graph: Graph, weights: Mapping[str, Array]) -> Plan:
        """The plan of a graph that data had a say in: where they say the same again, it is there already. The names of
        `weights` hold their digests."""
        plan = self._plans.pop(graph.digest, None)
        if plan is None:
            plan = Plan(graph, weights, threads=self.threads, opt_level=self.opt_level)
        self._plans[graph.digest] = plan
        if len(self._plans) > PLANS:
            self._plans.pop(next(iter(self._plans)))
        return plan

    def _run(self, ready: _Ready, inputs: Mapping[str, Any]) -> dict[str, Any]:
        trace = ready.imported.trace
        arrays = ready.plan.run({t.name: a for t, a in _leaves(ready, inputs)})
        return {name: _contents(item, trace.named, arrays) for name, item in ready.imported.outputs}


def _leaves(ready: _Ready, inputs: Mapping[str, Any]) -> list[tuple[Any, Array]]:
    by_name = dict(ready.imported.bound(inputs))
    return [(t, by_name[t.name]) for t in ready.plan.inputs]


def _signature(item: Any) -> Any:
    if item is None:
        return None
    if isinstance(item, (list, tuple)):
        return tuple(_signature(v) for v in item)
    a = np.asarray(item)
    return (a.dtype.str, a.shape)


def _tensors(item: Item) -> list[Value]:
    if isinstance(item, list):
        return [v for x in item for v in _tensors(x)]
    return [] if item is None else [item]


def _contents(item: Item, named: Any, arrays: Mapping[str, Array]) -> Any:
    if item is None:
        return None
    if isinstance(item, list):
        return [_contents(v, named, arrays) for v in item]
    return uncoded(arrays[named(item)], item.code)
