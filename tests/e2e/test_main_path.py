"""The main job of a person, in a real browser: a formula becomes checked code and a tuned kernel on a board."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.steps import (
    JOB_MS,
    TARGETS,
    await_points,
    await_state,
    editor,
    fact,
    fresh,
    newest_job,
    run,
    sources,
    tick_only,
    type_formula,
)

CHANGED = """# each row becomes a distribution, sharpened
M[i] = max[k](X[i,k])
Y[i,j] = exp(3*(X[i,j] - M[i])) / sum[k](exp(3*(X[i,k] - M[i])))
"""
TRIALS = 24


def test_formula_to_board(page: Page) -> None:
    page.goto("/gallery")
    page.get_by_role("link", name=re.compile("^Softmax")).first.click()
    fresh(page)
    before = sources(page)
    assert len(set(before)) == len(TARGETS)

    type_formula(page, CHANGED)
    expect(page.locator("#kc-preview-state")).to_have_attribute("data-state", "stale")
    fresh(page)
    after = sources(page)
    assert all(old != now for old, now in zip(before, after, strict=True))

    expect(page.locator(".kc-typeset math")).to_have_count(2)

    run(page, "check")
    expect(page).to_have_url(re.compile(r"/operators/(?!new)"))
    for target in TARGETS:
        expect(fact(page, target, "executed" if target == "c" else "emulated")).to_be_visible(timeout=JOB_MS)
    for target in TARGETS[1:]:
        expect(fact(page, target, "executed")).to_have_count(0)

    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill(str(TRIALS))
    page.keyboard.press("Tab")
    run(page, "tune")
    tune = newest_job(page)
    expect(tune).to_contain_text("Tune")
    early = await_points(page, 2)
    held = await_points(page, early + 1)
    page.reload()
    fresh(page)
    assert "sharpened" in editor(page).inner_text()
    page.get_by_role("tab", name=re.compile("Trials")).click()
    assert await_points(page, held, timeout=10_000) >= held
    await_state(newest_job(page), "succeeded")
    assert await_points(page, TRIALS) == TRIALS
    drawn = page.locator(".kc-plot-place .scatterlayer .trace").first.locator(".points path")
    failed = page.locator(".kc-plot-place .scatterlayer .trace .points path[d*='M-']")
    assert drawn.count() + failed.count() >= TRIALS - 1

    page.get_by_role("link", name="Open board").click()
    entry = page.locator("#kc-board tbody tr").first
    expect(entry).to_contain_text("1")
    expect(page.locator(".board-source .cm-content")).to_contain_text("kernel")
