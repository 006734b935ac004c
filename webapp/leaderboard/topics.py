"""The live topic board:{id}."""

from __future__ import annotations

from webapp.leaderboard.models import Board
from webapp.leaderboard.selectors import board_detail
from webapp.live.registry import TopicKind, Visitor, register
from webapp.workspaces.selectors import may_see


def board_allowed(user: Visitor, board_id: str) -> bool:
    workspace_id = Board.objects.filter(id=board_id).values_list("workspace_id", flat=True).first()
    return workspace_id is not None and may_see(user, workspace_id)


def register_topics() -> None:
    register(TopicKind("board", board_allowed, board_detail))
