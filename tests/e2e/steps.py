"""What a person does on the operator page, in the words of the tests."""

from __future__ import annotations

import re
import time

from playwright.sync_api import Locator, Page, expect

TARGETS = ("c", "cuda:sm_80", "ascend:910b")
PREVIEW_MS = 15_000
JOB_MS = 120_000


def open_formula(page: Page, slug: str) -> None:
    """Opens a gallery formula and waits for its three panes."""
    page.goto(f"/operators/new?from={slug}")
    fresh(page)


def fresh(page: Page) -> None:
    """Waits until what is shown belongs to what is typed."""
    expect(page.locator("#kc-preview-state")).to_have_attribute("data-state", "fresh", timeout=PREVIEW_MS)


def editor(page: Page) -> Locator:
    return page.locator(".kc-formula .cm-content")


def type_formula(page: Page, text: str) -> None:
    """Replaces the whole formula, as select-all and typing does."""
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def pane(page: Page, target: str) -> Locator:
    return page.locator(f"section[data-pane='{target}']")


def sources(page: Page) -> list[str]:
    """The whole text of each pane (the view itself holds only the lines in sight), as its download gives it."""
    texts = []
    for target in TARGETS:
        with page.expect_download() as waiting:
            pane(page, target).get_by_label(re.compile("^Download")).click()
        texts.append(waiting.value.path().read_text())
    return texts


def fact(page: Page, target: str, name: str) -> Locator:
    return pane(page, target).locator(f"[data-fact='{name}']")


def tick_only(page: Page, *targets: str) -> None:
    boxes = page.locator(".op-targets input")
    for place, target in enumerate(TARGETS):
        boxes.nth(place).set_checked(target in targets)


def run(page: Page, kind: str) -> None:
    page.locator(f"[data-run='{kind}']").first.click()


def newest_job(page: Page) -> Locator:
    return page.locator(".op-jobs li[data-job]").first


def job_state(row: Locator) -> Locator:
    return row.locator(".kc-state")


def await_state(row: Locator, state: str, timeout: float = JOB_MS) -> None:
    expect(job_state(row)).to_have_attribute("data-state", re.compile(state), timeout=timeout)


def points(page: Page) -> int:
    chart = page.locator(".kc-chart[data-points]")
    return int(chart.get_attribute("data-points") or 0) if chart.count() else 0


def await_points(page: Page, least: int, timeout: float = JOB_MS) -> int:
    """Waits until the chart has that many points. Polls from here: the page's policy forbids evaluated strings."""
    end = time.monotonic() + timeout / 1000
    while points(page) < least:
        assert time.monotonic() < end, f"{points(page)} points, {least} awaited"
        page.wait_for_timeout(100)
    return points(page)
