"""REST: the signed-in person."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router

from webapp.accounts import selectors, services
from webapp.accounts.schemas import Me, PreferencesPatch

router = Router(tags=["me"])


@router.get("", response=Me, summary="Who is signed in")
def me_get(request: HttpRequest) -> Me:
    return selectors.me(selectors.signed_in(request))


@router.patch("/preferences", response=Me, summary="Change theme, language or layout")
def preferences_patch(request: HttpRequest, body: PreferencesPatch) -> Me:
    return selectors.me(services.preferences_update(selectors.signed_in(request), body))
