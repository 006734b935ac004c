"""What a first visit costs, and that a strict content security policy holds with everything on the screen."""

from __future__ import annotations

import gzip
import re

from playwright.sync_api import Page, Response, expect

from tests.e2e.steps import await_points, fresh, newest_job, open_formula, run, tick_only

FIRST_LOAD_KIB = 300


def test_the_editor_is_light_and_the_chart_waits_for_its_first_use(page: Page) -> None:
    scripts: dict[str, int] = {}

    def note(response: Response) -> None:
        if response.url.endswith(".js"):
            scripts[response.url] = len(gzip.compress(response.body()))

    page.on("response", note)
    open_formula(page, "softmax")
    page.wait_for_load_state("networkidle")
    assert sum(scripts.values()) < FIRST_LOAD_KIB * 1024, scripts
    assert not any("plotly" in url for url in scripts)

    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill("2")
    page.keyboard.press("Tab")
    run(page, "tune")
    expect(newest_job(page)).to_contain_text("Tune")
    await_points(page, 2)
    expect(page.locator(".kc-plot-place .main-svg").first).to_be_visible()
    assert any("plotly" in url for url in scripts)


def test_the_policy_allows_no_foreign_or_inline_script(page: Page) -> None:
    answer = page.goto("/operators/new?from=softmax")
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert re.search(r"script-src 'self'(;|$)", policy)
    assert "unsafe-eval" not in policy
    fresh(page)
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0


def test_a_chart_leaves_as_png_svg_and_csv(page: Page) -> None:
    open_formula(page, "softmax")
    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill("3")
    page.keyboard.press("Tab")
    run(page, "tune")
    expect(newest_job(page)).to_contain_text("Tune")
    await_points(page, 3)
    expect(page.locator(".kc-plot-place .main-svg").first).to_be_visible()
    heads = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"trial,status"}
    for name, head in heads.items():
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name, exact=True).click()
        content = waiting.value.path().read_bytes()
        assert content.startswith(head)
        assert len(content) > 100
