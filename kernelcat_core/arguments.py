"""What the command line's arguments mean: formulas and files, shapes, configs, numbers."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelcat_core.errors import KernelcatError

# What nobody writes as a formula: it starts like a path, or is one word with the ending of a text file.
_PATH = re.compile(r"(?:\.{1,2}/|/|~)\S*|[\w./-]+\.(?:kc|txt|formula|kernelcat)")


def formula_text(argument: str | None) -> str:
    """The formula: the argument itself, the contents of a file it names, or standard input for - or nothing.

    Raises KC-F001 for what looks like a path and is no file.
    """
    if argument is None or argument == "-":
        return sys.stdin.read()
    if "\n" not in argument and len(argument) < 256:
        path = Path(argument).expanduser()
        looks_like_a_path = _PATH.fullmatch(argument.strip()) is not None
        if (path.suffix or looks_like_a_path) and path.is_file():
            return path.read_text(encoding="utf-8")
        if looks_like_a_path:
            raise KernelcatError("KC-F001", f"there is no file {argument}",
                                 hint="give the path of a text file, or the formula itself in quotes")
    return argument


def shapes(pairs: Sequence[str]) -> dict[str, str]:
    """`X=4096x1024:f32` by name; several in one argument stand after one another, with spaces or commas."""
    found = {}
    for pair in (p for text in pairs for p in re.split(r"[\s,]+(?=[^\W\d]\w*\s*=)", text.strip())):
        name, equals, text = pair.partition("=")
        if not equals:
            raise KernelcatError("KC-F020", f"--shape {pair!r} names no input", hint="write --shape X=4096x1024:f32")
        found[name.strip()] = text.strip()
    return found


def config(pairs: Sequence[str]) -> dict[str, int]:
    """Knobs from `Y.lanes=1024`, from lists of them, and from @FILE as `kernelcat tune` writes it."""
    values: dict[str, int] = {}
    for pair in (p for text in pairs for p in re.split(r"[,\s]+", text.strip()) if p):
        if pair.startswith("@"):
            values |= _config_file(Path(pair[1:]).expanduser())
            continue
        name, _, text = pair.partition("=")
        try:
            values[name.strip()] = int(text)
        except ValueError:
            raise KernelcatError("KC-S002", f"--config {pair!r} is not a knob and a number",
                                 hint="write --config Y.lanes=1024,Y.resident=0 or --config @FILE") from None
    return values


def _config_file(path: Path) -> dict[str, int]:
    """The config of a file: `{"config": {...}}`, a whole report of tune, or the knobs themselves."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KernelcatError("KC-S002", f"--config @{path}: {error.strerror or error}",
                             hint="kernelcat tune prints the path it wrote") from None
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("best"), dict):
        found = found["best"]
    if isinstance(found, dict) and isinstance(found.get("config"), dict):
        found = found["config"]
    if not isinstance(found, dict) or not all(isinstance(v, int) for v in found.values()):
        raise KernelcatError("KC-S002", f"--config @{path} holds no config", hint='a file holds {"config": {"Y.lanes": 1024}}')
    return {str(k): v for k, v in found.items()}


def at_least(least: int) -> Callable[[str], int]:
    """An argparse type for whole numbers from `least` on."""
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


class Formatter(argparse.HelpFormatter):
    """Help that adds the default of every option that has one worth saying."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        plain = isinstance(action.default, (int, str)) and not isinstance(action.default, bool)
        if action.option_strings and plain and action.default not in ("", argparse.SUPPRESS) and "default" not in text:
            text += f" (default: {action.default})"
        return text
