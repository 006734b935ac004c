"""A workspace owns operators, jobs and boards; today each person has one."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from webapp.common.ids import public_id


class Workspace(models.Model):
    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    name = models.CharField(max_length=120)
    owner = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workspace")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
