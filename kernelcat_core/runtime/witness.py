"""Times that a kernel's own process has no part in: see keeper.py for how they are taken.

    run(WitnessedJob(...)) -> Witnessed | Failure

Every call gets memory and inputs of its own, which it never saw before; its outputs start as poison, and all of them
come back, so that the caller can compare any of them.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.runtime import arena as memory
from kernelcat_core.runtime import client, runner
from kernelcat_core.runtime.arena import Array, TensorSpec

_MIB = 1 << 20


@dataclass(frozen=True)
class WitnessedJob:
    """`samples` are the inputs of calls of a host entry, one call a sample.

    The process gets `threads` processors; `memory_bytes` is beyond the tensors.
    """

    library: Path
    entry: str
    samples: Sequence[tuple[Array, ...]]
    outputs: tuple[TensorSpec, ...]
    sizes: tuple[int, ...] = ()
    threads: int = 1
    timeout_s: float = 20.0
    memory_bytes: int = 1 << 30
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Witnessed:
    """Seconds and outputs of every sample. A time holds what stopping and continuing a process takes, about 15 us."""

    samples_s: tuple[float, ...]
    outputs: tuple[tuple[Array, ...], ...]
    wall_s: float


def arena_bytes(inputs: Sequence[Array], outputs: Sequence[TensorSpec]) -> int:
    """Bytes of the memory of one call, with its red zones."""
    return memory.layout(_sizes(inputs, outputs), guarded=False).arena_bytes


def run(job: WitnessedJob, *, should_stop: Callable[[], bool] | None = None) -> Witnessed | Failure:
    """Time a kernel. Failures are run_kernel's, and KC-M008 for a process that ran while it should be stopped. Raises
    KernelcatError KC-X001 / KC-X002 when the sandbox itself fails."""
    where = memory.layout(_sizes(job.samples[0], job.outputs), guarded=False)
    length = where.arena_bytes * len(job.samples)
    arena_fd, store_fd = (os.memfd_create(f"kernelcat-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                          for name in ("arena", "store"))
    library_fd = os.open(job.library, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.ftruncate(arena_fd, where.arena_bytes)
        os.ftruncate(store_fd, length)
        memory.seal(arena_fd)
        store = mmap.mmap(store_fd, length)  # unmapped when its last view is gone
        images = np.frombuffer(store, dtype=np.uint8).reshape(len(job.samples), where.arena_bytes)
        return _run(job, where, images, [arena_fd, library_fd, store_fd], should_stop)
    finally:
        for fd in (arena_fd, store_fd, library_fd):
            os.close(fd)


def _sizes(inputs: Sequence[Array], outputs: Sequence[TensorSpec]) -> tuple[int, ...]:
    return tuple(array.nbytes for array in inputs) + tuple(spec.nbytes for spec in outputs)


def _run(job: WitnessedJob, where: memory.Layout, images: Array, fds: list[int],
         should_stop: Callable[[], bool] | None) -> Witnessed | Failure:
    inputs_count = len(where.sizes) - len(job.outputs)
    places, out_places = where.offsets[:inputs_count], where.offsets[inputs_count:]
    blanks = memory.unwritten(job.outputs, out_places)
    for inputs, image in zip(job.samples, images, strict=True):
        memory.fill(image, inputs, places, blanks)
    answer = client.run(_request(job, where), fds, should_stop=should_stop)
    said = runner.report(answer)
    ended = said.get("exit")
    failure = runner.ended_badly(answer if ended is None else replace(answer, exit=int(ended)), "the kernel", "KC-M001",
                                 "KC-M002", job.timeout_s)
    if failure is not None:
        return failure
    if "samples_s" not in said:
        raise KernelcatError("KC-X002", f"the witness of a run failed with status {answer.exit}: {answer.output[-400:]}")
    if ended is not None:
        words = replace(answer, report=str(said.get("words", "")))
        return Failure("KC-M001", f"the kernel failed: {runner.words(runner.report(words), int(ended))}", answer.output)
    if said["resumed"]:
        return Failure("KC-M008", "the kernel's process ran while it should be stopped", answer.output)
    for inputs, image in zip(job.samples, images, strict=True):
        failure = runner.tampered(inputs, where, image, answer.output)
        if failure is not None:
            return failure
    outputs = tuple(memory.read(image, job.outputs, out_places) for image in images)
    return Witnessed(tuple(float(sample) for sample in said["samples_s"]), outputs, answer.wall_s)


def _request(job: WitnessedJob, where: memory.Layout) -> dict[str, object]:
    limits = runner.kernel_limits(job.threads, job.timeout_s, job.memory_bytes + where.arena_bytes)
    return {"kind": "witnessed", "entry": job.entry, "sizes": list(job.sizes), "offsets": list(where.offsets),
            "arena_bytes": where.arena_bytes, "samples": len(job.samples), "threads": job.threads,
            "timeout_s": job.timeout_s, "limits": limits,
            "environment": runner.kernel_environment(job.threads, job.environment), "cwd": "/", "readable": [],
            "writable": [], "uid": client.fresh_uid(), "output_bytes": _MIB}
