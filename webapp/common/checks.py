"""Checks of what people send, shared by every door that takes a formula."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from webapp.common.errors import WebError


def source_check(source: str) -> None:
    """Refuses (KC-W005) a formula of more than SOURCE_LIMIT_BYTES bytes of UTF-8."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > settings.SOURCE_LIMIT_BYTES:
        limit = settings.SOURCE_LIMIT_BYTES // 1024
        raise WebError(
            "KC-W005",
            f"The text has {size:,} bytes; at most {limit} KiB are accepted.",
            hint="Split it into several operators.",
        )
    if "\x00" in source:
        raise WebError("KC-W004", "The text contains a NUL character.", hint="Remove it.")


def configs_check(configs: dict[str, dict[str, Any]]) -> None:
    """Refuses (KC-W004) absurdly many or long knobs; what they mean is the core's business."""
    knobs = [(name, value) for chosen in configs.values() for name, value in chosen.items()]
    absurd = any(len(name) > 200 or not isinstance(value, bool | int | float | str) for name, value in knobs)
    if len(configs) > 64 or len(knobs) > 2000 or absurd:
        raise WebError("KC-W004", "Too many knobs, or a knob that is no plain value.", hint="Give numbers by knob and target.")


def shapes_check(shapes: dict[str, str]) -> None:
    """Refuses (KC-W004) absurdly many or long shape strings; what they mean is the core's business."""
    if len(shapes) > 64 or any(len(name) > 200 or len(text) > 200 for name, text in shapes.items()):
        raise WebError("KC-W004", "Too many shapes, or a shape that is too long.", hint="Give at most 64.")
