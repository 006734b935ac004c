"""The live topic `hosts`: every signed-in person may see which machines are online."""

from __future__ import annotations

from webapp.hosts.selectors import host_list
from webapp.live.registry import TopicKind, Visitor, register


def hosts_allowed(user: Visitor, key: str) -> bool:
    return user.is_authenticated and key == ""


def register_topics() -> None:
    register(TopicKind("hosts", hosts_allowed, lambda key: host_list()))
