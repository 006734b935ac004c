"""What the hub does by itself every few seconds; any number of server processes may do it at once."""

from __future__ import annotations

import threading

import structlog
from django.db import close_old_connections

from webapp.hosts.services import hosts_expire
from webapp.jobs.services import jobs_nudge_again, leases_expire
from webapp.live.services import outbox_drain

log = structlog.get_logger(__name__)
DUTIES = (leases_expire, jobs_nudge_again, hosts_expire, outbox_drain)


def upkeep_once() -> None:
    """Each duty once; one that fails (a database restart, say) is logged and tried again next time."""
    for duty in DUTIES:
        close_old_connections()
        try:
            duty()
        except Exception:
            log.exception("upkeep_failed", duty=duty.__name__)
    close_old_connections()


class Upkeep:
    """A daemon thread that runs `upkeep_once` every `interval_s` seconds until stopped."""

    def __init__(self, interval_s: float = 5.0) -> None:
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            upkeep_once()
