"""Pictures of every page in both themes, languages and widths, in tests/e2e/screenshots: made here, judged by people."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import SCREENSHOTS, Stack
from tests.e2e.steps import await_points, await_state, fresh, newest_job, open_formula, run, tick_only, type_formula

THEMES = ("light", "dark")
LANGUAGES = ("en", "zh-hans")
SIZES = ((1280, 800), (2560, 1440))
PAGES = {
    "operators": "/operators",
    "gallery": "/gallery",
    "jobs": "/jobs",
    "jobs-empty": "/jobs?state=queued&kind=profile",
    "hosts": "/hosts",
    "boards": "/boards",
    "settings": "/settings",
    "missing": "/operators/nothing-here",
}


def prefer(page: Page, **preferences: str) -> None:
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    answer = page.request.patch("/api/me/preferences", data=preferences, headers={"X-CSRFToken": token})
    assert answer.ok


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(250)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")


@pytest.fixture
def made(page: Page) -> dict[str, str]:
    """Addresses of an operator with jobs, a tuned board, a finished check and a tune."""
    open_formula(page, "softmax")
    run(page, "check")
    await_state(newest_job(page), "succeeded|failed")
    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill("12")
    page.keyboard.press("Tab")
    run(page, "tune")
    expect(newest_job(page)).to_contain_text("Tune")
    await_points(page, 12)
    await_state(newest_job(page), "succeeded")
    operator = page.url.removeprefix(page.evaluate("location.origin"))
    board = page.get_by_role("link", name="Open board").get_attribute("href") or ""
    job = newest_job(page).get_attribute("data-job")
    return {"operator": operator, "board": board, "job": f"/jobs/{job}"}


def test_every_page_has_its_picture(page: Page, made: dict[str, str]) -> None:
    taken = 0
    for theme, language, (width, height) in itertools.product(THEMES, LANGUAGES, SIZES):
        prefer(page, theme=theme, language=language)
        page.set_viewport_size({"width": width, "height": height})
        suffix = f"{theme}-{language}-{width}"
        for name, address in PAGES.items():
            page.goto(address)
            assert page.locator("html").get_attribute("data-theme") == theme
            take(page, f"{name}-{suffix}")
            taken += 1
        for name in ("board", "job"):
            page.goto(made[name])
            expect(page.locator(".kc-plot-place .main-svg").first).to_be_visible()
            take(page, f"{name}-{suffix}")
        page.goto(made["operator"])
        fresh(page)
        page.locator(".job [role='tab']").nth(2).click()
        expect(page.locator(".kc-plot-place .main-svg").first).to_be_visible()
        take(page, f"operator-{suffix}")
        type_formula(page, "Y[i] = sum[k](X[i,k]) + Q[k]\n")
        expect(page.locator("#kc-preview-state")).to_have_attribute("data-state", "wrong")
        take(page, f"operator-wrong-{suffix}")
        page.keyboard.press("Control+k")
        take(page, f"palette-{suffix}")
        page.evaluate("sessionStorage.clear()")  # the wrong text must not come back as a draft
        taken += 5
    prefer(page, theme="system", language="en")
    assert len(list(SCREENSHOTS.glob("*.png"))) >= taken


def test_a_stranger_sees_the_sign_in_page(browser: Browser, stack: Stack) -> None:
    context = browser.new_context(base_url=stack.address, viewport={"width": 1280, "height": 800})
    for theme in THEMES:
        page = context.new_page()
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.goto("/operators")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        take(page, f"sign-in-{theme}-en-1280")
    context.close()
