"""The core's lists (targets, operators, gallery), asked of a preview child and kept."""

from __future__ import annotations

import threading
import time
from typing import Any

from webapp.common.core_texts import core_text
from webapp.hosts.selectors import targets_online
from webapp.preview.pool import pool
from webapp.preview.schemas import CatalogOperator, CatalogTarget, GalleryItem

KEPT_S = 300.0  # toolchains may be installed while the server runs
ASK_S = 60.0  # probing toolchains runs compilers

_kept: dict[str, tuple[float, list[dict[str, Any]]]] = {}
_lock = threading.Lock()


def _list(call: str) -> list[dict[str, Any]]:
    with _lock:
        stamp, rows = _kept.get(call, (-KEPT_S, []))
        if time.monotonic() - stamp >= KEPT_S:
            rows = pool().submit(call, {}, ASK_S).result()
            _kept[call] = (time.monotonic(), rows)
    return rows


def forget() -> None:
    """Asks the core again next time."""
    with _lock:
        _kept.clear()


def targets() -> list[CatalogTarget]:
    online = targets_online()
    return [CatalogTarget(**{**row, "online": row["target"] in online}) for row in _list("targets")]


def operators() -> list[CatalogOperator]:
    return [CatalogOperator(**row) for row in _list("operators")]


def gallery(language: str = "") -> list[GalleryItem]:
    """The gallery, its words in `language`."""
    items = [GalleryItem(**row) for row in _list("gallery")]
    for item in items:
        item.title, item.group = core_text(item.title, language), core_text(item.group, language)
        item.summary = core_text(item.summary, language)
    return items


def gallery_item(slug: str, language: str = "") -> GalleryItem | None:
    return next((item for item in gallery(language) if item.slug == slug), None)
