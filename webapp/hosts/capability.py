"""What a host's announcement of a target is worth: pure, shared by the hub and by workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def serves(announced: Mapping[str, Any], *, measuring: bool) -> bool:
    """Whether a host with this target entry takes its jobs: measuring ones need a real device."""
    facts = announced.get("facts_possible", [])
    return "measured" in facts if measuring else bool(facts)
