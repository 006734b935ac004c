"""Random sampling without repetition: the baseline that every other strategy has to beat."""

from __future__ import annotations

import random

from kernelcat_core.schedule.knobs import Config, SearchSpace


class Sweep:
    """Uniform over the space; small spaces are walked completely in random order."""

    name = "random"

    def __init__(self, space: SearchSpace, rng: random.Random) -> None:
        self._space = space
        self._rng = rng
        self._seen: set[Config] = set()

    def ask(self) -> Config | None:
        if len(self._seen) >= self._space.size:
            return None
        for _ in range(64):
            config = self._space.at(self._rng.randrange(self._space.size))
            if config not in self._seen:
                break
        else:
            config = next(c for c in map(self._space.at, range(self._space.size)) if c not in self._seen)
        self._seen.add(config)
        return config

    def tell(self, config: Config, score: float | None) -> None:
        self._seen.add(config)
