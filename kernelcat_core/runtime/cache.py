"""Compiled binaries on disk, found by the content that made them.

`Entry` folders live under $KERNELCAT_CACHE (default ~/.cache/kernelcat) and appear whole or not at all: files are
written beside and renamed. Only the parent of a sandbox calls `publish`. Least recently used entries go first when the
folder passes $KERNELCAT_CACHE_BYTES (default 2 GiB).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_META = "entry.json"
_DEFAULT_BYTES = 2 << 30


@dataclass(frozen=True)
class Entry:
    """One cached set of files (name -> path) and the facts stored with it."""

    key: str
    files: Mapping[str, Path]
    facts: Mapping[str, Any]


def folder() -> Path:
    """The cache's root, private to this user; made on first use."""
    configured = os.environ.get("KERNELCAT_CACHE")
    root = Path(configured) if configured else Path.home() / ".cache" / "kernelcat"
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    return root


def key(**parts: Any) -> str:
    """SHA-256 over named JSON values; the order of the names does not matter."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def find(digest: str) -> Entry | None:
    """The entry of a key; None when it is absent or its files are not what was published."""
    place = _place(digest)
    try:
        meta = json.loads((place / _META).read_text())
        files = {name: place / name for name in meta["files"]}
        intact = all(_sha256(path.read_bytes()) == meta["files"][name] for name, path in files.items())
    except (OSError, ValueError, KeyError):
        return None
    if not intact:
        return None
    with contextlib.suppress(OSError):
        os.utime(place)
    return Entry(digest, files, meta["facts"])


def publish(digest: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Entry:
    """Store `files` under a key and return the entry; an entry that another process published first wins."""
    place = _place(digest)
    place.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".staging-", dir=place.parent))
    try:
        staging.chmod(0o755)
        for name, content in files.items():
            (staging / name).write_bytes(content)
            (staging / name).chmod(0o644)  # a sandboxed user opens it through a descriptor
        meta = {"files": {name: _sha256(content) for name, content in files.items()}, "facts": dict(facts)}
        (staging / _META).write_text(json.dumps(meta))
        try:
            staging.rename(place)
        except OSError:
            existing = find(digest)
            if existing is not None:
                return existing
            shutil.rmtree(place, ignore_errors=True)  # damaged: replace it
            staging.rename(place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _evict(keep=place)
    return Entry(digest, {name: place / name for name in files}, dict(facts))


def _place(digest: str) -> Path:
    return folder() / "binaries" / digest[:2] / digest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_next_eviction = 0.0


def _evict(keep: Path) -> None:
    """Remove the least recently used entries above the size limit; looks at most every ten seconds."""
    global _next_eviction
    if time.monotonic() < _next_eviction:
        return
    _next_eviction = time.monotonic() + 10
    trim(int(os.environ.get("KERNELCAT_CACHE_BYTES", _DEFAULT_BYTES)), keep)


def trim(limit_bytes: int, keep: Path | None = None) -> int:
    """Bring the binaries below `limit_bytes`, oldest use first, sparing `keep`; returns the bytes left."""
    entries: list[tuple[float, int, Path]] = []
    for place in (folder() / "binaries").glob("??/*"):
        with contextlib.suppress(OSError):
            size = sum(file.stat().st_size for file in place.iterdir() if file.is_file())
            entries.append((place.stat().st_mtime, size, place))
    total = sum(size for _, size, _ in entries)
    for _, size, place in sorted(entries):
        if total <= limit_bytes:
            break
        if place != keep:
            shutil.rmtree(place, ignore_errors=True)
            total -= size
    return total
