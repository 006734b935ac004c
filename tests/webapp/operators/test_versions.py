"""Saving: versions count up, never change, and conflicts are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webapp.fixtures import Someone
from webapp.operators.models import Operator, Version
from webapp.operators.services import version_digest


def save(owner: Someone, operator: Operator, **body: Any) -> tuple[int, dict[str, Any]]:
    sent = owner.client.post(f"/api/operators/{operator.id}/versions", body, content_type="application/json")
    return sent.status_code, sent.json()


def test_a_save_makes_the_next_version(owner: Someone, operator: Operator) -> None:
    status, detail = save(owner, operator, source="Y = softmax(X)*2", message="twice", base_number=1)
    assert (status, detail["latest_number"], detail["latest"]["message"]) == (201, 2, "twice")
    assert [version["number"] for version in detail["versions"]] == [2, 1]
    first = owner.client.get(f"/api/operators/{operator.id}/versions/1").json()
    assert (first["source"], first["shapes"]) == ("Y = softmax(X)", {"X": "4x8:f32"})


def test_the_same_text_makes_no_version(owner: Someone, operator: Operator) -> None:
    status, detail = save(owner, operator, source="Y = softmax(X)", shapes={"X": "4x8:f32"})
    assert (status, detail["latest_number"]) == (200, 1)


def test_other_shapes_make_a_version(owner: Someone, operator: Operator) -> None:
    assert save(owner, operator, source="Y = softmax(X)", shapes={"X": "4x9:f32"})[0] == 201


def test_a_save_on_top_of_an_older_version_is_refused(owner: Someone, operator: Operator) -> None:
    save(owner, operator, source="Y = X")
    status, body = save(owner, operator, source="Y = X + 1", base_number=1)
    assert (status, body["error"]["code"]) == (409, "KC-W006")
    assert Version.objects.count() == 2


def test_restoring_writes_the_old_text_as_a_new_version(owner: Someone, operator: Operator) -> None:
    save(owner, operator, source="Y = X")
    restored = owner.client.post(f"/api/operators/{operator.id}/versions/1/restore").json()
    assert (restored["latest_number"], restored["latest"]["source"]) == (3, "Y = softmax(X)")


def test_a_version_cannot_be_changed(operator: Operator) -> None:
    version = operator.versions.get()
    version.source = "other"
    with pytest.raises(AssertionError, match="immutable"):
        version.save()


def test_the_digest_does_not_depend_on_the_order_of_shapes() -> None:
    one, two = {"A": "2:f32", "B": "3:f32"}, {"B": "3:f32", "A": "2:f32"}
    assert version_digest("Y", one) == version_digest("Y", two)
    assert version_digest("Y", one) != version_digest("Y", {"A": "2:f32"})


def test_a_deleted_operator_is_gone_from_lists_and_addresses(owner: Someone, operator: Operator) -> None:
    assert owner.client.delete(f"/api/operators/{operator.id}").status_code == 204
    assert owner.client.get("/api/operators").json() == {"items": [], "total": 0}
    assert owner.client.get(f"/api/operators/{operator.id}").status_code == 404
    assert Version.objects.count() == 1


def test_lists_filter_by_name_and_page(owner: Someone) -> None:
    for name in ("alpha", "beta", "alphabet"):
        body = {"name": name, "source": "Y = X"}
        assert owner.client.post("/api/operators", body, content_type="application/json").status_code == 201
    found = owner.client.get("/api/operators?query=alpha").json()
    assert (found["total"], [item["name"] for item in found["items"]]) == (2, ["alphabet", "alpha"])
    page = owner.client.get("/api/operators?limit=1&offset=1").json()
    assert (page["total"], len(page["items"])) == (3, 1)


def test_a_text_over_64_kib_is_refused(owner: Someone) -> None:
    body = {"name": "big", "source": "é" * 33_000}
    sent = owner.client.post("/api/operators", body, content_type="application/json")
    assert (sent.status_code, sent.json()["error"]["code"]) == (413, "KC-W005")


def test_a_malformed_request_says_where(owner: Someone) -> None:
    sent = owner.client.post("/api/operators", {"name": ""}, content_type="application/json")
    assert (sent.status_code, sent.json()["error"]["code"]) == (422, "KC-W004")
    assert "source" in sent.json()["error"]["message"]
    broken = owner.client.post("/api/operators", "{", content_type="application/json")
    assert (broken.status_code, broken.json()["error"]["code"]) == (400, "KC-W004")


def test_a_config_is_part_of_a_version(owner: Someone, operator: Operator) -> None:
    tuned = {"c": {"Y.lanes": 64}}
    shapes = {"X": "4x8:f32"}
    status, detail = save(owner, operator, source="Y = softmax(X)", shapes=shapes, configs=tuned)
    assert (status, detail["latest_number"], detail["latest"]["configs"]) == (201, 2, tuned)
    again = save(owner, operator, source="Y = softmax(X)", shapes=shapes, configs={**tuned, "cuda:sm_80": {}})
    assert again[0] == 200
    owner.client.post(f"/api/operators/{operator.id}/versions", {"source": "Y = X"}, content_type="application/json")
    restored = owner.client.post(f"/api/operators/{operator.id}/versions/2/restore").json()
    assert restored["latest"]["configs"] == tuned
    assert owner.client.get(f"/api/operators/{operator.id}/versions/1").json()["configs"] == {}


def test_configs_are_plain_values(owner: Someone, operator: Operator) -> None:
    status, body = save(owner, operator, source="Y = X", configs={"c": {"knob": [1]}})
    assert (status, body["error"]["code"]) == (422, "KC-W004")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("# each row becomes a distribution\nY = softmax(X)", "each row becomes a distribution"),
        ("X: f32[M, K]\nM[i] = max[k](X[i,k]); Y[i,j] = X[i,j] - M[i]\n-> Y", "Y[i,j] = X[i,j] - M[i]"),
        ("X: f32[4]\n", "X: f32[4]"),
        ("Y = softmax(X * (2 + 1), axis=-1)", "softmax"),
        ("conv2d(X, W)", "conv2d"),
        ("Y = relu(X) + relu(Z)", "Y = relu(X) + relu(Z)"),
        ("", "formula"),
        ("Y = " + "X + " * 40 + "X", "Y = X + X + X + X + X + X + X + X + X + X + X + X + X + X +…"),
    ],
)
def test_an_operator_without_a_name_is_called_after_its_formula(owner: Someone, source: str, name: str) -> None:
    made = owner.client.post("/api/operators", {"source": source}, content_type="application/json").json()
    assert made["name"] == name


def test_the_list_shows_and_finds_formulas(owner: Someone) -> None:
    for source in ("Y[i] = 2*X[i]", "Y = relu(X)"):
        owner.client.post("/api/operators", {"name": "Untitled", "source": source}, content_type="application/json")
    page = owner.client.get("/operators").content.decode()
    assert "Y[i] = 2*X[i]" in page and "Y = relu(X)" in page
    found = owner.client.get("/operators?query=relu").content.decode()
    assert "Y = relu(X)" in found and "2*X[i]" not in found
