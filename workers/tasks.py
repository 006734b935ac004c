"""The one task: a nudge. It carries a job's id; whether there is something to run, the hub decides."""

from __future__ import annotations

import threading

import structlog

from webapp.jobs.port import InProcessJobPort
from workers.execution import JobRun
from workers.presence import host_name, running

log = structlog.get_logger(__name__)
stopping = threading.Event()


def job_nudge(job_id: str) -> None:
    """Claims the job if it still waits, and runs it to its end."""
    if stopping.is_set():
        return
    port = InProcessJobPort()
    job = port.claim(job_id, host_name())
    if job is None:
        return  # another worker has it, or it is over
    log.info("job_started", job=job.id, kind=job.kind, target=job.target)
    with running:
        state = JobRun(port, job, stopping).run()
    log.info("job_ended", job=job.id, state=state)
