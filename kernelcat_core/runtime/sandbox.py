"""The layers that confine one process: limits, Landlock, system call filter, identity. Linux only, pure ctypes.

Each layer is detected, not assumed; `available()` names what this machine gives. `confine` must run in a freshly forked
single-threaded child and applies, in this order: resource limits, identity, capabilities, Landlock, system call filter.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from kernelcat_core.runtime import seccomp

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # alike on every architecture
_CAPSET = {"x86_64": 126, "aarch64": 91}
_FS_EXECUTE, _FS_WRITE_FILE, _FS_READ_FILE, _FS_READ_DIR, _FS_TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FS_READ_ONLY = _FS_EXECUTE | _FS_READ_FILE | _FS_READ_DIR
_FS_ON_FILES = _FS_EXECUTE | _FS_WRITE_FILE | _FS_READ_FILE | _FS_TRUNCATE
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
SYSTEM_READ_PATHS = ("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives",
                     "/dev/null", "/dev/zero", "/dev/urandom", "/sys/devices/system/cpu")


class SandboxError(OSError):
    """A layer that was promised could not be applied; the child must not go on."""


@dataclass(frozen=True)
class Limits:
    """What one process may use: seconds of CPU, bytes of memory, bytes a file, processes or threads, open files.

    `address_space` limits all mappings (kernels); otherwise only private writable memory counts (compilers reserve
    far more than they touch).
    """

    cpu_seconds: int
    memory_bytes: int
    file_bytes: int
    processes: int
    open_files: int = 256
    address_space: bool = True


@dataclass(frozen=True)
class Confinement:
    """Everything that `confine` needs to know. `uid` None keeps the identity; `readable` adds read-only paths."""

    limits: Limits
    may_execute: bool
    readable: tuple[str, ...] = ()
    readable_fds: tuple[int, ...] = ()
    writable: tuple[str, ...] = ()
    uid: int | None = None


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("access", ctypes.c_uint64), ("fd", ctypes.c_int32)]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(status: int, layer: str) -> int:
    if status < 0:
        code = ctypes.get_errno()
        raise SandboxError(code, f"{layer}: {os.strerror(code)}")
    return status


def die_with_parent(signal_number: int = 9) -> None:
    """Ask the kernel to send `signal_number` to this process when the thread that made it ends."""
    _check(_libc().prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "parent death signal")


@cache
def landlock_abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_LANDLOCK_CREATE, None, 0, 1)))


@cache
def has_seccomp() -> bool:
    if sys.platform != "linux" or not seccomp.supported():
        return False
    # Asking for filter mode with a null program fails with EFAULT exactly where filters exist.
    failed = _libc().prctl(_PR_SET_SECCOMP, 2, None, 0, 0) < 0
    return failed and ctypes.get_errno() == 14


def available() -> tuple[str, ...]:
    """Names of the layers that `confine` can apply here; a strict subset on old kernels, empty off Linux."""
    if sys.platform != "linux":
        return ()
    layers = ["limits"]
    if landlock_abi():
        layers.append(f"landlock-{landlock_abi()}")
    if has_seccomp():
        layers.append("seccomp")
    if os.geteuid() == 0:
        layers.append("uid")
    return tuple(layers)


def isolate_namespaces() -> tuple[str, ...]:
    """Move this single-threaded process into an empty network, new IPC and (for its children) process id namespace.

    Returns the namespaces entered; () where the machine forbids them. Without root a user namespace is tried first,
    with the same user and group ids inside.
    """
    wanted = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID
    if os.geteuid() == 0:
        return ("net", "ipc", "pid") if _libc().unshare(wanted) == 0 else ()
    uid, gid = os.geteuid(), os.getegid()
    if _libc().unshare(wanted | CLONE_NEWUSER) != 0:
        return ()
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:
        return ()
    return ("user", "net", "ipc", "pid")


def _landlock(confinement: Confinement) -> None:
    abi = landlock_abi()
    handled = (1 << 13) - 1
    if abi >= 2:
        handled |= 1 << 13  # moving files between directories
    if abi >= 3:
        handled |= _FS_TRUNCATE
    if abi >= 5:
        handled |= 1 << 15  # ioctl on devices
    network = 3 if abi >= 4 else 0  # TCP bind and connect
    scopes = 3 if abi >= 6 else 0  # abstract sockets and signals stay inside
    attribute = struct.pack("=QQQ", handled, network, scopes)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    buffer = ctypes.create_string_buffer(attribute, len(attribute))
    ruleset = _check(_libc().syscall(_LANDLOCK_CREATE, buffer, len(attribute), 0), "landlock")
    try:
        for path in (*SYSTEM_READ_PATHS, *confinement.readable):
            _allow_path(ruleset, path, _FS_READ_ONLY)
        for fd in confinement.readable_fds:
            _allow_fd(ruleset, fd, _FS_READ_ONLY)
        for path in confinement.writable:
            _allow_path(ruleset, path, handled)
        if confinement.may_execute:
            _allow_path(ruleset, "/dev/null", _FS_READ_ONLY | _FS_WRITE_FILE)
        _check(_libc().syscall(_LANDLOCK_RESTRICT, ruleset, 0), "landlock")
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a path that is not there needs no rule
    try:
        _allow_fd(ruleset, fd, access)
    finally:
        os.close(fd)


def _allow_fd(ruleset: int, fd: int, access: int) -> None:
    is_directory = (os.fstat(fd).st_mode & 0o170000) == 0o040000
    rule = _PathBeneath(access if is_directory else access & _FS_ON_FILES, fd)
    _check(_libc().syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0), "landlock rule")


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def _seccomp(may_execute: bool) -> None:
    packed = seccomp.program(may_execute=may_execute, pid=os.getpid())
    buffer = ctypes.create_string_buffer(packed, len(packed))
    filter_program = _FilterProgram(len(packed) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _check(_libc().prctl(_PR_SET_SECCOMP, 2, ctypes.byref(filter_program), 0, 0), "seccomp")


def _drop_capabilities() -> None:
    number = _CAPSET.get(os.uname().machine)
    if number is None:
        return
    header = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
    _check(_libc().syscall(number, header, bytes(24)), "capabilities")


def _set_limits(limits: Limits) -> None:
    memory = resource.RLIMIT_AS if limits.address_space else resource.RLIMIT_DATA
    wanted = ((resource.RLIMIT_CPU, limits.cpu_seconds), (memory, limits.memory_bytes),
              (resource.RLIMIT_FSIZE, limits.file_bytes), (resource.RLIMIT_NPROC, limits.processes),
              (resource.RLIMIT_NOFILE, limits.open_files), (resource.RLIMIT_CORE, 0))
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bounded, bounded))


def _first_to_be_killed() -> None:
    """When memory runs out, the sandboxed process goes before anything of ours; needs no privilege."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        return  # no /proc: the machine's own choice stands


def close_fds_except(keep: Iterable[int]) -> None:
    """Close every file descriptor above 2 that is not in `keep`."""
    last = 2
    for fd in sorted({fd for fd in keep if fd > 2}):
        os.closerange(last + 1, fd)
        last = fd
    os.closerange(last + 1, 65536)


def confine(confinement: Confinement) -> None:
    """Apply every available layer to this process for good. Raises SandboxError if one that exists fails.

    The caller is a child that has its own session already. Network and process namespaces are inherited from the
    process that forked it (`isolate_namespaces`).
    """
    _first_to_be_killed()
    _set_limits(confinement.limits)
    if confinement.uid is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(confinement.uid, confinement.uid, confinement.uid)
        os.setresuid(confinement.uid, confinement.uid, confinement.uid)
    die_with_parent()  # after the change of identity, which clears it
    _check(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    _drop_capabilities()
    if not confinement.may_execute:
        _check(_libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")
    if landlock_abi():
        _landlock(confinement)
    if has_seccomp():
        _seccomp(confinement.may_execute)
