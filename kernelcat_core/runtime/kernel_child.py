"""What a sandboxed kernel process does: map the arrays, load the shared object, call its entry, time it.

Runs in a fork of the zygote after `confine`; standard library only. Everything here shares a process with the kernel,
so its report is a claim: the parent checks inputs, red zones and outputs itself.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

PAGE = mmap.PAGESIZE
_PROT_NONE = 0


class EntryError(Exception):
    """The entry is missing, or returned a status other than 0."""


def run(request: dict[str, Any], arena_fd: int, library_fd: int) -> dict[str, Any]:
    """Run one kernel request (see runner.py for its fields) and return its report.

    `arena_fd` holds every tensor at the request's byte offsets. In a guarded run the pages between tensors are made
    inaccessible; a timed run works on private huge pages and copies the arena back at the end.
    """
    size = int(request["arena_bytes"])
    shared = mmap.mmap(arena_fd, size)
    base = _address(shared)
    arena = shared
    if request["repeats"]:
        arena = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            arena.madvise(mmap.MADV_HUGEPAGE)
        ctypes.memmove(_address(arena), base, size)
    else:
        libc = ctypes.CDLL(None)
        for page in request["guard_pages"]:
            libc.mprotect(ctypes.c_void_p(base + page * PAGE), ctypes.c_size_t(PAGE), _PROT_NONE)
    for name, value in request["environment"].items():
        os.environ[name] = value
    library = ctypes.CDLL(f"/proc/self/fd/{library_fd}")
    set_threads(library, int(request["threads"]))
    start = _address(arena)
    call = entry_call(library, request["entry"], [start + offset for offset in request["offsets"]], request["sizes"])
    call()
    outputs = [(start + offset, nbytes, byte) for offset, nbytes, byte in request["outputs"]]

    def forget() -> None:
        for address, nbytes, byte in outputs:
            ctypes.memset(address, byte, nbytes)

    samples, calls = timed(call, forget, request["warmup"], request["repeats"], request["minimum_sample_s"],
                           request["budget_s"])
    if arena is not shared:
        ctypes.memmove(base, start, size)
    return {"samples_s": samples, "calls_per_sample": calls}


def run_witnessed(request: dict[str, Any], arena_fd: int, library_fd: int) -> None:
    """Serve a witness (keeper.py): stop, call the entry once when continued, stop again, for ever.

    The keeper fills the arena while this process is stopped and takes the time from outside; it ends this process.
    """
    size = int(request["arena_bytes"])
    shared = mmap.mmap(arena_fd, size)
    start = _address(shared)
    ctypes.memset(start, 0, size)  # every page is there, so that no fault is timed
    for name, value in request["environment"].items():
        os.environ[name] = value
    library = ctypes.CDLL(f"/proc/self/fd/{library_fd}")
    set_threads(library, int(request["threads"]))
    call = entry_call(library, request["entry"], [start + offset for offset in request["offsets"]], request["sizes"])
    while True:
        signal.raise_signal(signal.SIGSTOP)
        call()


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def set_threads(library: ctypes.CDLL, threads: int) -> None:
    """Tell the library how many threads to use, if it exports `int kc_threads`."""
    try:
        ctypes.c_int.in_dll(library, "kc_threads").value = threads
    except ValueError:
        return  # a kernel without threads of its own


class entry_call:  # noqa: N801  (used like a function: it is the call)
    """`call()` runs `int entry(void **tensors, const int64_t *sizes)` once; raises EntryError unless it returns 0."""

    def __init__(self, library: ctypes.CDLL, entry: str, addresses: Sequence[int], sizes: Sequence[int]) -> None:
        try:
            self.function = getattr(library, entry)
        except AttributeError:
            raise EntryError(f"the shared object exports no function {entry!r}") from None
        self.function.restype = ctypes.c_int
        self.function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self.library = library
        self.tensors = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self.sizes = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)

    def __call__(self) -> None:
        status = self.function(self.tensors, self.sizes)
        if status != 0:
            raise EntryError(last_error(self.library) or f"the kernel returned status {status}")


def last_error(library: ctypes.CDLL) -> str:
    """The message of `const char *kc_last_error(void)` where the library exports it, else ""."""
    try:
        function = library.kc_last_error
    except AttributeError:
        return ""
    function.restype = ctypes.c_char_p
    text = function()
    return text.decode("utf-8", "replace") if text else ""


def timed(call: entry_call, forget: Callable[[], None], warmup: int, repeats: int, minimum_sample_s: float,
          budget_s: float) -> tuple[list[float], int]:
    """Seconds per call of each sample, and how many calls a sample holds so that it lasts `minimum_sample_s`.

    `forget` poisons the outputs before every sample, so that what is compared afterwards was computed while timed.
    Stops early, with at least one sample, when `budget_s` seconds are spent.
    """
    if repeats == 0:
        return [], 0
    started = time.perf_counter()
    shortest = float("inf")
    for _ in range(max(1, warmup)):
        before = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - before)
        if time.perf_counter() - started > budget_s / 2:
            break
    calls = max(1, min(100_000, round(minimum_sample_s / max(shortest, 1e-7))))
    samples: list[float] = []
    for _ in range(repeats):
        forget()
        before = time.perf_counter()
        for _ in range(calls):
            call()
        now = time.perf_counter()
        samples.append((now - before) / calls)
        if now - started > budget_s:
            break
    return samples, calls
