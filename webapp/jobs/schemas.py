"""Jobs, trials, log lines, artifacts and evidence as REST answers and live events show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Field, Schema

from webapp.common.schemas import ErrorBody
from webapp.operators.schemas import OperatorSummary

JobKind = Literal["build", "check", "profile", "tune"]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
TrialStatus = Literal["measured", "failed", "cancelled"]


class JobOptions(Schema):
    """Only the fields of the job's kind are read: trials, seed, strategy (tune), seeds (check), opt_level (build)."""

    trials: int = Field(default=24, ge=1, le=1000)
    seed: int = 0
    strategy: str | None = None
    seeds: int = Field(default=3, ge=1, le=20)
    opt_level: Literal["O0", "O1", "O2", "O3"] = "O3"


class JobCreate(Schema):
    """One job is made per target. The same `idempotency_key` gives the same jobs again instead of new ones."""

    kind: JobKind
    targets: list[str] = Field(min_length=1, max_length=12)
    source: str
    shapes: dict[str, str] = {}
    configs: dict[str, dict[str, Any]] = {}
    options: JobOptions = JobOptions()
    operator_id: str | None = None
    version_number: int | None = None
    idempotency_key: str = Field(default="", max_length=80)


class Progress(Schema):
    """`fraction` is 0..1; `text` says what is being done; `seconds_left` is an estimate or null."""

    fraction: float
    text: str
    seconds_left: float | None = None


class JobSummary(Schema):
    """`revision` grows with every change of the job; ignore a summary with a smaller one than you hold."""

    id: str
    revision: int
    kind: JobKind
    target: str
    state: JobState
    cancel_requested: bool
    attempts: int
    title: str
    operator_id: str | None
    version_number: int | None
    host: str
    progress: Progress
    trials_count: int
    best_ms: float | None
    error: ErrorBody | None
    board_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class Trial(Schema):
    """One measured Config. Times in milliseconds; low/high bound the bootstrap interval of the median."""

    index: int
    config: dict[str, Any]
    status: TrialStatus
    median_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    samples: list[float] = []
    predicted_ms: float | None = None
    error: str = ""
    strategy: str = ""


class LogLine(Schema):
    """`number` counts from 1 within a job; after the cap (5,000 lines) one last line says that the rest was dropped."""

    number: int
    stream: Literal["out", "err", "note"]
    text: str
    at: datetime


class ArtifactRef(Schema):
    """A file of a job; its text is at GET /api/jobs/{job_id}/artifacts/{id}."""

    id: str
    kind: Literal["source", "assembly", "log", "profile"]
    name: str
    digest: str
    size: int


class EvidenceRow(Schema):
    """DESIGN section 5: one fact about one source text on one device."""

    id: int
    fact: str
    digest: str
    target: str
    architecture: str
    toolchain: str
    device: str
    workload: str
    detail: str
    created_at: datetime


class JobSnapshot(Schema):
    """Everything about one job: the answer of GET /api/jobs/{id} and the snapshot of topic job:{id}.

    `outcome` is what the core returned (build: log, resources, seconds; check: max_error, tolerance, message, rows;
    profile: median_ms ... roofline; tune: best, baseline_ms, device, workload), null until the job succeeded.
    """

    job: JobSummary
    source: str
    shapes: dict[str, str]
    config: dict[str, Any]
    options: JobOptions
    outcome: dict[str, Any] | None
    trials: list[Trial]
    log: list[LogLine]
    artifacts: list[ArtifactRef]
    evidence: list[EvidenceRow]


class JobPage(Schema):
    items: list[JobSummary]
    total: int


class JobsCreated(Schema):
    jobs: list[JobSummary]


class QueuePlace(Schema):
    """Why a job is not running. `reason`: none (it runs or is over), behind (N jobs ahead), no_host, starting."""

    reason: Literal["none", "behind", "no_host", "starting"]
    ahead: int
    hosts_online: int
    message: str


class EvidencePage(Schema):
    items: list[EvidenceRow]


class JobWithRevision(Schema):
    """`revision` is that of topic job:{id}: give it as `since` when you subscribe."""

    revision: int
    snapshot: JobSnapshot


class JobChanged(Schema):
    """Event of job:{id} and workspace:{id}: replace the summary. `outcome` is null until the job is over."""

    type: Literal["job_changed"] = "job_changed"
    job: JobSummary
    outcome: dict[str, Any] | None = None


class TrialsRecorded(Schema):
    """Event of job:{id}: put each trial at its index."""

    type: Literal["trials_recorded"] = "trials_recorded"
    job: JobSummary
    trials: list[Trial]


class LogAppended(Schema):
    """Event of job:{id}: add the lines whose number is not there yet."""

    type: Literal["log_appended"] = "log_appended"
    job: JobSummary
    lines: list[LogLine]


class ArtifactAdded(Schema):
    """Event of job:{id}: replaces an artifact of the same name."""

    type: Literal["artifact_added"] = "artifact_added"
    job: JobSummary
    artifact: ArtifactRef


class EvidenceAdded(Schema):
    """Event of job:{id}: add the rows whose id is not there yet."""

    type: Literal["evidence_added"] = "evidence_added"
    job: JobSummary
    rows: list[EvidenceRow]


class WorkspaceSnapshot(Schema):
    """Topic workspace:{id}: all operators, and the 50 newest jobs plus all that are not over."""

    operators: list[OperatorSummary]
    jobs: list[JobSummary]
