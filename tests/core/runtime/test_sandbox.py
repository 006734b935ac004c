"""The sandbox where layers are missing, and the filter as bytes."""

from __future__ import annotations

import struct

import pytest

from kernelcat_core.errors import KernelcatError
from kernelcat_core.runtime import client, runner, sandbox, seccomp


def test_without_a_filter_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    client.stop()
    monkeypatch.setattr(sandbox, "has_seccomp", lambda: False)
    with pytest.raises(KernelcatError) as caught:
        runner.run_command(runner.CommandJob(("/bin/true",)))
    assert caught.value.code == "KC-X001"
    assert "seccomp" in caught.value.message
    assert "Linux" in caught.value.hint


def test_other_systems_have_no_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    assert sandbox.available() == ()
    with pytest.raises(KernelcatError) as caught:
        client._start()
    assert caught.value.code == "KC-X001"


def test_a_zygote_that_cannot_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    client.stop()
    monkeypatch.setattr(client.sys, "executable", "/bin/false")
    with pytest.raises(KernelcatError) as caught:
        runner.run_command(runner.CommandJob(("/bin/true",)))
    assert caught.value.code == "KC-X002"


def test_the_zygote_ends_when_it_is_told_to() -> None:
    client.layers()
    zygote = client._zygote
    assert zygote is not None
    client.stop()
    assert zygote.process.poll() is not None
    assert client._zygote is None


def simulate(program: bytes, number: int, argument: int = 0, architecture: int = 0xC000003E, second: int = 0) -> int:
    """Run a filter on one system call as the kernel would; returns its verdict."""
    steps = [struct.unpack("=HBBI", program[at:at + 8]) for at in range(0, len(program), 8)]
    words = {0: number, 4: architecture, 16: argument & 0xFFFFFFFF, 24: second}
    accumulator = at = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            accumulator = words[operand]
        elif code == 0x06:
            return operand
        else:
            taken = {0x15: accumulator == operand, 0x35: accumulator >= operand,
                     0x45: bool(accumulator & operand)}[code]
            at += if_true if taken else if_false


ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


@pytest.mark.parametrize(("number", "argument", "kernel", "compiler"), [
    (0, 0, ALLOW, ALLOW),  # read
    (41, 0, EPERM, EPERM),  # socket
    (59, 0, EPERM, ALLOW),  # execve
    (57, 0, EPERM, ALLOW),  # fork
    (56, 17, EPERM, ALLOW),  # clone: a process
    (56, 0x3D0F00, ALLOW, ALLOW),  # clone: a thread, as pthread_create asks for it
    (56, 0x10000000 | 17, EPERM, EPERM),  # clone: a user namespace
    (435, 0, ENOSYS, ENOSYS),  # clone3
    (234, 77, ALLOW, ALLOW),  # tgkill: oneself
    (234, 78, EPERM, ALLOW),  # tgkill: another
    (302, 0, ALLOW, ALLOW),  # prlimit64: oneself
    (302, 5, EPERM, EPERM),  # prlimit64: another
    (470, 0, ENOSYS, ENOSYS),  # younger than the table
    (0x40000000, 0, EPERM, EPERM),  # the x32 table
])
def test_the_filter_on_x86_64(monkeypatch: pytest.MonkeyPatch, number: int, argument: int, kernel: int,
                              compiler: int) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "x86_64")
    assert simulate(seccomp.program(may_execute=False, pid=77), number, argument) == kernel
    assert simulate(seccomp.program(may_execute=True, pid=77), number, argument) == compiler


def test_no_kernel_orders_signals_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "x86_64")
    kernel, compiler = seccomp.program(may_execute=False, pid=77), seccomp.program(may_execute=True, pid=77)
    assert simulate(kernel, 222) == EPERM  # timer_create
    assert simulate(kernel, 72, 3, second=10) == EPERM  # fcntl F_SETSIG
    assert simulate(kernel, 72, 3, second=1033) == ALLOW
    assert simulate(compiler, 72, 3, second=10) == ALLOW
    assert simulate(kernel, 203) == EPERM  # sched_setaffinity
    assert simulate(compiler, 203) == ALLOW


def test_the_filter_kills_other_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "x86_64")
    program = seccomp.program(may_execute=True, pid=1)
    assert simulate(program, 0, architecture=0x40000003) == KILL
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "aarch64")
    program = seccomp.program(may_execute=False, pid=1)
    assert simulate(program, 198, architecture=0xC00000B7) == EPERM  # socket
    assert simulate(program, 63, architecture=0xC00000B7) == ALLOW  # read
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert not seccomp.supported()
