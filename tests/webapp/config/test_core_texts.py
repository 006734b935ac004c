"""What the core says reaches Chinese readers in Chinese, and others unchanged."""

from __future__ import annotations

import re

import pytest

from kernelcat_core import api
from tests.webapp.fixtures import Someone
from webapp.common.core_texts import core_text, error_in
from webapp.common.core_texts_zh import ERRORS, GALLERY, HOSTS

CHINESE = re.compile(r"[\u4e00-\u9fff]")


def said(text: str) -> bool:
    return CHINESE.search(core_text(text, "zh-hans")) is not None


@pytest.mark.parametrize(
    "formula",
    [
        "Y = sofmax(X)", "Y = X.sum()", "Y = W.T", "Y = torch.softmax(X)", "Y[i] = X[i]^2", "Y = fft(", "Y[i,j] = X[i,k]",
        "top[t] = max[s](where(s <= t, X[s], -inf))", "softmax: Y[i] = X[i]", "Y = X[", "Y[i] = Z[i, t[i]]", "X: f33[4]",
        "Y[i in 10] = X[i+1]; X: f32[10]", "Y[i] = X[i,0] + X[i]", "Y = 1 1", "a = X; a = X", "", "Y = relu(X, 1, 2, 3)[0]",
    ],
)  # fmt: skip
def test_common_mistakes_are_told_in_chinese(formula: str) -> None:
    error = api.preview(formula, ["c"], stages=())["error"]
    told = error_in(error, "zh-hans")
    assert told is not None and CHINESE.search(told["message"]), error["message"]
    assert told["code"] == error["code"] and told["column"] == error["column"] and told["text"] == error["text"]
    assert error_in(error, "en") == error


def test_the_gallery_is_in_chinese_where_it_is_not_a_name() -> None:
    names = {"Softmax", "Log-softmax", "Conv2D", "Conv3D", "Argmax", "Log-sum-exp", "RoPE", "SwiGLU"}
    for item in api.gallery():
        for text in (item["title"], item["group"], item["summary"]):
            assert text in names or said(text), text


def test_what_hosts_can_show_is_in_chinese() -> None:
    for row in api.targets():
        for text in (*row["facts_possible"], *row["missing"]):
            assert said(text), text


def test_places_keep_what_was_filled_in() -> None:
    for text, other in {**HOSTS, **GALLERY, **ERRORS}.items():
        count = text.count("{}")
        numbered = set(re.findall(r"{(\d)}", other))
        assert numbered == {str(k) for k in range(count)} if numbered else other.count("{}") == count, text
    assert core_text("axis 0 of X has size 3, 4 is needed", "zh-hans") == "X 的轴 0 大小为 3，需要 4"


def test_a_stranger_chooses_the_language_of_the_sign_in_page(db: None) -> None:
    from django.test import Client

    visitor = Client()
    assert "简体中文" in visitor.get("/sign-in").content.decode()
    answer = visitor.post("/language", {"language": "zh-hans", "next": "/sign-in"})
    assert answer.status_code == 302 and "登录" in visitor.get("/sign-in").content.decode()


def test_the_missing_page_is_in_the_readers_language(owner: Someone) -> None:
    owner.client.patch("/api/me/preferences", {"language": "zh-hans"}, content_type="application/json")
    assert "这里没有这个算子" in owner.client.get("/operators/nothing").content.decode()
