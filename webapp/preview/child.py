"""The program of one preview child: core facade calls in, JSON out, one line each. It loads no Django.

A line in is `{"call": name, "arguments": {...}}`; a line out is `{"answer": ...}` or `{"error": {...}}`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import signal
import sys
from typing import Any, BinaryIO

CALLS = ("preview", "operators", "gallery", "targets")
WARMING = {"source": "Y = softmax(X @ W)", "targets": ["c", "cuda:sm_80", "ascend:910b"]}
PR_SET_PDEATHSIG = 1


def confine(memory_bytes: int) -> None:
    """Ends with the parent, cannot take all memory, writes no core file."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer(facade: Any, line: bytes) -> dict[str, Any]:
    """The reply to one request line; whatever goes wrong inside the core becomes an error, never an exit."""
    from kernelcat_core.errors import KernelcatError

    request = json.loads(line)
    if request["call"] not in CALLS:
        raise ValueError(f"unknown call {request['call']!r}")
    try:
        return {"answer": getattr(facade, request["call"])(**request["arguments"])}
    except KernelcatError as error:
        return {"error": error.to_dict()}
    except MemoryError:
        return {"error": KernelcatError("KC-X007", "The preview needed too much memory.").to_dict()}
    except Exception as error:
        sys.stderr.write(f"preview: {type(error).__name__}: {error}\n")
        failure = KernelcatError("KC-X007", f"The preview failed inside the compiler ({type(error).__name__}).")
        return {"error": failure.to_dict()}


def warm(facade: Any) -> None:
    """One preview for nobody: the imports that the core puts off would otherwise make the first person wait."""
    answer(facade, json.dumps({"call": "preview", "arguments": WARMING}).encode())
    gc.freeze()  # what is loaded now stays; looking through it again and again costs a third of a preview
    gc.set_threshold(50_000, 20, 100)


def serve(facade: Any, lines: BinaryIO, replies: BinaryIO) -> None:
    replies.write(b'{"ready": true}\n')
    replies.flush()
    for line in lines:
        replies.write(json.dumps(answer(facade, line), separators=(",", ":")).encode() + b"\n")
        replies.flush()


def main(facade_name: str, memory_bytes: int) -> None:
    confine(memory_bytes)
    # Anything the core prints must not mix with the replies: keep the pipe, point stdout at stderr.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    facade = importlib.import_module(facade_name)
    warm(facade)
    serve(facade, sys.stdin.buffer, replies)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
