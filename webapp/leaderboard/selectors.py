"""Reading boards."""

from __future__ import annotations

from django.db.models import Count, Min, Q, QuerySet

from webapp.accounts.models import User
from webapp.common.errors import not_found
from webapp.leaderboard.models import Board, Entry
from webapp.leaderboard.ranking import Timed, rank
from webapp.leaderboard.schemas import BoardDetail, BoardEntry, BoardPage, BoardSummary
from webapp.workspaces.models import Workspace


def _with_figures(rows: QuerySet[Board]) -> QuerySet[Board]:
    return rows.annotate(entries_count=Count("entries"), best_ms=Min("entries__median_ms"))


def boards_of(workspace: Workspace, query: str = "", target: str = "") -> QuerySet[Board]:
    """The workspace's boards, last changed first; `query` looks into title, device and workload."""
    rows = Board.objects.filter(workspace=workspace).order_by("-updated_at", "id")
    if target:
        rows = rows.filter(target=target)
    if query:
        rows = rows.filter(
            Q(title__icontains=query) | Q(device__icontains=query) | Q(workload__icontains=query)
        )
    return _with_figures(rows)


def board_get(user: User, board_id: str) -> Board:
    """The board, if the user may see it (KC-W002 otherwise)."""
    row = _with_figures(Board.objects.filter(id=board_id, workspace__owner=user)).first()
    if row is None:
        raise not_found("board")
    return row


def board_summary(row: Board) -> BoardSummary:
    """`row` comes from `boards_of` or `board_get`, which count its entries."""
    return BoardSummary.model_validate(row, from_attributes=True)


def board_page(workspace: Workspace, query: str, target: str, limit: int, offset: int) -> BoardPage:
    rows = boards_of(workspace, query, target)
    return BoardPage(items=[board_summary(row) for row in rows[offset : offset + limit]], total=rows.count())


def ranking(board: Board) -> list[BoardEntry]:
    """The entries of a board with their ranks: the only place that orders them."""
    rows = {row.id: row for row in Entry.objects.filter(board=board).select_related("author", "job")}
    timed = [Timed(row.id, row.median_ms, row.low_ms, row.high_ms, row.created_at) for row in rows.values()]
    return [_entry(rows[place.key], place.rank, place.tied) for place in rank(timed)]


def operators_on(board: Board) -> list[tuple[str, int]]:
    """The operator whose version was measured last on this board, as (id, version), if it is still there."""
    newest = (
        Entry.objects.filter(board=board, job__operator__deleted_at=None, job__version_number__isnull=False)
        .order_by("-created_at")
        .values_list("job__operator_id", "job__version_number")
    )
    return [(operator, version) for operator, version in newest[:1] if operator and version is not None]


def board_detail(board_id: str) -> BoardDetail:
    row = _with_figures(Board.objects.filter(id=board_id)).first()
    if row is None:
        raise not_found("board")
    return BoardDetail(board=board_summary(row), formula=row.formula, entries=ranking(row))


def entry_get(board: Board, entry_id: str) -> Entry:
    row = Entry.objects.filter(board=board, id=entry_id).first()
    if row is None:
        raise not_found("entry")
    return row


def _entry(row: Entry, place: int, tied: bool) -> BoardEntry:
    return BoardEntry(
        id=row.id,
        rank=place,
        tied=tied,
        author=row.author.username,
        job_id=row.job_id,
        operator_id=row.job.operator_id,
        version_number=row.job.version_number,
        median_ms=row.median_ms,
        low_ms=row.low_ms,
        high_ms=row.high_ms,
        samples=row.samples,
        baseline_ms=row.baseline_ms,
        config=row.config,
        toolchain=row.toolchain,
        audited=row.audited,
        created_at=row.created_at,
    )
