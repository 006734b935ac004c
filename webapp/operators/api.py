"""REST: operators and versions."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Query, Router, Status

from webapp.accounts.selectors import signed_in
from webapp.common.schemas import Paging
from webapp.operators import selectors, services
from webapp.operators.schemas import (
    OperatorCreate,
    OperatorDetail,
    OperatorPage,
    OperatorPatch,
    VersionCreate,
    VersionDetail,
)
from webapp.workspaces.selectors import personal_workspace

router = Router(tags=["operators"])


@router.get("", response=OperatorPage, summary="Operators of the workspace, last changed first")
def operator_list(
    request: HttpRequest, paging: Query[Paging], query: str = ""
) -> OperatorPage:
    return selectors.operator_page(personal_workspace(signed_in(request)), query, paging.limit, paging.offset)


@router.post("", response={201: OperatorDetail}, summary="Save a new operator")
def operator_create(request: HttpRequest, body: OperatorCreate) -> Status[OperatorDetail]:
    user = signed_in(request)
    return Status(201, selectors.operator_detail(services.operator_create(personal_workspace(user), user, body)))


@router.get("/{operator_id}", response=OperatorDetail, summary="One operator with its versions")
def operator_get(request: HttpRequest, operator_id: str) -> OperatorDetail:
    return selectors.operator_detail(selectors.operator_get(signed_in(request), operator_id))


@router.patch("/{operator_id}", response=OperatorDetail, summary="Rename")
def operator_patch(request: HttpRequest, operator_id: str, body: OperatorPatch) -> OperatorDetail:
    operator = selectors.operator_get(signed_in(request), operator_id)
    return selectors.operator_detail(services.operator_rename(operator, body.name))


@router.delete("/{operator_id}", response={204: None}, summary="Remove from the lists")
def operator_delete(request: HttpRequest, operator_id: str) -> Status[None]:
    services.operator_delete(selectors.operator_get(signed_in(request), operator_id))
    return Status(204, None)


@router.post(
    "/{operator_id}/versions",
    response={200: OperatorDetail, 201: OperatorDetail},
    summary="Save a new version (200 and none, if the text is the latest one)",
)
def version_create(request: HttpRequest, operator_id: str, body: VersionCreate) -> Status[OperatorDetail]:
    user = signed_in(request)
    operator, created = services.version_create(selectors.operator_get(user, operator_id), user, body)
    return Status(201 if created else 200, selectors.operator_detail(operator))


@router.get("/{operator_id}/versions/{number}", response=VersionDetail, summary="One version with its text")
def version_get(request: HttpRequest, operator_id: str, number: int) -> VersionDetail:
    operator = selectors.operator_get(signed_in(request), operator_id)
    return selectors.version_detail(selectors.version_of(operator, number))


@router.post(
    "/{operator_id}/versions/{number}/restore",
    response={201: OperatorDetail},
    summary="Make a new version with this one's text",
)
def version_restore(request: HttpRequest, operator_id: str, number: int) -> Status[OperatorDetail]:
    user = signed_in(request)
    operator = services.version_restore(selectors.operator_get(user, operator_id), user, number)
    return Status(201, selectors.operator_detail(operator))
