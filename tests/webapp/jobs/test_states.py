"""The transition table, and that services follow it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernelcat_core.errors import KernelcatError
from webapp.jobs import recording, services, states
from webapp.jobs.models import Job
from webapp.jobs.recording import LeaseLost


def test_final_states_lead_nowhere() -> None:
    assert {"succeeded", "failed", "cancelled"} == states.FINAL
    assert all(not states.TRANSITIONS[state] for state in states.FINAL)


def test_every_state_can_be_reached() -> None:
    reached = {states.QUEUED}
    while more := {after for state in reached for after in states.TRANSITIONS[state]} - reached:
        reached |= more
    assert reached == set(states.TRANSITIONS)


def test_sources_are_the_table_read_backwards() -> None:
    assert states.sources_of("running") == ["queued"]
    assert states.sources_of("cancelled") == ["queued", "running"]
    assert states.sources_of("queued") == ["running"]


@pytest.mark.parametrize("state", sorted(states.TRANSITIONS))
def test_only_a_queued_job_can_be_claimed(ask: Callable[..., Job], state: str) -> None:
    job = ask()
    Job.objects.filter(pk=job.pk).update(state=state)
    claimed = recording.job_claim(job.id, "host")
    assert (claimed is not None) == ("running" in states.TRANSITIONS[state])


@pytest.mark.parametrize("state", sorted(states.TRANSITIONS))
@pytest.mark.parametrize("final", sorted(states.FINAL))
def test_only_a_running_job_can_finish(ask: Callable[..., Job], state: str, final: str) -> None:
    job = ask()
    Job.objects.filter(pk=job.pk).update(state=state, lease_token="t")
    if state == states.RUNNING:
        recording.job_finish(job.id, "t", final)
        job.refresh_from_db()
        assert job.state == final
    else:
        with pytest.raises(LeaseLost):
            recording.job_finish(job.id, "t", final)


@pytest.mark.parametrize("state", sorted(states.TRANSITIONS))
def test_what_is_over_cannot_be_cancelled(ask: Callable[..., Job], state: str) -> None:
    job = ask()
    Job.objects.filter(pk=job.pk).update(state=state)
    if state in states.FINAL:
        with pytest.raises(KernelcatError) as caught:
            services.job_cancel(job)
        assert caught.value.code == "KC-W009"
    else:
        after = services.job_cancel(job)
        assert after.cancel_requested
        assert after.state == (states.CANCELLED if state == states.QUEUED else state)


def test_finishing_needs_a_final_state(ask: Callable[..., Job]) -> None:
    job = recording.job_claim(ask().id, "host")
    assert job is not None
    with pytest.raises(AssertionError, match="not final"):
        recording.job_finish(job.id, job.lease_token, "queued")
