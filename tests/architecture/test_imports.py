"""Layers and lazy imports. import-linter (make check) reads the contracts; here the list itself is checked."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from typing import Any

from tests.architecture.tree import ROOT, files, parsed, place

AT_IMPORT = {"numpy", "kernelcat_core", "kernelcat"}
HEAVY = ("onnx", "onnxruntime", "torch", "tensorflow", "django", "celery", "channels", "redis")


def contracts() -> dict[str, dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {contract["id"]: contract for contract in project["tool"]["importlinter"]["contracts"]}


def test_every_module_of_the_core_has_a_layer() -> None:
    contract = contracts()["core-layers"]
    assert contract["exhaustive"] is True
    named = set(re.findall(r"\w+", " ".join(contract["layers"])))
    there = {path.stem if path.is_file() else path.name for path in (ROOT / "kernelcat_core").iterdir()
             if path.suffix == ".py" or (path / "__init__.py").is_file()} - {"__init__"}
    assert there - named == set()


def top_level_imports(tree: ast.Module) -> set[str]:
    """The first words of what a module imports when it is imported (TYPE_CHECKING blocks do not run)."""
    found: set[str] = set()
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            pending += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            pending += [*node.body, *node.orelse, *node.finalbody, *(s for h in node.handlers for s in h.body)]
        elif isinstance(node, ast.ClassDef | ast.With):
            pending += node.body
    return found


def test_the_core_imports_only_numpy_at_import() -> None:
    foreign = {place(path): top_level_imports(parsed(path)) - AT_IMPORT - set(sys.stdlib_module_names)
               for path in files(".py", under="kernelcat_core")}
    assert {name: packages for name, packages in foreign.items() if packages} == {}


def test_importing_the_api_loads_nothing_heavy() -> None:
    script = f"import sys, kernelcat; print([name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"
