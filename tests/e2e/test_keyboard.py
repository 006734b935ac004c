"""The main job with no mouse."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.steps import TARGETS, await_points, await_state, editor, fact, fresh, newest_job


def test_gallery_to_tuned_kernel_with_the_keyboard_only(page: Page) -> None:
    page.goto("/operators")
    page.keyboard.press("Control+k")
    page.keyboard.type("gallery")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/gallery$"))
    page.locator("body").press("Tab")
    for _ in range(40):
        if page.evaluate("document.activeElement.getAttribute('href')") == "/operators/new?from=softmax":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    fresh(page)

    # The editor has the focus when the page opens.
    page.keyboard.press("Control+End")
    page.keyboard.type("\nZ[i] = sum[k](Y[i,k])")
    fresh(page)
    expect(editor(page)).to_contain_text("Z[i]")
    page.keyboard.press("Control+Enter")
    for target in TARGETS:
        expect(fact(page, target, "executed" if target == "c" else "emulated")).to_be_visible(timeout=120_000)

    page.keyboard.press("Control+s")
    page.keyboard.press("Alt+t")
    expect(newest_job(page)).to_contain_text("Tune")
    await_points(page, 1)
    page.keyboard.press("Alt+x")
    await_state(newest_job(page), "cancelled|succeeded", timeout=30_000)

    before = page.evaluate("document.activeElement.closest('[data-pane]')?.dataset.pane")
    page.keyboard.press("F6")
    after = page.evaluate("document.activeElement.closest('[data-pane]')?.dataset.pane")
    assert before != after


def test_rows_of_a_list_open_with_the_keyboard(page: Page) -> None:
    page.goto("/jobs")
    rows = page.locator("table[data-kc-rows] tbody tr[data-href]")
    if rows.count() == 0:
        page.goto("/operators/new?from=softmax")
        fresh(page)
        page.keyboard.press("Control+Enter")
        expect(newest_job(page)).to_be_visible()
        page.goto("/jobs")
    page.keyboard.press("j")
    expect(rows.first).to_have_attribute("aria-selected", "true")
    address = rows.first.get_attribute("data-href")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{address}$"))
