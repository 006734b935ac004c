"""What is known about the signed-in person."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.http import HttpRequest

from webapp.accounts.models import User
from webapp.accounts.schemas import Language, Me, Person, Preferences, Theme, WorkspaceRef
from webapp.workspaces.selectors import personal_workspace


def signed_in(request: HttpRequest) -> User:
    """The user of a request whose door has already refused anonymous people."""
    return cast(User, request.user)


def language_of(user: User) -> Language:
    return cast(Language, user.language or settings.LANGUAGE_CODE)


def me(user: User) -> Me:
    workspace = personal_workspace(user)
    return Me(
        user=Person(username=user.username, display_name=user.get_full_name() or user.username),
        workspace=WorkspaceRef(id=workspace.id, name=workspace.name),
        preferences=Preferences(
            theme=cast(Theme, user.theme), language=language_of(user), layout=user.layout
        ),
    )
