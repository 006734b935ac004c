"""Reading operators and versions."""

from __future__ import annotations

from django.db.models import OuterRef, Q, QuerySet, Subquery

from webapp.accounts.models import User
from webapp.common.errors import not_found
from webapp.operators.models import Operator, Version
from webapp.operators.schemas import (
    OperatorDetail,
    OperatorPage,
    OperatorSummary,
    VersionDetail,
    VersionSummary,
)
from webapp.workspaces.models import Workspace


def operators_of(workspace: Workspace, query: str = "") -> QuerySet[Operator]:
    """The workspace's operators, newest change first, whose name or formula contains `query`; `latest_source` is the text of
    the latest version."""
    latest = Version.objects.filter(operator=OuterRef("pk"), number=OuterRef("latest_number")).values("source")[:1]
    rows = Operator.objects.filter(workspace=workspace, deleted_at=None).order_by("-updated_at", "id")
    rows = rows.annotate(latest_source=Subquery(latest))
    return rows.filter(Q(name__icontains=query) | Q(latest_source__icontains=query)) if query else rows


def operator_get(user: User, operator_id: str) -> Operator:
    """The operator, if the user may see it (KC-W002 otherwise)."""
    row = Operator.objects.filter(id=operator_id, deleted_at=None, workspace__owner=user).first()
    if row is None:
        raise not_found("operator")
    return row


def version_of(operator: Operator, number: int) -> Version:
    row = Version.objects.select_related("author").filter(operator=operator, number=number).first()
    if row is None:
        raise not_found("version")
    return row


def operator_summary(row: Operator) -> OperatorSummary:
    return OperatorSummary(
        id=row.id,
        name=row.name,
        latest_number=row.latest_number,
        updated_at=row.updated_at,
        created_at=row.created_at,
    )


def operator_page(workspace: Workspace, query: str, limit: int, offset: int) -> OperatorPage:
    rows = operators_of(workspace, query)
    return OperatorPage(
        items=[operator_summary(row) for row in rows[offset : offset + limit]], total=rows.count()
    )


def version_summary(row: Version) -> VersionSummary:
    return VersionSummary(
        number=row.number,
        message=row.message,
        digest=row.digest,
        author=row.author.username,
        created_at=row.created_at,
    )


def version_detail(row: Version) -> VersionDetail:
    return VersionDetail(**version_summary(row).model_dump(), source=row.source, shapes=row.shapes, configs=row.configs)


def operator_detail(row: Operator) -> OperatorDetail:
    versions = list(row.versions.select_related("author").defer("source"))
    return OperatorDetail(
        **operator_summary(row).model_dump(),
        latest=version_detail(version_of(row, row.latest_number)),
        versions=[version_summary(version) for version in versions],
    )
