"""The states of a job and how it may move between them."""

from __future__ import annotations

QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED = "queued", "running", "succeeded", "failed", "cancelled"
KINDS = ("build", "check", "profile", "tune")
MEASURING_KINDS = frozenset({"profile", "tune"})
"""Kinds that need a host which can measure the target."""

TRANSITIONS: dict[str, frozenset[str]] = {
    QUEUED: frozenset({RUNNING, CANCELLED}),
    RUNNING: frozenset({SUCCEEDED, FAILED, CANCELLED, QUEUED}),  # back to queued when its worker was lost
    SUCCEEDED: frozenset(),
    FAILED: frozenset(),
    CANCELLED: frozenset(),
}
FINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)


def sources_of(state: str) -> list[str]:
    """The states from which `state` may be entered: the WHERE part of a conditional UPDATE."""
    return sorted(before for before, following in TRANSITIONS.items() if state in following)
