"""Operators and their immutable versions as the REST API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Field, Schema

Shapes = dict[str, str]
"""Input name -> "4096x1024:f32" ("scalar:f32" for a scalar)."""
Configs = dict[str, dict[str, Any]]
"""Target -> knob -> value: what somebody set by hand; knobs that are absent are the schedule's choice."""


class VersionSummary(Schema):
    number: int
    message: str
    digest: str
    author: str
    created_at: datetime


class VersionDetail(VersionSummary):
    """An immutable version: number counts from 1, digest is the sha256 of source, shapes and configs."""

    source: str
    shapes: Shapes
    configs: Configs = {}


class OperatorSummary(Schema):
    id: str
    name: str
    latest_number: int
    updated_at: datetime
    created_at: datetime


class OperatorDetail(OperatorSummary):
    latest: VersionDetail
    versions: list[VersionSummary]


class OperatorPage(Schema):
    items: list[OperatorSummary]
    total: int


class OperatorCreate(Schema):
    """Without a name the operator is called after its formula."""

    name: str = Field("", max_length=120)
    source: str
    shapes: Shapes = {}
    configs: Configs = {}
    message: str = Field("", max_length=300)


class OperatorPatch(Schema):
    name: str = Field(min_length=1, max_length=120)


class VersionCreate(Schema):
    """`base_number` is the version the editor started from; if a newer one exists the save is refused (KC-W006)."""

    source: str
    shapes: Shapes = {}
    configs: Configs = {}
    message: str = Field("", max_length=300)
    base_number: int | None = None


class OperatorChanged(Schema):
    """Event of workspace:{id}: a new operator, a new version, or a new name. `deleted` true removes it."""

    type: Literal["operator_changed"] = "operator_changed"
    operator: OperatorSummary
    deleted: bool = False
