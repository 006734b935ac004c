"""System call filters in classic BPF, assembled here: no libseccomp needed. x86-64 and aarch64 Linux.

A filter is a deny list: what a compiler or a numeric kernel never needs answers EPERM. Calls newer than the table and
`clone3` answer ENOSYS, so libc falls back to older calls whose arguments a filter can read.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_OFFSET_NR, _OFFSET_ARCH, _OFFSET_ARG0, _OFFSET_ARG1 = 0, 4, 16, 24
_FIRST_UNKNOWN = 449  # futex_waitv; later calls are younger than this table
_X32_BIT = 0x40000000
CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET

# name -> (x86-64, aarch64); None where an architecture lacks the call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "setsid": (112, 157), "setpgid": (109, 154), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440), "kcmp": (312, 272),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "syslog": (103, 116), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "iopl": (172, None), "ioperm": (173, None), "personality": (135, 92), "sethostname": (170, 161),
    "setdomainname": (171, 162), "fanotify_init": (300, 262), "vhangup": (153, 58), "lookup_dcookie": (212, 18),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, None),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    # below: denied to kernels only, compilers need some of them
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None),
    # a kernel is stopped while nobody times it: nothing may wake it but its witness, and it keeps its processors
    "timer_create": (222, 107), "sched_setaffinity": (203, 122),
    # below: special cases
    "clone": (56, 220), "clone3": (435, 435), "tgkill": (234, 131), "prlimit64": (302, 261),
    "fcntl": (72, 25),
}
_KERNEL_ONLY = ("execve", "execveat", "fork", "vfork", "chmod", "fchmod", "fchmodat", "utime", "utimes", "utimensat",
                "futimesat", "timer_create", "sched_setaffinity")
_SPECIAL = ("clone", "clone3", "tgkill", "prlimit64", "fcntl")
_F_SETSIG = 10  # any signal, SIGCONT too, when a descriptor is ready
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


@dataclass(frozen=True)
class _Step:
    """One BPF instruction: opcode, relative jumps when true / false, operand."""

    code: int
    if_true: int
    if_false: int
    operand: int

    def pack(self) -> bytes:
        return struct.pack("=HBBI", self.code, self.if_true, self.if_false, self.operand)


def supported() -> bool:
    """Whether the table knows this machine's architecture."""
    return platform.machine() in _ARCHITECTURES


def _refuse(number: int, error: int) -> list[_Step]:
    return [_Step(_JUMP_EQ, 0, 1, number), _Step(_RETURN, 0, 0, _ERRNO | error)]


def _refuse_unless(number: int, test: _Step, argument: int = _OFFSET_ARG0) -> list[_Step]:
    """EPERM for `number` unless `test`, applied to one of its arguments, jumps to "true" (one step ahead)."""
    return [_Step(_JUMP_EQ, 0, 4, number), _Step(_LOAD, 0, 0, argument), test,
            _Step(_RETURN, 0, 0, _ERRNO | errno.EPERM), _Step(_RETURN, 0, 0, _ALLOW)]


def program(*, may_execute: bool, pid: int) -> bytes:
    """The filter for a compiler (`may_execute`) or a kernel process with process id `pid`, as packed BPF.

    A kernel may start threads but no process, execute nothing, signal only itself and that at once (no timers).
    Raises KeyError on an architecture that `supported` refuses.
    """
    column, audit = _ARCHITECTURES[platform.machine()]
    steps = [_Step(_LOAD, 0, 0, _OFFSET_ARCH), _Step(_JUMP_EQ, 1, 0, audit), _Step(_RETURN, 0, 0, _KILL_PROCESS),
             _Step(_LOAD, 0, 0, _OFFSET_NR),
             _Step(_JUMP_GE, 0, 1, _X32_BIT), _Step(_RETURN, 0, 0, _ERRNO | errno.EPERM),
             _Step(_JUMP_GE, 0, 1, _FIRST_UNKNOWN), _Step(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    number = {name: pair[column] for name, pair in _NUMBERS.items()}
    for name, value in number.items():
        if value is None or name in _SPECIAL or (may_execute and name in _KERNEL_ONLY):
            continue
        steps += _refuse(value, errno.EPERM)
    special = {name: number[name] or 0 for name in _SPECIAL}
    steps += _refuse(special["clone3"], errno.ENOSYS)
    if may_execute:
        steps += _refuse_unless(special["clone"], _Step(_JUMP_ANY, 0, 1, _CLONE_NAMESPACES))
    else:
        steps += _refuse_unless(special["clone"], _Step(_JUMP_ANY, 1, 0, CLONE_THREAD))
        steps += _refuse_unless(special["tgkill"], _Step(_JUMP_EQ, 1, 0, pid))
        steps += _refuse_unless(special["fcntl"], _Step(_JUMP_EQ, 0, 1, _F_SETSIG), _OFFSET_ARG1)
    steps += _refuse_unless(special["prlimit64"], _Step(_JUMP_EQ, 1, 0, 0))
    steps.append(_Step(_RETURN, 0, 0, _ALLOW))
    return b"".join(step.pack() for step in steps)
