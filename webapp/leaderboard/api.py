"""REST: boards."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Query, Router

from webapp.accounts.selectors import signed_in
from webapp.common.schemas import Paging
from webapp.leaderboard import selectors
from webapp.leaderboard.schemas import BoardDetail, BoardPage, EntrySource
from webapp.workspaces.selectors import personal_workspace

router = Router(tags=["boards"])


@router.get("", response=BoardPage, summary="Boards of the workspace, last changed first")
def board_list(
    request: HttpRequest,
    paging: Query[Paging],
    query: str = "",
    target: str = "",
) -> BoardPage:
    workspace = personal_workspace(signed_in(request))
    return selectors.board_page(workspace, query, target, paging.limit, paging.offset)


@router.get("/{board_id}", response=BoardDetail, summary="One board, ranked")
def board_get(request: HttpRequest, board_id: str) -> BoardDetail:
    return selectors.board_detail(selectors.board_get(signed_in(request), board_id).id)


@router.get("/{board_id}/entries/{entry_id}/source", response=EntrySource, summary="The code of an entry")
def entry_source(request: HttpRequest, board_id: str, entry_id: str) -> EntrySource:
    board = selectors.board_get(signed_in(request), board_id)
    return EntrySource(entry_id=entry_id, source=selectors.entry_get(board, entry_id).source)
