"""The one ranking, and posting to boards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.webapp.fixtures import Someone
from webapp.jobs import recording
from webapp.jobs.models import Job
from webapp.leaderboard.models import Board, Entry
from webapp.leaderboard.ranking import Ranked, Timed, rank

START = datetime(2026, 1, 1, tzinfo=UTC)


def timed(key: str, median: float, half: float = 0.1, at: int = 0) -> Timed[str]:
    return Timed(key, median, median - half, median + half, START + timedelta(seconds=at))


def shown(*entries: Timed[str]) -> list[tuple[str, int, bool]]:
    return [(place.key, place.rank, place.tied) for place in rank(entries)]


def test_no_entries() -> None:
    assert rank([]) == []


def test_faster_is_first() -> None:
    assert shown(timed("slow", 3.0), timed("fast", 1.0)) == [("fast", 1, False), ("slow", 2, False)]


def test_overlapping_intervals_tie_and_the_earliest_comes_first() -> None:
    faster_but_later = timed("late", 1.00, at=2)
    assert shown(faster_but_later, timed("early", 1.05, at=1), timed("slow", 2.0)) == [
        ("early", 1, True),
        ("late", 1, True),
        ("slow", 3, False),
    ]


def test_touching_intervals_tie() -> None:
    assert [place[1] for place in shown(timed("a", 1.0, 0.25), timed("b", 1.5, 0.25))] == [1, 1]


def test_a_chain_of_small_steps_is_not_one_tie() -> None:
    entries = [timed(str(n), 1.0 + n * 0.15, at=n) for n in range(4)]
    assert shown(*entries) == [("0", 1, True), ("1", 1, True), ("2", 3, True), ("3", 3, True)]


def test_the_order_of_arrival_in_the_list_does_not_matter() -> None:
    entries = [timed(str(n), 1.0 + n * 0.12, at=-n) for n in range(6)]
    assert rank(entries) == rank(entries[::-1])


def test_every_entry_is_ranked_once() -> None:
    entries = [timed(str(n), 1.0 + (n * 7 % 10) * 0.05) for n in range(10)]
    ranked: list[Ranked[str]] = rank(entries)
    assert sorted(place.key for place in ranked) == sorted(entry.key for entry in entries)
    assert [place.rank for place in ranked] == sorted(place.rank for place in ranked)


def finish(ask: Callable[..., Job], *, source: str = "Y = X", **outcome: Any) -> Job:
    job = recording.job_claim(ask("tune", source=source).id, "host")
    assert job is not None
    best = {"status": "measured", "median_ms": 1.0, "low_ms": 0.9, "high_ms": 1.1, "samples": [1.0], "config": {}}
    whole = {"best": best, "device": "CPU", "workload": "X=4:f32", "baseline_ms": 2.0, **outcome}
    recording.job_finish(job.id, job.lease_token, "succeeded", outcome=whole, best_source="int best;")
    job.refresh_from_db()
    return job


def test_the_same_formula_workload_device_and_target_share_a_board(ask: Callable[..., Job]) -> None:
    first, second = finish(ask, formula_digest="f"), finish(ask, formula_digest="f", source="Y=X")
    assert first.board_id == second.board_id
    assert finish(ask, formula_digest="g").board_id != first.board_id
    assert finish(ask, formula_digest="f", device="GPU").board_id != first.board_id
    assert finish(ask, formula_digest="f", workload="X=8:f32").board_id != first.board_id
    assert (Board.objects.count(), Entry.objects.count()) == (4, 5)


@pytest.mark.parametrize(
    "best",
    [None, {"status": "failed", "median_ms": 1.0}, {"status": "measured", "median_ms": 1.0, "low_ms": None, "high_ms": 2}],
)
def test_only_complete_results_are_ranked(ask: Callable[..., Job], best: Any) -> None:
    assert finish(ask, best=best).board_id == ""
    assert not Board.objects.exists()


def test_a_board_shows_its_entries_with_source_and_samples(owner: Someone, ask: Callable[..., Job]) -> None:
    job = finish(ask, audited="7 cases agreed")
    (summary,) = owner.client.get("/api/boards?target=c&query=cpu").json()["items"]
    assert (summary["entries_count"], summary["best_ms"]) == (1, 1.0)
    detail = owner.client.get(f"/api/boards/{job.board_id}").json()
    (entry,) = detail["entries"]
    assert (entry["rank"], entry["samples"], entry["baseline_ms"], entry["author"]) == (1, [1.0], 2.0, "owner")
    assert entry["audited"] == "7 cases agreed"
    assert "7 cases agreed" in owner.client.get(f"/boards/{job.board_id}").content.decode()
    text = owner.client.get(f"/api/boards/{job.board_id}/entries/{entry['id']}/source").json()
    assert text == {"entry_id": entry["id"], "source": "int best;"}
    assert owner.client.get("/api/boards?query=nothing").json()["items"] == []
