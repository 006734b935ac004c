"""Options and fixtures for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# State and compiled binaries of a test run stay apart from the developer's own.
os.environ.setdefault("KERNELCAT_HOME", str(ROOT / "var" / "test"))
os.environ.setdefault("KERNELCAT_CACHE", str(ROOT / "var" / "test-cache"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files from what the code gives now")
    parser.addoption("--all-cases", action="store_true", help="run whole suites of others, not a spread of their cases")
