"""One measuring job per device and machine at a time, whatever the number of worker processes."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from django.conf import settings


class DeviceLock:
    """An advisory file lock named after a target's device; the kernel frees it when its process dies."""

    def __init__(self, device: str) -> None:
        folder: Path = settings.HOME / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(letter if letter.isalnum() else "-" for letter in device)
        self._path = folder / f"{name}.lock"
        self._file: IO[bytes] | None = None

    def try_acquire(self) -> bool:
        """Takes the lock if it is free, without waiting."""
        handle = self._path.open("ab")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            return False
        os.set_inheritable(handle.fileno(), False)
        self._file = handle
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
