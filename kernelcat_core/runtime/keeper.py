"""The witness of a timed kernel: it holds the data and the clock, and the kernel runs only while the clock does.

    fill the arena | start the clock, continue the kernel ... it stops itself, stop the clock | take the arena away

The kernel's process is stopped (SIGSTOP, every thread of it) whenever this process reads or writes the arena. Inputs do
not exist for it before the clock runs, and nothing that it computes after its stop is seen. It cannot continue itself:
the system call filter leaves it no way to be signalled later, and a change of its state while it should be stopped is
reported. Standard library only; runs in a fork of the zygote.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import time
from typing import Any

_MOST_WORDS = 1 << 14


def watch(pid: int, request: dict[str, Any], arena_fd: int, store_fd: int, words_fd: int) -> dict[str, Any]:
    """Run `samples` samples. `store_fd` holds an image of the arena for each; what the kernel left takes its place.

    Returns {"samples_s", "resumed"} when the kernel served them all, else also {"exit", "words"}: how its process
    ended, and what it wrote about that. The process is gone afterwards.
    """
    size, samples = int(request["arena_bytes"]), int(request["samples"])
    arena, store = mmap.mmap(arena_fd, size), mmap.mmap(store_fd, size * samples)
    here, images = _address(arena), _address(store)
    taken: list[float] = []
    ended = _until_stopped(pid)
    resumed = False
    for number in range(samples):
        if ended is not None:
            break
        ctypes.memmove(here, images + number * size, size)
        resumed = resumed or _moved(pid)
        before = time.perf_counter()
        os.kill(pid, signal.SIGCONT)
        ended = _until_stopped(pid)
        taken.append(time.perf_counter() - before)
        ctypes.memmove(images + number * size, here, size)
        resumed = resumed or (ended is None and _moved(pid))
    if ended is None:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED)
        return {"samples_s": taken, "resumed": resumed}
    return {"samples_s": taken, "resumed": resumed, "exit": ended, "words": _words(words_fd)}


def _until_stopped(pid: int) -> int | None:
    """Wait until every thread of the process is stopped: None; or until it ends: its status, negative for a signal."""
    state = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED)
    assert state is not None
    if state.si_code == os.CLD_STOPPED:
        return None
    return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def _moved(pid: int) -> bool:
    """Whether a process that was seen to stop has run since, or is gone."""
    return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _words(fd: int) -> str:
    """What is in the pipe of a process that has ended."""
    os.set_blocking(fd, False)
    try:
        return os.read(fd, _MOST_WORDS).decode("utf-8", "replace")
    except BlockingIOError:
        return ""


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))
