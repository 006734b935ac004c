"""POST /api/preview and the catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.webapp.fake_core import DIGEST
from tests.webapp.fixtures import Someone
from webapp.jobs import recording
from webapp.jobs.models import Job
from webapp.preview.pool import PreviewPool

pytestmark = pytest.mark.usefixtures("fake_pool")


def preview(who: Someone, source: str, **more: Any) -> tuple[int, dict[str, Any]]:
    body = {"source": source, "request_id": "r7", **more}
    sent = who.client.post("/api/preview", body, content_type="application/json")
    return sent.status_code, sent.json()


def test_an_answer_names_its_request(owner: Someone) -> None:
    status, body = preview(owner, "Y = X", targets=["c", "cuda:sm_80"])
    assert (status, body["request_id"], body["ok"]) == (200, "r7", True)
    assert [target["target"] for target in body["targets"]] == ["c", "cuda:sm_80"]
    assert body["milliseconds"] > 0


def test_a_wrong_formula_is_an_answer_with_a_place(owner: Someone) -> None:
    status, body = preview(owner, "wrong")
    assert (status, body["ok"], body["error"]["code"], body["error"]["line"]) == (200, False, "KC-F001", 1)


def test_a_hanging_preview_is_a_coded_error(owner: Someone, settings: Any) -> None:
    settings.PREVIEW_SECONDS = 0.3
    status, body = preview(owner, "hang")
    assert (status, body["error"]["code"]) == (503, "KC-X006")


def test_long_texts_are_refused_before_any_work(owner: Someone, fake_pool: PreviewPool) -> None:
    status, body = preview(owner, "x" * 70_000)
    assert (status, body["error"]["code"]) == (413, "KC-W005")
    assert not fake_pool.child_pids


def test_absurd_shapes_are_refused(owner: Someone) -> None:
    status, body = preview(owner, "Y = X", shapes={"X": "1x" * 500})
    assert (status, body["error"]["code"]) == (422, "KC-W004")


def test_stored_evidence_joins_the_facts(owner: Someone, stranger: Someone, ask: Callable[..., Job]) -> None:
    job = recording.job_claim(ask().id, "host")
    assert job is not None
    row = {"fact": "executed", "digest": DIGEST, "device": "CPU", "toolchain": "cc", "detail": "seen"}
    recording.evidence_add(job.id, job.lease_token, [row, {**row, "digest": "other"}])
    for who, facts in ((owner, ["rendered", "executed"]), (stranger, ["rendered"])):
        _, body = preview(who, "Y = X", targets=["c", "cuda:sm_80"])
        c, cuda = body["targets"]
        assert [fact["fact"] for fact in c["facts"]] == facts
        assert [fact["fact"] for fact in cuda["facts"]] == ["rendered"]  # executed on c says nothing about cuda


def test_the_catalog_is_asked_once(owner: Someone, fake_pool: PreviewPool) -> None:
    first = owner.client.get("/api/catalog/gallery").json()
    fake_pool.close()
    assert owner.client.get("/api/catalog/gallery").json() == first
    assert first[0]["slug"] == "softmax"


def test_targets_say_whether_a_host_is_online(owner: Someone) -> None:
    (target,) = owner.client.get("/api/catalog/targets").json()
    assert (target["target"], target["online"]) == ("c", False)
