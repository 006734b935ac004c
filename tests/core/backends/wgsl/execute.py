"""Runs graphs on the adapter of this machine, in the sandbox as `check` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcat_core.backends.wgsl.device import Device, adapter
from kernelcat_core.errors import Failure
from kernelcat_core.ir.graph import Graph
from kernelcat_core.pipeline import hops
from kernelcat_core.schedule.knobs import Config

Array = np.ndarray[Any, np.dtype[Any]]
AVAILABLE = not isinstance(adapter(), Failure)


class Executed:
    """A graph's shader, its host built once."""

    def __init__(self, graph: Graph, config: Mapping[str, int] | None = None, target: str = "wgsl:webgpu") -> None:
        self.rendering = hops.render(graph, target, Config.of(config or {}))
        self.text = self.rendering.source.text
        made = Device().library(self.rendering.source, self.rendering.target)
        assert not isinstance(made, Failure), made
        self.path = made.path("shared")

    def run(self, inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
        """Outputs by name; a failure is an AssertionError with what the device said."""
        found = hops.run(self.rendering, self.path, inputs, sizes, environment=Device().environments()[0])
        assert not isinstance(found, Failure), f"{found.code}: {found.message}\n{found.detail[:500]}"
        return found
