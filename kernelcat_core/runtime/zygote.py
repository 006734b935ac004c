"""The process that forks every sandboxed run: small, single-threaded, warm, inside empty network and pid namespaces.

`python -m kernelcat_core.runtime.zygote FD` reads requests (JSON + file descriptors) from the SOCK_SEQPACKET socket FD
until it closes, and answers each on the reply pipe that came with it: one JSON object, then end of file. When the
parent goes away, or closes its end of a reply pipe, the runs concerned are killed with everything they started.

Request fds: kernel = [reply, arena, library]; witnessed = [reply, arena, library, store]; nvrtc and command = [reply].
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from kernelcat_core.runtime import keeper, kernel_child, nvrtc, sandbox

MAX_MESSAGE = 1 << 17
MAX_REPORT = 1 << 20


@dataclass
class Run:
    """One forked child that the loop watches; mutable, owned by the loop."""

    pid: int
    pidfd: int
    reply: int
    deadline: float
    output_cap: int
    output_fd: int
    report_fd: int
    setup_fd: int
    output: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    verdict: str = ""
    started: float = field(default_factory=time.monotonic)

    def kill(self, verdict: str) -> None:
        """Kill the whole group once; the first reason is the one that is reported."""
        self.verdict = self.verdict or verdict
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def main(control_fd: int) -> None:
    """Enter the namespaces, then serve as their first process; the outer process only waits for it."""
    namespaces = sandbox.isolate_namespaces()
    child = os.fork()
    if child:
        _forget_terminal_signals()
        os.close(control_fd)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    sandbox.die_with_parent()
    os.setsid()
    _forget_terminal_signals()
    control = socket.socket(fileno=control_fd)
    layers = (*sandbox.available(), *(f"{name}-namespace" for name in namespaces))
    control.send(json.dumps({"layers": layers}).encode())
    _serve(control)
    os._exit(0)


def _forget_terminal_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _serve(control: socket.socket) -> None:
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ, "control")
    runs: dict[int, Run] = {}
    while True:
        nearest = min((run.deadline for run in runs.values() if not run.verdict), default=None)
        timeout = None if nearest is None else max(0.0, nearest - time.monotonic())
        for key, _ in selector.select(timeout):
            if key.data == "control":
                message, fds = _receive(control)
                if not message:
                    for run in runs.values():
                        run.kill("the parent went away")
                    return
                run = _start(json.loads(message), fds, control, selector)
                runs[run.pid] = run
                _watch(selector, run)
            else:
                _on_event(selector, runs, *key.data)
        now = time.monotonic()
        for run in runs.values():
            if now >= run.deadline and not run.verdict:
                run.kill("timeout")


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    message, ancillary, _, _ = control.recvmsg(MAX_MESSAGE, socket.CMSG_LEN(4 * 4))
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
    return message, list(fds)


def _watch(selector: selectors.BaseSelector, run: Run) -> None:
    selector.register(run.output_fd, selectors.EVENT_READ, ("output", run.pid))
    selector.register(run.report_fd, selectors.EVENT_READ, ("report", run.pid))
    selector.register(run.pidfd, selectors.EVENT_READ, ("exit", run.pid))
    # A pipe's write end becomes "readable" (error) when its reader closes: the parent has cancelled.
    selector.register(run.reply, selectors.EVENT_READ, ("cancel", run.pid))


def _on_event(selector: selectors.BaseSelector, runs: dict[int, Run], event: str, pid: int) -> None:
    run = runs.get(pid)
    if run is None:
        return
    if event == "cancel":
        selector.unregister(run.reply)
        run.kill("cancelled")
    elif event == "output":
        if not _drain(run.output_fd, run.output, run.output_cap):
            selector.unregister(run.output_fd)
        if len(run.output) >= run.output_cap:
            run.kill("too much output")
    elif event == "report":
        if not _drain(run.report_fd, run.report, MAX_REPORT):
            selector.unregister(run.report_fd)
    else:
        del runs[pid]
        _finish(selector, run)


def _drain(fd: int, into: bytearray, cap: int) -> bool:
    """Read what is there, keep up to `cap` bytes; False at the end of the stream."""
    try:
        piece = os.read(fd, 65536)
    except BlockingIOError:
        return True
    into += piece[: max(0, cap - len(into))]
    return bool(piece)


def _finish(selector: selectors.BaseSelector, run: Run) -> None:
    """The leader ended: kill what it left behind, collect its output, answer, forget it."""
    exited = os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)  # the group stays ours until it is reaped
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    _, status, usage = os.wait4(run.pid, 0)
    for fd, into, cap in ((run.output_fd, run.output, run.output_cap), (run.report_fd, run.report, MAX_REPORT)):
        before = -1
        while len(into) != before:  # whatever is still in the pipe; it is non-blocking
            before = len(into)
            _drain(fd, into, cap)
    setup = bytearray()
    _drain(run.setup_fd, setup, MAX_REPORT)
    for fd in (run.output_fd, run.report_fd, run.pidfd, run.reply):
        with contextlib.suppress(KeyError):
            selector.unregister(fd)
    answer = {
        "exit": os.waitstatus_to_exitcode(status) if exited else 0,
        "verdict": run.verdict,
        "output": run.output.decode("utf-8", "replace"),
        "report": run.report.decode("utf-8", "replace"),
        "sandbox": setup.decode("utf-8", "replace"),
        "wall_s": time.monotonic() - run.started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }
    with contextlib.suppress(OSError):
        os.set_blocking(run.reply, True)
        with os.fdopen(run.reply, "wb") as reply:
            reply.write(json.dumps(answer).encode())
    for fd in (run.output_fd, run.report_fd, run.setup_fd, run.pidfd):
        os.close(fd)


def _start(request: dict[str, Any], fds: list[int], control: socket.socket,
           selector: selectors.BaseSelector) -> Run:
    output_read, output_write = os.pipe()
    report_read, report_write = os.pipe()
    setup_read, setup_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(request, fds[1:], output_write, report_write, setup_write)
    for fd in (output_write, report_write, setup_write, *fds[1:]):
        os.close(fd)
    for fd in (output_read, report_read, setup_read):
        os.set_blocking(fd, False)
    return Run(pid=pid, pidfd=os.pidfd_open(pid), reply=fds[0], output_fd=output_read, report_fd=report_read,
               setup_fd=setup_read, deadline=time.monotonic() + float(request["timeout_s"]),
               output_cap=int(request["output_bytes"]))


def _become(request: dict[str, Any], fds: list[int], output: int, report: int, setup: int) -> None:
    """In the forked child: confine, then be the job. Never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sandbox.close_fds_except([report, setup, *fds])
        for fd in (report, setup, *fds):
            os.set_inheritable(fd, False)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["kind"] == "witnessed":
            _keep(request, fds, report, setup)
        _be(request, fds, report, setup)
    finally:
        os._exit(70)


def _keep(request: dict[str, Any], fds: list[int], report: int, setup: int) -> None:
    """Be the witness of a kernel: this process stays outside its child's confinement and runs nothing of a user's."""
    words_read, words_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        sandbox.close_fds_except([words_write, setup, *fds[:2]])
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(request["threads"]):])
        _be(request, fds[:2], words_write, setup)
    os.close(words_write)
    os.close(setup)
    answer = keeper.watch(pid, request, fds[0], fds[2], words_read)
    with os.fdopen(report, "wb") as pipe:
        pipe.write(json.dumps(answer).encode())
    os._exit(0)


def _be(request: dict[str, Any], fds: list[int], report: int, setup: int) -> None:
    """Confine this process, then run the job in it. A failure of ours goes to `setup`, which is closed before anything of a
    user's runs, so that no kernel can claim one. Never returns."""
    status = 70
    try:
        try:
            sandbox.confine(_confinement(request, fds))
        except sandbox.SandboxError as error:
            os.write(setup, str(error).encode())
            os._exit(71)
        os.close(setup)
        answer: dict[str, Any] = {}
        try:
            if request["kind"] == "command":
                os.execve(request["argv"][0], request["argv"], request["environment"])
            elif request["kind"] == "nvrtc":
                answer = nvrtc.compile_here(request)
            elif request["kind"] == "witnessed":
                kernel_child.run_witnessed(request, fds[0], fds[1])
            else:
                answer = kernel_child.run(request, fds[0], fds[1])
            status = 0
        except BaseException as error:
            answer, status = {"error": str(error), "type": type(error).__name__}, 72
        with os.fdopen(report, "wb") as pipe:
            pipe.write(json.dumps(answer).encode())
        sys.stdout.flush()
    finally:
        os._exit(status)


def _confinement(request: dict[str, Any], fds: list[int]) -> sandbox.Confinement:
    return sandbox.Confinement(
        limits=sandbox.Limits(**request["limits"]),
        may_execute=request["kind"] == "command",
        readable=tuple(request["readable"]),
        readable_fds=tuple(fds[1:]),
        writable=tuple(request["writable"]),
        uid=request["uid"],
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
