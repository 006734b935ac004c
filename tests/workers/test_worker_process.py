"""A real worker process: it announces itself, runs a job with the real core, and may be killed at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from webapp.hosts.selectors import hosts_for
from webapp.jobs import services
from webapp.jobs.models import Job
from webapp.jobs.selectors import job_snapshot
from workers.process_tree import descendants

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def start(redis_server: str, tmp_path: Path) -> Iterator[Start]:
    """Starts worker processes on the test's database and broker; whatever is left is killed in the end."""
    started: list[subprocess.Popen[bytes]] = []
    log = (tmp_path / "worker.log").open("ab")

    def make() -> subprocess.Popen[bytes]:
        url = {
            "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}",
            "REDIS_URL": redis_server,
            "KERNELCAT_HOME": str(tmp_path),
        }
        argv = [sys.executable, "-m", "celery", "--app", "workers.app", "worker", "--without-gossip", "--without-mingle"]
        process = subprocess.Popen(
            argv, cwd=settings.ROOT, env={**os.environ, **url}, stdout=log, stderr=log, start_new_session=True
        )
        started.append(process)
        return process

    yield make
    for process in started:
        for pid in [*descendants(process.pid), process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
    log.close()


def until(found: Callable[[], Any], seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = found()
        if seen:
            return seen
        time.sleep(0.1)
    raise AssertionError("it did not happen in time")


def test_a_killed_worker_loses_no_job_and_doubles_no_trial(start: Start, ask: Callable[..., Job]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the worker of this test opens the same SQLite file")
    check = ask("check", source="Y = softmax(X)", shapes={"X": "7x33:f32"})
    first = start()
    until(lambda: hosts_for("c", measuring=True), 60)
    services.jobs_nudge_again()  # its message may have been sent before the queues were there
    until(lambda: Job.objects.get(pk=check.pk).finished_at, 60)
    assert Job.objects.get(pk=check.pk).error is None
    facts = {row.fact for row in job_snapshot(check.id).evidence}
    assert {"rendered", "compiled", "executed", "measured"} <= facts

    tune = ask("tune", source="Y = softmax(X)", shapes={"X": "64x100:f32"}, options={"trials": 6})
    until(lambda: Job.objects.get(pk=tune.pk).state == "running" and descendants(first.pid), 30)
    below = descendants(first.pid)
    first.kill()
    first.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), 10)

    start()
    Job.objects.filter(pk=tune.pk, state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    services.leases_expire()
    ended = until(lambda: Job.objects.filter(pk=tune.pk, state="succeeded").first(), 90)
    assert ended.attempts == 2
    indices = [trial.index for trial in job_snapshot(tune.id).trials]
    assert indices == list(range(len(indices)))
    assert 1 <= len(indices) <= 6


def test_a_worker_that_is_told_to_stop_gives_its_job_back(start: Start, ask: Callable[..., Job]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the worker of this test opens the same SQLite file")
    worker = start()
    until(lambda: hosts_for("c", measuring=True), 60)
    tune = ask("tune", source="Y[i,j] = sum[k](A[i,k]*B[k,j])", options={"trials": 500})
    until(lambda: Job.objects.get(pk=tune.pk).state == "running" and descendants(worker.pid), 30)
    below = descendants(worker.pid)
    worker.send_signal(signal.SIGTERM)
    worker.wait(timeout=20)
    tune.refresh_from_db()
    assert (tune.state, tune.attempts) == ("queued", 0)
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    assert hosts_for("c", measuring=True) == []
