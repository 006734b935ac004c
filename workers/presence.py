"""What this machine can do, told to the hub again and again."""

from __future__ import annotations

import os
import platform
import socket
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import structlog
from django.db import close_old_connections

from webapp.hosts.capability import serves
from webapp.jobs.port import JobPort
from webapp.jobs.queue import queue_name
from workers.core_process import core_call

log = structlog.get_logger(__name__)
BEAT_S = 5.0
PROBE_S = 120.0


class Counter:
    """How many jobs run in this process; a context manager that any thread may enter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def __enter__(self) -> None:
        with self._lock:
            self.value += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self.value -= 1


running = Counter()


def host_name() -> str:
    """KERNELCAT_HOST, else the machine's own name."""
    return os.environ.get("KERNELCAT_HOST") or socket.gethostname()


def probe() -> list[dict[str, Any]]:
    """The core's targets() of this machine, asked in a child: drivers are never loaded into the worker itself."""
    targets: list[dict[str, Any]] = core_call({"kind": "targets"}, PROBE_S)
    return targets


def queues_of(targets: Sequence[dict[str, Any]]) -> list[str]:
    """Build and check queues of every target this machine can show something of, and the measuring ones where it has
    the device."""
    kinds = (("check", False), ("tune", True))
    return [
        queue_name(target["target"], kind)
        for kind, measuring in kinds
        for target in targets
        if serves(target, measuring=measuring)
    ]


def machine() -> dict[str, Any]:
    """Facts about the machine that people ask for first."""
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": pages * (os.sysconf("SC_PAGE_SIZE") if pages else 0),
        "python": platform.python_version(),
    }


class Presence:
    """A thread that announces this host every BEAT_S seconds, between `start` and `stop`."""

    def __init__(self, port: JobPort, workers: int) -> None:
        self.targets: list[dict[str, Any]] = []
        self._port = port
        self._workers = workers
        self._machine = machine()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def beat(self) -> None:
        names = ("target", "label", "facts_possible", "missing", "device")
        targets = [{name: target.get(name) for name in names} for target in self.targets]
        capabilities = {
            "targets": targets,
            "workers": self._workers,
            "running": running.value,
            "machine": self._machine,
        }
        self._port.announce(host_name(), capabilities)

    def _run(self) -> None:
        while not self._stopping.is_set():
            close_old_connections()
            try:
                self.beat()
            except Exception:  # the hub or Redis is away for a moment: keep trying
                log.exception("announce_failed")
            self._stopping.wait(BEAT_S)
        self._port.leave(host_name())


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
