"""What people do with jobs: ask, cancel, retry; and how the hub keeps the queue alive."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from webapp.accounts.models import User
from webapp.common.checks import shapes_check, source_check
from webapp.common.errors import WebError
from webapp.jobs import queue, states
from webapp.jobs.models import Job
from webapp.jobs.schemas import JobChanged, JobCreate
from webapp.jobs.selectors import job_summary
from webapp.live.services import publish, publish_as, topic_advance
from webapp.operators.models import Operator
from webapp.operators.naming import derived_name
from webapp.workspaces.models import Workspace

log = structlog.get_logger(__name__)
NUDGE_AGAIN_S = 15.0
NUDGE_DOUBLINGS = 5


def jobs_create(workspace: Workspace, author: User, body: JobCreate) -> list[Job]:
    """One queued job per target; with an idempotency key that was used before, the jobs of that time."""
    source_check(body.source)
    shapes_check(body.shapes)
    targets = list(dict.fromkeys(body.targets))
    if any(not target or len(target) > 60 for target in targets):
        raise WebError("KC-W004", "A target has no name or a very long one.", hint="GET /api/catalog/targets")
    operator = Operator.objects.filter(id=body.operator_id or "", workspace=workspace).first()
    with transaction.atomic():
        waiting = Job.objects.filter(workspace=workspace).exclude(state__in=states.FINAL).count()
        if waiting + len(targets) > settings.JOBS_WAITING_LIMIT:
            raise WebError(
                "KC-W010",
                f"{waiting} jobs are waiting or running; at most {settings.JOBS_WAITING_LIMIT} may.",
                hint="Wait for some to end, or cancel them.",
            )
        return [_job_ensure(workspace, author, body, operator, target) for target in targets]


def _job_ensure(
    workspace: Workspace, author: User, body: JobCreate, operator: Operator | None, target: str
) -> Job:
    fields: dict[str, Any] = {
        "author": author,
        "operator": operator,
        "version_number": body.version_number if operator else None,
        "kind": body.kind,
        "title": operator.name if operator else derived_name(body.source),
        "source": body.source,
        "shapes": body.shapes,
        "config": body.configs.get(target, {}),
        "options": body.options.model_dump(),
    }
    if body.idempotency_key:
        job, created = Job.objects.get_or_create(
            workspace=workspace, idempotency_key=body.idempotency_key, target=target, defaults=fields
        )
        if not created:
            return job
    else:
        job = Job.objects.create(workspace=workspace, target=target, **fields)
    job_announce(job, ["revision"])
    transaction.on_commit(lambda: job_nudge(job))
    return job


def job_retry(job: Job, author: User) -> Job:
    """A new job with the same request."""
    body = JobCreate.model_validate(
        {
            "kind": job.kind,
            "targets": [job.target],
            "source": job.source,
            "shapes": job.shapes,
            "configs": {job.target: job.config},
            "options": job.options,
            "operator_id": job.operator_id,
            "version_number": job.version_number,
        }
    )
    return jobs_create(job.workspace, author, body)[0]


def job_cancel(job: Job) -> Job:
    """A queued job ends at once; a running one is asked to, and its worker kills it. Over already: KC-W009."""
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job.pk)
        if job.state in states.FINAL:
            raise WebError("KC-W009", f"The job is over already: {job.state}.", hint="Run it again instead.")
        job.cancel_requested = True
        fields = ["cancel_requested"]
        if job.state == states.QUEUED:
            job.state, job.finished_at = states.CANCELLED, timezone.now()
            fields += ["state", "finished_at"]
        job_announce(job, fields)
    return job


def job_announce(job: Job, fields: list[str]) -> None:
    """Saves `fields` under the next revision and tells both topics of the job."""
    revision = topic_advance(f"job:{job.id}")
    job.revision = revision
    job.save(update_fields=[*dict.fromkeys([*fields, "revision"])])
    event = JobChanged(job=job_summary(job), outcome=job.outcome)
    publish_as(f"job:{job.id}", revision, event)
    publish(f"workspace:{job.workspace_id}", event.model_copy(update={"outcome": None}))


def job_nudge(job: Job) -> None:
    """Sends a nudge and notes when, so that upkeep knows which jobs nobody reacted to."""
    Job.objects.filter(pk=job.pk).update(nudged_at=timezone.now(), nudges=job.nudges + 1)
    queue.nudge_send(job.id, job.target, job.kind)


def jobs_nudge_again() -> int:
    """Sends a nudge again for queued jobs that nobody took, each time after twice the wait; returns how many."""
    now = timezone.now()
    overdue = Q(nudged_at=None)
    for nudges in range(NUDGE_DOUBLINGS + 1):
        wait = timedelta(seconds=NUDGE_AGAIN_S * 2**nudges)
        exactly = Q(nudges=nudges) if nudges < NUDGE_DOUBLINGS else Q(nudges__gte=nudges)
        overdue |= exactly & Q(nudged_at__lte=now - wait)
    jobs = list(Job.objects.filter(overdue, state=states.QUEUED).order_by("created_at")[:100])
    for job in jobs:
        job_nudge(job)
    return len(jobs)


def leases_expire() -> int:
    """Jobs whose worker went silent go back to the queue, or fail after JOB_ATTEMPTS attempts; returns how many."""
    expired = Job.objects.filter(state=states.RUNNING, lease_until__lt=timezone.now())
    return sum(_lease_expire(job_id) for job_id in expired.values_list("id", flat=True))


def _lease_expire(job_id: str) -> int:
    with transaction.atomic():
        job = (
            Job.objects.select_for_update()
            .filter(id=job_id, state=states.RUNNING, lease_until__lt=timezone.now())
            .first()
        )
        if job is None:
            return 0  # another server process was faster, or the worker came back
        log.warning("lease_expired", job=job.id, host=job.host, attempts=job.attempts)
        if job.cancel_requested:
            job.state, job.finished_at = states.CANCELLED, timezone.now()
        elif job.attempts >= settings.JOB_ATTEMPTS:
            job.state, job.finished_at = states.FAILED, timezone.now()
            job.error = WebError(
                "KC-X009",
                f"The worker was lost {job.attempts} times while it ran this job.",
                hint="Look at the worker's log; run the job again.",
            ).to_dict()
        else:
            job.state, job.nudges, job.nudged_at = states.QUEUED, 0, None
            job.progress_text = "The worker was lost; waiting for another."
            transaction.on_commit(lambda: job_nudge(job))
        job.lease_token, job.lease_until = "", None
        fields = ["state", "finished_at", "error", "nudges", "nudged_at", "progress_text"]
        job_announce(job, [*fields, "lease_token", "lease_until"])
    return 1

