"""Claims, leases, redelivery: no job is lost, nothing is doubled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from webapp.jobs import queue, recording, services
from webapp.jobs.models import Evidence, Job, LogLine, Trial
from webapp.jobs.recording import LeaseLost
from webapp.leaderboard.models import Entry


def claim(job: Job) -> Job:
    claimed = recording.job_claim(job.id, "host")
    assert claimed is not None
    return claimed


def expire(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def trial(index: int, median: float = 1.0) -> dict[str, Any]:
    return {"index": index, "config": {}, "status": "measured", "median_ms": median, "samples": [median]}


@pytest.fixture
def nudges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr(queue, "nudge_send", lambda job_id, target, kind: sent.append(job_id) or True)
    return sent


@pytest.mark.django_db(transaction=True)
def test_of_many_simultaneous_claims_one_wins(ask: Callable[..., Job]) -> None:
    job = ask()

    def attempt(number: int) -> bool:
        try:
            return recording.job_claim(job.id, f"host{number}") is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(8))) == 1
    job.refresh_from_db()
    assert job.attempts == 1


def test_a_job_that_does_not_exist_cannot_be_claimed(db: None) -> None:
    assert recording.job_claim("nothing", "host") is None


def test_a_live_lease_is_left_alone(ask: Callable[..., Job]) -> None:
    job = claim(ask())
    assert services.leases_expire() == 0
    expire(job)
    recording.lease_extend(job.id, job.lease_token)
    assert services.leases_expire() == 0


def test_a_lost_worker_gives_its_job_back(
    ask: Callable[..., Job], nudges: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    job = claim(ask())
    expire(job)
    with django_capture_on_commit_callbacks(execute=True):
        assert services.leases_expire() == 1
    assert nudges == [job.id]
    again = claim(job)
    assert (again.state, again.attempts) == ("running", 2)
    with pytest.raises(LeaseLost):
        recording.trials_record(job.id, job.lease_token, [trial(0)])
    with pytest.raises(LeaseLost):
        recording.lease_extend(job.id, job.lease_token)
    recording.trials_record(again.id, again.lease_token, [trial(0)])


def test_a_job_that_loses_every_worker_fails_in_the_end(ask: Callable[..., Job]) -> None:
    job = ask()
    for _ in range(settings.JOB_ATTEMPTS):
        expire(claim(job))
        services.leases_expire()
    job.refresh_from_db()
    assert job.state == "failed"
    assert job.error["code"] == "KC-X009"
    assert recording.job_claim(job.id, "host") is None


def test_a_lost_worker_of_a_cancelled_job_ends_it(ask: Callable[..., Job]) -> None:
    job = claim(ask())
    services.job_cancel(job)
    expire(job)
    services.leases_expire()
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_redelivery_doubles_nothing(ask: Callable[..., Job]) -> None:
    job = claim(ask("tune"))
    row = {"fact": "measured", "digest": "d", "device": "CPU"}
    for median in (2.0, 1.0):
        recording.trials_record(job.id, job.lease_token, [trial(0, median), trial(1, 3.0)])
        recording.evidence_add(job.id, job.lease_token, [row])
        recording.artifact_put(job.id, job.lease_token, "source", "kernel.c", f"{median}")
    assert Trial.objects.count() == 2
    assert Evidence.objects.count() == 1
    assert [artifact.text for artifact in job.artifacts.all()] == ["1.0"]
    job.refresh_from_db()
    assert (job.trials_count, job.best_ms) == (2, 1.0)
    best = {**trial(0), "low_ms": 0.9, "high_ms": 1.1}
    recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best})
    with pytest.raises(LeaseLost):
        recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best})
    assert Entry.objects.count() == 1


def test_a_worker_that_leaves_gives_its_job_back_for_free(ask: Callable[..., Job]) -> None:
    job = claim(ask())
    recording.job_release(job.id, job.lease_token)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("queued", 0)


def test_a_nudge_that_nobody_took_is_sent_again_ever_later(ask: Callable[..., Job], nudges: list[str]) -> None:
    job = ask()
    assert services.jobs_nudge_again() == 1
    waits = []
    for _ in range(8):
        for wait in range(15, 2000, 15):
            Job.objects.filter(pk=job.pk).update(nudged_at=timezone.now() - timedelta(seconds=wait + 1))
            if services.jobs_nudge_again():
                waits.append(wait)
                break
    assert waits == [30, 60, 120, 240, 480, 480, 480, 480]
    claim(job)
    Job.objects.filter(pk=job.pk).update(nudged_at=None)
    assert services.jobs_nudge_again() == 0


def test_a_broker_that_is_away_does_not_fail_the_request(ask: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    assert queue.nudge_send("x", "c", "check") is False


def test_the_log_is_capped_and_says_so(ask: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "LOG_LIMIT", 10)
    job = claim(ask())
    recording.log_append(job.id, job.lease_token, [("out", f"line {n}") for n in range(6)])
    for _ in range(3):
        recording.log_append(job.id, job.lease_token, [("err", "more " * 1000)] * 20)
    lines = list(LogLine.objects.all())
    assert [line.number for line in lines] == list(range(1, 11))
    assert (lines[-1].stream, lines[-1].text) == ("note", "The log ends here: 10 lines are kept.")
    assert len(lines[7].text) == 2000


def test_a_huge_artifact_is_cut_and_says_so(ask: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "ARTIFACT_LIMIT_BYTES", 10)
    job = claim(ask())
    recording.artifact_put(job.id, job.lease_token, "source", "kernel.c", "é" * 10)
    text = job.artifacts.get().text
    assert text.startswith("é" * 5 + "\n[cut")


def test_progress_stays_between_nothing_and_all(ask: Callable[..., Job]) -> None:
    job = claim(ask())
    for fraction, kept in ((-1.0, 0.0), (7.0, 1.0), (0.5, 0.5)):
        recording.progress_set(job.id, job.lease_token, fraction, "x", None)
        job.refresh_from_db()
        assert job.progress_fraction == kept


def test_nul_characters_are_replaced(ask: Callable[..., Job]) -> None:
    job = claim(ask())
    recording.log_append(job.id, job.lease_token, [("out", "a\0b")])
    recording.artifact_put(job.id, job.lease_token, "source", "kernel.c", "c\0d")
    assert job.log_lines.get().text == "a\N{REPLACEMENT CHARACTER}b"
    assert job.artifacts.get().text == "c\N{REPLACEMENT CHARACTER}d"
