"""The preview pool: children are killed, replaced, confined, and never mix answers up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelcat_core.errors import KernelcatError
from tests.webapp.fixtures import FAKE_CORE
from webapp.preview.pool import WAITING_LIMIT, PreviewPool, RemoteError, child_environment


@pytest.fixture
def pool() -> Iterator[PreviewPool]:
    made = PreviewPool(1, 4 << 30, facade=FAKE_CORE)
    yield made
    made.close()


def ask(pool: PreviewPool, source: str, seconds: float = 5.0) -> dict[str, Any]:
    answer: dict[str, Any] = pool.submit("preview", {"source": source, "targets": ["c"]}, seconds).result(20)
    return answer


def code_of(pool: PreviewPool, source: str, seconds: float = 5.0) -> str:
    with pytest.raises(KernelcatError) as caught:
        ask(pool, source, seconds)
    return caught.value.code


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_one_child_answers_again_and_again(pool: PreviewPool) -> None:
    assert not pool.child_pids  # nothing is started before it is needed
    assert ask(pool, "Y = X")["graph"] == ask(pool, "Y = Z")["graph"]


def test_a_child_that_hangs_is_killed_and_replaced(pool: PreviewPool) -> None:
    ask(pool, "Y = X")
    (before,) = pool.child_pids
    started = time.monotonic()
    assert code_of(pool, "hang", 0.3) == "KC-X006"
    assert time.monotonic() - started < 3
    assert not alive(before)
    assert ask(pool, "Y = X")["graph"] != f"pid {before}"


def test_a_child_that_dies_is_replaced(pool: PreviewPool) -> None:
    assert code_of(pool, "die") == "KC-X007"
    assert ask(pool, "Y = X")["ok"]


def test_memory_is_limited_and_the_child_survives_it(pool: PreviewPool) -> None:
    before = ask(pool, "Y = X")["graph"]
    assert code_of(pool, "eat") == "KC-X007"
    assert ask(pool, "Y = X")["graph"] == before


def test_a_bug_in_the_core_is_told_as_ours(pool: PreviewPool) -> None:
    assert code_of(pool, "bug") == "KC-X007"


def test_what_the_core_prints_does_not_mix_with_answers(pool: PreviewPool) -> None:
    assert ask(pool, "print")["ok"]
    assert ask(pool, "Y = X")["ok"]


def test_an_answer_keeps_its_request(pool: PreviewPool) -> None:
    futures = [pool.submit("preview", {"source": "Y = X", "targets": [str(n)]}, 5.0) for n in range(20)]
    assert [future.result(20)["targets"][0]["target"] for future in futures] == [str(n) for n in range(20)]


def test_a_cancelled_request_is_skipped(pool: PreviewPool) -> None:
    slow = pool.submit("preview", {"source": "hang", "targets": []}, 0.5)
    stale = pool.submit("preview", {"source": "hang", "targets": []}, 30.0)
    assert stale.cancel()
    with pytest.raises(KernelcatError):
        slow.result(20)
    assert ask(pool, "Y = X")["ok"]


def test_too_many_waiting_requests_are_refused(pool: PreviewPool) -> None:
    first = pool.submit("preview", {"source": "hang", "targets": []}, 1.0)
    with pytest.raises(KernelcatError) as caught:
        futures = [pool.submit("preview", {"source": "x", "targets": []}, 1.0) for _ in range(WAITING_LIMIT + 2)]
        assert futures
    assert caught.value.code == "KC-X011"
    with pytest.raises(KernelcatError):
        first.result(20)


def test_a_child_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    assert "secret" not in child_environment().values()
    assert child_environment()["PATH"] == os.environ["PATH"]


def test_closing_ends_the_children() -> None:
    pool = PreviewPool(1, 4 << 30, facade=FAKE_CORE)
    ask(pool, "Y = X")
    (pid,) = pool.child_pids
    pool.close()
    assert not alive(pid)


def test_an_error_of_the_core_keeps_its_place() -> None:
    body = {"code": "KC-F001", "message": "no", "hint": "yes", "line": 2, "column": 3, "end_column": 4, "text": "t"}
    assert RemoteError(body).to_dict() == body


def test_a_server_may_start_its_children_early() -> None:
    pool = PreviewPool(2, 4 << 30, facade=FAKE_CORE)
    pool.start()
    deadline = time.monotonic() + 10
    while len(pool.child_pids) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pool.child_pids) == 2
    before = pool.child_pids
    ask(pool, "Y = X")
    assert pool.child_pids == before
    pool.close()
