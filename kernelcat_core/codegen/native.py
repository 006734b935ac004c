"""Hand-written kernels: their declaration, how their parameters meet tensors and sizes, how they are launched.

Only signatures are read here, by a small scanner for C-family declarations; everything else is left to compilers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.graph import Tensor

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


@dataclass(frozen=True)
class Launch:
    """Blocks and threads a block, as C expressions over sizes, up to three each; dynamic shared memory in bytes."""

    grid: tuple[str, ...] = ("1",)
    block: tuple[str, ...] = ("1",)
    shared: str = "0"


def launch(spec: Mapping[str, Any] | None) -> Launch:
    """The launch that {"grid": "ceil(N / 256)", "block": 256, "shared": 0} says; numbers, texts or tuples of them."""
    given = dict(spec or {})
    unknown = sorted(set(given) - {"grid", "block", "shared"})
    if unknown:
        raise KernelcatError("KC-F005", f"launch has no entry {unknown[0]!r}", hint="entries: grid, block, shared")
    return Launch(_dimensions(given.get("grid", 1)), _dimensions(given.get("block", 1)), _c_text(given.get("shared", 0)))


def _dimensions(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3:
        raise KernelcatError("KC-F005", "a launch has one to three dimensions", hint='write "grid": ("ceil(N / 16)", "M")')
    return tuple(_c_text(p) for p in parts)


def _c_text(value: Any) -> str:
    """An integer expression over sizes (+ - * // and ceil(a / b)) as C; nothing else is let through."""
    try:
        return _c_node(ast.parse(str(value), mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise KernelcatError("KC-F005", f"{value!r} is not a launch size ({error})",
                             hint="use sizes, integers, + - * // and ceil(a / b)") from None


def _c_node(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return str(number)
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() as operation, right=right):
            sign = {"Add": "+", "Sub": "-", "Mult": "*", "FloorDiv": "/"}[type(operation).__name__]
            return f"({_c_node(left)} {sign} {_c_node(right)})"
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
            a, b = _c_node(left), _c_node(right)
            return f"(({a} + {b} - 1) / {b})"
    raise ValueError("only sizes, integers, + - * // and ceil(a / b)")


def arguments(native: Native, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], sizes: tuple[str, ...]
              ) -> tuple[str, ...]:
    """A C expression for every parameter, over `tensors` (void pointers, inputs then outputs) and `sizes`.

    Parameters are matched by name; pointers that match nothing take the tensors left over, in order. Raises KC-F005 for
    a parameter without a value and for an output that no parameter takes.
    """
    tensors = (*inputs, *outputs)
    places = {t.name: k for k, t in enumerate(tensors)}
    named = {p.name for p in native.parameters}
    left = [k for k, t in enumerate(tensors) if t.name not in named and t.shape]
    found: list[str] = []
    taken: set[int] = set()
    for p in native.parameters:
        if p.name in places and p.is_pointer:
            k = places[p.name]
        elif p.is_pointer and left:
            k = left.pop(0)
        elif p.name in sizes:
            found.append(f"({p.type})sizes[{sizes.index(p.name)}]")
            continue
        elif p.name in places and not tensors[places[p.name]].shape:
            k = places[p.name]
            found.append(f"({p.type})*(const {_scalar_type(tensors[k])} *)tensors[{k}]")
            continue
        else:
            raise KernelcatError("KC-F005", f"parameter {p.name} of {native.name} is no tensor and no size of the formula",
                                 hint=f"tensors: {', '.join(places)}; sizes: {', '.join(sizes) or 'none'}")
        taken.add(k)
        found.append(f"({p.type})tensors[{k}]")
    for k, t in enumerate(outputs, len(inputs)):
        if k not in taken:
            raise KernelcatError("KC-F005", f"{native.name} has no parameter for the output {t.name}",
                                 hint=f"add a pointer parameter called {t.name}")
    return tuple(found)


def _scalar_type(t: Tensor) -> str:
    names = {"f32": "float", "f64": "double", "bool": "unsigned char"}
    if t.dtype.name in names:
        return names[t.dtype.name]
    if t.dtype.is_integer and t.dtype.bits >= 8:
        return f"{'u' if t.dtype.kind == 'u' else ''}int{t.dtype.bits}_t"
    raise KernelcatError("KC-F005", f"a scalar of type {t.dtype} cannot be passed by value", hint=f"pass {t.name} by pointer")
