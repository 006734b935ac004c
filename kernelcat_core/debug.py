"""Seeing the hops: KC_DEBUG=1..6 prints them to standard error, KC_DUMP=folder writes one file a hop.

Levels add up: 1 one line a hop, 2 graphs, 3 tile programs, 4 sources, 5 compiler logs, 6 assembly.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

LEVELS = {"formula": 2, "graph": 2, "tile": 3, "source": 4, "log": 5, "assembly": 6}


def level() -> int:
    """The value of KC_DEBUG, 0 without one."""
    text = os.environ.get("KC_DEBUG", "0")
    return int(text) if text.isdigit() else 0


def hop(stage: str, digest: str, text: str, target: str = "") -> None:
    """Report the value that a hop gave: its stage (a key of LEVELS), digest and text form."""
    wanted = level()
    folder = os.environ.get("KC_DUMP")
    if not wanted and not folder:
        return
    place = f"{stage}{f' for {target}' if target else ''}"
    if wanted >= 1:
        print(f"kc: {place} {digest[:12]}, {text.count(chr(10))} lines", file=sys.stderr)
    if wanted >= LEVELS[stage]:
        print(text, file=sys.stderr)
    if folder:
        name = "-".join(p for p in (str(list(LEVELS).index(stage) + 1), stage, re.sub(r"\W+", "_", target), digest[:12]) if p)
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{name}.txt").write_text(text, encoding="utf-8")
