"""The one ranking: by median, in bands of ties, earliest first within a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

Key = TypeVar("Key")


@dataclass(frozen=True)
class Timed(Generic[Key]):
    """What ranking needs of an entry; milliseconds."""

    key: Key
    median_ms: float
    low_ms: float
    high_ms: float
    at: datetime


@dataclass(frozen=True)
class Ranked(Generic[Key]):
    key: Key
    rank: int
    tied: bool


def rank(entries: Sequence[Timed[Key]]) -> list[Ranked[Key]]:
    """Ranks from 1. A band starts at the fastest entry that is left and takes every following entry (by median) whose
    interval overlaps that entry's; comparing with the first and not with the neighbour keeps a long chain of small
    steps from becoming one tie. All of a band share the rank of its first place, as in sport: 1, 1, 3.
    """
    left = sorted(entries, key=lambda entry: (entry.median_ms, entry.at))
    ranked: list[Ranked[Key]] = []
    while left:
        leader = left[0]
        width = 1
        while width < len(left) and left[width].low_ms <= leader.high_ms:
            width += 1
        band = sorted(left[:width], key=lambda entry: entry.at)
        place = len(ranked) + 1
        ranked += [Ranked(entry.key, place, width > 1) for entry in band]
        left = left[width:]
    return ranked
