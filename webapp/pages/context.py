"""What a page hands to its template and, as JSON, to the front end."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils import translation
from ninja import Schema

from webapp.accounts.models import User
from webapp.workspaces.models import Workspace

SOCKET = "/ws/live"


def page_context(request: HttpRequest, page: str, **extra: Schema | list[Any] | str | int | None) -> dict[str, Any]:
    """The JSON of `#kc-context`: who, which page, which language, and the page's own parts."""
    user = request.user if isinstance(request.user, User) else None
    workspace = Workspace.objects.filter(owner=user).first() if user else None
    get_token(request)  # sets the cookie that the front end sends back
    return {
        "page": page,
        "language": translation.get_language() or settings.LANGUAGE_CODE,
        "theme": user.theme if user else "system",
        "user": {"username": user.username, "display_name": user.get_full_name() or user.username} if user else None,
        "workspace": {"id": workspace.id, "name": workspace.name} if workspace else None,
        "layout": user.layout if user else {},
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "socket": SOCKET,
        **{name: _plain(part) for name, part in extra.items()},
    }


def page_render(
    request: HttpRequest,
    page: str,
    shown: dict[str, Any],
    handed: dict[str, Any] | None = None,
    *,
    template: str | None = None,
    status: int = 200,
) -> HttpResponse:
    """Renders pages/<page>.html with `shown`; `handed` goes to the front end as JSON."""
    context = page_context(request, page, **(handed or {}))
    built = settings.VITE_DEV or settings.FRONTEND_MANIFEST.is_file()
    parts = {**shown, "page": page, "page_context": context, "frontend_built": built}
    return render(request, template or f"pages/{page}.html", parts, status=status)


def _plain(part: Any) -> Any:
    if isinstance(part, Schema):
        return part.model_dump(mode="json")
    if isinstance(part, list):
        return [_plain(item) for item in part]
    return part
