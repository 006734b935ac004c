"""What holds for every file of the repository."""

from __future__ import annotations

import re

from tests.architecture.tree import ROOT, files, generated, place

MOST_LINES = 600
SOURCES = (".py", ".ts", ".tsx", ".c", ".h", ".cu", ".css", ".html", ".mjs")
TEXTS = (*SOURCES, ".md", ".toml", ".yml", ".yaml", ".json", ".txt", ".lock")
# Spelled in pieces, so that this file does not find itself.
FOLDERS = ("ro" + "ot", "ho" + "me", "tm" + "p", "wo" + "rk")
MACHINE_PATH = re.compile(rf"(?<![\w.-])/(?:{'|'.join(FOLDERS)})/[a-z]")
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|Not" + r"ImplementedError")


def test_no_source_file_is_long() -> None:
    lengths = {place(path): path.read_text(encoding="utf-8").count("\n") + 1
               for path in files(*SOURCES) if not generated(path)}
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}


def test_no_path_of_a_machine() -> None:
    found = {place(path): MACHINE_PATH.findall(path.read_text(encoding="utf-8")) for path in files(*TEXTS)}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_nothing_is_marked_unfinished() -> None:
    found = {place(path): UNFINISHED.findall(path.read_text(encoding="utf-8")) for path in files(*SOURCES)}
    assert {name: marks for name, marks in found.items() if marks} == {}


def test_lock_files_name_no_host() -> None:
    for path in files(".lock"):
        text = path.read_text()
        assert "://" not in text, path.name
        assert "--index-url" not in text, path.name
        assert "--find-links" not in text, path.name


def test_every_direct_dependency_is_locked_with_hashes_and_has_a_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    section = project[project.index("dependencies = ["):project.index("[project.scripts]")]
    locked = (ROOT / "requirements-dev.lock").read_text() + (ROOT / "requirements-cuda.lock").read_text()
    entries = re.findall(r'^  "([\w.-]+)[^"]*"(?:,)?(.*)$', section, re.MULTILINE)
    assert len(entries) > 20
    for name, rest in entries:
        normal = re.sub(r"[-_.]+", "-", name).lower()
        assert re.search(rf"^{re.escape(normal)}==", locked, re.MULTILINE), f"{name} is not locked"
        grouped = normal.startswith("nvidia-")  # one comment stands above the group
        assert grouped or "#" in rest, f"{name} has no reason"
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=\S)", locked.strip()) if "==" in block)


def test_both_commands_stand_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "make up" in readme
    assert "make test" in readme
    assert "not affiliated" in readme
