"""A memory plan: intermediate tensors share one arena, each from its first write to its last read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Arena:
    """`offsets` in bytes of tensors by name, in an arena of `nbytes`; `total` is what they would take side by side."""

    offsets: Mapping[str, int]
    nbytes: int
    total: int


def arena(sizes: Mapping[str, int], steps: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Arena:
    """Places tensors of `sizes` bytes for `steps` of (tensors read, tensors written), largest first at the lowest free offset.

    A tensor is alive from the step that writes it to the last that reads it, so a step never writes over what it reads
    (greedy by size, as Y. Pisarchyk and J. Lee, "Efficient memory management for deep neural net inference", 2020).
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for place, (read, written) in enumerate(steps):
        for name in written:
            if name in sizes:
                first.setdefault(name, place)
                last[name] = place
        for name in read:
            if name in sizes:
                last[name] = place
    padded = {n: -(-max(1, sizes[n]) // ALIGNMENT) * ALIGNMENT + ALIGNMENT for n in first}
    offsets: dict[str, int] = {}
    for name in sorted(padded, key=lambda n: -padded[n]):
        others = sorted((offsets[o], padded[o]) for o in offsets
                        if first[o] <= last[name] and first[name] <= last[o])
        place = 0
        for start, length in others:
            if place + padded[name] <= start:
                break
            place = max(place, start + length)
        offsets[name] = place
    nbytes = max((offsets[n] + padded[n] for n in offsets), default=0)
    return Arena(offsets, nbytes, sum(padded.values()))
