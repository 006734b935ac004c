"""`kernelcat up`: Redis, migrations, one worker, the web server; one address; everything stops together.

Two processes guard the services. The front one owns the terminal and forwards Ctrl-C; the inner one, in a session of
its own, starts the services and restarts them. Each is a subreaper and each dies with its parent, so killing either,
or whoever started us, leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelcat_core.errors import KernelcatError
from kernelcat_core.supervise import processes, redis_server

ROOT = Path(__file__).resolve().parents[2]
_GRACE_S = 4.0
_READY_S = 60.0
_MAX_RESTARTS = 5


class _StopRequested(BaseException):
    """A signal asked us to stop."""


@dataclass
class _Service:
    """One supervised child and how often it had to be started."""

    name: str
    argv: tuple[str, ...]
    process: subprocess.Popen[bytes]
    restarts: int = 0
    stdin: bytes = b""


@dataclass
class _Supervisor:
    """The inner process's state: environment of the children, where logs go, what runs."""

    environment: dict[str, str]
    logs: Path
    services: list[_Service] = field(default_factory=list)

    def start(self, name: str, argv: Sequence[str], stdin: bytes = b"") -> _Service:
        service = _Service(name, tuple(argv), self._spawn(name, argv, stdin), stdin=stdin)
        self.services.append(service)
        return service

    def _spawn(self, name: str, argv: Sequence[str], stdin: bytes) -> subprocess.Popen[bytes]:
        with (self.logs / f"{name}.log").open("ab") as log:
            source = subprocess.PIPE if stdin else subprocess.DEVNULL
            process = processes.start(argv, self.environment, ROOT, log, source)
        if stdin:
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
        return process

    def step(self, name: str, argv: Sequence[str]) -> str:
        """Run one command to its end and return its output; raises KC-X005 with its last lines when it fails."""
        read, write = os.pipe()
        process = processes.start(argv, self.environment, ROOT, write)
        os.close(write)
        pieces: list[bytes] = []
        with os.fdopen(read, "rb", buffering=0) as pipe:
            while True:
                self.check_signals(0)
                if select.select([pipe], [], [], 0.1)[0]:
                    piece = pipe.read(65536)
                    if not piece:
                        break
                    pieces.append(piece)
        status = process.wait()
        output = b"".join(pieces).decode("utf-8", "replace")
        if status != 0:
            raise KernelcatError("KC-X005", f"{name} failed with status {status}:\n{_last_lines(output)}")
        return output

    def check_signals(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for a signal; raises _StopRequested when it asks us to end."""
        caught = signal.sigtimedwait(processes.WATCHED, timeout_s)
        if caught is not None and caught.si_signo != signal.SIGCHLD:
            raise _StopRequested

    def wait_until(self, ready: Callable[[], bool], service: _Service, what: str) -> None:
        """Poll `ready`; raises KC-X005 when the service ends or `_READY_S` pass first."""
        deadline = time.monotonic() + _READY_S
        while not ready():
            if service.process.poll() is not None or time.monotonic() > deadline:
                log = self.logs / f"{service.name}.log"
                said = _last_lines(log.read_text(errors="replace"))
                raise KernelcatError("KC-X005", f"{what} did not start:\n{said}", hint=f"the whole log is {log}")
            self.check_signals(0.03)

    def watch(self) -> None:
        """Restart services that end, with growing pauses, until a signal comes or one fails too often."""
        while True:
            self.check_signals(1.0)
            processes.reap_adopted({service.process.pid for service in self.services})
            for service in self.services:
                status = service.process.poll()
                if status is None:
                    continue
                service.restarts += 1
                if service.restarts > _MAX_RESTARTS:
                    raise KernelcatError("KC-X005", f"the {service.name} service ended {service.restarts} times",
                                         hint=f"its log is {self.logs / (service.name + '.log')}")
                _say(f"The {service.name} service ended with status {status}; it is started again.")
                self.check_signals(min(8.0, 0.5 * 2**service.restarts))
                service.process = self._spawn(service.name, service.argv, service.stdin)


def up(port: int | None = None, home: Path | None = None) -> int:
    """Run everything until Ctrl-C, SIGTERM or the parent's end; returns the exit status.

    `port` defaults to $PORT, then 8000; `home` (state and logs) to $KERNELCAT_HOME, then ./var of the checkout.
    Raises KernelcatError KC-X003 (port in use) and KC-X004 (no Redis) before anything is started.
    """
    chosen = port if port is not None else int(os.environ.get("PORT") or 8000)
    _require_free(chosen)
    if not os.environ.get("REDIS_URL"):
        redis_server.find_binary()
    folder = (home or Path(os.environ.get("KERNELCAT_HOME") or ROOT / "var")).resolve()
    processes.become_subreaper()
    signal.pthread_sigmask(signal.SIG_BLOCK, processes.WATCHED)
    inner = os.fork()
    if inner == 0:
        os.setsid()
        processes.die_with_parent(signal.SIGTERM)
        processes.become_subreaper()
        os._exit(_inner(chosen, folder))
    processes.die_with_parent(signal.SIGTERM)
    status = None
    while status is None:
        caught = signal.sigwait(processes.WATCHED)
        if caught != signal.SIGCHLD:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGTERM)
        ended, raw = os.waitpid(inner, os.WNOHANG)
        status = os.waitstatus_to_exitcode(raw) if ended else None
    processes.end_descendants(_GRACE_S if status < 0 else 0.0)
    return status if status >= 0 else 1


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise KernelcatError("KC-X003", f"port {port} of 127.0.0.1 cannot be used: {error.strerror}",
                                 hint=f"make up PORT={port + 1 if port < 65535 else port - 1}, "
                                      "or stop the program that listens there") from error


def _inner(port: int, folder: Path) -> int:
    """Start the services, watch them, end them; returns the exit status."""
    status = 0
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        supervisor = _Supervisor(_environment(port, folder), logs)
        _start_services(supervisor, port, folder)
        supervisor.watch()
    except _StopRequested:
        _say("Stopping.")
    except KernelcatError as error:
        print(error, file=sys.stderr, flush=True)
        status = 1
    except Exception as error:  # nothing may leave services behind
        print(KernelcatError("KC-X002", f"the supervisor failed: {error!r}"), file=sys.stderr, flush=True)
        status = 1
    finally:
        processes.end_descendants(_GRACE_S)
    return status


def _environment(port: int, folder: Path) -> dict[str, str]:
    """What every service gets: our own environment, where its state lives, under which address it is seen."""
    return {"DJANGO_SETTINGS_MODULE": "webapp.config.settings", **os.environ, "KERNELCAT_HOME": str(folder),
            "KERNELCAT_BASE_URL": f"http://127.0.0.1:{port}", "PYTHONUNBUFFERED": "1"}


def _start_services(supervisor: _Supervisor, port: int, folder: Path) -> None:
    began = time.monotonic()
    manage = (sys.executable, str(ROOT / "manage.py"))
    if not supervisor.environment.get("REDIS_URL"):
        server = redis_server.plan(folder)
        redis = supervisor.start("redis", server.argv, server.configuration.encode())
        supervisor.environment["REDIS_URL"] = server.url
        supervisor.wait_until(lambda: redis_server.answers(server.url, 0), redis, "the Redis server")
    elif not redis_server.answers(supervisor.environment["REDIS_URL"], 3):
        raise KernelcatError("KC-X004", "nothing answers at REDIS_URL",
                             hint="start that server, or unset REDIS_URL to use the bundled one")
    supervisor.step("the migration", (*manage, "migrate", "--noinput", "--verbosity", "0"))
    log = supervisor.logs / "worker.log"
    log_start = log.stat().st_size if log.exists() else 0
    worker_service = supervisor.start("worker", worker_argv())
    web = supervisor.start("web", (
        sys.executable, "-m", "uvicorn", "webapp.config.asgi:application", "--host", "127.0.0.1", "--port", str(port),
        "--no-access-log", "--log-level", "warning"))
    link = supervisor.step("the sign-in link", (*manage, "owner_link")).strip().splitlines()[-1]
    address = f"http://127.0.0.1:{port}"
    supervisor.wait_until(lambda: _web_answers(address), web, "the web server")
    supervisor.wait_until(lambda: b"ready." in _tail(log, log_start), worker_service, "the worker")
    _say(f"KernelCAT is ready at {address} ({time.monotonic() - began:.1f} s).")
    _say(f"Sign in once: {link if link.startswith('http') else address + link}")
    _say(f"Ctrl-C stops everything. Logs are in {supervisor.logs}.")


def worker_argv() -> tuple[str, ...]:
    """The command of one worker; its concurrency and queues stand in the Celery app."""
    return (sys.executable, "-m", "celery", "--app", "workers.app", "worker", "--loglevel", "INFO",
            "--without-gossip", "--without-mingle")


def worker() -> int:
    """Replace this process by one worker; REDIS_URL says where its broker is. Raises KC-X004 when nothing is there."""
    url = os.environ.get("REDIS_URL", "")
    if not url or not redis_server.answers(url, 3):
        raise KernelcatError("KC-X004", "no Redis server answers at REDIS_URL",
                             hint="`kernelcat up` starts one with everything else; or set REDIS_URL")
    os.chdir(ROOT)
    argv = worker_argv()
    os.execv(argv[0], argv)


def _web_answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=5).close()
    except urllib.error.HTTPError:
        return True  # an answer, if only a refusal
    except OSError:
        return False
    return True


def _tail(path: Path, start: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read()


def _last_lines(text: str, count: int = 12) -> str:
    return "\n".join(text.strip().splitlines()[-count:])


def _say(text: str) -> None:
    print(text, flush=True)
