"""Boards and their entries."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from webapp.common.ids import public_id
from webapp.workspaces.models import Workspace


class Board(models.Model):
    """One per formula, workload, device and target in a workspace."""

    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="boards")
    title = models.CharField(max_length=160)
    formula = models.TextField()
    formula_digest = models.CharField(max_length=64)
    workload = models.CharField(max_length=300)
    device = models.CharField(max_length=160)
    target = models.CharField(max_length=60)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["workspace", "formula_digest", "workload", "device", "target"], name="board_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.title} on {self.device}"


class Entry(models.Model):
    """The best trial of one tune job. Times in milliseconds; low and high bound the median's bootstrap interval."""

    id = models.CharField(primary_key=True, max_length=12, default=public_id, editable=False)
    board = models.ForeignKey(Board, on_delete=models.CASCADE, related_name="entries")
    job = models.OneToOneField("jobs.Job", on_delete=models.CASCADE, related_name="board_entry")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    median_ms = models.FloatField()
    low_ms = models.FloatField()
    high_ms = models.FloatField()
    samples = models.JSONField(default=list)
    baseline_ms = models.FloatField(null=True)
    config = models.JSONField(default=dict)
    source = models.TextField()
    toolchain = models.CharField(max_length=120, blank=True)
    audited = models.TextField(blank=True, default="")  # what was checked before the time counted, in words
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["board", "median_ms"]),)

    def __str__(self) -> str:
        return f"{self.median_ms} ms"
