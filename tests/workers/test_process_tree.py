"""Finding and killing everything below a process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from workers.process_tree import descendants, kill_tree

# A subreaper whose grandchild sits in a session of its own and has lost its parent.
PROGRAM = """
import ctypes, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)
inner = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)"
subprocess.run([sys.executable, "-c", inner], check=True)
print("ready", flush=True)
time.sleep(60)
"""


def test_an_orphan_in_another_session_is_found_and_killed() -> None:
    root = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, start_new_session=True)
    assert root.stdout is not None
    assert root.stdout.readline() == b"ready\n"
    (orphan,) = descendants(root.pid)
    kill_tree(root.pid)
    assert root.wait(timeout=5) == -9
    deadline = time.monotonic() + 5
    while Path(f"/proc/{orphan}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{orphan}").exists()
    root.stdout.close()


def test_a_process_that_is_gone_is_no_error() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    kill_tree(gone.pid)
    assert descendants(gone.pid) == []
