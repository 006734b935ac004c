"""Knobs, configs and search spaces: all that a tuner sees of a schedule."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelcat_core.errors import KernelcatError


@dataclass(frozen=True)
class Knob:
    """One choice: `values` in a meaningful order (neighbours are adjacent), `default` among them."""

    name: str
    values: tuple[int, ...]
    default: int


@dataclass(frozen=True)
class Config:
    """Chosen values of some knobs, sorted by name; knobs that are not named take their defaults."""

    values: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(values: Mapping[str, int]) -> Config:
        return Config(tuple(sorted((k, int(v)) for k, v in values.items())))

    def as_dict(self) -> dict[str, int]:
        return dict(self.values)

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.values).encode()).hexdigest()


@dataclass(frozen=True)
class SearchSpace:
    """The product of the knobs' values. Every point is legal: rules drop values that a target cannot take."""

    knobs: tuple[Knob, ...]

    @property
    def size(self) -> int:
        total = 1
        for k in self.knobs:
            total *= len(k.values)
        return total

    def default(self) -> Config:
        return Config.of({k.name: k.default for k in self.knobs})

    def random(self, rng: random.Random) -> Config:
        return Config.of({k.name: rng.choice(k.values) for k in self.knobs})

    def at(self, number: int) -> Config:
        """The point with this number, 0 .. size-1, the last knob fastest."""
        chosen: dict[str, int] = {}
        for k in reversed(self.knobs):
            number, place = divmod(number, len(k.values))
            chosen[k.name] = k.values[place]
        return Config.of(chosen)

    def neighbours(self, config: Config) -> Iterator[Config]:
        """Configs that differ in one knob by one step."""
        values = self.complete(config).as_dict()
        for k in self.knobs:
            place = k.values.index(values[k.name])
            for other in (place - 1, place + 1):
                if 0 <= other < len(k.values):
                    yield Config.of({**values, k.name: k.values[other]})

    def complete(self, config: Config) -> Config:
        """`config` with defaults filled in; raises KC-S002 for a knob or value that the space does not have."""
        values = {k.name: k.default for k in self.knobs}
        known = {k.name: k for k in self.knobs}
        for name, value in config.values:
            if name not in known:
                raise KernelcatError("KC-S002", f"there is no knob {name!r} here",
                                     hint="knobs of this kernel: " + (", ".join(known) or "none"))
            if value not in known[name].values:
                raise KernelcatError("KC-S002", f"knob {name} cannot be {value}",
                                     hint=f"choose one of {', '.join(map(str, known[name].values))}")
            values[name] = value
        return Config.of(values)
