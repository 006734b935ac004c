"""Saving operators: every save is a new immutable version."""

from __future__ import annotations

import hashlib
import json

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from webapp.accounts.models import User
from webapp.common.checks import configs_check, shapes_check, source_check
from webapp.common.errors import WebError, not_found
from webapp.live.services import publish
from webapp.operators.models import Operator, Version
from webapp.operators.naming import derived_name
from webapp.operators.schemas import Configs, OperatorChanged, OperatorCreate, VersionCreate
from webapp.operators.selectors import operator_summary, version_of
from webapp.workspaces.models import Workspace


def version_digest(source: str, shapes: dict[str, str], configs: Configs | None = None) -> str:
    """sha256 over the text, its shapes and its configs (sorted, so that their order does not matter)."""
    parts = [source, shapes, configs] if configs else [source, shapes]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def operator_create(workspace: Workspace, author: User, body: OperatorCreate) -> Operator:
    """A new operator with version 1."""
    source_check(body.source)
    shapes_check(body.shapes)
    configs_check(body.configs)
    with transaction.atomic():
        operator = Operator.objects.create(workspace=workspace, name=body.name.strip() or derived_name(body.source))
        _version_add(operator, author, body)
    return operator


def operator_rename(operator: Operator, name: str) -> Operator:
    with transaction.atomic():
        operator.name = name.strip() or operator.name
        operator.save(update_fields=["name", "updated_at"])
        _announce(operator)
    return operator


def operator_delete(operator: Operator) -> None:
    """Hides the operator; its versions stay, because jobs and boards refer to them."""
    with transaction.atomic():
        operator.deleted_at = timezone.now()
        operator.save(update_fields=["deleted_at", "updated_at"])
        _announce(operator, deleted=True)


def version_create(operator: Operator, author: User, body: VersionCreate) -> tuple[Operator, bool]:
    """Saves a version and says whether one was made: the same text as the latest makes none.

    Refuses (KC-W006) when `base_number` is given and somebody saved in the meantime.
    """
    source_check(body.source)
    shapes_check(body.shapes)
    configs_check(body.configs)
    with transaction.atomic():
        operator = Operator.objects.select_for_update().get(pk=operator.pk)
        if body.base_number is not None and body.base_number != operator.latest_number:
            raise WebError(
                "KC-W006",
                f"Version {operator.latest_number} was saved after version {body.base_number}, which you started from.",
                hint="Open the newest version, compare, and save again.",
            )
        latest = version_of(operator, operator.latest_number)
        if latest.digest == version_digest(body.source, body.shapes, chosen(body.configs)):
            return operator, False
        _version_add(operator, author, body)
    return operator, True


def version_restore(operator: Operator, author: User, number: int) -> Operator:
    """A new version with the text of an old one."""
    with transaction.atomic():
        operator = Operator.objects.select_for_update().get(pk=operator.pk)
        old = version_of(operator, number)
        body = VersionCreate(source=old.source, shapes=old.shapes, configs=old.configs, message=f"Restored version {number}")
        _version_add(operator, author, body)
    return operator


def chosen(configs: Configs) -> Configs:
    """Without the targets for which nothing is set."""
    return {target: knobs for target, knobs in configs.items() if knobs}


def _version_add(operator: Operator, author: User, body: OperatorCreate | VersionCreate) -> Version:
    moved = Operator.objects.filter(pk=operator.pk, deleted_at=None).update(
        latest_number=F("latest_number") + 1, updated_at=timezone.now()
    )
    if not moved:
        raise not_found("operator")
    operator.refresh_from_db(fields=["latest_number", "updated_at"])
    version = Version.objects.create(
        operator=operator,
        number=operator.latest_number,
        source=body.source,
        shapes=body.shapes,
        configs=chosen(body.configs),
        message=body.message,
        digest=version_digest(body.source, body.shapes, chosen(body.configs)),
        author=author,
    )
    _announce(operator)
    return version


def _announce(operator: Operator, *, deleted: bool = False) -> None:
    publish(
        f"workspace:{operator.workspace_id}", OperatorChanged(operator=operator_summary(operator), deleted=deleted)
    )
