"""What goes wrong is shown where it is, and what was started can be stopped."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.steps import (
    JOB_MS,
    await_points,
    await_state,
    editor,
    fresh,
    newest_job,
    open_formula,
    points,
    run,
    tick_only,
    type_formula,
)


def test_a_wrong_formula_is_marked_at_its_place(page: Page) -> None:
    open_formula(page, "softmax")
    type_formula(page, "Y[i] = sum[k](X[i,k]) + Q[k]")
    state = page.locator("#kc-preview-state")
    expect(state).to_have_attribute("data-state", "wrong")
    marked = editor(page).locator(".cm-lintRange-error")
    expect(marked).to_have_text("k")
    left = marked.evaluate("node => document.createRange && node.getBoundingClientRect().left")
    line = editor(page).locator(".cm-line").first.evaluate("node => node.getBoundingClientRect().left")
    assert left - line > 100, "the last k is meant, not the first"
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("KC-F")
    expect(problem).to_contain_text("1:")
    expect(problem).to_contain_text("Next:")
    for kind in ("build", "check", "profile", "tune"):
        expect(page.locator(f"[data-run='{kind}']")).to_be_disabled()

    page.keyboard.press("Control+Home")
    problem.get_by_role("button").click()
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("getSelection().toString()") == "k"

    type_formula(page, "Y[i] = sum[k](X[i,k])")
    fresh(page)
    expect(editor(page).locator(".cm-lintRange-error")).to_have_count(0)


def test_cancel_stops_a_tune(page: Page) -> None:
    open_formula(page, "softmax")
    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill("500")
    page.keyboard.press("Tab")
    run(page, "tune")
    expect(newest_job(page)).to_contain_text("Tune")
    await_points(page, 2)
    page.get_by_role("tab", name="Log", exact=True).click()
    expect(page.get_by_role("log")).to_contain_text("trial 1:")
    page.get_by_role("tab", name=re.compile("Trials")).click()
    run(page, "cancel")
    await_state(newest_job(page), "cancelled", timeout=20_000)
    held = points(page)
    assert 2 <= held < 500
    page.wait_for_timeout(1500)
    assert points(page) == held, "trials went on after the job was cancelled"
    expect(page.locator(".kc-status")).to_contain_text("queue empty", timeout=JOB_MS)


def test_completion_offers_operators_with_their_signature(page: Page) -> None:
    open_formula(page, "softmax")
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.type("Y = layer_n", delay=30)
    offered = page.locator(".cm-tooltip-autocomplete li", has_text="layer_norm")
    expect(offered.first).to_be_visible()
    page.wait_for_timeout(150)  # the list takes no key in its first moments, so that nobody accepts by accident
    page.keyboard.press("Tab")
    expect(editor(page)).to_have_text(re.compile(r"Y = layer_norm\(\)"))


def test_shapes_can_be_changed_under_the_editor(page: Page) -> None:
    open_formula(page, "softmax")
    shape = page.get_by_label("Shape of X")
    shape.fill("7x33:f16")
    shape.press("Enter")
    fresh(page)
    expect(page.locator(".kc-status .is-io")).to_contain_text("Y 7x33:f16")
    shape.fill("seven")
    expect(shape).to_have_attribute("aria-invalid", "true")
