"""Machines with workers."""

from __future__ import annotations

from django.db import models


class Host(models.Model):
    """`capabilities` is what the host announced: targets (as the core's targets() says), workers, machine."""

    name = models.CharField(primary_key=True, max_length=120)
    online = models.BooleanField(default=False)
    capabilities = models.JSONField(default=dict)
    last_seen = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
