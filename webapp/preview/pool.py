"""A pool of killable child processes that answer previews.

Each place in the pool is a thread that owns one child: it writes a request line, waits for the reply line, and kills and
replaces a child that is too slow. Callers get a `concurrent.futures.Future`, so both synchronous and asynchronous views
can wait without blocking an event loop. (The thread also keeps the child alive: a parent-death signal fires when the
*thread* that started a process ends.)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings

from webapp.common.errors import WebError

log = structlog.get_logger(__name__)
ROOT = Path(__file__).resolve().parents[2]
FACADE = "kernelcat_core.api"
WAITING_LIMIT = 64
START_SECONDS = 60.0
REPLY_LIMIT_BYTES = 32 << 20
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "KERNELCAT_CACHE")


class RemoteError(WebError):
    """A coded error that a child answered with; `to_dict` is the child's own."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body["code"], body["message"], hint=body.get("hint", ""))
        self._body = body

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), **self._body}


class ChildGone(Exception):
    """The child ended or was killed; `timed_out` says which."""

    def __init__(self, timed_out: bool) -> None:
        super().__init__("timed out" if timed_out else "ended")
        self.timed_out = timed_out


def child_environment() -> dict[str, str]:
    """What a child may know: no secrets, one thread for linear algebra."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


class Child:
    """One child process and its two pipes."""

    def __init__(self, facade: str, memory_bytes: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "webapp.preview.child", facade, str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=child_environment(),
            start_new_session=True,
        )
        self._buffer = b""
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._read_line(START_SECONDS)  # it says when its imports are done

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: bytes, seconds: float) -> dict[str, Any]:
        """One request and its reply; raises ChildGone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ChildGone(timed_out=False) from error
        reply: dict[str, Any] = json.loads(self._read_line(seconds))
        return reply

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was still buffered for a dead child
                    continue

    def _read_line(self, seconds: float) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                raise ChildGone(timed_out=True)
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk or len(self._buffer) > REPLY_LIMIT_BYTES:
                raise ChildGone(timed_out=False)
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


Request = tuple[bytes, float, "Future[Any]"]


class PreviewPool:
    """`size` children, started on first use. Thread-safe."""

    def __init__(self, size: int, memory_bytes: int, facade: str = FACADE) -> None:
        self._size = size
        self._memory_bytes = memory_bytes
        self._facade = facade
        self._requests: queue.Queue[Request | None] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._children: set[int] = set()

    @property
    def child_pids(self) -> frozenset[int]:
        return frozenset(self._children)

    def submit(self, call: str, arguments: Mapping[str, Any], seconds: float) -> Future[Any]:
        """Queues one facade call. The future raises RemoteError for the core's errors, WebError (KC-X006 too slow,
        KC-X007 the child died, KC-X011 too many are waiting) for ours."""
        if self._requests.qsize() >= WAITING_LIMIT:
            raise WebError("KC-X011", "Too many previews are waiting.")
        future: Future[Any] = Future()
        line = json.dumps({"call": call, "arguments": arguments}).encode()
        self._requests.put((line, seconds, future))
        self._add_thread()
        return future

    def start(self) -> None:
        """Starts all children now, for a server that expects people; otherwise the first requests do."""
        for _ in range(self._size):
            self._add_thread(eager=True)

    def _add_thread(self, *, eager: bool = False) -> None:
        with self._lock:
            if len(self._threads) < self._size:
                name = f"preview-{len(self._threads)}"
                thread = threading.Thread(target=self._serve, args=(eager,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Ends all children once they have answered."""
        with self._lock:
            for _ in self._threads:
                self._requests.put(None)
            for thread in self._threads:
                thread.join(timeout=10)
            self._threads.clear()

    def _serve(self, eager: bool) -> None:
        child: Child | None = None
        if eager:
            with contextlib.suppress(ChildGone):  # the first request will try again, and tell somebody
                child = self._start()
        while (request := self._requests.get()) is not None:
            line, seconds, future = request
            if not future.set_running_or_notify_cancel():
                continue  # the person typed on and nobody waits any more
            try:
                child = child or self._start()
                reply = child.ask(line, seconds)
            except Exception as error:
                if child is not None:
                    self._drop(child)
                child = None
                future.set_exception(_gone_error(error, seconds) if isinstance(error, ChildGone) else error)
            else:
                if "error" in reply:
                    future.set_exception(RemoteError(reply["error"]))
                else:
                    future.set_result(reply["answer"])
        if child is not None:
            self._drop(child)

    def _start(self) -> Child:
        child = Child(self._facade, self._memory_bytes)
        self._children.add(child.pid)
        return child

    def _drop(self, child: Child) -> None:
        log.info("preview_child_ended", pid=child.pid)
        self._children.discard(child.pid)
        child.kill()


def _gone_error(gone: ChildGone, seconds: float) -> WebError:
    if gone.timed_out:
        return WebError("KC-X006", f"The preview took longer than {seconds:g} s and was stopped.")
    return WebError("KC-X007", "The preview process ended unexpectedly.")


_pool: PreviewPool | None = None
_pool_lock = threading.Lock()


def pool() -> PreviewPool:
    """The server process's pool."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = PreviewPool(settings.PREVIEW_PROCESSES, settings.PREVIEW_MEMORY_BYTES)
        return _pool


def shutdown() -> None:
    global _pool
    with _pool_lock:
        if _pool is not None:
            _pool.close()
        _pool = None


async def ask(call: str, arguments: Mapping[str, Any]) -> Any:
    """One call for an asynchronous view."""
    return await asyncio.wrap_future(pool().submit(call, arguments, settings.PREVIEW_SECONDS))
