"""The Celery application: `celery --app workers.app worker`.

Before it listens, a worker asks the core what this machine can show, and subscribes to the queues of those targets.
"""

from __future__ import annotations

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")

from typing import Any

import django
from celery import Celery
from celery.signals import celeryd_init, worker_ready, worker_shutting_down
from django.conf import settings
from kombu.entity import Queue

django.setup()

from webapp.jobs.port import InProcessJobPort  # noqa: E402
from workers.presence import Presence, probe, queues_of  # noqa: E402
from workers.tasks import job_nudge, stopping  # noqa: E402

CONCURRENCY = int(os.environ.get("WORKER_CONCURRENCY", "2"))

app = Celery("kernelcat", broker=settings.REDIS_URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=False,  # the database knows which jobs are taken; the message is only a nudge
    task_create_missing_queues=True,
    worker_pool="threads",  # a task only waits for its child process
    worker_concurrency=CONCURRENCY,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": 3600, "socket_timeout": None, "socket_keepalive": True},
)
app.task(name="workers.job_nudge")(job_nudge)

presence = Presence(InProcessJobPort(), workers=CONCURRENCY)


@celeryd_init.connect
def subscribe(sender: str, instance: Any, conf: Any, **extra: Any) -> None:
    """Runs before the worker opens its queues."""
    presence.targets = probe()
    names = queues_of(presence.targets)
    conf.task_queues = [Queue(name) for name in names] or [Queue("q.none")]


@worker_ready.connect
def announce(**extra: Any) -> None:
    presence.start()


@worker_shutting_down.connect
def stop(**extra: Any) -> None:
    """Running jobs are given back to the queue; the worker then ends as soon as their children are dead."""
    stopping.set()
    presence.stop()
