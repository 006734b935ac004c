"""Builds a module for the functional model and runs it in every order of threads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.backends.cuda.device import Device
from kernelcat_core.backends.cuda.manifest import BACKEND
from kernelcat_core.backends.cuda.renderer import render
from kernelcat_core.codegen.simt_host import MODEL_ENTRY
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.lower import lower as lower_formula
from kernelcat_core.formula.parser import parse
from kernelcat_core.formula.shapes import parse_shape
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.runtime import load, runner, toolchain
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower as lower_graph
from kernelcat_core.target import Target

Array = np.ndarray[Any, np.dtype[Any]]
TARGETS: dict[str, Target] = {t.arch: t for t in BACKEND.targets}
SM80 = TARGETS["sm_80"]
PLAIN = replace(SM80, name="cuda:plain", limits={**SM80.limits, "warp": 1, "async_copies": 0, "tensor_cores": 0})
"""A target without exchanges between lanes, asynchronous copies and tensor cores, as OpenCL's."""
AVAILABLE = toolchain.find_cpp() is not None


def graph_of(formula: str, shapes: Mapping[str, str] | None = None) -> Graph:
    return lower_formula(parse(formula), {k: parse_shape(v) for k, v in (shapes or {}).items()}).graph


def module_of(graph: Graph, config: Mapping[str, int] | None = None, target: Target = SM80) -> TileModule:
    return lower_graph(graph, target, Config.of(config or {}))


class Emulated:
    """A module's text, built once; `run` gives its outputs, or raises KC-M001 with the rule that it broke."""

    def __init__(self, module: TileModule, target: Target = SM80, source: Source | None = None) -> None:
        self.module = module
        self.source = source or render(module, target)
        made = emulation.build(self.source.text, dict(self.source.files)[MODEL_ENTRY])
        assert isinstance(made, toolchain.Binary), made
        self.path = made.path("shared")
        self.kernel = load.load(self.path, self.source.entry)

    def run(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        """Outputs by name; the same in every order."""
        ordered = [np.ascontiguousarray(inputs[t.name], t.dtype.numpy) for t in self.module.inputs]
        specs = [
            runner.TensorSpec(tuple(evaluate(d, sizes) for d in t.shape), t.dtype.numpy) for t in self.module.outputs
        ]
        results = []
        for environment in Device().environments():
            with mock.patch.dict(os.environ, environment):
                outputs = self.kernel(ordered, specs, [sizes[n] for n in self.module.sizes])
            results.append(outputs)
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert a.tobytes() == b.tobytes(), "the order of threads shows in the outputs"
        return {t.name: a for t, a in zip(self.module.outputs, results[0], strict=True)}

    def fault(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> str:
        """What the model says is wrong; "" when the kernel runs."""
        try:
            self.run(inputs, sizes)
        except KernelcatError as error:
            return emulation.with_line(error.message, self.path)
        return ""
