"""The event union and the websocket messages: the one contract between services and browsers.

Every message names its topic. Revisions of a topic count by one; after a snapshot with revision R the next event of
that topic has R + 1. Events state the new truth (never a difference), so that applying one twice changes nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from webapp.common.schemas import ErrorBody
from webapp.hosts.schemas import HostDetail, HostList
from webapp.jobs.schemas import ArtifactRef, EvidenceRow, JobSnapshot, JobSummary, LogLine, Trial
from webapp.leaderboard.schemas import BoardDetail
from webapp.operators.schemas import OperatorSummary


class JobChanged(Schema):
    """Topics job:{id} and workspace:{id}: replace the summary. `outcome` is set once the job succeeded."""

    type: Literal["job_changed"] = "job_changed"
    job: JobSummary
    outcome: dict[str, Any] | None = None


class TrialsRecorded(Schema):
    """Topic job:{id}: put each trial at its index."""

    type: Literal["trials_recorded"] = "trials_recorded"
    job: JobSummary
    trials: list[Trial]


class LogAppended(Schema):
    """Topic job:{id}: add the lines whose number is not there yet."""

    type: Literal["log_appended"] = "log_appended"
    lines: list[LogLine]


class ArtifactAdded(Schema):
    """Topic job:{id}."""

    type: Literal["artifact_added"] = "artifact_added"
    artifact: ArtifactRef


class EvidenceAdded(Schema):
    """Topic job:{id}."""

    type: Literal["evidence_added"] = "evidence_added"
    rows: list[EvidenceRow]


class OperatorChanged(Schema):
    """Topic workspace:{id}: a new operator, a new version, or a new name. `deleted` true removes it."""

    type: Literal["operator_changed"] = "operator_changed"
    operator: OperatorSummary
    deleted: bool = False


class HostChanged(Schema):
    """Topic hosts."""

    type: Literal["host_changed"] = "host_changed"
    host: HostDetail


class BoardRanked(Schema):
    """Topic board:{id}: the whole board after a new entry (entries are few; ranks may all move)."""

    type: Literal["board_ranked"] = "board_ranked"
    board: BoardDetail


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


class WorkspaceSnapshot(Schema):
    """Topic workspace:{id}: all operators, and the jobs that are not over plus the 50 newest."""

    operators: list[OperatorSummary]
    jobs: list[JobSummary]


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


ServerMessage = Annotated[
    SnapshotMessage | EventMessage | CurrentMessage | RefusedMessage, Field(discriminator="kind")
]


class Subscribe(Schema):
    """Browser to server. Without `since`, or when too much was missed, the answer is a snapshot."""

    kind: Literal["subscribe"] = "subscribe"
    topic: str
    since: int | None = None


class Unsubscribe(Schema):
    """Browser to server."""

    kind: Literal["unsubscribe"] = "unsubscribe"
    topic: str


ClientMessage = Annotated[Subscribe | Unsubscribe, Field(discriminator="kind")]
