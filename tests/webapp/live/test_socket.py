"""The websocket over a real server: subscriptions, permissions, resuming, being slow, being idle."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import uvicorn
from django.db import connection
from django.test import Client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.webapp.fixtures import Someone
from webapp.config.asgi import application
from webapp.jobs import recording
from webapp.jobs.models import Job
from webapp.live import hub as hub_module
from webapp.live import stream
from webapp.live.hub import Mailbox
from webapp.live.stream import Published

pytestmark = pytest.mark.django_db(transaction=True)
Json = dict[str, Any]


@pytest.fixture
def server() -> Iterator[str]:
    """The whole application under uvicorn in a thread; its host:port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        listening.listen()
        running = uvicorn.Server(uvicorn.Config(application, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
        thread.start()
        while not running.started:
            time.sleep(0.01)
        yield address
        running.should_exit = True
        thread.join(timeout=10)


def dial(server: str, client: Client, query: str = "", origin: str | None = None) -> ClientConnection:
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = {"Cookie": cookies} if cookies else {}
    return connect(
        f"ws://{server}/ws/live{query}", additional_headers=headers, origin=origin or f"http://{server}"
    )


def heard(line: ClientConnection, timeout: float = 5.0) -> Json:
    message: Json = json.loads(line.recv(timeout=timeout))
    return message


def say(line: ClientConnection, **message: Any) -> None:
    line.send(json.dumps(message))


@pytest.fixture
def job(ask: Callable[..., Job]) -> Job:
    claimed = recording.job_claim(ask("tune").id, "host")
    assert claimed is not None
    return claimed


def progress(job: Job, fraction: float) -> None:
    recording.progress_set(job.id, job.lease_token, fraction, "working", None)


def test_a_snapshot_then_every_event(server: str, owner: Someone, job: Job) -> None:
    with dial(server, owner.client, f"?topic=job:{job.id}") as line:
        first = heard(line)
        assert (first["kind"], first["snapshot"]["job"]["state"]) == ("snapshot", "running")
        for step in range(3):
            progress(job, step / 10)
        events = [heard(line) for _ in range(3)]
        assert [event["revision"] for event in events] == [first["revision"] + n for n in (1, 2, 3)]
        assert events[-1]["event"]["job"]["progress"]["fraction"] == 0.2


def test_resuming_replays_what_was_missed(server: str, owner: Someone, job: Job) -> None:
    with dial(server, owner.client, f"?topic=job:{job.id}") as line:
        seen = heard(line)["revision"]
    progress(job, 0.5)
    progress(job, 0.6)
    with dial(server, owner.client, f"?topic=job:{job.id}&since={seen}") as line:
        assert [heard(line)["kind"] for _ in range(3)] == ["event", "event", "current"]
        progress(job, 0.7)
        assert heard(line)["revision"] == seen + 3


def test_resuming_after_too_much_gives_a_snapshot(server: str, owner: Someone, job: Job) -> None:
    with dial(server, owner.client) as line:
        say(line, kind="subscribe", topic=f"job:{job.id}", since=100_000)
        assert heard(line)["kind"] == "snapshot"


def test_one_socket_carries_many_topics(server: str, owner: Someone, job: Job) -> None:
    with dial(server, owner.client) as line:
        topics = [f"job:{job.id}", f"workspace:{owner.workspace.id}", "hosts"]
        for topic in topics:
            say(line, kind="subscribe", topic=topic)
        assert sorted(heard(line)["topic"] for _ in topics) == sorted(topics)
        say(line, kind="unsubscribe", topic=topics[0])
        time.sleep(0.2)
        progress(job, 0.5)
        assert heard(line)["topic"] == topics[1]  # the workspace's own copy of the change
        with pytest.raises(TimeoutError):
            heard(line, timeout=0.5)


def test_a_stranger_is_refused_and_hears_nothing(server: str, stranger: Someone, job: Job) -> None:
    with dial(server, stranger.client, f"?topic=job:{job.id}") as line:
        message = heard(line)
        assert (message["kind"], message["error"]["code"]) == ("refused", "KC-W011")
        progress(job, 0.5)
        say(line, kind="subscribe", topic="hosts")
        assert heard(line)["topic"] == "hosts"


def test_an_anonymous_visitor_is_closed(server: str) -> None:
    with dial(server, Client(), "?topic=hosts") as line, pytest.raises(ConnectionClosed) as caught:
        heard(line)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 4401


def test_another_sites_page_is_refused(server: str, owner: Someone) -> None:
    with pytest.raises(InvalidStatus):
        dial(server, owner.client, origin="https://example.org")


def test_nonsense_closes_the_socket(server: str, owner: Someone) -> None:
    for nonsense in ("{", '{"kind": "shout"}', '{"kind": "subscribe"}'):
        with dial(server, owner.client) as line, pytest.raises(ConnectionClosed) as caught:
            line.send(nonsense)
            heard(line)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 4400


@pytest.mark.slow
def test_an_idle_socket_stays_alive(server: str, owner: Someone, job: Job) -> None:
    """redis-py drops a subscription that is idle for five seconds unless it is told not to."""
    with dial(server, owner.client, f"?topic=job:{job.id}") as line:
        heard(line)
        time.sleep(11)
        progress(job, 0.5)
        assert heard(line)["kind"] == "event"


def test_subscribing_while_events_arrive_loses_none(server: str, owner: Someone, job: Job) -> None:
    def write() -> None:
        for step in range(40):
            progress(job, step / 100)
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    with ExitStack() as open_lines:
        topic = f"?topic=job:{job.id}"
        lines = [open_lines.enter_context(dial(server, owner.client, topic)) for _ in range(5)]
        writer.join()
        for line in lines:
            revision = None
            fraction = 0.0
            while fraction < 0.39:
                message = heard(line)
                assert revision is None or message["kind"] == "snapshot" or message["revision"] == revision + 1
                revision = message["revision"]
                fraction = (message.get("snapshot") or message["event"])["job"]["progress"]["fraction"]


def test_a_slow_follower_loses_its_queue_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "QUEUE_LENGTH", 4)

    async def story() -> list[int | None]:
        box = Mailbox("t")
        for revision in range(1, 7):
            box.put(Published("t", revision, {}))
        events = [await box.get() for _ in range(2)]
        return [event.revision if event else None for event in events]

    assert asyncio.run(story()) == [None, 6]


def test_a_lost_subscription_is_taken_up_again(server: str, owner: Someone, job: Job) -> None:
    with dial(server, owner.client, f"?topic=job:{job.id}") as line:
        heard(line)
        stream.client().client_kill_filter(_type="pubsub")
        progress(job, 0.5)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            message = heard(line, timeout=10)
            if (message.get("snapshot") or message["event"])["job"]["progress"]["fraction"] == 0.5:
                return
        raise AssertionError("the change never arrived")
