"""Native source from a registered function: hand-written kernels, and signatures whose body is to be generated.

Only signatures are read here, by a small scanner for C-family declarations; everything else is left to compilers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kernelcat_core.errors import KernelcatError

Language = Literal["c", "cuda", "ascendc"]

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"""
    (?P<head>(?:extern\s+"C"\s+)?(?:(?:__global__|__aicore__|static|inline|__launch_bounds__\s*\([^)]*\))\s+)*)
    void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?
    (?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^)]*)\)\s*\{""", re.VERBOSE)
_ELLIPSIS = ("...", "…")


@dataclass(frozen=True)
class Parameter:
    """One parameter as written: `type` is "" when only a name was given."""

    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type or "GM_ADDR" in self.type

    @property
    def is_constant(self) -> bool:
        return "const" in self.type.split()


@dataclass(frozen=True)
class Native:
    """A kernel's declaration and text. `has_body` is False when there is nothing but comments between its braces."""

    text: str
    language: Language
    name: str
    parameters: tuple[Parameter, ...]
    has_body: bool


def parse(text: str) -> Native | None:
    """The native kernel in `text`, or None when it is a formula. Raises KC-F005 for a declaration that cannot be read."""
    bare = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    entries = list(_ENTRY.finditer(bare))
    if not entries:
        return None
    marked = [e for e in entries if "__global__" in e["head"]]
    entry = (marked or entries)[-1]
    language: Language = "ascendc" if "__aicore__" in entry["head"] else "cuda" if marked else "c"
    body = bare[entry.end():_closing(bare, entry.end())]
    return Native(text, language, entry["name"], _parameters(entry["parameters"]), bool(body.strip()))


def _closing(bare: str, start: int) -> int:
    depth = 1
    for place in range(start, len(bare)):
        depth += {"{": 1, "}": -1}.get(bare[place], 0)
        if depth == 0:
            return place
    if not bare[start:].strip():
        return len(bare)  # `{ // generated }` on one line: the comment swallowed the brace
    raise KernelcatError("KC-F005", "the kernel's body is never closed", hint="every { needs its }")


def _parameters(text: str) -> tuple[Parameter, ...]:
    found = []
    for part in (p.strip() for p in text.split(",")):
        if not part or part in _ELLIPSIS or part == "void":
            continue
        match = re.fullmatch(r"(?P<type>.*?[\s*&])?(?P<name>[A-Za-z_]\w*)(?P<array>\s*\[\s*\])?", part, re.DOTALL)
        if match is None:
            raise KernelcatError("KC-F005", f"parameter {part!r} cannot be read", hint="write a type and a name: const float *x")
        kind = " ".join((match["type"] or "").replace("*", " * ").split()) + (" *" if match["array"] else "")
        found.append(Parameter(kind.strip(), match["name"]))
    return tuple(found)
