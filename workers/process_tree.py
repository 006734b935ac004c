"""Killing a process with everything it started, also what moved into a session of its own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
ROUNDS = 50
PAUSE_S = 0.02


def parents() -> dict[int, int]:
    """Process id -> parent's id of everything alive (zombies are not)."""
    found: dict[int, int] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            # "pid (name) state ppid ...": the name may hold spaces and parentheses, so cut after the last one
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def descendants(root: int) -> list[int]:
    """All live processes below `root`, nearest first."""
    tree = parents()
    found: list[int] = []
    level = {root}
    while level:
        level = {pid for pid, parent in tree.items() if parent in level}
        found += sorted(level)
    return found


def kill_tree(root: int) -> None:
    """Kills everything below `root`, then `root` and its process group.

    The root must be a subreaper (workers.child is): processes whose parent dies then become its children and stay in
    the tree, so repeating until nothing is left below catches those that were forked meanwhile.
    """
    for _ in range(ROUNDS):
        below = descendants(root)
        if not below:
            break
        for pid in below:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(root, signal.SIGKILL)
