"""What a person runs into every day: an empty page, a view that cannot be, shapes typed in haste, a tuned Config kept."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import (
    TARGETS,
    await_state,
    editor,
    fresh,
    newest_job,
    open_formula,
    pane,
    run,
    tick_only,
    type_formula,
)

STATE = "#kc-preview-state"


def test_an_empty_page_is_no_error(page: Page) -> None:
    page.goto("/operators/new")
    expect(page.locator(STATE)).to_have_attribute("data-state", "blank")
    expect(page.locator(".op-problem.is-blank a")).to_have_attribute("href", "/gallery")
    expect(page.locator("[role='alert']")).to_have_count(0)
    expect(page.locator(".kc-fact.is-stale")).to_have_count(0)
    expect(page.locator("[data-run='check']")).to_have_attribute("title", re.compile("Write a formula first"))
    type_formula(page, "Y = relu(X)")
    fresh(page)
    type_formula(page, "# nothing yet")
    expect(page.locator(STATE)).to_have_attribute("data-state", "blank")
    expect(pane(page, "c").locator(".cm-content")).to_have_count(0)


def test_what_one_target_cannot_say_shows_in_its_pane_only(page: Page) -> None:
    page.goto("/operators/new")
    type_formula(page, "X: f64[N]\nY[n] = exp(X[n]) * 2.0")
    fresh(page)
    expect(pane(page, "c").locator(".cm-content")).to_contain_text("program_k0")
    expect(page.locator("[data-run='check']")).to_be_enabled()
    expect(pane(page, "ascend:910b")).to_contain_text("f64")
    page.get_by_role("tab", name="ONNX").click()
    expect(page.get_by_role("tabpanel", name="ONNX")).to_contain_text("double")


def test_a_wrong_formula_shows_no_old_figures(page: Page) -> None:
    page.goto("/operators/new")
    type_formula(page, "Y = relu(X)")
    fresh(page)
    expect(page.locator(".kc-status .is-io")).to_contain_text("16x24")
    type_formula(page, "Y = relu(X")
    expect(page.locator(STATE)).to_have_attribute("data-state", "wrong")
    expect(page.locator(".kc-status .is-io")).to_have_count(0)
    expect(pane(page, "c")).to_contain_text("out of date")


def test_shapes_are_read_as_the_command_line_reads_them(page: Page) -> None:
    page.goto("/operators/new")
    type_formula(page, "X: f16[M, K]\nY[m] = sum[k](X[m,k])")
    fresh(page)
    field = page.get_by_label("Shape of X")
    for typed in ("(32, 8)", "32×8", "32*8", "32x8:f16"):
        field.fill(typed)
        field.press("Enter")
        expect(field).to_have_value("32x8:f16")
        fresh(page)
    field.fill("32x")
    field.press("Tab")
    expect(field).to_have_value("32x")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".op-shapes [role='alert']")).to_contain_text("size is missing")
    field.fill("2x3x4")
    field.press("Enter")
    expect(page.locator(".op-problem")).to_contain_text("3 axes")
    expect(field).to_have_value("2x3x4:f16")


def test_a_name_is_saved_by_the_shortcut(page: Page) -> None:
    page.goto("/operators/new")
    type_formula(page, "# my first kernel\nY = relu(X)")
    fresh(page)
    page.keyboard.press("Control+s")
    expect(page).to_have_url(re.compile(r"/operators/(?!new)"))
    name = page.get_by_label("Operator name")
    expect(name).to_have_value("my first kernel")
    name.fill("rectifier")
    expect(page.locator(".kc-status .is-saved")).to_contain_text("not saved")
    page.keyboard.press("Control+s")
    expect(page.locator(".kc-status .is-saved")).to_contain_text("saved as version 1")
    page.reload()
    expect(page.get_by_label("Operator name")).to_have_value("rectifier")
    page.goto("/operators?query=rectifier")
    expect(page.locator("tbody tr").first).to_contain_text("Y = relu(X)")


def test_trials_count_as_typed_and_are_never_changed_silently(page: Page) -> None:
    open_formula(page, "softmax")
    trials = page.get_by_label("Trials", exact=True).first
    for wrong in ("0", "1e9", ""):
        trials.fill(wrong)
        expect(trials).to_have_value(wrong)
        expect(page.locator("[data-run='tune']")).to_be_disabled()
        expect(trials).to_have_attribute("aria-invalid", "true")
    tick_only(page, "c")
    trials.fill("2")
    page.keyboard.press("Alt+t")
    await_state(newest_job(page), "succeeded")
    page.get_by_role("tab", name="Summary").click()
    expect(page.locator(".job-outcome")).to_contain_text(re.compile("timed again in turn|default Config was the fastest"))
    page.get_by_role("tab", name="Log").click()
    expect(page.locator(".job-log")).to_contain_text("trial 2:")
    expect(page.locator(".job-log")).not_to_contain_text("trial 3:")


def test_a_config_is_kept_with_the_version(page: Page) -> None:
    open_formula(page, "softmax")
    tick_only(page, "c")
    page.keyboard.press("Control+s")
    expect(page.locator(".kc-status .is-saved")).to_contain_text("saved as version")
    page.get_by_role("tab", name="Config").click()
    knob = page.locator("#kc-knob-c-Y\\.lanes")
    expect(knob).to_be_visible()
    other = next(v for v in knob.locator("option").all_inner_texts() if v != knob.input_value())
    knob.select_option(other)
    expect(page.locator(".kc-status .is-saved")).to_contain_text("not saved")
    fresh(page)
    page.keyboard.press("Control+s")
    expect(page.locator(".kc-status .is-saved")).to_contain_text("saved as version")
    page.evaluate("sessionStorage.clear()")
    page.reload()
    fresh(page)
    page.get_by_role("tab", name="Config").click()
    expect(page.locator("#kc-knob-c-Y\\.lanes")).to_have_value(other)


def test_using_a_tuned_config_is_confirmed(page: Page) -> None:
    open_formula(page, "rms-norm")
    tick_only(page, "c")
    page.get_by_label("Trials", exact=True).first.fill("2")
    run(page, "tune")
    await_state(newest_job(page), "succeeded")
    page.get_by_role("tab", name="Summary").click()
    page.get_by_role("button", name="Use this Config").click()
    expect(page.locator(".kc-notice")).to_contain_text("Save (Ctrl+S)")
    expect(page.locator(".kc-status .is-saved")).to_contain_text("not saved")


def test_escape_and_tab_leave_the_editor(page: Page) -> None:
    page.goto("/operators/new")
    type_formula(page, "Y = relu(X)")
    fresh(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert not editor(page).evaluate("element => element.contains(document.activeElement)")
    assert editor(page).inner_text().strip() == "Y = relu(X)"


def test_sources_open_at_the_kernel_and_download_under_their_names(page: Page) -> None:
    open_formula(page, "softmax")
    for target, begins, name in zip(TARGETS, ("program_k0", "__global__", "class Kc"), ("kernel.c", "kernel.cu", "kernel.cpp")):
        shown = pane(page, target)
        expect(shown.locator(".kc-fold")).to_be_visible()
        expect(shown.locator(".cm-line").nth(2 if target != "ascend:910b" else 3)).to_contain_text(begins)
        with page.expect_download() as waiting:
            shown.get_by_label(re.compile("^Download")).click()
        assert waiting.value.suggested_filename == name
    labels = {pane(page, t).get_by_label(re.compile("^Copy")).get_attribute("aria-label") for t in TARGETS}
    assert len(labels) == len(TARGETS)
    pane(page, "c").locator(".kc-fold").click()
    expect(pane(page, "c").locator(".kc-fold")).to_have_count(0)


@pytest.mark.parametrize("width", [900, 1440])
def test_nothing_of_the_page_is_cut_off(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_formula(page, "softmax")
    for control in page.locator(".op-bar button, .op-bar input, .op-bar select").all():
        box = control.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, control
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#kc-main").evaluate("element => element.scrollWidth - element.clientWidth") <= 0
    if width < 1000:
        page.get_by_role("tab", name="CUDA").click()
        expect(pane(page, "cuda:sm_80").locator(".cm-content")).to_contain_text("__global__")
        expect(pane(page, "c")).to_have_count(0)


def test_lists_fit_a_narrow_window(page: Page) -> None:
    open_formula(page, "softmax")
    type_formula(page, "Y[i,j] = exp(X[i,j] - max[k](X[i,k])) / sum[l](exp(X[i,l] - max[m](X[i,m])))")
    fresh(page)
    tick_only(page, "c")
    run(page, "build")
    await_state(newest_job(page), "succeeded")
    page.set_viewport_size({"width": 900, "height": 700})
    for address in ("/operators", "/jobs", "/boards", "/hosts", "/gallery"):
        page.goto(address)
        assert page.locator("#kc-main").evaluate("element => element.scrollWidth - element.clientWidth") <= 0, address


def test_any_targets_in_any_order(page: Page) -> None:
    """More panes from the menu, moved with the keyboard, hidden again; kept for the next visit."""
    def panes() -> list[str]:
        return [x.get_attribute("data-pane") or "" for x in page.locator(".op-sources [data-pane]").all()]

    page.goto("/operators/new")
    type_formula(page, "Y = relu(X)")
    fresh(page)
    assert panes() == ["c", "cuda:sm_80", "ascend:910b"]
    page.get_by_role("button", name="Choose targets to show").click()
    page.get_by_role("checkbox", name=re.compile("hip:gfx942")).check()
    page.keyboard.press("Escape")
    fresh(page)
    expect(pane(page, "hip:gfx942").locator(".cm-content")).to_contain_text("__global__")
    page.locator("[data-pane='hip:gfx942'] .op-grip").focus()
    page.keyboard.press("ArrowLeft")
    with page.expect_response(lambda r: r.url.endswith("/preferences") and r.request.method == "PATCH"):
        page.locator("[data-pane='cuda:sm_80'] button[aria-label^='Hide']").click()
    assert panes() == ["c", "hip:gfx942", "ascend:910b"]
    page.reload()
    fresh(page)
    assert panes() == ["c", "hip:gfx942", "ascend:910b"]
    page.get_by_role("button", name="Choose targets to show").click()
    with page.expect_response(lambda r: r.url.endswith("/preferences") and r.request.method == "PATCH"):
        page.get_by_role("button", name="Back to the proposed ones").click()
    page.keyboard.press("Escape")
    assert panes() == ["c", "cuda:sm_80", "ascend:910b"]
