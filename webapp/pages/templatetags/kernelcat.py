"""Numbers as KernelCAT writes them, and links that keep the filters of a list."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from webapp.common.core_texts import core_text
from webapp.operators.naming import headline

register = template.Library()


@register.filter
def milliseconds(value: float | None) -> str:
    """`1.37 ms`, `842 us`: three significant digits, with a unit; an en dash for nothing."""
    if value is None:
        return "–"
    if value < 1.0:
        return f"{_three(value * 1000)} µs"
    return f"{_three(value)} ms" if value < 1000 else f"{_three(value / 1000)} s"


@register.filter
def formula_line(source: str | None) -> str:
    """The line of a formula that stands for it in a list."""
    return headline(source or "")


@register.filter
def in_language(text: str) -> str:
    """What the core said, in the language of the page."""
    return core_text(text, get_language() or "")


@register.filter
def percent(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"


@register.filter
def state_name(state: str) -> str:
    """A job's state in the language of the page."""
    names = {
        "queued": _("queued"),
        "running": _("running"),
        "succeeded": _("succeeded"),
        "failed": _("failed"),
        "cancelled": _("cancelled"),
    }
    return names.get(state, state)


@register.filter
def kind_name(kind: str) -> str:
    """A job's kind in the language of the page."""
    names = {"build": _("Build"), "check": _("Check"), "profile": _("Profile"), "tune": _("Tune")}
    return names.get(kind, kind)


@register.simple_tag(takes_context=True)
def link_with(context: dict[str, Any], **changes: str | int) -> str:
    """The current query string with some values replaced: `?state=failed&page=2`."""
    request: HttpRequest = context["request"]
    query = request.GET.copy()
    for name, value in changes.items():
        query[name] = str(value)
    return "?" + query.urlencode()


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
