"""Ask and tell: what a search strategy sees of tuning. Strategies know spaces, configs and scores, nothing of kernels."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from kernelcat_core.schedule.knobs import Config, SearchSpace


class Strategy(Protocol):
    """`ask` proposes a config not proposed before, or None when it has no more; `tell` reports its score.

    A score is the median time in milliseconds; None means that the config failed.
    """

    name: str

    def ask(self) -> Config | None: ...

    def tell(self, config: Config, score: float | None) -> None: ...


StrategyFactory = Callable[[SearchSpace, random.Random], Strategy]
