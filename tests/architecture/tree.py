"""The repository's own files, as the architecture tests see them: no build output, no environment, no caches."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SKIPPED = {".git", ".venv", "node_modules", "dist", "var", "__pycache__", "build", "static", "staticfiles",
            "test-results"}
_SKIPPED_PREFIXES = (".mypy", ".ruff", ".pytest", ".hypothesis", ".import")


@cache
def files(*suffixes: str, under: str = "") -> tuple[Path, ...]:
    """Every file with one of `suffixes` (all files without any) below the folder `under`, sorted."""
    found: list[Path] = []
    folders = [ROOT / under]
    while folders:
        for entry in folders.pop().iterdir():
            hidden = entry.name.startswith(_SKIPPED_PREFIXES) or entry.name.endswith(".egg-info")
            if entry.name in _SKIPPED or hidden or entry.is_symlink():
                continue
            if entry.is_dir():
                folders.append(entry)
            elif not suffixes or entry.suffix in suffixes:
                found.append(entry)
    return tuple(sorted(found))


def place(path: Path) -> str:
    """A path as people write it: relative to the repository, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of one Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def generated(path: Path) -> bool:
    """Whether a file is written by a program: migrations, generated types, golden files, lock files."""
    name = place(path)
    return ("/migrations/" in name or "/golden/" in name or ".gen." in path.name
            or path.suffix == ".lock" or path.name == "package-lock.json")


def source_folders() -> tuple[str, ...]:
    """The Python packages of the product that are there."""
    return tuple(name for name in ("kernelcat_core", "webapp", "workers") if (ROOT / name).is_dir())
