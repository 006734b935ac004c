"""Nudges: Celery messages that carry a job's id and nothing else. The database is the truth; a lost nudge is resent."""

from __future__ import annotations

from functools import lru_cache

import structlog
from celery import Celery
from django.conf import settings
from kombu.exceptions import OperationalError

from webapp.jobs.states import MEASURING_KINDS

log = structlog.get_logger(__name__)
TASK = "workers.job_nudge"


def queue_name(target: str, kind: str) -> str:
    """The queue of a target's jobs: `q.cuda.sm_80`; jobs that measure have one of their own, `m.cuda.sm_80`."""
    prefix = "m" if kind in MEASURING_KINDS else "q"
    return f"{prefix}.{target.replace(':', '.')}"


@lru_cache(maxsize=4)
def _sender(url: str) -> Celery:
    sender = Celery("kernelcat", broker=url, set_as_current=False)
    sender.conf.update(
        task_ignore_result=True,
        broker_connection_timeout=2,
        broker_transport_options={"socket_timeout": 5, "socket_connect_timeout": 2},
    )
    return sender


def nudge_send(job_id: str, target: str, kind: str) -> bool:
    """Tells the workers of the job's queue to look; False when the broker is away (upkeep sends it again)."""
    try:
        _sender(settings.REDIS_URL).send_task(
            TASK, args=[job_id], queue=queue_name(target, kind), retry=False, ignore_result=True
        )
    except (OperationalError, OSError) as error:
        log.warning("nudge_failed", job=job_id, error=str(error))
        return False
    return True
