"""The event union and the websocket messages with every app's types in them: what the front end's types come from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, TypeAdapter

from webapp.hosts.schemas import HostChanged, HostList
from webapp.jobs.schemas import (
    ArtifactAdded,
    EvidenceAdded,
    JobChanged,
    JobSnapshot,
    LogAppended,
    TrialsRecorded,
    WorkspaceSnapshot,
)
from webapp.leaderboard.schemas import BoardDetail, BoardRanked
from webapp.live.schemas import ClientMessage, CurrentMessage, RefusedMessage
from webapp.operators.schemas import OperatorChanged

Event = Annotated[
    JobChanged
    | TrialsRecorded
    | LogAppended
    | ArtifactAdded
    | EvidenceAdded
    | OperatorChanged
    | HostChanged
    | BoardRanked,
    Field(discriminator="type"),
]
Snapshot = JobSnapshot | WorkspaceSnapshot | HostList | BoardDetail


class SnapshotMessage(Schema):
    """Server to browser: forget what you hold for this topic and take this. May come at any time."""

    kind: Literal["snapshot"] = "snapshot"
    topic: str
    revision: int
    snapshot: Snapshot


class EventMessage(Schema):
    """Server to browser. Ignore it when revision <= yours; when it is not yours + 1, subscribe again."""

    kind: Literal["event"] = "event"
    topic: str
    revision: int
    event: Event


ServerMessage = Annotated[
    SnapshotMessage | EventMessage | CurrentMessage | RefusedMessage, Field(discriminator="kind")
]
server_message: TypeAdapter[Any] = TypeAdapter(ServerMessage)


def events_schema() -> dict[str, Any]:
    """JSON schema (2020-12) with $defs Event, ServerMessage, ClientMessage, Snapshot and everything they use."""
    parts: tuple[tuple[str, Any], ...] = (
        ("Event", Event),
        ("ServerMessage", ServerMessage),
        ("ClientMessage", ClientMessage),
        ("Snapshot", Snapshot),
    )
    definitions: dict[str, Any] = {}
    for name, part in parts:
        adapter: TypeAdapter[Any] = TypeAdapter(part)
        own = adapter.json_schema(mode="serialization", ref_template="#/$defs/{model}")
        definitions.update(own.pop("$defs", {}))
        definitions[name] = own
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Live events", "$defs": definitions}
