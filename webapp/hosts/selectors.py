"""Reading hosts."""

from __future__ import annotations

from webapp.hosts.capability import serves
from webapp.hosts.models import Host
from webapp.hosts.schemas import HostDetail, HostList, HostTarget


def host_detail(row: Host) -> HostDetail:
    announced = row.capabilities
    return HostDetail(
        name=row.name,
        online=row.online,
        workers=announced.get("workers", 0),
        running=announced.get("running", 0),
        targets=[HostTarget(**target) for target in announced.get("targets", [])],
        machine=announced.get("machine", {}),
        last_seen=row.last_seen,
    )


def targets_alike(host: HostDetail) -> list[tuple[list[str], HostTarget]]:
    """The host's targets, those of which the same can be shown together: (their names, the first of them)."""
    groups: dict[tuple[str, ...], tuple[list[str], HostTarget]] = {}
    for target in host.targets:
        family = target.target.partition(":")[0]
        key = (family, target.device or "", *target.facts_possible, "/", *target.missing)
        groups.setdefault(key, ([], target))[0].append(target.target)
    return list(groups.values())


def host_list() -> HostList:
    """All hosts, online ones first."""
    return HostList(items=[host_detail(row) for row in Host.objects.order_by("-online", "name")])


def hosts_for(target: str, *, measuring: bool) -> list[str]:
    """Names of online hosts that take jobs of the target (that measure it, if asked)."""
    return [
        row.name
        for row in Host.objects.filter(online=True)
        for announced in row.capabilities.get("targets", [])
        if announced["target"] == target and serves(announced, measuring=measuring)
    ]


def targets_online() -> set[str]:
    """Targets that at least one online host serves."""
    return {
        announced["target"]
        for row in Host.objects.filter(online=True)
        for announced in row.capabilities.get("targets", [])
        if serves(announced, measuring=False)
    }
