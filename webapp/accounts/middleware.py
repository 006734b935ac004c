"""The language a signed-in person chose wins over the browser's."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation

from webapp.accounts.models import User

# Their answers hold nothing to translate, and previews must be quick: no look-up of the person here.
SILENT = ("/api/preview", "/static/")


def preferred_language(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        speaks = not request.path.startswith(SILENT)
        if speaks and isinstance(request.user, User) and request.user.language:
            translation.activate(request.user.language)
            request.LANGUAGE_CODE = translation.get_language()
        return get_response(request)

    return answer
