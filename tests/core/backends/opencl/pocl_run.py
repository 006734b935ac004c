"""Builds a module with PoCL and runs it in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcat_core.backends.opencl import pocl
from kernelcat_core.backends.opencl.device import Device
from kernelcat_core.backends.opencl.manifest import BACKEND
from kernelcat_core.backends.opencl.renderer import render
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.runtime import runner, toolchain
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower as lower_graph
from kernelcat_core.target import Target

Array = np.ndarray[Any, np.dtype[Any]]
TARGETS: dict[str, Target] = {t.arch: t for t in BACKEND.targets}
GENERIC = TARGETS["generic"]
AVAILABLE = pocl.find() is not None


def module_of(graph: Graph, config: Mapping[str, int] | None = None, target: Target = GENERIC) -> TileModule:
    return lower_graph(graph, target, Config.of(config or {}))


class Executed:
    """A module's text, built once; `run` gives its outputs."""

    def __init__(self, module: TileModule, source: Source | None = None) -> None:
        self.module = module
        self.source = source or render(module, GENERIC)
        made = Device().library(self.source, GENERIC)
        assert isinstance(made, toolchain.Binary), made
        self.path = made.path("shared")

    def outcome(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> runner.KernelOutcome | Failure:
        arrays = tuple(np.ascontiguousarray(inputs[t.name], t.dtype.numpy) for t in self.module.inputs)
        specs = tuple(
            runner.TensorSpec(tuple(evaluate(d, sizes) for d in t.shape), t.dtype.numpy) for t in self.module.outputs
        )
        (environment,) = Device().environments()
        job = runner.KernelJob(
            self.path, self.source.entry, arrays, specs, tuple(sizes[n] for n in self.module.sizes), threads=2,
            environment=tuple(environment.items()), needs=Device().describe().needs,
        )
        return runner.run_kernel(job)

    def run(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        done = self.outcome(inputs, sizes)
        assert isinstance(done, runner.KernelOutcome), done
        return {t.name: a for t, a in zip(self.module.outputs, done.outputs, strict=True)}
