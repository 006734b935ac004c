"""The websocket messages. Events and snapshots themselves belong to the apps; webapp.config.contract joins them.

Every message names its topic. Revisions of a topic count by one; after a snapshot with revision R the next event of
that topic has R + 1. Events state the new truth (never a difference), so that applying one twice changes nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from webapp.common.schemas import ErrorBody


class SnapshotMessage(Schema):
    """Server to browser: forget what you hold for this topic and take this. May come at any time."""

    kind: Literal["snapshot"] = "snapshot"
    topic: str
    revision: int
    snapshot: dict[str, Any]


class EventMessage(Schema):
    """Server to browser. Ignore it when revision <= yours; when it is not yours + 1, subscribe again."""

    kind: Literal["event"] = "event"
    topic: str
    revision: int
    event: dict[str, Any]


class CurrentMessage(Schema):
    """Server to browser: the answer to a subscription with `since` once missed events were replayed."""

    kind: Literal["current"] = "current"
    topic: str
    revision: int


class RefusedMessage(Schema):
    """Server to browser: no such topic for you. The socket stays open."""

    kind: Literal["refused"] = "refused"
    topic: str
    error: ErrorBody


class Subscribe(Schema):
    """Browser to server. Without `since`, or when too much was missed, the answer is a snapshot."""

    kind: Literal["subscribe"] = "subscribe"
    topic: str = Field(max_length=80)
    since: int | None = None


class Unsubscribe(Schema):
    """Browser to server."""

    kind: Literal["unsubscribe"] = "unsubscribe"
    topic: str = Field(max_length=80)


ClientMessage = Annotated[Subscribe | Unsubscribe, Field(discriminator="kind")]
