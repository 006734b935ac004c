"""The parent's side of the zygote: start it on first use, send it requests, wait for answers. Thread-safe.

One zygote per process; a fork of this process (a Celery child, say) starts its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernelcat_core.errors import KernelcatError
from kernelcat_core.runtime import sandbox

_REQUIRED = ("limits", "seccomp")
_STEP_S = 0.05
_MODULE = "kernelcat_core.runtime.zygote"


@dataclass(frozen=True)
class Answer:
    """What the zygote says about one run. `exit` is negative for a signal; `verdict` is "" unless we killed it; `report`
    comes from the run itself; `sandbox` says which layer could not be applied, if any."""

    exit: int
    verdict: str
    output: str
    report: str
    sandbox: str
    wall_s: float
    cpu_s: float
    peak_bytes: int


@dataclass
class _Zygote:
    owner: int
    process: subprocess.Popen[bytes]
    control: socket.socket
    layers: tuple[str, ...]


_lock = threading.Lock()
_zygote: _Zygote | None = None


def layers() -> tuple[str, ...]:
    """The layers that are active for sandboxed runs here. Raises KernelcatError KC-X001 where there is no sandbox."""
    return _ready().layers


def stop() -> None:
    """End the zygote and everything it runs; the next request starts a new one."""
    global _zygote
    with _lock:
        old, _zygote = _zygote, None
    if old is not None and old.owner == os.getpid():
        old.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            old.process.wait(2)
        if old.process.poll() is None:
            old.process.kill()
            old.process.wait()


def _ready() -> _Zygote:
    global _zygote
    with _lock:
        alive = _zygote is not None and _zygote.owner == os.getpid() and _zygote.process.poll() is None
        if not alive:
            _zygote = _start()
        assert _zygote is not None
        return _zygote


def _start() -> _Zygote:
    missing = [layer for layer in _REQUIRED if layer not in sandbox.available()]
    if missing:
        raise KernelcatError(
            "KC-X001", f"this machine has no sandbox for compilers and kernels (missing: {', '.join(missing)})",
            hint="run KernelCAT on Linux 5.4 or newer, x86-64 or aarch64 (WSL2 is fine)")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                   "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-m", _MODULE, str(theirs.fileno())],
        pass_fds=(theirs.fileno(),), env=environment, cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    theirs.close()
    ours.settimeout(20)
    try:
        hello = ours.recv(65536)
    except TimeoutError:
        hello = b""
    if not hello:
        process.kill()
        detail = (process.communicate()[1] or b"").decode("utf-8", "replace")
        raise KernelcatError("KC-X002", f"the sandbox process did not start: {detail[-400:] or 'no message'}")
    ours.settimeout(None)
    assert process.stderr is not None
    process.stderr.close()
    return _Zygote(os.getpid(), process, ours, tuple(json.loads(hello)["layers"]))


@cache
def _uid_range() -> tuple[int, int]:
    """User ids that belong to nobody: a wide range, or what a container with few ids has."""
    try:
        mapped = sum(int(line.split()[2]) for line in Path("/proc/self/uid_map").read_text().splitlines())
    except (OSError, ValueError, IndexError):
        mapped = 0
    return (1_000_000_000, 2_000_000_000) if mapped > 2_000_000_000 else (40_000, 60_000)


def fresh_uid() -> int | None:
    """A user id that owns nothing; None without root (the identity then stays).

    Drawn from so many that concurrent runs, of other processes too, do not share one: limits on processes and
    threads are counted by user.
    """
    return random.SystemRandom().randrange(*_uid_range()) if os.geteuid() == 0 else None


def run(request: dict[str, Any], fds: Sequence[int] = (), *,
        should_stop: Callable[[], bool] | None = None) -> Answer:
    """Send one request, wait for its answer. The zygote enforces the time limit; `should_stop` is asked 20 times a
    second and cancels. Raises KernelcatError KC-X001 / KC-X002 when the sandbox itself fails."""
    zygote = _ready()
    reply_read, reply_write = os.pipe()
    try:
        message = json.dumps(request).encode()
        socket.send_fds(zygote.control, [message], [reply_write, *fds])
    except OSError as error:
        os.close(reply_read)
        raise KernelcatError("KC-X002", f"the sandbox process does not answer: {error}") from error
    finally:
        os.close(reply_write)
    pieces: list[bytes] = []
    with os.fdopen(reply_read, "rb", buffering=0) as reply:
        while True:
            if should_stop is not None and not select.select([reply], [], [], _STEP_S)[0]:
                if should_stop():
                    return Answer(-9, "cancelled", "", "", "", 0.0, 0.0, 0)
                continue
            piece = reply.read(1 << 16)
            if not piece:
                break
            pieces.append(piece)
    if not pieces:
        raise KernelcatError("KC-X002", "the sandbox process died during a run", hint="try again; it is restarted")
    return Answer(**json.loads(b"".join(pieces)))
