"""The sandboxed runner: every compiler call and every untrusted kernel goes through here.

    run_kernel(KernelJob) -> KernelOutcome | Failure        call the entry of a shared object on arrays
    run_command(CommandJob) -> CommandOutcome | Failure     run a compiler in a scratch folder

Contract of a host entry: `extern "C" int ENTRY(void **tensors, const int64_t *sizes)`. `tensors` are the inputs, then
the outputs, each a pointer to a contiguous array (a scalar is an array of one element), aligned to 64 bytes; `sizes`
are the values of the size symbols in declared order. It returns 0, or another status with a message in the optional
`const char *kc_last_error(void)`. Threads: the optional `int kc_threads` is set, and the environment's KC_NUM_THREADS.

The kernel's process is not trusted. Inputs, red zones around every tensor and outputs are compared here, in memory
that the process can no longer reach; its sample times are a claim that measure.py checks against physics.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.runtime import arena as memory
from kernelcat_core.runtime import client
from kernelcat_core.runtime.arena import ALIGNMENT as ALIGNMENT
from kernelcat_core.runtime.arena import INTEGER_POISON as INTEGER_POISON
from kernelcat_core.runtime.arena import POISON as POISON
from kernelcat_core.runtime.arena import Array as Array
from kernelcat_core.runtime.arena import TensorSpec as TensorSpec

TOOL_CACHE = "toolcache"
MOST_WORDS = 2000
"""Characters of an error message that a kernel may write."""
_MIB = 1 << 20
_OUTSIDE = "it touched memory outside its tensors"
_CRASHES = {
    signal.SIGSEGV: _OUTSIDE,
    signal.SIGBUS: _OUTSIDE,
    signal.SIGILL: "it used an instruction that this processor lacks",
    signal.SIGFPE: "an integer was divided by zero",
    signal.SIGABRT: "it aborted",
    signal.SIGKILL: "the machine is probably out of memory",
}


@dataclass(frozen=True)
class Needs:
    """What a library needs beyond a plain kernel: `readable`, files and folders that it loads; with `scratch_bytes` > 0 an
    empty folder, its working folder, for files of up to that size; `memory_bytes` of address space and `threads` of its own
    (a driver that compiles)."""

    readable: tuple[str, ...] = ()
    scratch_bytes: int = 0
    memory_bytes: int = 0
    threads: int = 0


@dataclass(frozen=True)
class KernelJob:
    """One run of a compiled host entry.

    With `repeats` 0 the entry is called once between inaccessible guard pages. With `repeats` > 0 it is called once,
    then `warmup` times, then timed: `repeats` samples, each at least `minimum_sample_s` long, for about `budget_s`.
    `memory_bytes` is beyond the tensors. `environment` is passed to the kernel (thread-order switches of a twin, say).
    """

    library: Path
    entry: str
    inputs: tuple[Array, ...]
    outputs: tuple[TensorSpec, ...]
    sizes: tuple[int, ...] = ()
    threads: int = 1
    repeats: int = 0
    warmup: int = 2
    minimum_sample_s: float = 2e-4
    budget_s: float = 5.0
    timeout_s: float = 20.0
    memory_bytes: int = 1 << 30
    environment: tuple[tuple[str, str], ...] = ()
    needs: Needs = Needs()


@dataclass(frozen=True)
class KernelOutcome:
    """A run that ended well. `samples_s` are seconds per call, as the kernel's own process claims them."""

    outputs: tuple[Array, ...]
    samples_s: tuple[float, ...]
    calls_per_sample: int
    log: str
    layers: tuple[str, ...]
    wall_s: float
    peak_bytes: int


@dataclass(frozen=True)
class CommandJob:
    """One compiler call. `files` (name -> text) are laid into an empty scratch folder, the working folder.

    `argv[0]` is an absolute path; `readable` are more folders it may read; `results` names the files to return.
    `tool_cache` is a folder that the run gets a copy of (TOOL_CACHE in its scratch folder); with `fill_tool_cache`,
    for texts of our own only, that folder is made from what the run leaves there.
    """

    argv: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    results: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 60.0
    memory_bytes: int = 4 << 30
    file_bytes: int = 256 * _MIB
    processes: int = 128
    output_bytes: int = 4 * _MIB
    tool_cache: Path | None = None
    fill_tool_cache: bool = False


@dataclass(frozen=True)
class CommandOutcome:
    """How a command ended: its status, its output (both streams), the result files that it left (name -> bytes)."""

    status: int
    output: str
    results: dict[str, bytes] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    wall_s: float = 0.0


def run_kernel(job: KernelJob, *, should_stop: Callable[[], bool] | None = None) -> KernelOutcome | Failure:
    """Run one kernel in the sandbox.

    Failures: KC-M001 it crashed, reported an error, or wrote outside its tensors; KC-M002 time limit; KC-M003 it
    changed its inputs; KC-M005 it printed too much; KC-M006 cancelled. Raises KernelcatError KC-X001 / KC-X002 when
    the sandbox itself is missing or broken.
    """
    inputs = tuple(np.ascontiguousarray(array) for array in job.inputs)
    sizes = tuple(array.nbytes for array in inputs) + tuple(spec.nbytes for spec in job.outputs)
    where = memory.layout(sizes, guarded=job.repeats == 0)
    blanks = memory.unwritten(job.outputs, where.offsets[len(inputs):])
    arena_fd = os.memfd_create("kernelcat-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    library_fd = os.open(job.library, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.ftruncate(arena_fd, where.arena_bytes)
        memory.seal(arena_fd)
        image = np.frombuffer(mmap.mmap(arena_fd, where.arena_bytes), dtype=np.uint8)  # unmapped with its last view
        memory.fill(image, inputs, where.offsets[:len(inputs)], blanks)
        with _scratch(job) as place:
            request = _kernel_request(job, where, blanks) | place
            answer = client.run(request, [arena_fd, library_fd], should_stop=should_stop)
        return _kernel_outcome(job, inputs, where, image, answer)
    finally:
        os.close(arena_fd)
        os.close(library_fd)


@contextlib.contextmanager
def _scratch(job: KernelJob) -> Iterator[dict[str, Any]]:
    """The parts of a request that say where a run works and who it is; its folder goes when it ends."""
    uid = client.fresh_uid() if all(map(reachable_by_others, filter(os.path.exists, job.needs.readable))) else None
    if not job.needs.scratch_bytes:
        yield {"cwd": "/", "writable": [], "uid": uid}
        return
    with tempfile.TemporaryDirectory(prefix="kernelcat-", ignore_cleanup_errors=True) as folder:
        if uid is not None:
            os.chown(folder, uid, uid)
        yield {"cwd": folder, "writable": [folder], "uid": uid}


def kernel_limits(threads: int, timeout_s: float, memory_bytes: int) -> dict[str, Any]:
    """What a kernel's process may use, as sandbox.Limits takes it."""
    return {"cpu_seconds": int(timeout_s * max(1, threads)) + 2, "memory_bytes": memory_bytes + 256 * _MIB,
            "file_bytes": 0, "processes": _threads_limit(threads + 16), "open_files": 64, "address_space": True}


def kernel_environment(threads: int, extra: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {"KC_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "LANG": "C.UTF-8", **dict(extra)}


def _kernel_request(job: KernelJob, where: memory.Layout, blanks: list[tuple[int, int, int]]) -> dict[str, Any]:
    private_copy = where.arena_bytes if job.repeats else 0
    space = job.memory_bytes + job.needs.memory_bytes + where.arena_bytes + private_copy
    limits = kernel_limits(job.threads, job.timeout_s, space)
    limits["file_bytes"] = job.needs.scratch_bytes
    limits["processes"] = _threads_limit(job.threads + job.needs.threads + 16)
    return {"kind": "kernel", "entry": job.entry, "sizes": list(job.sizes), "offsets": list(where.offsets),
            "arena_bytes": where.arena_bytes, "guard_pages": list(where.guard_pages), "threads": job.threads,
            "outputs": blanks, "repeats": job.repeats, "warmup": job.warmup,
            "minimum_sample_s": job.minimum_sample_s,
            "budget_s": job.budget_s, "timeout_s": job.timeout_s, "limits": limits,
            "environment": kernel_environment(job.threads, job.environment),
            "readable": list(job.needs.readable), "output_bytes": _MIB}


def _threads_limit(own: int) -> int:
    """RLIMIT_NPROC counts everything a user runs: exact for a fresh user id, generous for a shared one."""
    return own if os.geteuid() == 0 else 4096


def _kernel_outcome(job: KernelJob, inputs: tuple[Array, ...], where: memory.Layout, image: Array,
                    answer: client.Answer) -> KernelOutcome | Failure:
    failure = ended_badly(answer, "the kernel", "KC-M001", "KC-M002", job.timeout_s)
    if failure is not None:
        return failure
    said = report(answer)
    samples, calls = _claimed(said)
    if answer.exit != 0 or samples is None:
        return Failure("KC-M001", f"the kernel failed: {words(said, answer.exit)}", answer.output)
    failure = tampered(inputs, where, image, answer.output)
    if failure is not None:
        return failure
    outputs = memory.read(image, job.outputs, where.offsets[len(inputs):])
    return KernelOutcome(outputs, samples, calls, answer.output, client.layers(), answer.wall_s, answer.peak_bytes)


def _claimed(said: dict[str, Any]) -> tuple[tuple[float, ...] | None, int]:
    """The sample times and calls a sample that a kernel's process claims; (None, 0) unless they are that."""
    samples, calls = said.get("samples_s"), said.get("calls_per_sample")
    if not isinstance(samples, list) or not isinstance(calls, int):
        return None, 0
    if not all(isinstance(s, (int, float)) and 0 <= s < 1e9 for s in samples):
        return None, 0
    return tuple(float(s) for s in samples), calls


def words(said: dict[str, Any], status: int) -> str:
    """Why a kernel's process failed, in its own words where it left any; they are cut to a readable length."""
    text = str(said.get("error") or f"the kernel's process ended with status {status}")
    return text if len(text) <= MOST_WORDS else text[:MOST_WORDS] + "..."


def tampered(inputs: tuple[Array, ...], where: memory.Layout, image: Array, output: str) -> Failure | None:
    """KC-M001 for poison that is gone around a tensor, KC-M003 for an input that changed."""
    written = memory.written_outside(image, where)
    if written is not None:
        name = f"input {written}" if written < len(inputs) else f"output {written - len(inputs)}"
        return Failure("KC-M001", f"the kernel wrote outside {name}", output,
                       "check the bounds of its last block on sizes that are no multiple of the tile")
    different = memory.changed(image, inputs, where.offsets[:len(inputs)])
    return None if different is None else Failure("KC-M003", f"the kernel changed input {different}", output)


def ended_badly(answer: client.Answer, who: str, crash_code: str, time_code: str, timeout_s: float) -> Failure | None:
    """The failure that the way a process ended implies, if any; an ordinary exit status is the caller's to judge."""
    if answer.verdict == "cancelled":
        return Failure("KC-M006", f"{who} was cancelled", answer.output)
    if answer.verdict == "timeout" or answer.exit == -signal.SIGXCPU:
        return Failure(time_code, f"{who} ran past its limit of {timeout_s:g} s", answer.output)
    if answer.verdict == "too much output" or answer.exit == -signal.SIGXFSZ:
        return Failure("KC-M005", f"{who} wrote more output than is allowed", answer.output[:2000])
    if answer.sandbox:
        raise KernelcatError("KC-X001", f"a layer of the sandbox failed: {answer.sandbox}")
    if answer.exit < 0:
        ended_by = signal.Signals(-answer.exit)
        cause = _CRASHES.get(ended_by, "it crashed") if crash_code == "KC-M001" else "it crashed"
        return Failure(crash_code, f"{who} was ended by {ended_by.name}: {cause}", answer.output)
    return None


def report(answer: client.Answer) -> dict[str, Any]:
    """The child's report; {} when it is missing or not a JSON object (the child is not trusted)."""
    try:
        parsed = json.loads(answer.report)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def run_command(job: CommandJob, *, should_stop: Callable[[], bool] | None = None) -> CommandOutcome | Failure:
    """Run one compiler in the sandbox with a scratch folder of its own.

    A status other than 0 is an outcome, not a failure. Failures: KC-B001 it crashed; KC-B003 time limit; KC-M005 too
    much output; KC-M006 cancelled.
    """
    request = {"kind": "command", "argv": list(job.argv)}
    return _in_scratch(job, request, reachable_by_others(job.argv[0]), should_stop)


def run_nvrtc(job: CommandJob, library: str, source_file: str, options: tuple[str, ...], *,
              should_stop: Callable[[], bool] | None = None) -> CommandOutcome | Failure:
    """Compile CUDA C++ with NVRTC in the sandbox; `job` gives files, results and limits, its argv is not used."""
    request = {"kind": "nvrtc", "library": library, "source_file": source_file, "options": list(options)}
    return _in_scratch(job, request, reachable_by_others(library), should_stop)


def reachable_by_others(path: str) -> bool:
    """Whether a user without rights can open `path`; if not, its run keeps our identity (Landlock still holds)."""
    real = Path(path).resolve()
    return all(folder.stat().st_mode & 0o001 for folder in real.parents) and bool(real.stat().st_mode & 0o004)


def _in_scratch(job: CommandJob, extra: dict[str, Any], reachable: bool,
                should_stop: Callable[[], bool] | None) -> CommandOutcome | Failure:
    uid = client.fresh_uid() if reachable else None
    with tempfile.TemporaryDirectory(prefix="kernelcat-", ignore_cleanup_errors=True) as scratch:
        for name, text in job.files:
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        if job.tool_cache is not None and job.tool_cache.is_dir():
            shutil.copytree(job.tool_cache, Path(scratch) / TOOL_CACHE)
        if uid is not None:
            _give(Path(scratch), uid)
        limits = {"cpu_seconds": int(job.timeout_s) + 2, "memory_bytes": job.memory_bytes,
                  "file_bytes": job.file_bytes, "processes": _threads_limit(job.processes), "open_files": 1024,
                  "address_space": False}
        environment = {"PATH": os.defpath, "TMPDIR": scratch, "HOME": scratch, "LANG": "C",
                       **dict(job.environment)}
        request = {**extra, "timeout_s": job.timeout_s, "limits": limits, "environment": environment, "cwd": scratch,
                   "readable": list(job.readable), "writable": [scratch], "uid": uid,
                   "output_bytes": job.output_bytes}
        answer = client.run(request, should_stop=should_stop)
        failure = ended_badly(answer, "the compiler", "KC-B001", "KC-B003", job.timeout_s)
        if failure is not None:
            return failure
        if job.tool_cache is not None and job.fill_tool_cache and answer.exit == 0:
            _keep(Path(scratch) / TOOL_CACHE, job.tool_cache)
        contents = ((name, _read_result(Path(scratch) / name, job)) for name in job.results)
        results = {name: content for name, content in contents if content is not None}
        return CommandOutcome(answer.exit, answer.output, results, report(answer), answer.wall_s)


def _give(folder: Path, uid: int) -> None:
    os.chown(folder, uid, uid)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place) / name, uid, uid, follow_symlinks=False)


def _keep(left: Path, tool_cache: Path) -> None:
    """Make `tool_cache` from a run's folder, whole or not at all; the first of several runs wins."""
    if tool_cache.exists() or not left.is_dir():
        return
    tool_cache.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=tool_cache.parent))
    try:
        # z/ holds parsed sources of zig's own library, needed only while this cache is being filled.
        shutil.copytree(left, staging / "kept", symlinks=True, ignore=shutil.ignore_patterns("z", "tmp"))
        with contextlib.suppress(OSError):
            (staging / "kept").rename(tool_cache)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _read_result(path: Path, job: CommandJob) -> bytes | None:
    """A result file's bytes; None unless it is a plain file of the sandbox's making (never a link out of it)."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not os.path.isfile(fd):
            return None
        return file.read(job.file_bytes)
