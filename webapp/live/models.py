"""Topics with their revision, and the outbox of events that were committed but perhaps not yet published."""

from __future__ import annotations

from django.db import models


class Topic(models.Model):
    """`revision` counts the committed events of the topic."""

    name = models.CharField(primary_key=True, max_length=80)
    revision = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class OutboxEvent(models.Model):
    """Written in the transaction of the change it tells; deleted once it is in Redis."""

    id = models.BigAutoField(primary_key=True)
    topic = models.CharField(max_length=80)
    revision = models.PositiveBigIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.topic}@{self.revision}"
