"""Who may use the REST API: people with a session, after Django's CSRF check."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest
from ninja.security import APIKeyCookie

from webapp.accounts.models import User


class SessionAuth(APIKeyCookie):
    """Session cookie plus CSRF token, for synchronous views."""

    param_name = settings.SESSION_COOKIE_NAME

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        return request.user if isinstance(request.user, User) and request.user.is_active else None


class AsyncSessionAuth(SessionAuth):
    """The same for asynchronous views: the session is read off the event loop."""

    async def __call__(self, request: HttpRequest) -> User | None:
        # The CSRF check and the session both may touch the database, hence a thread for the whole of it.
        return await sync_to_async(super().__call__)(request)
