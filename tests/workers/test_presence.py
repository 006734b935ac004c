"""What a worker subscribes to and announces."""

from __future__ import annotations

from typing import Any

import pytest

from webapp.hosts.selectors import host_list
from webapp.jobs.port import InProcessJobPort
from workers.presence import Presence, machine, queues_of, running

TARGETS: list[dict[str, Any]] = [
    {"target": "c", "label": "CPU", "facts_possible": ["rendered", "measured"], "missing": [], "device": "AMD"},
    {"target": "cuda:sm_80", "label": "A100", "facts_possible": ["rendered", "emulated"], "missing": ["nvcc"]},
    {"target": "none", "label": "-", "facts_possible": [], "missing": []},
]


def test_queues_follow_what_the_machine_can_show() -> None:
    assert queues_of(TARGETS) == ["q.c", "q.cuda.sm_80", "m.c"]


@pytest.mark.django_db
def test_a_beat_announces_targets_load_and_machine() -> None:
    presence = Presence(InProcessJobPort(), workers=3)
    presence.targets = TARGETS
    with running:
        presence.beat()
    (host,) = host_list().items
    assert (host.online, host.workers, host.running) == (True, 3, 1)
    assert host.targets[1].missing == ["nvcc"]
    assert host.machine["cores"] >= 1
    presence.beat()
    assert host_list().items[0].running == 0


def test_the_machine_is_described() -> None:
    assert machine()["memory_bytes"] > 1 << 28
    assert machine()["processor"]
