"""Stories of an owner, a stranger and an anonymous visitor at every address; one that is missing here fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from kernelcat_core.errors import KernelcatError
from tests.webapp.fixtures import Someone
from webapp.config.api import api
from webapp.jobs import recording
from webapp.jobs.models import Job
from webapp.live.registry import prefixes
from webapp.live.selectors import topic_check
from webapp.operators.models import Operator
from webapp.preview.pool import PreviewPool

# (method, address, owner's status, stranger's status); anonymous visitors get 401 (API) or the sign-in page (pages).
# A stranger is signed in: at addresses without an id in them everyone sees their own things.
PRIVATE = [
    ("GET", "/api/me", 200, 200),
    ("PATCH", "/api/me/preferences", 200, 200),
    ("GET", "/api/catalog/targets", 200, 200),
    ("GET", "/api/catalog/operators", 200, 200),
    ("GET", "/api/catalog/gallery", 200, 200),
    ("POST", "/api/preview", 200, 200),
    ("GET", "/api/operators", 200, 200),
    ("POST", "/api/operators", 201, 201),
    ("GET", "/api/operators/{operator_id}", 200, 404),
    ("PATCH", "/api/operators/{operator_id}", 200, 404),
    ("POST", "/api/operators/{operator_id}/versions", 201, 404),
    ("GET", "/api/operators/{operator_id}/versions/{number}", 200, 404),
    ("POST", "/api/operators/{operator_id}/versions/{number}/restore", 201, 404),
    ("DELETE", "/api/operators/{operator_id}", 204, 404),
    ("GET", "/api/jobs", 200, 200),
    ("POST", "/api/jobs", 201, 201),
    ("GET", "/api/jobs/{job_id}", 200, 404),
    ("POST", "/api/jobs/{job_id}/cancel", 409, 404),
    ("POST", "/api/jobs/{job_id}/retry", 201, 404),
    ("GET", "/api/jobs/{job_id}/queue", 200, 404),
    ("GET", "/api/jobs/{job_id}/artifacts/{artifact_id}", 200, 404),
    ("GET", "/api/evidence", 422, 422),
    ("GET", "/api/hosts", 200, 200),
    ("GET", "/api/boards", 200, 200),
    ("GET", "/api/boards/{board_id}", 200, 404),
    ("GET", "/api/boards/{board_id}/entries/{entry_id}/source", 200, 404),
    ("GET", "/settings", 200, 200),
    ("POST", "/settings", 302, 302),
    ("GET", "/operators", 200, 200),
    ("GET", "/operators/new", 200, 200),
    ("GET", "/operators/{operator_id}", 200, 404),
    ("GET", "/operators/{operator_id}/v/{number}", 200, 404),
    ("GET", "/gallery", 200, 200),
    ("GET", "/jobs", 200, 200),
    ("GET", "/jobs/{job_id}", 200, 404),
    ("GET", "/hosts", 200, 200),
    ("GET", "/boards", 200, 200),
    ("GET", "/boards/{board_id}", 200, 404),
]
# Open to everyone, with the status an anonymous visitor gets.
PUBLIC = [
    ("GET", "/", 302),
    ("GET", "/healthz", 200),
    ("GET", "/sign-in", 200),
    ("GET", "/sign-in/link/{token}", 410),
    ("POST", "/sign-out", 302),
    ("POST", "/language", 302),
    ("GET", "/api/docs", 200),
    ("GET", "/api/openapi.json", 200),
]
# Named by ninja and Django, not by us: the API's root (a name for `reverse`), its catch-all, Django's own admin.
NOT_OURS = {"/api/", "/api/<anything>", "/admin/"}
BODIES = {
    "/api/me/preferences": {"theme": "dark"},
    "/api/preview": {"source": "Y[i] = X[i]"},
    "/api/operators": {"name": "A", "source": "Y = X"},
    "/api/operators/{operator_id}": {"name": "B"},
    "/api/operators/{operator_id}/versions": {"source": "Y = X + 1"},
    "/api/jobs": {"kind": "check", "targets": ["c"], "source": "Y = X"},
}


def addresses(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    """Every address of the URL map, parameters as `{name}`."""
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if here.startswith("/admin/"):
            yield "/admin/"
        elif isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, here)
        elif "^" in here:
            yield "/api/<anything>"
        else:
            yield here.replace("<str:", "{").replace("<int:", "{").replace("<", "{").replace(">", "}")


@pytest.fixture
def ids(owner: Someone, operator: Operator, ask: Callable[..., Job]) -> dict[str, object]:
    """A finished tune of the owner's, with everything that hangs on it."""
    job = recording.job_claim(ask("tune", operator_id=operator.id, version_number=1).id, "host")
    assert job is not None
    recording.artifact_put(job.id, job.lease_token, "source", "kernel.c", "int x;")
    best = {"status": "measured", "median_ms": 1.0, "low_ms": 0.9, "high_ms": 1.1, "samples": [1.0]}
    recording.job_finish(job.id, job.lease_token, "succeeded", outcome={"best": best, "device": "CPU"})
    job.refresh_from_db()
    artifact = job.artifacts.get()
    return {
        "operator_id": operator.id,
        "number": 1,
        "job_id": job.id,
        "artifact_id": artifact.id,
        "board_id": job.board_id,
        "entry_id": job.board_entry.id,
        "token": "guess",
    }


def send(client: Client, method: str, address: str, ids: dict[str, object]) -> int:
    sent = client.generic(
        method, address.format(**ids), _body(address, method), content_type="application/json"
    )
    if sent.status_code >= 400 and address.startswith("/api/"):
        assert set(sent.json()["error"]) >= {"code", "message", "hint"}
    return sent.status_code


def _body(address: str, method: str) -> bytes:
    return b"" if method == "GET" else json.dumps(BODIES.get(address, {})).encode()


def test_every_address_has_a_story() -> None:
    told = {address for _, address, *_ in PRIVATE} | {address for _, address, _ in PUBLIC} | NOT_OURS
    assert set(addresses(get_resolver().url_patterns)) == told


def test_every_method_of_the_api_has_a_story() -> None:
    paths = api.get_openapi_schema()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert served == {(method, address) for method, address, *_ in PRIVATE if address.startswith("/api/")}


@pytest.mark.parametrize(("method", "address", "status", "_stranger"), PRIVATE)
def test_the_owner_gets_in(
    owner: Someone, ids: dict[str, object], fake_pool: PreviewPool, method: str, address: str, status: int,
    _stranger: int,
) -> None:  # fmt: skip
    assert send(owner.client, method, address, ids) == status


@pytest.mark.parametrize(("method", "address", "_owner", "status"), PRIVATE)
def test_a_stranger_sees_nothing_of_the_owner(
    stranger: Someone, ids: dict[str, object], fake_pool: PreviewPool, method: str, address: str, _owner: int,
    status: int,
) -> None:  # fmt: skip
    assert send(stranger.client, method, address, ids) == status


@pytest.mark.parametrize(("method", "address", "_owner", "_stranger"), PRIVATE)
def test_an_anonymous_visitor_is_asked_to_sign_in(
    ids: dict[str, object], fake_pool: PreviewPool, method: str, address: str, _owner: int, _stranger: int
) -> None:
    sent = Client().generic(method, address.format(**ids), _body(address, method), content_type="application/json")
    if address.startswith("/api/"):
        assert sent.status_code == 401
        assert sent.json()["error"]["code"] == "KC-W001"
    else:
        assert sent.status_code == 302
        assert sent.headers["Location"].startswith("/sign-in?next=")


@pytest.mark.parametrize(("method", "address", "status"), PUBLIC)
def test_public_addresses(ids: dict[str, object], method: str, address: str, status: int) -> None:
    assert send(Client(), method, address, ids) == status


def test_lists_hold_only_your_own(stranger: Someone, ids: dict[str, object]) -> None:
    for address in ("/api/operators", "/api/jobs", "/api/boards", "/api/evidence?digests=" + "d" * 64):
        assert stranger.client.get(address).json()["items"] == [], address


def test_every_topic_has_a_story() -> None:
    assert prefixes() == ["board", "hosts", "job", "workspace"]


def test_topics_of_the_owner(owner: Someone, stranger: Someone, ids: dict[str, object]) -> None:
    private = [f"job:{ids['job_id']}", f"workspace:{owner.workspace.id}", f"board:{ids['board_id']}"]
    for topic in [*private, "hosts"]:
        topic_check(owner.user, topic)
        with pytest.raises(KernelcatError, match="no such topic"):
            topic_check(AnonymousUser(), topic)
    topic_check(stranger.user, "hosts")
    for topic in [*private, "job:nothing", "nothing", "", "hosts:x"]:
        with pytest.raises(KernelcatError, match="no such topic"):
            topic_check(stranger.user, topic)


def test_a_form_without_csrf_token_changes_nothing(owner: Someone) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner.user)
    refused = client.post("/api/operators", {"name": "A", "source": "Y = X"}, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "KC-W003")
    preview = client.post("/api/preview", {"source": "Y = X"}, content_type="application/json")
    assert (preview.status_code, preview.json()["error"]["code"]) == (403, "KC-W003")
    page = client.post("/settings", {"theme": "dark"})
    assert page.status_code == 403
    assert b"KC-W003" in page.content
