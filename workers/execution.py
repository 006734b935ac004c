"""Running one claimed job: the child's events go to the hub, the hub's wishes (cancel, lease lost) go to the child."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from kernelcat_core.errors import KernelcatError
from webapp.jobs import states
from webapp.jobs.port import ClaimedJob, JobPort, LeaseLost
from workers.core_process import FACADE, CoreProcess, Event
from workers.device_lock import DeviceLock

log = structlog.get_logger(__name__)
BATCH_S = 0.1  # how long events are gathered before they are written
BEAT_S = 0.5  # how often the hub is asked whether to go on
PROGRESS_S = 0.5  # how often progress is written at most
GRACE_S = 1.0  # how long what a child printed before its end may take to arrive
LIMIT_S = {"build": 300.0, "check": 600.0, "profile": 600.0, "tune": 3600.0}


@dataclass
class Batch:
    """Events of one round, sorted by what the hub does with them."""

    trials: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    others: list[Event] = field(default_factory=list)
    progress: Event | None = None
    last_word: Event | None = None
    status: int | None = None

    def add(self, event: Event) -> None:
        match event["event"]:
            case "trial":
                self.trials.append(event["trial"])
            case "log":
                self.lines.append((event["stream"], event["text"]))
            case "progress":
                self.progress = event
            case "finished" | "failed":
                self.last_word = event
            case "exit":
                self.status = event["status"]
            case _:
                self.others.append(event)


class JobRun:
    """One job from claim to end. `stopping` is set when the worker has to leave: the job is then given back."""

    def __init__(
        self,
        port: JobPort,
        job: ClaimedJob,
        stopping: threading.Event,
        *,
        limit_s: float | None = None,
        facade: str = FACADE,
    ) -> None:
        self._port = port
        self._job = job
        self._stopping = stopping
        self._limit_s = limit_s if limit_s is not None else LIMIT_S[job.kind]
        self._facade = facade
        self._progress_at = 0.0
        self._held_progress: Event | None = None

    def run(self) -> str:
        """The job's final state, or "released" / "lost" when another worker will have it."""
        try:
            lock = self._device()
            if lock is None:
                return self._end()
            try:
                return self._run_child()
            finally:
                lock.release()
        except LeaseLost:
            log.warning("lease_lost", job=self._job.id)
            return "lost"

    def _device(self) -> DeviceLock | None:
        """Waits for the device of a measuring job; None when the job should end instead."""
        lock = DeviceLock(self._job.target if self._job.kind in states.MEASURING_KINDS else self._job.id)
        told = False
        while not lock.try_acquire():
            if not told:
                self._port.progress(self._job, 0.0, "waiting for the device", None)
                told = True
            if self._stopping.wait(BEAT_S) or self._port.cancelled(self._job):
                return None
        return lock

    def _end(self) -> str:
        """Ends a job whose child is gone or never was: cancelled, or given back because the worker stops."""
        if self._port.cancelled(self._job):
            self._port.finish(self._job, states.CANCELLED)
            return states.CANCELLED
        self._port.release(self._job)
        return "released"

    def _run_child(self) -> str:
        job = self._job
        names = ("kind", "target", "source", "shapes", "config", "options")
        child = CoreProcess({name: getattr(job, name) for name in names}, self._facade)
        started = beat_at = time.monotonic()
        try:
            while True:
                batch = self._gather(child)
                self._report(batch)
                now = time.monotonic()
                if batch.last_word is not None:
                    self._report(self._rest(child))  # its log has a pipe of its own and may come later
                    return self._finish(batch.last_word)
                if batch.status is not None:
                    return self._fail("KC-X012", f"The core's process ended with status {batch.status}.",
                                      "This is our fault, not your kernel's. The log may say more.")  # fmt: skip
                if now - started > self._limit_s:
                    return self._fail("KC-X008", f"The job took longer than {self._limit_s:g} s and was stopped.",
                                      "Use smaller shapes or fewer trials.")  # fmt: skip
                if now - beat_at >= BEAT_S:
                    beat_at = now
                    if self._port.cancelled(job) or self._stopping.is_set():
                        child.kill()
                        self._report(self._rest(child))
                        return self._end()
        finally:
            child.kill()

    def _gather(self, child: CoreProcess) -> Batch:
        """What the child says within BATCH_S; returns at once after its last word."""
        batch = Batch()
        deadline = time.monotonic() + BATCH_S
        while (left := deadline - time.monotonic()) > 0 and batch.last_word is None and batch.status is None:
            try:
                batch.add(child.events.get(timeout=left))
            except queue.Empty:
                break
        return batch

    def _rest(self, child: CoreProcess) -> Batch:
        """What a child that has ended, or is about to, had said before."""
        batch = Batch()
        deadline = time.monotonic() + GRACE_S
        while batch.status is None and (left := deadline - time.monotonic()) > 0:
            try:
                batch.add(child.events.get(timeout=left))
            except queue.Empty:
                break
        return batch

    def _report(self, batch: Batch) -> None:
        job = self._job
        if batch.lines:
            self._port.log(job, batch.lines)
        if batch.trials:
            self._port.trials(job, batch.trials)
        for event in batch.others:
            if event["event"] == "artifact":
                self._port.artifact(job, event["kind"], event["name"], event["text"])
            elif event["event"] == "evidence" and event["rows"]:
                self._port.evidence(job, event["rows"])
        self._held_progress = batch.progress or self._held_progress
        now = time.monotonic()
        if self._held_progress is not None and now - self._progress_at >= PROGRESS_S:
            held, self._held_progress, self._progress_at = self._held_progress, None, now
            self._port.progress(job, held["fraction"], held["text"], held.get("seconds_left"))

    def _finish(self, word: Event) -> str:
        if word["event"] == "failed":
            self._port.finish(self._job, states.FAILED, error=word["error"])
            return states.FAILED
        state = states.SUCCEEDED if word["ok"] else states.FAILED
        self._port.finish(
            self._job,
            state,
            outcome=word["outcome"],
            error=_error_body(word.get("error")),
            best_source=word.get("best_source") or "",
        )
        return state

    def _fail(self, code: str, message: str, hint: str) -> str:
        self._port.finish(self._job, states.FAILED, error=KernelcatError(code, message, hint=hint).to_dict())
        return states.FAILED


def _error_body(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """A Failure or an error as the envelope's body; what a tool printed is in the log already."""
    if error is None:
        return None
    names: Sequence[str] = ("code", "message", "hint", "line", "column", "end_column", "text")
    return {name: error[name] for name in names if name in error}
