"""CUDA C++ to PTX and cubin through NVRTC and ctypes: no driver, no host compiler. Standard library only.

`discover` finds the library in the nvidia-cuda-* wheels or a CUDA toolkit; `compile_here` does the work and is called
inside the sandbox by the zygote.
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAX_LOG = 1 << 18
PTX_FILE, CUBIN_FILE = "out.ptx", "out.cubin"


@dataclass(frozen=True)
class Nvrtc:
    """Where one NVRTC is: its shared library and the include folders of the CUDA headers that belong to it."""

    library: str
    include: tuple[str, ...]


def discover() -> Nvrtc | None:
    """The newest NVRTC of the wheels, else of a toolkit in its usual place; None without one."""
    site = sysconfig.get_paths()["purelib"]
    roots = [*glob.glob(f"{site}/nvidia/*"), *glob.glob("/usr/local/cuda*"), os.environ.get("CUDA_HOME", "")]
    libraries = [path for root in roots if root for folder in ("lib", "lib64")
                 for path in glob.glob(f"{root}/{folder}/libnvrtc.so*")
                 if re.fullmatch(r"libnvrtc\.so(\.\d+)?", Path(path).name)]
    if not libraries:
        return None
    library = max(libraries, key=_major)
    own_root = Path(library).parent.parent
    include = sorted(glob.glob(f"{site}/nvidia/*/include")) if str(own_root).startswith(site) else []
    include = include or [str(own_root / "include")]
    return Nvrtc(library, tuple(path for folder in include for path in (folder, f"{folder}/cccl")
                                if os.path.isdir(path)))


def _major(path: str) -> int:
    digits = path.rsplit(".", 1)[-1]
    return int(digits) if digits.isdigit() else 0


def _message(library: ctypes.CDLL, status: int) -> str:
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    text: bytes = library.nvrtcGetErrorString(status)
    return text.decode()


def compile_here(request: dict[str, Any]) -> dict[str, Any]:
    """Compile `request["source_file"]` (in the working folder) with `request["options"]`.

    Writes out.ptx and, for a real architecture, out.cubin beside it. Returns {"status", "error", "log", "version",
    "architectures"}; status 0 = compiled, 6 = the source was rejected (NVRTC's own number).
    """
    library = ctypes.CDLL(request["library"])
    version = (ctypes.c_int(), ctypes.c_int())
    library.nvrtcVersion(ctypes.byref(version[0]), ctypes.byref(version[1]))
    count = ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(numbers)
    report: dict[str, Any] = {"version": f"{version[0].value}.{version[1].value}", "architectures": list(numbers),
                              "status": 0, "error": "", "log": ""}
    if not request["source_file"]:
        return report
    source = Path(request["source_file"]).read_bytes()
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source, request["source_file"].encode(), 0, None, None)
    options = [option.encode() for option in request["options"]]
    report["status"] = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    report["error"] = _message(library, report["status"]) if report["status"] else ""
    report["log"] = _read(library, program, "ProgramLog")[:_MAX_LOG].rstrip(b"\0").decode("utf-8", "replace")
    if report["status"] == 0:
        Path(PTX_FILE).write_bytes(_read(library, program, "PTX").rstrip(b"\0"))
        Path(CUBIN_FILE).write_bytes(_read(library, program, "CUBIN"))
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return report


def _read(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw
