"""What an operator is called when nobody named it, and the line that stands for its formula in lists."""

from __future__ import annotations

import re

NAME_LENGTH = 60
DECLARATION = re.compile(r"[^\W\d]\w*\s*:")


def headline(source: str) -> str:
    """The last statement that computes something, on one line; "" for an empty text."""
    lines = [re.sub(r"\s+", " ", line.partition("#")[0]).strip() for line in source.replace(";", "\n").splitlines()]
    lines = [line for line in lines if line]
    computed = [line for line in lines if not line.startswith("->") and not DECLARATION.match(line)]
    return (computed or lines or [""])[-1]


def _call(line: str) -> str:
    """The name of the call that is all of a line's value: `softmax` of `Y = softmax(X, axis=-1)`; "" for other lines."""
    found = re.fullmatch(r"(?:\w+\s*=\s*)?([^\W\d]\w*)\((.*)\)", line)
    if found is None:
        return ""
    depth = 0
    for sign in found[2]:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:  # the first bracket closes before the end: more than one call
            return ""
    return found[1]


def derived_name(source: str) -> str:
    """The comment that opens the text, else the operator that it calls, else its headline; shortened."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    name = first.lstrip("# ").strip() if first.startswith("#") else ""
    name = name or _call(headline(source)) or headline(source) or "formula"
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1].rstrip()}…"
