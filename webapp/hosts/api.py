"""REST: hosts."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router

from webapp.hosts.schemas import HostList
from webapp.hosts.selectors import host_list as hosts_read

router = Router(tags=["hosts"])


@router.get("", response=HostList, summary="Machines with workers")
def host_list(request: HttpRequest) -> HostList:
    return hosts_read()
