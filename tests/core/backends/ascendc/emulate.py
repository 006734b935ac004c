"""Ascend C text on the functional model."""

from __future__ import annotations

from kernelcat_core.backends.ascendc.manifest import BACKEND
from kernelcat_core.codegen.source import Source
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.schedule.knobs import Config
from tests.core.backends.emulated import Array as Array
from tests.core.backends.emulated import EmulatedModule

TARGET = BACKEND.targets[0]


class Emulated(EmulatedModule):
    """One module on the functional model."""

    def __init__(self, module: TileModule, source: Source) -> None:
        super().__init__(TARGET, module, source)

    @staticmethod
    def of(graph: Graph, config: Config = Config(), name: str = "kernel") -> EmulatedModule:
        return EmulatedModule.rendered(TARGET, graph, config, name)
