"""Checks of what people send, shared by every door that takes a formula."""

from __future__ import annotations

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


def shapes_check(shapes: dict[str, str]) -> None:
    """Refuses (KC-W004) absurdly many or long shape strings; what they mean is the core's business."""
    if len(shapes) > 64 or any(len(name) > 200 or len(text) > 200 for name, text in shapes.items()):
        raise WebError("KC-W004", "Too many shapes, or a shape that is too long.", hint="Give at most 64.")
