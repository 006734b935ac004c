"""Fixtures of the web and worker tests: a real Redis-compatible server, people, a preview pool over the stand-in core."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import redis
from django.conf import settings
from django.contrib.auth import hashers
from django.core.cache import caches
from django.test import Client

from kernelcat_core.supervise.redis_server import find_binary
from webapp.accounts.models import User
from webapp.jobs.models import Job
from webapp.jobs.schemas import JobCreate
from webapp.jobs.services import jobs_create
from webapp.live import stream
from webapp.operators.models import Operator
from webapp.operators.schemas import OperatorCreate
from webapp.operators.services import operator_create
from webapp.preview import catalog, pool
from webapp.workspaces.models import Workspace
from webapp.workspaces.services import personal_workspace_ensure

FAKE_CORE = "tests.webapp.fake_core"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own for this test process; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    argv = [str(find_binary()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    client = redis.Redis.from_url(url)
    deadline = time.monotonic() + 10
    while True:
        try:
            client.ping()
            break
        except redis.ConnectionError:
            assert time.monotonic() < deadline, "the test's Redis server did not start"
            time.sleep(0.02)
    yield url
    process.terminate()
    process.wait(timeout=10)


@pytest.fixture(scope="session", autouse=True)
def _fast_passwords() -> None:
    """Real password hashing takes 0.4 s a person, by design."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    hashers.get_hashers.cache_clear()


@pytest.fixture(autouse=True)
def _own_redis(redis_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", redis_server)
    caches.settings["default"]["LOCATION"] = redis_server
    if hasattr(caches._connections, "default"):
        del caches["default"]  # it was opened with another address
    stream.client().flushall()
    catalog.forget()


@dataclass(frozen=True)
class Someone:
    """A signed-in person with a browser."""

    user: User
    workspace: Workspace
    client: Client


@pytest.fixture
def person(db: None) -> Callable[[str], Someone]:
    """Makes people: person("ada")."""

    def make(name: str) -> Someone:
        user = User.objects.create_user(name, password=f"{name}-pass-phrase")
        client = Client()
        client.force_login(user)
        return Someone(user, personal_workspace_ensure(user), client)

    return make


@pytest.fixture
def owner(person: Callable[[str], Someone]) -> Someone:
    return person("owner")


@pytest.fixture
def stranger(person: Callable[[str], Someone]) -> Someone:
    return person("stranger")


@pytest.fixture
def ask(owner: Someone) -> Callable[..., Job]:
    """Queues a job of the owner: ask("tune", source="...")."""

    def make(kind: str = "check", target: str = "c", source: str = "Y[i] = X[i]", **more: object) -> Job:
        body = JobCreate.model_validate({"kind": kind, "targets": [target], "source": source, **more})
        return jobs_create(owner.workspace, owner.user, body)[0]

    return make


@pytest.fixture
def operator(owner: Someone) -> Operator:
    body = OperatorCreate(name="Softmax", source="Y = softmax(X)", shapes={"X": "4x8:f32"})
    return operator_create(owner.workspace, owner.user, body)


@pytest.fixture
def fake_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[pool.PreviewPool]:
    """The server's preview pool with one child that runs the stand-in core."""
    made = pool.PreviewPool(1, settings.PREVIEW_MEMORY_BYTES, facade=FAKE_CORE)
    monkeypatch.setattr(pool, "_pool", made)
    yield made
    made.close()
