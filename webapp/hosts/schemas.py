"""Machines with workers, as they announced themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema


class HostTarget(Schema):
    target: str
    label: str
    facts_possible: list[str] = []
    missing: list[str] = []
    device: str | None = None


class HostDetail(Schema):
    """`online` is true while heartbeats arrive (they expire after 15 s); `last_seen` is when it last changed state."""

    name: str
    online: bool
    workers: int
    running: int
    targets: list[HostTarget]
    machine: dict[str, Any]
    last_seen: datetime


class HostList(Schema):
    """The answer of GET /api/hosts and the snapshot of topic hosts."""

    items: list[HostDetail]


class HostChanged(Schema):
    """Event of topic hosts."""

    type: Literal["host_changed"] = "host_changed"
    host: HostDetail
