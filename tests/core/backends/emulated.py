"""Builds rendered modules against a functional model and calls them in this process (the text is ours)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcat_core.backends import REGISTRY
from kernelcat_core.backends.device import Device
from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.ir.expr import evaluate
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower
from kernelcat_core.target import Target

Array = np.ndarray[Any, Any]


class EmulatedModule:
    """One module on the functional model of a target."""

    def __init__(self, target: Target, module: TileModule, source: Source) -> None:
        self.module, self.source = module, source
        device: Device = REGISTRY[target.backend].load_device()()
        made = device.library(source, target)
        assert not isinstance(made, Failure), f"{made.message}\n{made.detail[:2000]}"
        self.library = ctypes.CDLL(str(made.path("shared")))
        self.library.kc_last_error.restype = ctypes.c_char_p

    @staticmethod
    def rendered(target: Target, graph: Graph, config: Config = Config(), name: str = "kernel") -> EmulatedModule:
        module = lower(graph, target, config, name)
        return EmulatedModule(target, module, REGISTRY[target.backend].load_render()(module, target))

    def run(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> tuple[str, dict[str, Array]]:
        """The model's complaint ("" when it has none) and the outputs."""
        outputs = {}
        for t in self.module.outputs:
            shape = tuple(evaluate(d, sizes) for d in t.shape)
            outputs[t.name] = np.empty(shape, t.dtype.numpy)
            outputs[t.name].reshape(-1).view(np.uint8)[...] = 0xA5  # poison, so that what is not written shows
        arrays = [np.ascontiguousarray(inputs[t.name]) for t in self.module.inputs] + list(outputs.values())
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        numbers = (ctypes.c_int64 * max(1, len(self.module.sizes)))(*(sizes[s] for s in self.module.sizes))
        status = getattr(self.library, self.source.entry)(pointers, numbers)
        return (self.library.kc_last_error().decode() or "failed") if status else "", outputs
