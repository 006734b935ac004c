"""Short public identifiers for URLs."""

from __future__ import annotations

import secrets

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # no 0/o, 1/l/i
LENGTH = 12


def public_id() -> str:
    """Twelve random letters and digits (about 59 bits): unguessable enough to name a row, short enough to read."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
