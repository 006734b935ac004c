"""The compiler that the sandbox runs: `compile.py LIBRARY kernel.cl [OPTIONS] -o out.bin`, or `compile.py LIBRARY --version`.

LIBRARY is kc_opencl.c as a shared object. Standard library only.
"""

import ctypes
import os
import re
import sys

# PoCL compiles a copy of the text under a name of its own.
_PLACE = re.compile(r"^(error|warning|note): \S+?:(\d+):(\d+): ", re.MULTILINE)


def main(arguments: list[str]) -> int:
    """0 when the text was compiled; else the status 1 with the log, or what went wrong, on the standard output."""
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(os.getcwd(), "pocl"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    library = ctypes.CDLL(arguments[0])
    for name in ("kc_cl_version", "kc_cl_log", "kc_last_error"):
        getattr(library, name).restype = ctypes.c_char_p
    if arguments[1:] == ["--version"]:
        found = library.kc_cl_version().decode()
        print(found or library.kc_last_error().decode())
        return 0 if found else 1
    with open(arguments[1], "rb") as file:
        text = file.read()
    options, target = arguments[2:-2], arguments[-1]
    failed = library.kc_cl_build(text, ctypes.c_size_t(len(text)), " ".join(options).encode(), target.encode())
    log = library.kc_cl_log().decode("utf-8", "replace").strip()
    if log:
        print(_PLACE.sub(r"kernel.cl:\2:\3: \1: ", log))
    if failed and not library.kc_cl_log():
        print(library.kc_last_error().decode("utf-8", "replace"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
