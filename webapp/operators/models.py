"""Operators and their immutable versions."""

from __future__ import annotations

from typing import Any, NoReturn

from django.conf import settings
from django.db import models

from webapp.common.ids import public_id
from webapp.workspaces.models import Workspace


class Operator(models.Model):
    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="operators")
    name = models.CharField(max_length=120)
    latest_number = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=["workspace", "-updated_at"]),)

    def __str__(self) -> str:
        return self.name


class Version(models.Model):
    """One saved text of an operator, its shapes and the knobs set by hand (target -> knob -> value).

    Rows are written once; changing one is a programming error.
    """

    operator = models.ForeignKey(Operator, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    source = models.TextField()
    shapes = models.JSONField(default=dict)
    configs = models.JSONField(default=dict)
    message = models.CharField(max_length=300, blank=True)
    digest = models.CharField(max_length=64)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["operator", "number"], name="version_number_once"),)
        ordering = ("-number",)

    def __str__(self) -> str:
        return f"{self.operator_id} v{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            self._refuse()
        super().save(*args, **kwargs)

    def _refuse(self) -> NoReturn:
        raise AssertionError("a version is immutable: save a new one")
