"""Starting the child that runs the core: its environment, its pipes, its end."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from kernelcat_core.errors import KernelcatError
from workers.process_tree import kill_tree

ROOT = Path(__file__).resolve().parents[1]
# No database, broker or secret reaches the child.
KEPT_VARIABLES = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES", "KERNELCAT_CACHE", "KERNELCAT_CACHE_BYTES", "KC_NUM_THREADS", "KC_DEBUG",
)  # fmt: skip
FACADE = "kernelcat_core.api"
LINES_WAITING = 1000
LINE_LIMIT = 8 << 20

Event = dict[str, Any]


def child_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"}


class CoreProcess:
    """One child in a session of its own. `events` gets what it says, then {"event": "exit", "status": n}."""

    def __init__(self, spec: dict[str, Any], facade: str = FACADE) -> None:
        self.events: queue.Queue[Event] = queue.Queue(LINES_WAITING)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workers.child", facade],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=child_environment(),
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdin.write(json.dumps(spec).encode())
        self._process.stdin.close()
        readers = [
            threading.Thread(target=self._read_events, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_log, args=(self._process.stderr,), daemon=True),
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._await_end, args=(readers,), daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """Kills the child and everything below it."""
        if self._process.poll() is None:
            kill_tree(self._process.pid)

    def _read_events(self, pipe: IO[bytes]) -> None:
        for line in iter(lambda: pipe.readline(LINE_LIMIT), b""):
            try:
                event = json.loads(line)
            except ValueError:
                event = {"event": "log", "stream": "out", "text": line.decode("utf-8", "replace")[:2000]}
            self.events.put(event)

    def _read_log(self, pipe: IO[bytes]) -> None:
        for line in iter(lambda: pipe.readline(2000), b""):
            self.events.put({"event": "log", "stream": "err", "text": line.decode("utf-8", "replace")})

    def _await_end(self, readers: list[threading.Thread]) -> None:
        status = self._process.wait()
        for reader in readers:
            reader.join()
        self.events.put({"event": "exit", "status": status})


def core_call(spec: dict[str, Any], seconds: float, facade: str = FACADE) -> Any:
    """One call whose outcome is all that matters. Raises KernelcatError: KC-X008 too slow, KC-X012 died, its own."""
    child = CoreProcess(spec, facade)
    deadline = time.monotonic() + seconds
    log: list[str] = []
    try:
        while (left := deadline - time.monotonic()) > 0:
            try:
                event = child.events.get(timeout=left)
            except queue.Empty:
                break
            if event["event"] == "finished":
                return event["outcome"]
            if event["event"] == "failed":
                raise KernelcatError(event["error"]["code"], event["error"]["message"], hint=event["error"]["hint"])
            if event["event"] == "exit":
                said = "".join(log[-5:])
                raise KernelcatError("KC-X012", f"The core's process ended with status {event['status']}: {said}")
            if event["event"] == "log":
                log.append(event["text"])
        raise KernelcatError("KC-X008", f"The core did not answer within {seconds:g} s.")
    finally:
        child.kill()
