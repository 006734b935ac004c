"""What ptxas says a kernel takes, read from the log of `-Xptxas -v`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_KERNEL = re.compile(r"(?:Compiling entry function|Function properties for) '?(\w+)'?")
_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+) bytes smem")


def resources(log: str) -> dict[str, str]:
    """Kernel -> "40 registers, 0 bytes spilled, 8448 bytes of shared memory"."""
    return {
        kernel: f"{registers} registers, {spilled} bytes spilled, {shared} bytes of shared memory"
        for kernel, registers, spilled, shared in parse(log)
    }


def parse(log: str) -> Iterator[tuple[str, int, int, int]]:
    """(kernel, registers a thread, bytes of spill stores and loads, bytes of static shared memory) in the log's order."""
    kernel, spilled = "", 0
    for line in log.splitlines():
        if named := _KERNEL.search(line):
            kernel = named[1]
        if spills := _SPILL.search(line):
            spilled = int(spills[2]) + int(spills[3])
        if used := _USED.search(line):
            shared = _SHARED.search(used[2])
            yield kernel, int(used[1]), spilled, int(shared[1]) if shared else 0
