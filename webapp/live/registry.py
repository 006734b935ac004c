"""Apps register their topics here: who may follow one, and what its snapshot is. `live` itself knows no app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from ninja import Schema

Visitor = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True)
class TopicKind:
    """`allowed(user, key)` and `snapshot(key)` for topics named `prefix` or `prefix:key`."""

    prefix: str
    allowed: Callable[[Visitor, str], bool]
    snapshot: Callable[[str], Schema]


_kinds: dict[str, TopicKind] = {}


def register(kind: TopicKind) -> None:
    _kinds[kind.prefix] = kind


def find(topic: str) -> tuple[TopicKind, str] | None:
    """The kind and the key of a topic's name, or None for a name nobody registered."""
    prefix, _, key = topic.partition(":")
    kind = _kinds.get(prefix)
    return (kind, key) if kind else None


def prefixes() -> list[str]:
    return sorted(_kinds)
