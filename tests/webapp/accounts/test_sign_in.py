"""Getting in: one-time links, passwords, the pause after failures; and what a person may set."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from tests.webapp.fixtures import Someone
from webapp.accounts.models import SignInLink, User
from webapp.accounts.services import link_create, owner_ensure
from webapp.workspaces.models import Workspace


def printed_link(*words: str) -> str:
    out = io.StringIO()
    call_command("owner_link", *words, stdout=out)
    return out.getvalue().strip()


def test_the_printed_link_lets_the_owner_in_once(db: None) -> None:
    path = printed_link()
    first, second = Client(), Client()
    assert first.get(path).headers["Location"] == "/operators"
    assert first.get("/api/me").json()["user"]["username"] == "owner"
    refused = second.get(path)
    assert refused.status_code == 410
    assert b"KC-W008" in refused.content
    assert second.get("/api/me").status_code == 401


def test_a_link_checker_does_not_use_the_link_up(db: None) -> None:
    path = printed_link()
    assert Client().head(path).status_code == 405
    assert Client().get(path).status_code == 302


def test_a_link_expires(db: None) -> None:
    token = link_create(owner_ensure(), timedelta(seconds=-1))
    assert Client().get(f"/sign-in/link/{token}").status_code == 410


def test_a_fresh_link_ends_the_one_before(db: None) -> None:
    before, after = printed_link(), printed_link()
    assert Client().get(before).status_code == 410
    assert Client().get(after).status_code == 302


def test_only_a_digest_of_the_token_is_stored(db: None) -> None:
    token = link_create(owner_ensure())
    row = SignInLink.objects.get()
    assert token not in str(vars(row))


@pytest.mark.django_db(transaction=True)
def test_of_two_simultaneous_uses_one_wins() -> None:
    path = printed_link()

    def use(_: int) -> int:
        try:
            return Client().get(path).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(use, range(4))) == [302, 410, 410, 410]


def test_the_first_sign_in_makes_the_workspace(db: None) -> None:
    User.objects.create_user("ada", password="correct horse battery")
    assert not Workspace.objects.exists()
    client = Client()
    for _ in range(2):
        client.post("/sign-in", {"username": "ada", "password": "correct horse battery"})
    assert client.get("/api/me").json()["workspace"]["name"] == "ada"
    assert Workspace.objects.count() == 1


def test_after_signing_in_you_are_where_you_wanted_to_be(db: None) -> None:
    User.objects.create_user("ada", password="correct horse battery")
    wanted = {"username": "ada", "password": "correct horse battery"}
    inside = Client().post("/sign-in", {**wanted, "next": "/jobs?state=failed"})
    outside = Client().post("/sign-in", {**wanted, "next": "https://example.org/"})
    assert inside.headers["Location"] == "/jobs?state=failed"
    assert outside.headers["Location"] == "/operators"


def test_failures_pause_further_attempts(db: None, settings: object) -> None:
    User.objects.create_user("ada", password="correct horse battery")
    wrong = {"username": "ada", "password": "guess"}
    statuses = [Client().post("/sign-in", wrong).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]
    right = Client().post("/sign-in", {"username": "ada", "password": "correct horse battery"})
    assert right.status_code == 429
    assert b"KC-W007" in right.content


def test_signing_out(owner: Someone) -> None:
    assert owner.client.post("/sign-out").headers["Location"] == "/sign-in"
    assert owner.client.get("/api/me").status_code == 401


def test_preferences_change_only_what_was_sent(owner: Someone) -> None:
    def patch(**fields: object) -> dict[str, object]:
        sent = owner.client.patch("/api/me/preferences", fields, content_type="application/json")
        assert sent.status_code == 200
        preferences: dict[str, object] = sent.json()["preferences"]
        return preferences

    assert patch(theme="dark") == {"theme": "dark", "language": "en", "layout": {}}
    assert patch(layout={"a": 1}) == {"theme": "dark", "language": "en", "layout": {"a": 1}}
    assert patch(language="zh-hans")["theme"] == "dark"


def test_a_huge_layout_is_refused(owner: Someone) -> None:
    layout = {"pane": "x" * 20_000}
    sent = owner.client.patch("/api/me/preferences", {"layout": layout}, content_type="application/json")
    assert (sent.status_code, sent.json()["error"]["code"]) == (413, "KC-W005")


def test_a_link_of_a_person_who_was_shut_out(person: Callable[[str], Someone]) -> None:
    ada = person("ada").user
    token = link_create(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert Client().get(f"/sign-in/link/{token}").status_code == 410
