"""Boards: who is fastest for one (formula, workload, device, target)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema


class BoardEntry(Schema):
    """`rank` counts bands: entries whose intervals overlap the band's first entry share its rank (`tied`). `audited`
    says what was checked before the time counted."""

    id: str
    rank: int
    tied: bool
    author: str
    job_id: str
    operator_id: str | None
    version_number: int | None
    median_ms: float
    low_ms: float
    high_ms: float
    samples: list[float]
    baseline_ms: float | None
    config: dict[str, Any]
    toolchain: str
    audited: str
    created_at: datetime


class BoardSummary(Schema):
    id: str
    title: str
    target: str
    device: str
    workload: str
    formula_digest: str
    entries_count: int
    best_ms: float | None
    updated_at: datetime


class BoardDetail(Schema):
    """Also the snapshot of topic board:{id}. The source of an entry is at GET /api/boards/{id}/entries/{entry}/source."""

    board: BoardSummary
    formula: str
    entries: list[BoardEntry]


class BoardPage(Schema):
    items: list[BoardSummary]
    total: int


class EntrySource(Schema):
    entry_id: str
    source: str


class BoardRanked(Schema):
    """Event of board:{id}: the whole board after a new entry (entries are few; ranks may all move)."""

    type: Literal["board_ranked"] = "board_ranked"
    board: BoardDetail
