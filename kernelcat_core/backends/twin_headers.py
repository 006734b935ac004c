"""The functional models' headers: what is shared, what a compiler must be able to read, and a digest for the binary cache."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

SHARED = Path(__file__).parent / "twin"


@cache
def model_digest(folder: Path) -> str:
    """A digest of a model's headers and the shared ones: a binary built against others is another binary."""
    found = sorted([*folder.rglob("*.h"), *SHARED.rglob("*.h")])
    return hashlib.sha256(b"".join(p.read_bytes() for p in found)).hexdigest()[:15]
