"""Consistent snapshots: an entity together with the revision of its topic."""

from __future__ import annotations

from dataclasses import dataclass

from ninja import Schema

from webapp.common.errors import WebError
from webapp.live import registry
from webapp.live.models import Topic

TRIES = 5


@dataclass(frozen=True)
class Snapshot:
    topic: str
    revision: int
    value: Schema


def topic_check(user: registry.Visitor, topic: str) -> None:
    """Refuses (KC-W011) topics that do not exist and topics of other people; the two look the same."""
    found = registry.find(topic)
    if found is None or not found[0].allowed(user, found[1]):
        raise WebError("KC-W011", "There is no such topic here.", hint="Open the page again from its list.")


def revision_of(topic: str) -> int:
    """The number of committed events of the topic, 0 for one without any."""
    return Topic.objects.filter(name=topic).values_list("revision", flat=True).first() or 0


def snapshot(topic: str) -> Snapshot:
    """The entity and a revision that belong together.

    Revision and entity change in one transaction, so an entity read between two equal readings of the revision is
    exactly that revision. Under constant change the first reading is used: the entity is then newer than its revision,
    and the events that follow state what is already true.
    """
    found = registry.find(topic)
    if found is None:
        raise WebError("KC-W011", "There is no such topic here.")
    kind, key = found
    for _ in range(TRIES):
        before = revision_of(topic)
        value = kind.snapshot(key)
        if revision_of(topic) == before:
            break
    return Snapshot(topic, before, value)
