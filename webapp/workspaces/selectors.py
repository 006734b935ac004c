"""Who may see what: every other app asks here."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from webapp.common.errors import not_found
from webapp.workspaces.models import Workspace


def personal_workspace(user: AbstractBaseUser | AnonymousUser) -> Workspace:
    """The person's own workspace (KC-W002 before the first sign-in made it)."""
    workspace = Workspace.objects.filter(owner_id=user.pk).first()
    if workspace is None:
        raise not_found("workspace")
    return workspace


def may_see(user: AbstractBaseUser | AnonymousUser, workspace_id: str) -> bool:
    """True for members of the workspace: today, its owner."""
    return user.pk is not None and Workspace.objects.filter(id=workspace_id, owner_id=user.pk).exists()
