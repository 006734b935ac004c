"""Builds a CUDA text for the CPU: the functional model in twin/ runs it thread by thread and checks CUDA's rules.

The text is taken as it is. It is compiled with the sanitizer options of the C++ compiler, but linked with the model
instead of a sanitizer library, so that every memory access of a kernel passes through the model (twin/kc_memory.h).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import runner, toolchain
from kernelcat_core.runtime.toolchain import Binary

_FOLDER = Path(__file__).parent / "twin"
_RUNTIME_FLAGS = ("-std=c++17", "-O2", "-fno-exceptions", "-fno-sanitize=all", "-fvisibility=hidden", "-I.")
_CHECKS = "-fsanitize=thread,bounds,alignment,shift,integer-divide-by-zero"
_KERNEL_FLAGS = (
    "-std=c++17",
    "-O1",
    "-g1",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-w",
    "-I.",
    _CHECKS,
)
_LINK_FLAGS = ("kernel_checked.s", "kc_runtime.s", "-lm")
_DYNAMIC_SHARED = re.compile(r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*)?([\w\s]+?)\s+(\w+)\s*\[\s*\]\s*;")
_PLACE = re.compile(r" \[at \+(0x[0-9a-f]+)\]")


@dataclass(frozen=True)
class Machine:
    """A configuration of the model: `include` is what a text finds included, `flags` set its warps and shared memory
    (twin/kc_abi.h), `folder` holds more headers."""

    include: str = "cuda_runtime.h"
    flags: tuple[str, ...] = ()
    folder: Path | None = None


CUDA = Machine()


@cache
def _headers(machine: Machine = CUDA) -> dict[str, str]:
    folders = (_FOLDER, *((machine.folder,) if machine.folder else ()))
    return {str(p.relative_to(f)): p.read_text(encoding="utf-8") for f in folders for p in sorted(f.rglob("*.h"))}


def _runtime(flags: tuple[str, ...]) -> str | Failure:
    """The model as assembly text: it must not be compiled with the options that the kernel's text is."""
    compiler = toolchain.find_cpp()
    if compiler is None:
        return toolchain.missing("cpp")
    made = toolchain.compile(
        compiler,
        (_FOLDER / "kc_runtime.cpp").read_text(encoding="utf-8"),
        flags=(*_RUNTIME_FLAGS, *flags),
        kinds=("assembly",),
        files=_headers(),
    )
    return made if isinstance(made, Failure) else made.text("assembly")


def build(text: str, host: str, flags: tuple[str, ...] = (), machine: Machine = CUDA) -> Binary | Failure:
    """A shared object that runs the CUDA text `text`, or the text of another language of `machine`'s, on the model.

    `host` is C++ that follows the text; it defines the `extern "C"` entries. Failures: KC-B001, KC-B002, KC-B003.
    Line numbers in messages are those of `text`. `flags` are for the model (-DKC_UCONTEXT: portable context switches).
    """
    compiler, linker, model = toolchain.find_cpp(), toolchain.find_c(), _runtime((*machine.flags, *flags))
    if compiler is None or linker is None:
        return toolchain.missing("cpp")
    if isinstance(model, Failure):
        return model
    # The one construct that C++ cannot be taught by a macro: an unsized shared array.
    text = _DYNAMIC_SHARED.sub(r"\1 *const \2 = (\1 *)kc_dynamic_shared();", text)
    # Compiled to assembly first: a link with sanitizer options would bring the sanitizer's own library.
    own = () if compiler.name == "g++" else ("-fno-sanitize-trap=all",)
    checked = toolchain.compile(
        compiler,
        f'#include "{machine.include}"\n#include "kernel.cu"\n{host}\n',
        flags=(*_KERNEL_FLAGS, *machine.flags, *own),
        kinds=("assembly",),
        files={**_headers(machine), "kernel.cu": text},
    )
    if isinstance(checked, Failure):
        return checked
    parts = {"kernel_checked.s": checked.text("assembly"), "kc_runtime.s": model}
    return toolchain.compile(linker, "/* all code is in the .s files */\n", flags=_LINK_FLAGS, files=parts)


def with_line(message: str, library: Path) -> str:
    """`message` with the address of a faulty access, if it has one, replaced by its line in the text."""
    place = _PLACE.search(message)
    if place is None:
        return message
    line = _line_of(int(place[1], 16) - 1, library)
    return message[: place.start()] + (f" [at line {line}]" if line else "") + message[place.end() :]


def _line_of(address: int, library: Path) -> int | None:
    """The line of kernel.cu at `address`, as the sandboxed addr2line of binutils knows it; None without that tool."""
    tool = shutil.which("addr2line")
    if tool is None:
        return None
    with tempfile.TemporaryDirectory(prefix="kernelcat-line-") as folder:  # the cache may be closed to other users
        Path(folder).chmod(0o755)
        copy = shutil.copy(library, folder)
        Path(copy).chmod(0o644)
        job = runner.CommandJob((tool, "-i", "-e", copy, hex(address)), readable=(folder,), timeout_s=10)
        done = runner.run_command(job)
    if isinstance(done, Failure):
        return None
    found = re.search(r"kernel\.c(?:u|pp):(\d+)", done.output)
    return int(found[1]) if found else None
