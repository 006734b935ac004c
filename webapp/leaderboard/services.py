"""Posting results."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from webapp.leaderboard.models import Board, Entry
from webapp.leaderboard.schemas import BoardRanked
from webapp.leaderboard.selectors import board_detail
from webapp.live.services import publish

if TYPE_CHECKING:  # jobs posts to boards, so boards cannot import jobs when they load
    from webapp.jobs.models import Job


def entry_post(job: Job, outcome: dict[str, Any], source: str) -> str:
    """Posts the best trial of a tune; returns the board's id, or "" when nothing was measured completely.

    One entry per job, however often this is called. Runs in the caller's transaction.
    """
    best = outcome.get("best") or {}
    times = [best.get(name) for name in ("median_ms", "low_ms", "high_ms")]
    if best.get("status") != "measured" or any(time is None for time in times):
        return ""
    formula_digest = outcome.get("formula_digest") or hashlib.sha256(job.source.encode()).hexdigest()
    board, _ = Board.objects.get_or_create(
        workspace_id=job.workspace_id,
        formula_digest=formula_digest,
        workload=str(outcome.get("workload") or "")[:300],
        device=str(outcome.get("device") or "")[:160],
        target=job.target,
        defaults={"title": job.title, "formula": job.source},
    )
    median, low, high = (float(time) for time in times if time is not None)
    Entry.objects.get_or_create(
        job=job,
        defaults={
            "board": board,
            "author_id": job.author_id,
            "median_ms": median,
            "low_ms": low,
            "high_ms": high,
            "samples": best.get("samples") or [],
            "baseline_ms": outcome.get("baseline_ms"),
            "config": best.get("config") or {},
            "source": source,
            "toolchain": str(outcome.get("toolchain") or "")[:120],
            "audited": str(outcome.get("audited") or "")[:2000],
        },
    )
    board.save(update_fields=["updated_at"])
    publish(f"board:{board.id}", BoardRanked(board=board_detail(board.id)))
    return board.id
