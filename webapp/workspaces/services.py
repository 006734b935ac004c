"""Making workspaces."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser

from webapp.workspaces.models import Workspace


def personal_workspace_ensure(user: AbstractUser) -> Workspace:
    """The person's own workspace, made on the first sign-in."""
    workspace, _ = Workspace.objects.get_or_create(owner_id=user.pk, defaults={"name": user.username})
    return workspace
