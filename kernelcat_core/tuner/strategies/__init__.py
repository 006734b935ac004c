"""Search strategies, one a file; STRATEGIES is the registry."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcat_core.tuner.strategies.evolve import Evolve
from kernelcat_core.tuner.strategies.local import Local
from kernelcat_core.tuner.strategies.sweep import Sweep
from kernelcat_core.tuner.strategy import StrategyFactory

STRATEGIES: Mapping[str, StrategyFactory] = {"local": Local, "evolve": Evolve, "random": Sweep}
DEFAULT = "local"
