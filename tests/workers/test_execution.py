"""Running a job: what the child says reaches the hub; what the hub wants reaches the child."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from tests.webapp.fixtures import FAKE_CORE
from webapp.jobs import recording, services
from webapp.jobs.models import Job
from webapp.jobs.port import ClaimedJob, InProcessJobPort
from webapp.jobs.selectors import job_snapshot
from workers import execution
from workers.core_process import child_environment, core_call
from workers.device_lock import DeviceLock
from workers.execution import JobRun

pytestmark = pytest.mark.django_db(transaction=True)
Ask = Callable[..., Job]


@pytest.fixture(autouse=True)
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "HOME", tmp_path)


def claim(job: Job) -> ClaimedJob:
    claimed = InProcessJobPort().claim(job.id, "host")
    assert claimed is not None
    return claimed


def run(job: Job, limit_s: float = 30.0, stopping: threading.Event | None = None) -> str:
    runs = JobRun(InProcessJobPort(), claim(job), stopping or threading.Event(), limit_s=limit_s, facade=FAKE_CORE)
    return runs.run()


def in_thread(job: Job, **more: Any) -> tuple[threading.Thread, list[str]]:
    states: list[str] = []

    def work() -> None:
        try:
            states.append(run(job, **more))
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread, states


def until(found: Callable[[], Any], seconds: float = 15.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = found()
        if seen:
            return seen
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_check_leaves_evidence_and_a_log(ask: Ask) -> None:
    job = ask("check")
    assert run(job) == "succeeded"
    seen = job_snapshot(job.id)
    assert [(row.fact, row.device) for row in seen.evidence] == [("executed", "CPU")]
    assert "printed by the core" in [line.text for line in seen.log]
    assert seen.outcome is not None
    assert seen.outcome["max_error"] == 0.0
    assert seen.job.progress.fraction == 1.0


def test_a_mismatch_fails_with_the_cores_code_and_keeps_what_was_seen(ask: Ask) -> None:
    job = ask("check", source="mismatch")
    assert run(job) == "failed"
    seen = job_snapshot(job.id)
    assert seen.job.error is not None
    assert (seen.job.error.code, seen.job.error.message) == ("KC-N001", "output differs")
    assert seen.outcome is not None


def test_a_build_leaves_its_files(ask: Ask) -> None:
    job = ask("build")
    assert run(job) == "succeeded"
    seen = job_snapshot(job.id)
    assert [(artifact.kind, artifact.name) for artifact in seen.artifacts] == [
        ("assembly", "assembly.txt"),
        ("source", "kernel.c"),
    ]
    assert [line.text for line in seen.log] == ["a warning", "another"]


def test_a_rejected_build_fails_with_the_compilers_log(ask: Ask) -> None:
    job = ask("build", source="reject")
    assert run(job) == "failed"
    seen = job_snapshot(job.id)
    assert seen.job.error is not None
    assert seen.job.error.code == "KC-B001"
    assert [line.text for line in seen.log] == ["a warning", "another"]


def test_a_profile_is_evidence_of_a_measurement(ask: Ask) -> None:
    job = ask("profile")
    assert run(job) == "succeeded"
    (row,) = job_snapshot(job.id).evidence
    assert (row.fact, row.detail, row.workload) == ("measured", "1.5 ms", "w")


def test_a_tune_records_every_trial_and_posts_to_its_board(ask: Ask) -> None:
    job = ask("tune", options={"trials": 9})
    assert run(job) == "succeeded"
    seen = job_snapshot(job.id)
    assert [trial.index for trial in seen.trials] == list(range(9))
    assert (seen.job.trials_count, seen.job.best_ms) == (9, 1.0)
    job.refresh_from_db()
    assert job.board_entry.source == "int best;"
    assert job.board_entry.board.formula_digest == "f" * 64


def test_a_wrong_formula_fails_with_its_place(ask: Ask) -> None:
    job = ask("check", source="wrong")
    assert run(job) == "failed"
    error = job_snapshot(job.id).job.error
    assert error is not None
    assert (error.code, error.line) == ("KC-F001", 1)


def test_a_bug_in_the_core_is_ours(ask: Ask) -> None:
    job = ask("check", source="bug")
    assert run(job) == "failed"
    seen = job_snapshot(job.id)
    assert seen.job.error is not None
    assert seen.job.error.code == "KC-X002"
    assert any("ZeroDivisionError" in line.text for line in seen.log)


def test_a_child_that_dies_is_ours_too(ask: Ask) -> None:
    job = ask("check", source="die")
    assert run(job) == "failed"
    error = job_snapshot(job.id).job.error
    assert error is not None
    assert error.code == "KC-X012"


def grandchild(job: Job) -> int:
    def line() -> str | None:
        texts = job.log_lines.values_list("text", flat=True)
        return next((text for text in texts if text.startswith("grandchild ")), None)

    pid = int(until(line).split()[1])
    assert alive(pid)
    return pid


def test_cancelling_kills_what_the_job_started_and_what_that_started(ask: Ask) -> None:
    job = ask("check", source="spawn")
    thread, states = in_thread(job)
    pid = grandchild(job)
    services.job_cancel(Job.objects.get(pk=job.pk))
    started = time.monotonic()
    thread.join(timeout=10)
    assert states == ["cancelled"]
    assert time.monotonic() - started < 5
    assert not alive(pid)
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_a_job_over_its_time_limit_is_killed_and_says_so(ask: Ask) -> None:
    job = ask("check", source="spawn")
    thread, states = in_thread(job, limit_s=2.5)
    pid = grandchild(job)
    thread.join(timeout=15)
    assert states == ["failed"]
    assert not alive(pid)
    error = job_snapshot(job.id).job.error
    assert error is not None
    assert error.code == "KC-X008"


def test_cancelling_a_tune_keeps_the_trials_that_were_measured(ask: Ask) -> None:
    job = ask("tune", source="slow", options={"trials": 500})
    thread, states = in_thread(job)
    until(lambda: job.trials.count() >= 2)
    services.job_cancel(Job.objects.get(pk=job.pk))
    thread.join(timeout=10)
    assert states == ["cancelled"]
    assert 2 <= job.trials.count() < 100


def test_a_worker_that_stops_gives_its_job_back(ask: Ask) -> None:
    job = ask("check", source="spawn")
    stopping = threading.Event()
    thread, states = in_thread(job, stopping=stopping)
    pid = grandchild(job)
    stopping.set()
    thread.join(timeout=10)
    assert states == ["released"]
    assert not alive(pid)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("queued", 0)


def test_a_worker_that_lost_its_lease_stops_and_writes_nothing(ask: Ask) -> None:
    job = ask("check", source="spawn")
    thread, states = in_thread(job)
    pid = grandchild(job)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now().replace(year=2000))
    services.leases_expire()
    thread.join(timeout=10)
    assert states == ["lost"]
    assert not alive(pid)
    job.refresh_from_db()
    assert job.state == "queued"
    assert recording.job_claim(job.id, "another") is not None


def test_measuring_jobs_of_one_device_take_turns(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "BEAT_S", 0.05)
    held = DeviceLock("c")
    assert held.try_acquire()
    job = ask("tune", options={"trials": 1})
    thread, states = in_thread(job)
    until(lambda: Job.objects.get(pk=job.pk).progress_text == "waiting for the device")
    assert not job.trials.exists()
    held.release()
    thread.join(timeout=15)
    assert states == ["succeeded"]


def test_a_job_that_waits_for_its_device_can_be_cancelled(ask: Ask) -> None:
    held = DeviceLock("c")
    assert held.try_acquire()
    try:
        job = ask("profile")
        thread, states = in_thread(job)
        until(lambda: Job.objects.get(pk=job.pk).state == "running")
        services.job_cancel(Job.objects.get(pk=job.pk))
        thread.join(timeout=10)
        assert states == ["cancelled"]
    finally:
        held.release()


def test_builds_do_not_wait_for_the_device(ask: Ask) -> None:
    held = DeviceLock("c")
    assert held.try_acquire()
    try:
        assert run(ask("build")) == "succeeded"
    finally:
        held.release()


def test_the_child_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in child_environment().values()


def test_probing_asks_the_core_in_a_child() -> None:
    (target,) = core_call({"kind": "targets"}, 30.0, FAKE_CORE)
    assert target["target"] == "c"
