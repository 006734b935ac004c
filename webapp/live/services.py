"""Publishing: the event is stored with the change and leaves for Redis only after the commit."""

from __future__ import annotations

import json
from datetime import timedelta

import redis
import structlog
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from ninja import Schema

from webapp.live import stream
from webapp.live.models import OutboxEvent, Topic

log = structlog.get_logger(__name__)
BATCH = 200


def topic_advance(topic: str) -> int:
    """The topic's next revision. Must run in the transaction of the change; the row lock orders concurrent changes."""
    if not connection.in_atomic_block:
        raise AssertionError("an event must be published in the transaction of its change")
    if not Topic.objects.filter(name=topic).update(revision=F("revision") + 1):
        Topic.objects.get_or_create(name=topic)
        Topic.objects.filter(name=topic).update(revision=F("revision") + 1)
    return Topic.objects.values_list("revision", flat=True).get(name=topic)


def publish(topic: str, event: Schema) -> int:
    """Stores `event` in the outbox under the topic's next revision; it is sent when the transaction commits."""
    return publish_as(topic, topic_advance(topic), event)


def publish_as(topic: str, revision: int, event: Schema) -> int:
    """Like `publish`, for an event that itself carries the revision `topic_advance` gave."""
    row = OutboxEvent.objects.create(topic=topic, revision=revision, body=event.model_dump_json())
    transaction.on_commit(lambda: _send_rows([row]))
    return revision


def outbox_drain(older_than_s: float = 2.0) -> int:
    """Sends what a crash or a Redis restart left behind; returns how many events were sent."""
    cutoff = timezone.now() - timedelta(seconds=older_than_s)
    rows = list(OutboxEvent.objects.filter(created_at__lte=cutoff).order_by("id")[:BATCH])
    return _send_rows(rows) if rows else 0


def _send_rows(rows: list[OutboxEvent]) -> int:
    try:
        stream.send(stream.Published(row.topic, row.revision, json.loads(row.body)) for row in rows)
    except redis.RedisError as error:
        log.warning("live_send_failed", error=str(error), events=len(rows))
        return 0  # the rows stay and upkeep sends them later
    OutboxEvent.objects.filter(id__in=[row.id for row in rows]).delete()
    return len(rows)
