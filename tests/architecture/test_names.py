"""Names that say nothing are not used, and shared code never asks which target it works for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import files, generated, place, source_folders

WORDS = {"util", "utils", "helper", "helpers", "manager", "managers", "engine", "engines"}
BARE = {"data", "info", "result"}
PREFIXES = ("new_", "do_", "process_")


def words(name: str) -> set[str]:
    """The words of an identifier: snake_case and CamelCase alike, lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) of everything a module names: functions, classes, parameters, variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def refused(name: str) -> bool:
    return bool(words(name) & WORDS) or name in BARE or name.startswith(PREFIXES)


def python_sources() -> list[Path]:
    return [path for folder in source_folders() for path in files(".py", under=folder) if not generated(path)]


def test_the_rule_itself() -> None:
    assert refused("StringHelper")
    assert refused("data")
    assert refused("process_row")
    assert not refused("metadata")
    assert not refused("engineered")
    assert not refused("database")


def test_no_definition_has_an_empty_name() -> None:
    found = [f"{place(path)}:{line} {name}" for path in python_sources()
             for line, name in definitions(ast.parse(path.read_text())) if refused(name)]
    assert found == []


def test_no_file_has_an_empty_name() -> None:
    named = [place(path) for path in files(".py", ".ts", ".tsx") if words(path.stem) & WORDS or path.stem in BARE]
    assert named == []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def asks_for_a_target(node: ast.AST) -> bool:
    """`target == "..."`, `target.kind == "..."`, `x.target.backend in ("...",)` and the like."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    names = [ast.unparse(side) for side in sides]
    about = any(re.search(r"(^|\.)target(\.(name|kind|backend|arch))?$", name) for name in names)
    literal = any(_is_text(side) or (isinstance(side, ast.Tuple | ast.List | ast.Set) and any(map(_is_text, side.elts)))
                  for side in sides)
    return about and literal


def test_shared_code_never_asks_which_target() -> None:
    assert asks_for_a_target(ast.parse("target.backend == 'cuda'").body[0].value)  # type: ignore[attr-defined]
    found = [f"{place(path)}:{node.lineno}" for path in python_sources()
             if not place(path).startswith("kernelcat_core/backends/")
             for node in ast.walk(ast.parse(path.read_text())) if asks_for_a_target(node)]
    assert found == []


def test_every_module_of_the_core_says_what_it_is() -> None:
    silent = [place(path) for path in files(".py", under="kernelcat_core")
              if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []
