"""Host heartbeats: a key in Redis that expires is the pulse, the row is written only when something changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from webapp.hosts.models import Host
from webapp.hosts.schemas import HostChanged
from webapp.hosts.selectors import host_detail
from webapp.live import stream
from webapp.live.services import publish


def pulse_key(name: str) -> str:
    return f"kc:host:{name}"


def host_announce(name: str, capabilities: dict[str, Any]) -> None:
    """A heartbeat: call it more often than every HOST_TTL_S seconds. Raises redis.RedisError when Redis is away."""
    stream.client().set(pulse_key(name), "1", ex=settings.HOST_TTL_S)
    row = Host.objects.filter(name=name).first()
    if row is not None and row.online and row.capabilities == capabilities:
        return
    with transaction.atomic():
        row, _ = Host.objects.update_or_create(
            name=name, defaults={"online": True, "capabilities": capabilities, "last_seen": timezone.now()}
        )
        publish("hosts", HostChanged(host=host_detail(row)))


def host_leave(name: str) -> None:
    """A worker that stops in order says so instead of fading."""
    stream.client().delete(pulse_key(name))
    hosts_expire()


def hosts_expire() -> int:
    """Marks hosts without a pulse as offline; returns how many."""
    names = list(Host.objects.filter(online=True).values_list("name", flat=True))
    silent = [name for name in names if not stream.client().exists(pulse_key(name))]
    return sum(_expire(name) for name in silent)


def _expire(name: str) -> int:
    with transaction.atomic():
        changed = Host.objects.filter(name=name, online=True).update(online=False, last_seen=timezone.now())
        if changed:
            publish("hosts", HostChanged(host=host_detail(Host.objects.get(name=name))))
    return changed
