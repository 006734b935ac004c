"""One preview: ask a child, then add what was stored about the very same source text."""

from __future__ import annotations

import time
from typing import Any

from asgiref.sync import sync_to_async

from webapp.common.checks import shapes_check, source_check
from webapp.common.core_texts import core_text, error_in
from webapp.jobs.selectors import evidence_of
from webapp.preview.pool import ask
from webapp.preview.schemas import Fact, PreviewAnswer, PreviewRequest
from webapp.workspaces.models import Workspace


async def preview(workspace: Workspace, request: PreviewRequest, language: str = "") -> PreviewAnswer:
    """Raises WebError: KC-W005 too long, KC-X006 too slow, KC-X007 child died. A wrong formula is an answer."""
    source_check(request.source)
    shapes_check(request.shapes)
    started = time.perf_counter()
    answer: dict[str, Any] = await ask("preview", request.model_dump(exclude={"request_id"}))
    answer = {
        **answer,
        "error": error_in(answer.get("error"), language),
        "onnx": f"# {core_text(said[2:].strip(), language)}" if (said := answer.get("onnx", "")).startswith("# ") else said,
        "targets": [{**t, "error": error_in(t.get("error"), language)} for t in answer.get("targets", [])],
    }
    made = PreviewAnswer(
        **answer, request_id=request.request_id, milliseconds=(time.perf_counter() - started) * 1000
    )
    await sync_to_async(add_stored_facts)(workspace, made)
    return made


def add_stored_facts(workspace: Workspace, answer: PreviewAnswer) -> None:
    """Evidence about a target's very source text becomes facts of that target: the newest of each fact and device."""
    digests = {fact.digest for target in answer.targets for fact in target.facts if fact.digest}
    rows = evidence_of(workspace, digests) if digests else []
    for target in answer.targets:
        own = {fact.digest for fact in target.facts if fact.digest}
        seen = {(fact.fact, fact.device) for fact in target.facts}
        for row in sorted(rows, key=lambda row: row.id, reverse=True):
            key = (row.fact, row.device)
            if row.digest in own and row.target == target.target and key not in seen:
                seen.add(key)
                target.facts.append(
                    Fact(
                        fact=row.fact,
                        digest=row.digest,
                        toolchain=row.toolchain,
                        device=row.device,
                        detail=row.detail,
                    )
                )
