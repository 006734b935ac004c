"""The law: a snapshot and the events after it equal what a fresh request would say. For every topic."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from tests.webapp.fixtures import Someone
from tests.webapp.live.replica import applied, comparable
from webapp.config.contract import server_message
from webapp.hosts.schemas import HostList
from webapp.hosts.services import host_announce, host_leave
from webapp.jobs import recording, services
from webapp.jobs.models import Job
from webapp.jobs.schemas import JobCreate
from webapp.live import stream
from webapp.live.models import OutboxEvent
from webapp.live.selectors import snapshot
from webapp.live.services import outbox_drain, publish
from webapp.operators.models import Operator
from webapp.operators.schemas import OperatorCreate, VersionCreate
from webapp.operators.services import operator_create, operator_delete, operator_rename, version_create

pytestmark = pytest.mark.django_db(transaction=True)
Json = dict[str, Any]


def taken(topic: str) -> tuple[int, Json]:
    shot = snapshot(topic)
    return shot.revision, shot.value.model_dump(mode="json")


def replayed(topic: str, revision: int, state: Json) -> Json:
    """`state` after every event that was published since `revision`."""
    upto = snapshot(topic).revision
    events = stream.missed(topic, revision, upto)
    assert events is not None
    for event in events:
        state = applied(state, event.event)
    return state


def actions(job: Job, rng: random.Random) -> list[Callable[[], object]]:
    """What may happen to a running job, in some order."""
    token = job.lease_token

    def trials() -> None:
        rows = [{"index": rng.randrange(9), "config": {"t": 1}, "status": "measured", "median_ms": rng.random()}]
        recording.trials_record(job.id, token, rows)

    def evidence() -> None:
        row = {"fact": rng.choice(["compiled", "executed"]), "digest": rng.choice("ab"), "device": "CPU"}
        recording.evidence_add(job.id, token, [row])

    return [
        trials,
        evidence,
        lambda: recording.progress_set(job.id, token, rng.random(), "working", rng.random()),
        lambda: recording.log_append(job.id, token, [("out", "a"), ("err", "b")]),
        lambda: recording.artifact_put(job.id, token, "source", rng.choice(["a.c", "b.c"]), str(rng.random())),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_jobs_whole_life(ask: Callable[..., Job], owner: Someone, seed: int) -> None:
    rng = random.Random(seed)
    queued = ask("tune")
    shots = {topic: [taken(topic)] for topic in (f"job:{queued.id}", f"workspace:{owner.workspace.id}")}
    job = recording.job_claim(queued.id, "host")
    assert job is not None
    for _ in range(12):
        rng.choice(actions(job, rng))()
        for topic, kept in shots.items():
            kept.append(taken(topic))
    if rng.random() < 0.5:
        services.job_cancel(job)
        recording.job_finish(job.id, job.lease_token, "cancelled")
    else:
        best = {"status": "measured", "median_ms": 1.0, "low_ms": 0.9, "high_ms": 1.1, "samples": [1.0]}
        recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best, "device": "CPU"})
    for topic, kept in shots.items():
        final = comparable(taken(topic)[1])
        for revision, state in kept:  # whenever somebody came in, they end up with the same
            assert comparable(replayed(topic, revision, state)) == final


def test_events_state_the_truth_so_twice_is_once(ask: Callable[..., Job]) -> None:
    job = recording.job_claim(ask("tune").id, "host")
    assert job is not None
    topic = f"job:{job.id}"
    revision, state = taken(topic)
    for action in actions(job, random.Random(1)):
        action()
    events = stream.missed(topic, revision, snapshot(topic).revision)
    assert events is not None
    for event in events:
        state = applied(applied(state, event.event), event.event)
    assert comparable(state) == comparable(taken(topic)[1])


def test_operators_of_a_workspace(owner: Someone, operator: Operator) -> None:
    topic = f"workspace:{owner.workspace.id}"
    revision, state = taken(topic)
    operator_rename(operator, "Soft")
    version_create(operator, owner.user, VersionCreate(source="Y = X"))
    other = operator_create(owner.workspace, owner.user, OperatorCreate(name="A", source="Y = X"))
    operator_delete(other)
    services.jobs_create(owner.workspace, owner.user, JobCreate(kind="check", targets=["c"], source="Y = X"))
    assert comparable(replayed(topic, revision, state)) == comparable(taken(topic)[1])


def test_hosts() -> None:
    host_announce("a", {"targets": [], "workers": 1})
    revision, state = taken("hosts")
    host_announce("b", {"targets": [], "workers": 2})
    host_announce("a", {"targets": [], "workers": 1, "running": 1})
    host_leave("b")
    assert comparable(replayed("hosts", revision, state)) == comparable(taken("hosts")[1])


def test_a_board(ask: Callable[..., Job]) -> None:
    def finish(median: float) -> str:
        job = recording.job_claim(ask("tune").id, "host")
        assert job is not None
        best = {"status": "measured", "median_ms": median, "low_ms": median, "high_ms": median, "samples": []}
        recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best, "device": "CPU"})
        job.refresh_from_db()
        return f"board:{job.board_id}"

    topic = finish(2.0)
    revision, state = taken(topic)
    finish(1.0)
    finish(3.0)
    assert replayed(topic, revision, state) == taken(topic)[1]
    assert [entry["median_ms"] for entry in taken(topic)[1]["entries"]] == [1.0, 2.0, 3.0]


def test_what_was_rolled_back_is_never_told(owner: Someone, operator: Operator) -> None:
    topic = f"workspace:{owner.workspace.id}"
    before = snapshot(topic).revision
    with pytest.raises(ZeroDivisionError):
        _rename_and_fail(operator)
    assert snapshot(topic).revision == before
    assert not OutboxEvent.objects.exists()


def _rename_and_fail(operator: Operator) -> None:
    with transaction.atomic():
        operator_rename(operator, "never")
        raise ZeroDivisionError


def test_an_event_outside_a_transaction_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="transaction"):
        publish("hosts", HostList(items=[]))


def test_events_survive_a_redis_that_was_away(
    owner: Someone, operator: Operator, monkeypatch: pytest.MonkeyPatch, redis_server: str
) -> None:
    topic = f"workspace:{owner.workspace.id}"
    revision, state = taken(topic)
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    operator_rename(operator, "while away")
    assert OutboxEvent.objects.count() == 1
    monkeypatch.setattr(settings, "REDIS_URL", redis_server)
    assert outbox_drain(older_than_s=-1) == 1
    assert not OutboxEvent.objects.exists()
    assert comparable(replayed(topic, revision, state)) == comparable(taken(topic)[1])


def test_a_stream_that_forgot_gives_no_replay(owner: Someone, operator: Operator) -> None:
    topic = f"workspace:{owner.workspace.id}"
    revision = snapshot(topic).revision
    stream.client().delete(stream.stream_name(topic))
    operator_rename(operator, "B")
    assert stream.missed(topic, revision, revision + 1) is not None
    assert stream.missed(topic, revision - 1, revision + 1) is None
    assert stream.missed(topic, revision + 5, revision + 1) is None


def test_events_fit_the_contract(ask: Callable[..., Job]) -> None:
    job = recording.job_claim(ask("tune").id, "host")
    assert job is not None
    for action in actions(job, random.Random(2)):
        action()
    topic = f"job:{job.id}"
    revision, state = taken(topic)
    events = stream.missed(topic, 0, revision)
    assert events
    messages = [{"kind": "event", "topic": topic, "revision": e.revision, "event": e.event} for e in events]
    for message in [*messages, {"kind": "snapshot", "topic": topic, "revision": revision, "snapshot": state}]:
        server_message.validate_json(json.dumps(message))
