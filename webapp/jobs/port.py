"""JobPort: all a worker knows of the hub. Today an adapter in the same process; a remote host will speak HTTPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from webapp.hosts import services as host_services
from webapp.jobs import recording
from webapp.jobs.recording import LeaseLost

__all__ = ["ClaimedJob", "InProcessJobPort", "JobPort", "LeaseLost"]


@dataclass(frozen=True)
class ClaimedJob:
    """A job this worker holds; `token` proves it."""

    id: str
    token: str
    kind: str
    target: str
    source: str
    shapes: dict[str, str]
    config: dict[str, Any]
    options: dict[str, Any]


class JobPort(Protocol):
    """Every method about a claimed job raises LeaseLost when the hub has taken it away."""

    def announce(self, host: str, capabilities: dict[str, Any]) -> None: ...
    def leave(self, host: str) -> None: ...
    def claim(self, job_id: str, host: str) -> ClaimedJob | None: ...
    def cancelled(self, job: ClaimedJob) -> bool:
        """Heartbeat: extends the lease and says whether the person wants the job to stop."""

    def progress(self, job: ClaimedJob, fraction: float, text: str, seconds_left: float | None) -> None: ...
    def trials(self, job: ClaimedJob, trials: Sequence[dict[str, Any]]) -> None: ...
    def log(self, job: ClaimedJob, lines: Sequence[tuple[str, str]]) -> None: ...
    def artifact(self, job: ClaimedJob, kind: str, name: str, text: str) -> None: ...
    def evidence(self, job: ClaimedJob, rows: Sequence[dict[str, Any]]) -> None: ...
    def finish(
        self,
        job: ClaimedJob,
        state: str,
        *,
        outcome: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        best_source: str = "",
    ) -> None: ...
    def release(self, job: ClaimedJob) -> None: ...


class InProcessJobPort:
    """The adapter over the hub's own services, for workers that share its database."""

    def announce(self, host: str, capabilities: dict[str, Any]) -> None:
        host_services.host_announce(host, capabilities)

    def leave(self, host: str) -> None:
        host_services.host_leave(host)

    def claim(self, job_id: str, host: str) -> ClaimedJob | None:
        row = recording.job_claim(job_id, host)
        if row is None:
            return None
        return ClaimedJob(
            row.id, row.lease_token, row.kind, row.target, row.source, row.shapes, row.config, row.options
        )

    def cancelled(self, job: ClaimedJob) -> bool:
        return recording.lease_extend(job.id, job.token).cancel_requested

    def progress(self, job: ClaimedJob, fraction: float, text: str, seconds_left: float | None) -> None:
        recording.progress_set(job.id, job.token, fraction, text, seconds_left)

    def trials(self, job: ClaimedJob, trials: Sequence[dict[str, Any]]) -> None:
        recording.trials_record(job.id, job.token, trials)

    def log(self, job: ClaimedJob, lines: Sequence[tuple[str, str]]) -> None:
        recording.log_append(job.id, job.token, lines)

    def artifact(self, job: ClaimedJob, kind: str, name: str, text: str) -> None:
        recording.artifact_put(job.id, job.token, kind, name, text)

    def evidence(self, job: ClaimedJob, rows: Sequence[dict[str, Any]]) -> None:
        recording.evidence_add(job.id, job.token, rows)

    def finish(
        self,
        job: ClaimedJob,
        state: str,
        *,
        outcome: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        best_source: str = "",
    ) -> None:
        recording.job_finish(
            job.id, job.token, state, outcome=outcome, error=error, best_source=best_source
        )

    def release(self, job: ClaimedJob) -> None:
        recording.job_release(job.id, job.token)
