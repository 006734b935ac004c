"""A real stack (`kernelcat up` in a home of its own) and a real Chromium; without Chromium everything here skips."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = Path(__file__).parent / "screenshots"
START_SECONDS = 180
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
).split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        item.add_marker(pytest.mark.e2e)
        if CHROMIUM is None:
            item.add_marker(pytest.mark.skip(reason="NO CHROMIUM: the browser tests did not run. apt-get install chromium"))
        elif not (ROOT / "frontend/dist/manifest.json").is_file():
            item.add_marker(pytest.mark.skip(reason="FRONT END NOT BUILT: the browser tests did not run. make setup"))


@dataclass(frozen=True)
class Stack:
    """A running KernelCAT: its address and the link that signs its owner in once."""

    address: str
    sign_in_link: str


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_link(log: Path, process: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        found = re.search(r"https?://\S+/sign-in/link/\S+", log.read_text())
        if found:
            return found[0]
        if process.poll() is not None:
            break
        time.sleep(0.2)
    raise RuntimeError(f"`kernelcat up` gave no sign-in link:\n{log.read_text()[-4000:]}")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("kernelcat")
    log = home / "up.log"
    port = _free_port()
    # DJANGO_* of the test process must not reach the server: it has settings of its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "KERNELCAT_"))}
    environment |= {"KERNELCAT_HOME": str(home / "home"), "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "kernelcat_core", "up", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Stack(address=f"http://127.0.0.1:{port}", sign_in_link=_await_link(log, process))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": CHROMIUM_FLAGS}


@pytest.fixture(scope="session")
def signed_in(browser: Browser, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cookies of the owner, who signed in by the one-time link."""
    state = tmp_path_factory.mktemp("session") / "state.json"
    context = browser.new_context()
    page = context.new_page()
    page.goto(stack.sign_in_link)
    page.wait_for_url(f"{stack.address}/operators*")
    context.storage_state(path=state)
    context.close()
    return state


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any], stack: Stack, signed_in: Path) -> dict[str, Any]:
    return {
        **browser_context_args,
        "base_url": stack.address,
        "storage_state": signed_in,
        "viewport": {"width": 1280, "height": 800},
    }


@pytest.fixture(autouse=True)
def no_script_errors(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test fails when its page threw or a policy refused something, even if all else went well."""
    if "page" not in request.fixturenames:
        yield
        return
    page: Page = request.getfixturevalue("page")
    seen: list[str] = []
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on(
        "console",
        lambda message: seen.append(message.text) if "Content Security Policy" in message.text else None,
    )
    yield
    assert seen == []
