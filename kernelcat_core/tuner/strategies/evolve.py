"""Steady-state evolution: tournament parents, uniform crossover, one-knob mutation (Goldberg and Deb, 1991)."""

from __future__ import annotations

import random

from kernelcat_core.schedule.knobs import Config, SearchSpace
from kernelcat_core.tuner.strategies.sweep import Sweep

_POPULATION = 12
_MUTATION = 0.3


class Evolve:
    """Keeps the best configs seen as the population; random until it has a few."""

    name = "evolve"

    def __init__(self, space: SearchSpace, rng: random.Random) -> None:
        self._space = space
        self._rng = rng
        self._fallback = Sweep(space, rng)
        self._scored: list[tuple[float, Config]] = []
        self._asked: set[Config] = set()

    def ask(self) -> Config | None:
        if not self._asked:
            config: Config | None = self._space.default()
        else:
            config = self._child() if len(self._scored) >= 4 else None
        while config is None or config in self._asked:
            config = self._fallback.ask()
            if config is None:
                return None
        self._asked.add(config)
        return config

    def tell(self, config: Config, score: float | None) -> None:
        self._fallback.tell(config, score)
        if score is not None:
            self._scored = sorted([*self._scored, (score, config)], key=lambda x: (x[0], x[1].values))[:_POPULATION]

    def _child(self) -> Config | None:
        for _ in range(24):
            a, b = (min(self._rng.sample(self._scored, 2), key=lambda x: x[0])[1].as_dict() for _ in range(2))
            values = {k.name: self._rng.choice((a, b))[k.name] for k in self._space.knobs}
            for knob in self._space.knobs:
                if self._rng.random() < _MUTATION:
                    values[knob.name] = self._rng.choice(knob.values)
            config = Config.of(values)
            if config not in self._asked:
                return config
        return None
