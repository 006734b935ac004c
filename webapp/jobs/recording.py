"""What a worker does to its job. Every call names the lease it holds; a lost lease writes nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from ninja import Schema

from webapp.jobs import states
from webapp.jobs.models import Artifact, Evidence, Job, LogLine, Trial
from webapp.jobs.schemas import ArtifactAdded, EvidenceAdded, JobSummary, LogAppended, TrialsRecorded
from webapp.jobs.selectors import artifact_ref, evidence_row, job_summary, log_schema, trial_schema
from webapp.jobs.services import job_announce
from webapp.leaderboard.services import entry_post
from webapp.live.services import publish_as, topic_advance

LOG_LIMIT = 5000
ARTIFACT_LIMIT_BYTES = 4 << 20


class LeaseLost(Exception):
    """The job was taken away: its lease expired, or it is over. The worker must stop and write nothing more."""


@dataclass(frozen=True)
class LeaseAnswer:
    """What a heartbeat learns."""

    cancel_requested: bool


def job_claim(job_id: str, host: str) -> Job | None:
    """Takes a queued job. One conditional UPDATE decides, so of many claimants one gets it and the others None."""
    now = timezone.now()
    token = secrets.token_hex(16)
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(id=job_id).first()
        if job is None:
            return None
        taken = Job.objects.filter(id=job_id, state=states.QUEUED).update(
            state=states.RUNNING,
            lease_token=token,
            lease_until=now + timedelta(seconds=settings.JOB_LEASE_S),
            attempts=job.attempts + 1,
            host=host,
            started_at=now,
            progress_fraction=0.0,
            progress_text="",
            seconds_left=None,
        )
        if not taken:
            return None
        job.refresh_from_db()
        job_announce(job, ["state"])
    return job


def lease_extend(job_id: str, token: str) -> LeaseAnswer:
    """Heartbeat. Raises LeaseLost."""
    until = timezone.now() + timedelta(seconds=settings.JOB_LEASE_S)
    held = Job.objects.filter(id=job_id, lease_token=token, state=states.RUNNING)
    if not held.update(lease_until=until):
        raise LeaseLost(job_id)
    return LeaseAnswer(cancel_requested=held.values_list("cancel_requested", flat=True).first() or False)


def progress_set(job_id: str, token: str, fraction: float, text: str, seconds_left: float | None) -> None:
    with transaction.atomic():
        job = _held(job_id, token)
        job.progress_fraction = min(1.0, max(0.0, fraction))
        job.progress_text = text[:200]
        job.seconds_left = seconds_left
        job_announce(job, ["progress_fraction", "progress_text", "seconds_left"])


def trials_record(job_id: str, token: str, trials: Sequence[dict[str, Any]]) -> None:
    """Stores trials under their index; the same index again replaces it."""
    fields = ("config", "status", "median_ms", "low_ms", "high_ms", "samples", "predicted_ms", "error", "strategy")
    with transaction.atomic():
        job = _held(job_id, token)
        rows = [_trial_row(job, trial) for trial in trials]
        Trial.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["job", "index"], update_fields=list(fields)
        )
        job.trials_count = job.trials.count()
        measured = job.trials.filter(status="measured", median_ms__isnull=False).order_by("median_ms", "index")
        job.best_ms = measured.values_list("median_ms", flat=True).first()
        revision = _advance(job, ["trials_count", "best_ms"])
        event = TrialsRecorded(job=job_summary(job), trials=[trial_schema(row) for row in rows])
        publish_as(f"job:{job.id}", revision, event)


def log_append(job_id: str, token: str, lines: Sequence[tuple[str, str]]) -> None:
    """Adds (stream, text) lines, up to LOG_LIMIT in a job; the last one then says that more were dropped."""
    with transaction.atomic():
        job = _held(job_id, token)
        room = LOG_LIMIT - job.log_count
        if room <= 0:
            return
        kept = list(lines[:room])
        if len(lines) >= room:
            kept[-1] = ("note", f"The log ends here: {LOG_LIMIT:,} lines are kept.")
        rows = [
            LogLine(job=job, number=job.log_count + place, stream=stream[:4], text=_clean(text.rstrip("\n")[:2000]))
            for place, (stream, text) in enumerate(kept, start=1)
        ]
        now = timezone.now()
        for row in rows:
            row.at = now
        LogLine.objects.bulk_create(rows)
        job.log_count += len(rows)
        event_revision = _advance(job, ["log_count"])
        stored = [log_schema(row) for row in job.log_lines.filter(number__gt=job.log_count - len(rows))]
        publish_as(f"job:{job.id}", event_revision, LogAppended(job=job_summary(job), lines=stored))


def artifact_put(job_id: str, token: str, kind: str, name: str, text: str) -> None:
    """Stores a text under its name; the same name again replaces it. Very long texts are cut and say so."""
    if len(text.encode()) > ARTIFACT_LIMIT_BYTES:
        text = text.encode()[:ARTIFACT_LIMIT_BYTES].decode(errors="ignore") + "\n[cut: the text is longer]\n"
    text = _clean(text)
    with transaction.atomic():
        job = _held(job_id, token)
        row, _ = Artifact.objects.update_or_create(
            job=job,
            name=name[:120],
            defaults={"kind": kind, "text": text, "digest": hashlib.sha256(text.encode()).hexdigest()},
        )
        _tell(job, lambda summary: ArtifactAdded(job=summary, artifact=artifact_ref(row)))


def evidence_add(job_id: str, token: str, rows: Sequence[dict[str, Any]]) -> None:
    """Stores facts; one that the job reported before is not stored twice."""
    names = ("fact", "digest", "toolchain", "device", "workload")
    with transaction.atomic():
        job = _held(job_id, token)
        before = job.evidence.order_by("-id").values_list("id", flat=True).first() or 0
        Evidence.objects.bulk_create(
            [
                Evidence(
                    workspace_id=job.workspace_id,
                    job=job,
                    target=job.target,
                    architecture=str(row.get("architecture", ""))[:60],
                    detail=_clean(str(row.get("detail", ""))[:500]),
                    **{name: str(row.get(name) or "")[: _width(name)] for name in names},
                )
                for row in rows
            ],
            ignore_conflicts=True,
        )
        fresh = [evidence_row(row) for row in job.evidence.filter(id__gt=before)]
        if fresh:
            _tell(job, lambda summary: EvidenceAdded(job=summary, rows=fresh))


def job_finish(
    job_id: str,
    token: str,
    state: str,
    *,
    outcome: dict[str, Any] | None = None,
    error: dict[str, Any] | None = None,
    best_source: str = "",
) -> None:
    """Ends the job in `state` (a final one); a tune that succeeded also posts to its board."""
    if state not in states.FINAL:
        raise AssertionError(f"{state} is not final")
    with transaction.atomic():
        job = _held(job_id, token)
        job.state, job.outcome, job.error = state, outcome, error
        job.finished_at, job.seconds_left = timezone.now(), None
        job.lease_token, job.lease_until = "", None
        if state == states.SUCCEEDED:
            job.progress_fraction, job.progress_text = 1.0, ""
        if state == states.SUCCEEDED and job.kind == "tune" and outcome is not None:
            job.board_id = entry_post(job, outcome, best_source)
            job.best_ms = (outcome.get("best") or {}).get("median_ms", job.best_ms)  # of the final comparison
        fields = ["state", "outcome", "error", "finished_at", "seconds_left", "lease_token", "lease_until"]
        job_announce(job, [*fields, "progress_fraction", "progress_text", "board_id", "best_ms"])


def job_release(job_id: str, token: str) -> None:
    """Gives a job back unfinished (the worker is stopping); the attempt does not count."""
    with transaction.atomic():
        job = _held(job_id, token)
        job.state, job.attempts = states.QUEUED, job.attempts - 1
        job.lease_token, job.lease_until = "", None
        job.nudged_at, job.nudges = None, 0
        job.progress_text = "The worker stopped; waiting for another."
        fields = ["state", "attempts", "lease_token", "lease_until", "nudged_at", "nudges", "progress_text"]
        job_announce(job, fields)


def _clean(text: str) -> str:
    """What tools print may hold NUL characters, which PostgreSQL cannot store."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _held(job_id: str, token: str) -> Job:
    job = (
        Job.objects.select_for_update().filter(id=job_id, lease_token=token, state=states.RUNNING).first()
        if token
        else None
    )
    if job is None:
        raise LeaseLost(job_id)
    return job


def _advance(job: Job, fields: list[str]) -> int:
    job.revision = topic_advance(f"job:{job.id}")
    job.save(update_fields=[*fields, "revision"])
    return job.revision


def _tell(job: Job, event_of: Callable[[JobSummary], Schema]) -> None:
    revision = _advance(job, [])
    publish_as(f"job:{job.id}", revision, event_of(job_summary(job)))


def _width(name: str) -> int:
    return int(getattr(Evidence._meta.get_field(name), "max_length", None) or 0)


def _trial_row(job: Job, trial: dict[str, Any]) -> Trial:
    error = trial.get("error") or ""
    return Trial(
        job=job,
        index=int(trial["index"]),
        config=trial.get("config") or {},
        status=trial["status"],
        median_ms=trial.get("median_ms"),
        low_ms=trial.get("low_ms"),
        high_ms=trial.get("high_ms"),
        samples=list(trial.get("samples") or []),
        predicted_ms=trial.get("predicted_ms"),
        error=error["message"] if isinstance(error, dict) else str(error),
        strategy=trial.get("strategy") or "",
    )
