"""Limits on formula text. Each gives a coded error (KC-F003), never a crash or a hang."""

from __future__ import annotations

import sys

TEXT_BYTES = 64 * 1024
NESTING = 200
"""Open brackets, prefix operators and right operands that may be pending at one place."""
HEIGHT = 500
"""Height of a syntax tree; a sum of n terms is n high."""
STATEMENTS = 1000
RANK = 16
ELEMENTS = 1 << 40
LITERAL = (1 << 63) - 1
NODES = 4000
"""Primitives of one graph."""
EXPRESSION_DEPTH = 60
EXPRESSION_NODES = 600
"""An expression deeper or larger than this is cut: a part of it gets a tensor of its own."""

_STACK = 8000


def ensure_stack() -> None:
    """Let Python recurse deep enough for the highest tree that HEIGHT allows (Python frames use no C stack).

    The limit is only ever raised, and not lowered again: another thread may rely on it.
    """
    if sys.getrecursionlimit() < _STACK:
        sys.setrecursionlimit(_STACK)
