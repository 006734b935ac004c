"""Rendered kernels: the text that a vendor's compiler takes, with what is needed to launch it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """One rendered module.

    `entry` is `extern "C" int entry(void **tensors, const int64_t *sizes)`; 0 means done, otherwise
    `kc_last_error()` says what went wrong. `launch` maps each program to its launch in words. `files` are further
    files (path, text) that belong to it, such as host code.
    """

    text: str
    entry: str
    language: str
    target: str
    launch: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @cached_property
    def digest(self) -> str:
        """sha256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()
