"""Hosts: heartbeats, going silent, and what is announced."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webapp.fixtures import Someone
from webapp.hosts.selectors import host_list, hosts_for, targets_online
from webapp.hosts.services import host_announce, host_leave, hosts_expire, pulse_key
from webapp.live import stream
from webapp.live.selectors import revision_of

pytestmark = pytest.mark.django_db


def capabilities(*facts: str, running: int = 0) -> dict[str, Any]:
    target = {"target": "c", "label": "CPU", "facts_possible": list(facts), "missing": [], "device": "CPU"}
    return {"targets": [target], "workers": 2, "running": running, "machine": {"cores": 2}}


def test_a_heartbeat_without_news_writes_nothing() -> None:
    for _ in range(3):
        host_announce("box", capabilities("rendered"))
    assert revision_of("hosts") == 1
    host_announce("box", capabilities("rendered", running=1))
    assert revision_of("hosts") == 2


def test_the_pulse_expires_by_itself(settings: Any) -> None:
    host_announce("box", capabilities())
    assert 0 < stream.client().ttl(pulse_key("box")) <= settings.HOST_TTL_S


def test_a_silent_host_goes_offline_once_and_comes_back() -> None:
    host_announce("box", capabilities("rendered"))
    assert hosts_expire() == 0
    stream.client().delete(pulse_key("box"))
    assert (hosts_expire(), hosts_expire()) == (1, 0)
    assert not host_list().items[0].online
    host_announce("box", capabilities("rendered"))
    assert host_list().items[0].online


def test_a_worker_that_stops_in_order_is_offline_at_once() -> None:
    host_announce("box", capabilities("rendered"))
    host_leave("box")
    assert targets_online() == set()


def test_who_can_measure() -> None:
    host_announce("emulator", capabilities("rendered", "emulated"))
    host_announce("device", capabilities("rendered", "measured"))
    host_announce("bare", capabilities())
    assert sorted(hosts_for("c", measuring=False)) == ["device", "emulator"]
    assert hosts_for("c", measuring=True) == ["device"]
    assert hosts_for("cuda:sm_80", measuring=False) == []


def test_online_hosts_come_first(owner: Someone) -> None:
    host_announce("a", capabilities("rendered"))
    host_announce("b", capabilities("rendered"))
    host_leave("a")
    items = owner.client.get("/api/hosts").json()["items"]
    assert [(item["name"], item["online"]) for item in items] == [("b", True), ("a", False)]
