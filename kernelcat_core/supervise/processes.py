"""Process trees on Linux: start children that die with us, find and end every descendant. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent(signal_number: signal.Signals) -> None:
    """Receive `signal_number` when the parent ends; at once if it has ended already."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, signal_number)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal_number)


def become_subreaper() -> None:
    """Orphans among our descendants become our children, so that none can get away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def start(argv: Sequence[str], environment: Mapping[str, str], cwd: Path, output: int | IO[Any],
          stdin: int | IO[Any] = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own that is killed when this process ends, however it ends."""

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        die_with_parent(signal.SIGKILL)

    return subprocess.Popen(argv, env=dict(environment), cwd=cwd, stdin=stdin, stdout=output,
                            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=prepare)


def descendants(root: int) -> tuple[int, ...]:
    """Process ids of everything below `root`, zombies left out; () where there is no /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # pid (name) state parent ...; the name may hold spaces and parentheses
            state, parent = entry.read_text().rsplit(")", 1)[1].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(entry.parent.name))
    found: list[int] = []
    level = [root]
    while level:
        level = [child for pid in level for child in children.get(pid, ())]
        found += level
    return tuple(found)


def end_descendants(grace_s: float) -> None:
    """Ask every descendant of this process to end (SIGTERM), kill what is left after `grace_s`, reap them all."""
    me = os.getpid()
    for pid in descendants(me):
        _send(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := descendants(me)) and time.monotonic() < deadline:
        _reap()
        time.sleep(0.02)
    deadline = time.monotonic() + 5
    while (left := descendants(me)) and time.monotonic() < deadline:
        for pid in left:
            _send(pid, signal.SIGKILL)
        _reap()
        time.sleep(0.01)
    _reap()


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _reap() -> None:
    """Collect ended children, adopted ones too."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def reap_adopted(own: Container[int]) -> None:
    """Collect ended orphans that we adopted as a subreaper; children in `own` are left to whoever started them."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in own:
            os.waitpid(ended.si_pid, 0)
