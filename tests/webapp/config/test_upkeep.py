"""What the hub does by itself."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from webapp.config import asgi, upkeep
from webapp.config.upkeep import Upkeep, upkeep_once


def test_a_duty_that_fails_does_not_keep_the_others_from_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def failing() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(upkeep, "DUTIES", (failing, lambda: done.append("second")))
    monkeypatch.setattr(upkeep, "close_old_connections", lambda: None)
    upkeep_once()
    assert done == ["second"]


def test_the_thread_repeats_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    monkeypatch.setattr(upkeep, "upkeep_once", lambda: times.append(time.monotonic()))
    thread = Upkeep(interval_s=0.01)
    thread.start()
    while len(times) < 3:
        time.sleep(0.005)
    thread.stop()
    count = len(times)
    time.sleep(0.05)
    assert len(times) == count


def test_the_servers_lifetime_starts_and_ends_what_runs_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        def start(self) -> None:
            told.append(f"{self.name} starts")

        def stop(self) -> None:
            told.append(f"{self.name} stops")

    monkeypatch.setattr(asgi, "Upkeep", lambda: Recorder("upkeep"))
    monkeypatch.setattr(asgi, "preview_pool", lambda: Recorder("pool"))
    monkeypatch.setattr(asgi, "preview_shutdown", lambda: told.append("pool stops"))

    async def story() -> None:
        incoming = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive() -> dict[str, Any]:
            return next(incoming)

        async def send(message: dict[str, Any]) -> None:
            told.append(message["type"])

        await asgi.lifespan({"type": "lifespan"}, receive, send)

    asyncio.run(story())
    assert told == [
        "upkeep starts", "pool starts", "lifespan.startup.complete",
        "upkeep stops", "pool stops", "lifespan.shutdown.complete",
    ]  # fmt: skip
