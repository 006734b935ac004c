"""Iterated local search: a few random starts, then the neighbours of the best, then kicks (Lourenço, Martin, Stützle,
"Iterated Local Search", Handbook of Metaheuristics, 2003)."""

from __future__ import annotations

import random

from kernelcat_core.schedule.knobs import Config, SearchSpace
from kernelcat_core.tuner.strategies.sweep import Sweep

_STARTS = 6


class Local:
    """Descends from the best config known; when its neighbourhood is exhausted, two knobs of it are redrawn."""

    name = "local"

    def __init__(self, space: SearchSpace, rng: random.Random) -> None:
        self._space = space
        self._rng = rng
        self._fallback = Sweep(space, rng)
        self._scores: dict[Config, float | None] = {}
        self._asked: set[Config] = set()

    def ask(self) -> Config | None:
        config = self._start() or self._neighbour() or self._kick() or self._unseen()
        if config is not None:
            self._asked.add(config)
        return config

    def tell(self, config: Config, score: float | None) -> None:
        self._scores[config] = score
        self._asked.add(config)
        self._fallback.tell(config, score)

    def _start(self) -> Config | None:
        if not self._asked:
            return self._space.default()
        return self._unseen() if len(self._asked) < min(_STARTS, self._space.size) else None

    def _unseen(self) -> Config | None:
        for _ in range(256):
            config = self._fallback.ask()
            if config is None or config not in self._asked:
                return config
        return None

    def _neighbour(self) -> Config | None:
        ranked = sorted((s, c.values) for c, s in self._scores.items() if s is not None)
        for _, values in ranked[:2]:
            fresh = [c for c in self._space.neighbours(Config(values)) if c not in self._asked]
            if fresh:
                return self._rng.choice(fresh)
        return None

    def _kick(self) -> Config | None:
        ranked = sorted((s, c.values) for c, s in self._scores.items() if s is not None)
        if not ranked:
            return None
        for _ in range(16):
            values = dict(ranked[0][1])
            for knob in self._rng.sample(self._space.knobs, min(2, len(self._space.knobs))):
                values[knob.name] = self._rng.choice(knob.values)
            config = Config.of(values)
            if config not in self._asked:
                return config
        return None
