"""Reading jobs: summaries, snapshots, the queue, evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from webapp.accounts.models import User
from webapp.common.errors import not_found
from webapp.common.schemas import ErrorBody
from webapp.hosts.selectors import hosts_for
from webapp.jobs import states
from webapp.jobs.models import Artifact, Evidence, Job, LogLine, Trial
from webapp.jobs.schemas import (
    ArtifactRef,
    EvidenceRow,
    JobKind,
    JobOptions,
    JobPage,
    JobSnapshot,
    JobState,
    JobSummary,
    Progress,
    QueuePlace,
    WorkspaceSnapshot,
)
from webapp.jobs.schemas import LogLine as LogLineSchema
from webapp.jobs.schemas import Trial as TrialSchema
from webapp.operators.selectors import operator_summary, operators_of
from webapp.workspaces.models import Workspace

RECENT = 50


@dataclass(frozen=True)
class JobFilter:
    """Empty strings mean "any"."""

    kind: str = ""
    state: str = ""
    target: str = ""
    operator: str = ""


def job_get(user: User, job_id: str) -> Job:
    """The job, if the user may see it (KC-W002 otherwise)."""
    row = Job.objects.filter(id=job_id, workspace__owner=user).first()
    if row is None:
        raise not_found("job")
    return row


def jobs_of(workspace: Workspace, chosen: JobFilter) -> QuerySet[Job]:
    """The workspace's jobs that fit, newest first."""
    wanted = {
        "kind": chosen.kind,
        "state": chosen.state,
        "target": chosen.target,
        "operator_id": chosen.operator,
    }
    filters = {name: value for name, value in wanted.items() if value}
    return Job.objects.filter(workspace=workspace, **filters).order_by("-created_at", "-id")


def job_page(workspace: Workspace, chosen: JobFilter, limit: int, offset: int) -> JobPage:
    rows = jobs_of(workspace, chosen)
    return JobPage(items=[job_summary(row) for row in rows[offset : offset + limit]], total=rows.count())


def job_summary(row: Job) -> JobSummary:
    return JobSummary(
        id=row.id,
        revision=row.revision,
        kind=cast(JobKind, row.kind),
        target=row.target,
        state=cast(JobState, row.state),
        cancel_requested=row.cancel_requested,
        attempts=row.attempts,
        title=row.title,
        operator_id=row.operator_id,
        version_number=row.version_number,
        host=row.host,
        progress=Progress(
            fraction=row.progress_fraction, text=row.progress_text, seconds_left=row.seconds_left
        ),
        trials_count=row.trials_count,
        best_ms=row.best_ms,
        error=ErrorBody(**row.error) if row.error else None,
        board_id=row.board_id or None,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def trial_schema(row: Trial) -> TrialSchema:
    return TrialSchema.model_validate(row, from_attributes=True)


def log_schema(row: LogLine) -> LogLineSchema:
    return LogLineSchema.model_validate(row, from_attributes=True)


def artifact_ref(row: Artifact) -> ArtifactRef:
    kind: Any = row.kind
    return ArtifactRef(
        id=row.id, kind=kind, name=row.name, digest=row.digest, size=len(row.text.encode())
    )


def evidence_row(row: Evidence) -> EvidenceRow:
    return EvidenceRow.model_validate(row, from_attributes=True)


def job_snapshot(job_id: str) -> JobSnapshot:
    """Everything about one job (KC-W002 if it is gone)."""
    row = Job.objects.filter(id=job_id).first()
    if row is None:
        raise not_found("job")
    return JobSnapshot(
        job=job_summary(row),
        source=row.source,
        shapes=row.shapes,
        config=row.config,
        options=JobOptions(**row.options),
        outcome=row.outcome,
        trials=[trial_schema(trial) for trial in row.trials.all()],
        log=[log_schema(line) for line in row.log_lines.all()],
        artifacts=[artifact_ref(artifact) for artifact in row.artifacts.all()],
        evidence=[evidence_row(evidence) for evidence in row.evidence.all()],
    )


def artifact_get(job: Job, artifact_id: str) -> Artifact:
    row = Artifact.objects.filter(job=job, id=artifact_id).first()
    if row is None:
        raise not_found("artifact")
    return row


def workspace_snapshot(workspace_id: str) -> WorkspaceSnapshot:
    workspace = Workspace.objects.get(id=workspace_id)
    rows = jobs_of(workspace, JobFilter())
    recent = [row.id for row in rows[:RECENT]]
    shown = rows.filter(Q(id__in=recent) | ~Q(state__in=states.FINAL))
    return WorkspaceSnapshot(
        operators=[operator_summary(row) for row in operators_of(workspace)],
        jobs=[job_summary(row) for row in shown],
    )


def evidence_of(workspace: Workspace, digests: Iterable[str]) -> list[EvidenceRow]:
    """The newest row of each (fact, digest, target, toolchain, device) about these source digests."""
    rows = Evidence.objects.filter(workspace=workspace, digest__in=list(digests)).order_by("id")
    latest = {(row.fact, row.digest, row.target, row.toolchain, row.device): row for row in rows}
    return [evidence_row(row) for row in latest.values()]


def queue_place(job: Job) -> QueuePlace:
    """Why a job is not running, in words."""
    hosts = len(hosts_for(job.target, measuring=job.kind in states.MEASURING_KINDS))
    if job.state != states.QUEUED:
        return QueuePlace(reason="none", ahead=0, hosts_online=hosts, message="")
    if not hosts:
        need = _("measure") if job.kind in states.MEASURING_KINDS else _("serve")
        message = _("No host that can %(need)s %(target)s is online. Start a worker: kernelcat worker") % {
            "need": need,
            "target": job.target,
        }
        return QueuePlace(reason="no_host", ahead=0, hosts_online=0, message=message)
    ahead = Job.objects.filter(
        Q(state=states.QUEUED, created_at__lt=job.created_at) | Q(state=states.RUNNING), target=job.target
    ).count()
    if not ahead:
        return QueuePlace(reason="starting", ahead=0, hosts_online=hosts, message=_("Starting."))
    message = ngettext("%(count)d job is ahead.", "%(count)d jobs are ahead.", ahead) % {"count": ahead}
    return QueuePlace(reason="behind", ahead=ahead, hosts_online=hosts, message=message)
