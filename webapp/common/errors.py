"""Web errors and the one error envelope."""

from __future__ import annotations

from typing import Any

from kernelcat_core.errors import KernelcatError

STATUS = {
    "KC-W001": 401,
    "KC-W002": 404,
    "KC-W003": 403,
    "KC-W004": 422,
    "KC-W005": 413,
    "KC-W006": 409,
    "KC-W007": 429,
    "KC-W008": 410,
    "KC-W009": 409,
    "KC-W010": 429,
    "KC-W011": 404,
    "KC-X006": 503,
    "KC-X007": 503,
    "KC-X010": 500,
    "KC-X011": 503,
}
"""Error code -> HTTP status; a code that is absent (an error in a formula, say) is 422."""

HINTS = {
    "KC-W001": "Sign in at /sign-in.",
    "KC-W002": "Check the address, or go back to the list it came from.",
    "KC-X006": "Make the formula or its shapes smaller, or try again.",
    "KC-X007": "Try again. If it happens again with this text, report it: this is our fault.",
    "KC-X010": "Try again. If it happens again, report it with the time of day: this is our fault.",
    "KC-X011": "Try again in a moment.",
}
"""The next step for codes whose hint does not depend on the case."""


class WebError(KernelcatError):
    """An error of the web side; its HTTP status follows from its code."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(code, message, hint=hint or HINTS.get(code, ""))


def not_found(what: str) -> WebError:
    """There is no such `what`, or it belongs to someone else: the two look the same from outside."""
    return WebError("KC-W002", f"There is no such {what} here.")


def status_of(code: str) -> int:
    return STATUS.get(code, 422)


def envelope(error: KernelcatError) -> dict[str, Any]:
    """The JSON body of an error answer."""
    return {"error": error.to_dict()}
