"""`kernelcat up` leaves no process behind, whoever is killed and however."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.supervise import processes, redis_server, services

TREE = Path(__file__).parent / "tree.py"
NAMES = ["front", "inner"] + [f"{service}{suffix}" for service in ("redis", "worker", "web")
                              for suffix in ("", "-child", "-child-child")]


def alive(pid: int) -> bool:
    try:
        state = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for_end(pids: list[int], seconds: float) -> list[int]:
    """The process ids that are still alive after `seconds`, [] as soon as none is."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


class Tree:
    """A running supervisor: its processes by name, and what started it."""

    def __init__(self, folder: Path, in_between: bool) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
        if in_between:
            environment["IN_BETWEEN"] = "1"
        self.started = subprocess.Popen([sys.executable, str(TREE), str(folder), str(redis_server.free_port())],
                                        env=environment, start_new_session=True)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.started.poll() is None:
            present = [name for name in NAMES if (folder / name).exists() and (folder / name).read_text()]
            if len(present) == len(NAMES):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        self.pids = {name: int((folder / name).read_text()) for name in NAMES}

    def end(self) -> None:
        for pid in (*self.pids.values(), self.started.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.started.wait()


@pytest.fixture
def tree(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Tree]:
    running = Tree(tmp_path, in_between=getattr(request, "param", False))
    yield running
    running.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_end_of_the_front_process_ends_everything(tree: Tree, number: signal.Signals) -> None:
    assert all(alive(pid) for pid in tree.pids.values())
    os.kill(tree.pids["front"], number)
    tree.started.wait(15)
    assert wait_for_end(list(tree.pids.values()), 10) == []
    if number != signal.SIGKILL:
        assert tree.started.returncode == 0


def test_the_end_of_the_inner_process_ends_everything(tree: Tree) -> None:
    os.kill(tree.pids["inner"], signal.SIGKILL)
    tree.started.wait(15)
    assert wait_for_end(list(tree.pids.values()), 10) == []
    assert tree.started.returncode == 1


@pytest.mark.parametrize("tree", [True], indirect=True)
def test_the_end_of_the_parent_ends_everything(tree: Tree) -> None:
    assert tree.pids["front"] != tree.started.pid
    tree.started.kill()
    tree.started.wait()
    assert wait_for_end(list(tree.pids.values()), 10) == []


def test_a_service_that_ends_is_started_again(tree: Tree, tmp_path: Path) -> None:
    os.kill(tree.pids["web"], signal.SIGKILL)
    deadline = time.monotonic() + 10
    again = tree.pids["web"]
    while again == tree.pids["web"] and time.monotonic() < deadline:
        time.sleep(0.05)
        again = int((tmp_path / "web").read_text() or tree.pids["web"])
    assert alive(again)
    os.kill(tree.pids["front"], signal.SIGTERM)
    assert wait_for_end([*tree.pids.values(), again], 10) == []


def test_a_port_in_use_is_said_before_anything_starts(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(KernelcatError) as caught:
            services.up(port=port, home=tmp_path)
    assert caught.value.code == "KC-X003"
    assert f"PORT={port + 1}" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_adopted_orphans_are_collected_and_own_children_left() -> None:
    own = subprocess.Popen(["/bin/true"])
    orphan = os.fork()
    if orphan == 0:
        os._exit(0)
    deadline = time.monotonic() + 5
    while (alive(orphan) or alive(own.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    processes.reap_adopted({own.pid})
    assert own.wait() == 0  # its status was left to us
    processes.reap_adopted(())  # the kernel may have named our own child first
    with pytest.raises(ChildProcessError):
        os.waitpid(orphan, os.WNOHANG)


def test_descendants_are_found_at_every_depth() -> None:
    script = "sleep 30 & sh -c 'sleep 30 & wait' & wait"
    child = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    try:
        deadline = time.monotonic() + 5
        while len(processes.descendants(child.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(processes.descendants(child.pid)) == 3
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
