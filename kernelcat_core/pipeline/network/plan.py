"""A plan: the kernels of a graph in launch order, compiled and loaded, with the memory between them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.backends import resolve
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph, Tensor
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.pipeline.network.canonical import Canonical, canonical
from kernelcat_core.pipeline.network.memory import arena
from kernelcat_core.runtime.device import usable_cores
from kernelcat_core.runtime.load import LoadedKernel, aligned_empty, load
from kernelcat_core.runtime.runner import TensorSpec
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import kernels, rewritten
from kernelcat_core.schedule.lower import lower as lower_graph
from kernelcat_core.target import Target

Array = npt.NDArray[Any]

_LOADED: dict[tuple[str, str, int], LoadedKernel] = {}
_BUNDLE = 24
"""Kernels that one compiler run takes at most."""


@dataclass(frozen=True)
class Step:
    """One kernel: its graph, its loaded entry, the network's tensors that it reads and writes, its size arguments."""

    canonical: Canonical
    entry: LoadedKernel
    sizes: tuple[int, ...]


class Plan:
    """A graph with constant sizes on generated kernels of this machine's CPU.

    What depends on `constants` alone is computed once, when it loads. Call `run` with arrays for the other inputs. Not for
    several threads at once: intermediates live in one arena.
    """

    def __init__(self, graph: Graph, constants: Mapping[str, Array] | None = None, *, target: str = "c",
                 threads: int | None = None, opt_level: str = "O3", deferred: bool = False) -> None:
        _, self.target = resolve(target)
        self.graph = graph
        self.threads = threads or usable_cores()
        self._constants = dict(constants or {})
        graph = rewritten(graph)
        self._tensors = graph.tensors
        groups = [(k.nodes, k.stored) for k in kernels(graph)]
        parts = [canonical(nodes, stored, self._tensors) for nodes, stored in groups]
        self.modules = tuple(_module(p.graph, self.target) for p in parts)
        self._parts, self.opt_level = parts, opt_level
        if not deferred:
            self.load()

    def load(self) -> None:
        """Compile and load the kernels. A `deferred` plan is loaded by `load_all`, together with others."""
        parts = self._parts
        entries = _entries(self.modules, self.target, self.threads, self.opt_level)
        steps = [Step(p, e, tuple(p.sizes[n] for n in m.sizes)) for p, e, m in zip(parts, entries, self.modules, strict=True)]
        self.once = [s for s in steps if self._is_once(s)]
        self.steps = tuple(s for s in steps if s not in self.once)
        for step in self.once:
            made = [aligned_empty(self._spec(n)) for n in step.canonical.outputs]
            part = step.canonical
            given = [self._constants[n].reshape(-1)[k:] for n, k in zip(part.inputs, part.starts, strict=True)]
            step.entry.call_into(given, made, step.sizes)
            self._constants.update(zip(step.canonical.outputs, made, strict=True))
        self._lay_out()

    def _is_once(self, step: Step) -> bool:
        """Whether only constants go in; names of its outputs become known as constants to later steps."""
        if not all(n in self._constants for n in step.canonical.inputs):
            return False
        self._constants.update({n: np.empty(0) for n in step.canonical.outputs})
        return True

    def _spec(self, name: str) -> TensorSpec:
        t = self._tensors[name]
        return TensorSpec(tuple(evaluate(d, {}) for d in t.shape), t.dtype.numpy)

    def _lay_out(self) -> None:
        """Addresses of everything that keeps its place from run to run; the rest is filled in by `run`."""
        outputs = set(self.graph.outputs)
        sizes = {n: self._spec(n).nbytes for s in self.steps for n in s.canonical.outputs if n not in outputs}
        self.arena = arena(sizes, [(s.canonical.inputs, s.canonical.outputs) for s in self.steps])
        self._memory = aligned_empty(TensorSpec((self.arena.nbytes,), np.dtype(np.uint8)))
        base = self._memory.ctypes.data
        self._calls: list[tuple[Callable[[Any, Any], int], Any, Any, LoadedKernel]] = []
        self._open: dict[str, list[tuple[Any, int, int]]] = {}
        for s in self.steps:
            names = [*zip(s.canonical.inputs, s.canonical.starts, strict=True), *((n, 0) for n in s.canonical.outputs)]
            pointers = (ctypes.c_void_p * max(1, len(names)))()
            for k, (name, first) in enumerate(names):
                start = first * self._tensors[name].dtype.itemsize
                if name in self.arena.offsets:
                    pointers[k] = base + self.arena.offsets[name] + start
                elif name in self._constants:
                    pointers[k] = self._constants[name].ctypes.data + start
                else:
                    self._open.setdefault(name, []).append((pointers, k, start))
            values = (ctypes.c_int64 * max(1, len(s.sizes)))(*s.sizes)
            self._calls.append((s.entry.function, pointers, values, s.entry))

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs that every run needs."""
        return tuple(t for t in self.graph.inputs if t.name not in self._constants)

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by name, in fresh arrays. Arrays fit the graph's inputs in dtype and shape."""
        held: dict[str, Array] = {}
        for t in self.inputs:
            array = np.asarray(arrays[t.name], t.dtype.numpy, order="C")
            spec = self._spec(t.name)
            if array.shape != spec.shape:
                raise KernelcatError("KC-F020", f"{t.name} has shape {list(array.shape)}, the plan is for {list(spec.shape)}",
                                     hint="make a plan for this shape")
            held[t.name] = array
        for name in self.graph.outputs:
            if name not in held and name not in self._constants:
                held[name] = aligned_empty(self._spec(name))
        for name, places in self._open.items():
            address = held[name].ctypes.data
            for pointers, k, start in places:
                pointers[k] = address + start
        for function, pointers, values, entry in self._calls:
            if function(pointers, values) != 0:
                entry.failed()
        return {n: held[n] if n in held else self._constants[n] for n in self.graph.outputs}


def load_all(plans: Sequence[Plan]) -> None:
    """Load deferred plans for one target, with their kernels in common compiler runs."""
    if plans:
        first = plans[0]
        _entries([m for p in plans for m in p.modules], first.target, first.threads, first.opt_level)
        for p in plans:
            p.load()


@lru_cache(maxsize=4096)
def _module(graph: Graph, target: Target) -> TileModule:
    """The tile programs of one kernel, under names that no other kernel has."""
    name = f"k{graph.digest[:16]}"
    module = lower_graph(graph, target, Config(), name)
    return replace(module, programs=tuple(replace(p, name=f"{name}_{p.name}") for p in module.programs))


def _entries(modules: Sequence[TileModule], target: Target, threads: int, opt_level: str) -> list[LoadedKernel]:
    """Loaded entries, compiling what this process has not yet: some kernels a compiler run, runs side by side."""
    def key(m: TileModule) -> tuple[str, str, int]:
        return m.digest, opt_level, threads

    missing = list({m.digest: m for m in modules if key(m) not in _LOADED}.values())
    if missing:
        count = max(1, min(usable_cores(), len(missing) // 3), -(-len(missing) // _BUNDLE))
        chunks = [missing[k::count] for k in range(count)]
        with ThreadPoolExecutor(usable_cores()) as pool:
            for m, path in chain.from_iterable(pool.map(lambda c: _compiled(c, target, opt_level), chunks)):
                _LOADED[key(m)] = load(path, m.name, threads)
    return [_LOADED[key(m)] for m in modules]


def _compiled(modules: Sequence[TileModule], target: Target, opt_level: str) -> list[tuple[TileModule, Path]]:
    """The library that has each module: one for all, or several where the compiler needs too long for one."""
    backend, _ = resolve(target.name)
    bundle = backend.load_bundle()
    if bundle is None:
        raise KernelcatError("KC-R001", f"networks cannot be run for {target.name} yet", hint="use target c")
    library = backend.load_device()().library(bundle(modules, target), target, opt_level)
    if isinstance(library, Failure):
        if library.code == "KC-B003" and len(modules) > 1:
            half = len(modules) // 2
            return [x for part in (modules[:half], modules[half:]) for x in _compiled(part, target, opt_level)]
        raise KernelcatError(library.code, library.message, hint=library.hint)
    return [(m, library.path("shared")) for m in modules]
