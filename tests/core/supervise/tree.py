"""A supervisor as `kernelcat up` builds it, with three stubborn services; run by test_processes.py.

Writes the process id of the front, the inner and every service and grandchild to the folder in argv[1]. The services
ignore SIGTERM; one has a grandchild in a session of its own, as a compiler's or a worker's child might be.
"""

import os
import signal
import sys
import time
from pathlib import Path

from kernelcat_core.supervise import services

FOLDER = Path(sys.argv[1])
STUBBORN = """
import os, signal, subprocess, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder, name, depth = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if depth:
    subprocess.Popen([sys.executable, "-c", sys.argv[4], str(folder), name + "-child", str(depth - 1), sys.argv[4]],
                     start_new_session=True)
(folder / name).write_text(str(os.getpid()))
time.sleep(600)
"""


def start_services(supervisor: "services._Supervisor", port: int, folder: Path) -> None:
    (FOLDER / "inner").write_text(str(os.getpid()))
    for name in ("redis", "worker", "web"):
        supervisor.start(name, (sys.executable, "-c", STUBBORN, str(FOLDER), name, "2", STUBBORN))


services._start_services = start_services
services._GRACE_S = 0.5
services.redis_server.find_binary = lambda: "none needed"
(FOLDER / "front").write_text(str(os.getpid()))
if os.environ.get("IN_BETWEEN"):  # a stand-in for make: our parent, to be killed
    child = os.fork()
    if child:
        signal.pause()
    time.sleep(0.2)
    (FOLDER / "front").write_text(str(os.getpid()))
sys.exit(services.up(port=int(sys.argv[2]), home=FOLDER / "home"))
