"""Asking for jobs: one per target, once per key, within limits; and where they are routed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.webapp.fixtures import Someone
from webapp.hosts.services import host_announce
from webapp.jobs.models import Job
from webapp.jobs.queue import queue_name
from webapp.operators.models import Operator


def create(who: Someone, **body: Any) -> tuple[int, dict[str, Any]]:
    wanted = {"kind": "check", "targets": ["c"], "source": "Y = X", **body}
    sent = who.client.post("/api/jobs", wanted, content_type="application/json")
    return sent.status_code, sent.json()


def test_one_job_per_target(owner: Someone, operator: Operator) -> None:
    configs = {"c": {"tile": 8}}
    status, body = create(owner, targets=["c", "ascend:910b", "c"], configs=configs, operator_id=operator.id)
    assert status == 201
    assert [job["target"] for job in body["jobs"]] == ["c", "ascend:910b"]
    assert {job["title"] for job in body["jobs"]} == {"Softmax"}
    assert Job.objects.get(target="c").config == {"tile": 8}
    assert Job.objects.get(target="ascend:910b").config == {}


def test_the_same_key_asks_once(owner: Someone, stranger: Someone) -> None:
    first = create(owner, idempotency_key="k")[1]["jobs"][0]["id"]
    assert create(owner, idempotency_key="k")[1]["jobs"][0]["id"] == first
    assert create(stranger, idempotency_key="k")[1]["jobs"][0]["id"] != first
    assert create(owner)[1]["jobs"][0]["id"] != create(owner)[1]["jobs"][0]["id"]


def test_another_persons_operator_is_not_linked(stranger: Someone, operator: Operator) -> None:
    job = create(stranger, operator_id=operator.id, version_number=1)[1]["jobs"][0]
    assert (job["operator_id"], job["version_number"]) == (None, None)


def test_an_unknown_kind_or_option_is_refused(owner: Someone) -> None:
    for body in ({"kind": "delete"}, {"targets": []}, {"targets": [""]}, {"options": {"trials": 0}}):
        status, answer = create(owner, **body)
        assert (status, answer["error"]["code"]) == (422, "KC-W004"), body


def test_too_many_waiting_jobs_are_refused(owner: Someone, settings: Any) -> None:
    settings.JOBS_WAITING_LIMIT = 2
    assert create(owner, targets=["a", "b"])[0] == 201
    status, body = create(owner)
    assert (status, body["error"]["code"]) == (429, "KC-W010")
    Job.objects.filter(target="a").update(state="failed")
    assert create(owner)[0] == 201


def test_a_retry_asks_for_the_same(owner: Someone, ask: Callable[..., Job]) -> None:
    job = ask("tune", source="Y = X", shapes={"X": "4:f32"}, options={"trials": 7})
    again = owner.client.post(f"/api/jobs/{job.id}/retry").json()
    copy = Job.objects.get(id=again["id"])
    assert copy.id != job.id
    assert (copy.kind, copy.source, copy.shapes, copy.options) == (job.kind, job.source, job.shapes, job.options)


def test_the_title_without_an_operator_comes_from_the_text(ask: Callable[..., Job]) -> None:
    assert ask(source="# note\n\n  Y[i] = X[i]\nZ = Y").title == "note"


def test_measuring_kinds_have_queues_of_their_own() -> None:
    assert queue_name("cuda:sm_80", "check") == queue_name("cuda:sm_80", "build") == "q.cuda.sm_80"
    assert queue_name("cuda:sm_80", "tune") == queue_name("cuda:sm_80", "profile") == "m.cuda.sm_80"


def place(owner: Someone, job: Job) -> dict[str, Any]:
    answer: dict[str, Any] = owner.client.get(f"/api/jobs/{job.id}/queue").json()
    return answer


def test_why_a_job_is_not_running(owner: Someone, ask: Callable[..., Job]) -> None:
    tune, second = ask("tune"), ask("tune")
    assert place(owner, tune)["reason"] == "no_host"
    assert "measure c" in place(owner, tune)["message"]
    emulating = {"target": "c", "label": "CPU", "facts_possible": ["rendered", "emulated"]}
    host_announce("box", {"targets": [emulating]})
    assert place(owner, tune)["reason"] == "no_host"  # it is online, but it cannot measure
    host_announce("box", {"targets": [{**emulating, "facts_possible": ["rendered", "measured"]}]})
    assert (place(owner, tune)["reason"], place(owner, tune)["hosts_online"]) == ("starting", 1)
    assert (place(owner, second)["reason"], place(owner, second)["ahead"]) == ("behind", 1)
    Job.objects.filter(pk=second.pk).update(state="running")
    assert place(owner, second)["reason"] == "none"


def test_lists_filter(owner: Someone, ask: Callable[..., Job]) -> None:
    ask("tune")
    ask("check", target="ascend:910b")
    found = owner.client.get("/api/jobs?kind=tune&target=c&state=queued").json()
    assert (found["total"], found["items"][0]["kind"]) == (1, "tune")
    assert owner.client.get("/api/jobs?kind=tune&target=ascend:910b").json()["total"] == 0
