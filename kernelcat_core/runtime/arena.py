"""Where tensors lie in the memory that a kernel's process gets, and what the parent finds there afterwards.

Between tensors are whole pages of poison. Everything here runs in processes that never ran a kernel.
"""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
ALIGNMENT = 64
POISON = 0xFF
"""Around tensors and in outputs before a run: NaN as a float of any width, and no bool."""
INTEGER_POISON = 0xA5
"""In integer outputs, where all ones would be a likely value."""
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class TensorSpec:
    """Shape and NumPy dtype of an output."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True)
class Layout:
    """Byte offsets of tensors of `sizes` bytes, the length of it all, and the pages between tensors."""

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    arena_bytes: int
    guard_pages: tuple[int, ...]


def layout(sizes: tuple[int, ...], guarded: bool) -> Layout:
    """Where each tensor lies: [guard page] tensor [guard page] tensor ... [guard page].

    Guarded tensors end at a page's end (up to alignment), so that the first byte read past them faults; others start
    at a page's start, as an allocator would give them.
    """
    offsets, guards, at = [], [0], PAGE
    for size in sizes:
        span = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        pages = -(-span // PAGE)
        offsets.append(at + (pages * PAGE - span if guarded else 0))
        at += pages * PAGE
        guards.append(at // PAGE)
        at += PAGE
    return Layout(sizes, tuple(offsets), at, tuple(guards))


def unwritten(outputs: Sequence[TensorSpec], places: Sequence[int]) -> list[tuple[int, int, int]]:
    """(offset, bytes, value of each byte) of outputs before a run."""
    return [(offset, spec.nbytes, _blank(spec.dtype)) for spec, offset in zip(outputs, places, strict=True)]


def _blank(dtype: np.dtype[Any]) -> int:
    return INTEGER_POISON if np.dtype(dtype).kind in "iu" else POISON


def looks_unwritten(output: Array) -> bool:
    """Whether an element is still what outputs are before a run, or was computed to be just that."""
    elements = np.ascontiguousarray(output).reshape(-1).view(np.uint8).reshape(output.size, output.dtype.itemsize)
    return bool((elements == _blank(output.dtype)).all(axis=1).any())


def fill(image: Array, inputs: Sequence[Array], places: Sequence[int], blanks: Sequence[tuple[int, int, int]]) -> None:
    """Write inputs at their places into an arena that is poison elsewhere; `blanks` are the `unwritten` outputs."""
    image.fill(POISON)
    for offset, nbytes, byte in blanks:
        image[offset:offset + nbytes] = byte
    for array, offset in zip(inputs, places, strict=True):
        image[offset:offset + array.nbytes] = array.reshape(-1).view(np.uint8)


def written_outside(image: Array, where: Layout) -> int | None:
    """Index of a tensor beside which the poison is gone; None when every red zone is intact."""
    start = 0
    for index, (size, offset) in enumerate(zip(where.sizes, where.offsets, strict=True)):
        if not (image[start:offset] == POISON).all():
            return max(0, index - (1 if start and image[start] != POISON else 0))
        start = offset + size
    return len(where.sizes) - 1 if where.sizes and not (image[start:] == POISON).all() else None


def changed(image: Array, inputs: Sequence[Array], places: Sequence[int]) -> int | None:
    """Index of the first input that is not what it was, if any."""
    for index, (array, offset) in enumerate(zip(inputs, places, strict=True)):
        if not np.array_equal(image[offset:offset + array.nbytes], array.reshape(-1).view(np.uint8)):
            return index
    return None


def read(image: Array, outputs: Sequence[TensorSpec], places: Sequence[int]) -> tuple[Array, ...]:
    """Copies of the outputs."""
    return tuple(image[offset:offset + spec.nbytes].copy().view(spec.dtype).reshape(spec.shape)
                 for spec, offset in zip(outputs, places, strict=True))


def seal(fd: int) -> None:
    """Whoever gets this memory file may write it, but not change its size under our mapping."""
    fcntl.fcntl(fd, 1033, 0x0001 | 0x0002 | 0x0004)  # F_ADD_SEALS: seal, shrink, grow
