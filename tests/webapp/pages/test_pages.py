"""What pages contain: the hand-over to the front end, no inline script, both languages, no dead end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.webapp.fixtures import Someone
from webapp.hosts.services import host_announce
from webapp.jobs import recording
from webapp.jobs.models import Job
from webapp.operators.models import Operator
from webapp.preview.pool import PreviewPool

SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<body>.*?)</script>", re.DOTALL)
STYLE_OR_HANDLER = re.compile(r"<[a-z][^>]*\s(?:style|on[a-z]+)=", re.IGNORECASE)


def page(who: Someone, address: str, **headers: str) -> str:
    sent = who.client.get(address, headers=headers)
    assert sent.status_code == 200, sent.content
    return sent.content.decode()


def handed(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="kc-context" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    context: dict[str, Any] = json.loads(found[1])
    return context


@pytest.fixture
def addresses(owner: Someone, operator: Operator, ask: Callable[..., Job], fake_pool: PreviewPool) -> list[str]:
    """Every page with something on it."""
    job = recording.job_claim(ask("tune", operator_id=operator.id).id, "host")
    assert job is not None
    recording.log_append(job.id, job.lease_token, [("out", "</script><b>bold</b>")])
    best = {"status": "measured", "median_ms": 0.5, "low_ms": 0.4, "high_ms": 0.6, "samples": [0.5], "config": {"t": 8}}
    recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best, "device": "CPU"})
    host_announce("box", {"targets": [{"target": "c", "label": "CPU", "facts_possible": ["measured"]}], "workers": 1})
    job.refresh_from_db()
    return [
        "/operators", "/operators/new", "/operators/new?from=softmax", f"/operators/{operator.id}",
        f"/operators/{operator.id}/v/1", "/gallery", "/jobs", f"/jobs/{job.id}", "/hosts", "/boards",
        f"/boards/{job.board_id}", "/settings",
    ]  # fmt: skip


def test_no_page_has_inline_scripts_or_styles(owner: Someone, addresses: list[str]) -> None:
    for address in addresses:
        text = page(owner, address)
        for script in SCRIPT.finditer(text):
            inert = 'type="application/json"' in script["attributes"]
            assert inert or not script["body"].strip(), address
        assert not STYLE_OR_HANDLER.search(text), address
        assert "<b>bold</b>" not in text, address


def test_every_page_forbids_foreign_code(owner: Someone, addresses: list[str]) -> None:
    for address in [*addresses, "/api/docs", "/api/me", "/nothing"]:
        policy = owner.client.get(address).headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy + ";"
        assert "frame-ancestors 'none'" in policy


def test_every_page_says_who_and_where(owner: Someone, addresses: list[str]) -> None:
    for address in addresses:
        context = handed(page(owner, address))
        assert context["user"]["username"] == "owner"
        assert context["workspace"]["id"] == owner.workspace.id
        assert f'data-page="{context["page"]}"' in page(owner, address)


def test_the_operator_page_hands_over_what_it_opens(owner: Someone, addresses: list[str], operator: Operator) -> None:
    saved = handed(page(owner, f"/operators/{operator.id}/v/1"))
    assert (saved["operator"]["name"], saved["version"]["number"], len(saved["jobs"])) == ("Softmax", 1, 1)
    fresh = handed(page(owner, "/operators/new?from=softmax"))
    assert (fresh["operator"], fresh["gallery_item"]["formula"]) == (None, "Y = softmax(X)")
    assert owner.client.get("/operators/new?from=nothing").status_code == 404


def test_the_job_page_hands_over_a_snapshot_with_its_revision(owner: Someone, addresses: list[str]) -> None:
    address = next(address for address in addresses if address.startswith("/jobs/"))
    context = handed(page(owner, address))
    fetched = owner.client.get("/api" + address).json()
    assert (context["revision"], context["snapshot"]) == (fetched["revision"], fetched["snapshot"])


def test_pages_speak_the_persons_language(owner: Someone, addresses: list[str]) -> None:
    assert ">Operators</a>" in page(owner, "/operators")
    assert ">算子</a>" in page(owner, "/operators", **{"accept-language": "zh-CN,zh;q=0.9"})
    owner.client.post("/settings", {"language": "zh-hans", "theme": "dark"})
    for address in addresses:
        text = page(owner, address)
        assert '<html lang="zh-hans" data-theme="dark">' in text
        assert handed(text)["language"] == "zh-hans"
    done = handed(page(owner, "/jobs"))["jobs"][0]["id"]
    waiting = owner.client.post(f"/api/jobs/{done}/retry").json()["id"]
    assert owner.client.get(f"/api/jobs/{waiting}/queue").json()["message"] == "正在启动。"
    owner.client.post("/settings", {"language": "xx", "theme": "pink"})
    assert 'lang="zh-hans" data-theme="dark"' in page(owner, "/settings")


def test_an_empty_list_names_the_next_step(owner: Someone, fake_pool: PreviewPool) -> None:
    for address, step in (
        ("/operators", "/gallery"),
        ("/operators?query=x", "/operators"),
        ("/jobs", "/operators"),
        ("/boards", "/operators"),
        ("/hosts", "kernelcat worker"),
    ):
        empty = re.search(r'<p class="kc-empty">(.*?)</p>', page(owner, address), re.DOTALL)
        assert empty is not None, address
        assert step in empty[1], address


def test_an_error_page_names_the_next_step(owner: Someone) -> None:
    for client, step in ((owner.client, 'href="/operators"'), (Client(), 'href="/sign-in"')):
        sent = client.get("/nothing/here")
        assert sent.status_code == 404
        assert "KC-W002" in sent.content.decode()
        assert step in sent.content.decode()


def test_a_failing_page_answers_without_the_database(owner: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    from webapp.pages import views

    monkeypatch.setattr(views, "operators_of", lambda *words: 1 / 0)
    owner.client.raise_request_exception = False
    sent = owner.client.get("/operators")
    assert sent.status_code == 500
    assert b"KC-X010" in sent.content


def test_a_failing_endpoint_answers_with_the_envelope(owner: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    from webapp.accounts import selectors

    monkeypatch.setattr(selectors, "me", lambda user: 1 / 0)
    sent = owner.client.get("/api/me")
    assert (sent.status_code, sent.json()["error"]["code"]) == (500, "KC-X010")


def test_long_lists_come_in_pages(owner: Someone, ask: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    from webapp.pages import views

    monkeypatch.setattr(views, "PAGE_SIZE", 2)
    for _ in range(5):
        ask("tune")
    second = page(owner, "/jobs?kind=tune&page=2")
    assert 'rel="prev" href="?kind=tune&amp;page=1"' in second
    assert 'rel="next" href="?kind=tune&amp;page=3"' in second
    assert second.count("<tr data-href") == 2


def test_the_documentation_loads_nothing_from_outside() -> None:
    text = Client().get("/api/docs").content.decode()
    assert "swagger" in text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text)
