"""The last word on errors of formulas: every one has a place and a next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula.syntax import (
    Assign,
    Call,
    Declaration,
    Formula,
    Name,
    Node,
    Reduce,
    Subscript,
    parts,
)

_LIBRARIES = frozenset("torch np numpy jnp jax tf tensorflow math nn F functional onnx scipy special".split())
_DOTTED = re.compile(r"([^\W\d]\w*)?((?:\s*\.\s*[^\W\d]\w*)+)\s*(\()?")
_ABSENT = {
    "dropout": "leave it out: at inference it is the identity, and a formula has no random numbers",
    "popcount": "count bits with sum[b in 32](i32((x >> b) & 1))",
    "bitwise_count": "count bits with sum[b in 32](i32((x >> b) & 1))",
    "fft": "a discrete Fourier transform is a sum: sum[n](X[n]*cos(2*pi*k*n/N))",
    "rand": "a formula has no random numbers: pass them as an input",
    "randn": "a formula has no random numbers: pass them as an input",
    "len": "use the size by its name: X: f32[N]",
    "range": "an index has a range of its own: Y[i in N] = ...",
    "float": "cast with the type's name: f32(x)",
    "int": "cast with the type's name: i32(x)",
}

_NEXT_STEP: dict[str, str] = {
    "KC-F001": "remove it, or put it into a comment after #",
    "KC-F002": "close open brackets, and put an operator or a comma between values",
    "KC-F003": "make it smaller, or split it into several statements",
    "KC-F004": "the catalogue of operators lists the names",
    "KC-F005": "the catalogue of operators shows the arguments",
    "KC-F006": "declare it, or assign it first",
    "KC-F014": "write one subscript an axis",
    "KC-F015": "cast one side, e.g. f32(x)",
    "KC-F017": "make the shapes agree",
    "KC-F018": "a declaration is X: f32[64, K]",
    "KC-F019": "write a statement: Y[i] = 2*X[i]",
}


def complete(error: KernelcatError, source: str) -> KernelcatError:
    """The error located in `source`, at its start when it has no place, with the usual next step when it names none."""
    hint = error.hint or _NEXT_STEP.get(error.code, "see the page on the notation")
    return KernelcatError(error.code, error.message, hint=hint, span=error.span or Span(0, 1), source=source)


def dotted(source: str, position: int) -> KernelcatError:
    """The error of a dot that belongs to no number: a method, an attribute, or a library's prefix."""
    start = position
    while start > 0 and (source[start - 1].isalnum() or source[start - 1] in "_."):
        start -= 1
    found = _DOTTED.match(source, start)
    if found is None or not found[2]:
        return KernelcatError("KC-F001", "unexpected character '.'", span=Span(position, position + 1))
    owner, parts = found[1] or "x", [p.strip() for p in found[2].split(".")[1:]]
    last, span = parts[-1], Span(start, found.end(2))
    if owner in _LIBRARIES:
        return KernelcatError("KC-F001", f"names have no prefix: '{owner}.'", span=span,
                              hint=f"write {last}(...) alone" if found[3] else f"write {last} alone")
    hint = {"T": f"write transpose({owner})", "mT": f"write transpose({owner})",
            "shape": "use the sizes by their names: X: f32[M, K]"}.get(last, f"write {last}({owner})")
    kind = "methods" if found[3] else "attributes"
    return KernelcatError("KC-F001", f"there are no {kind}: '.{last}'", span=span, hint=hint)


def unknown_function(name: str, close: str, names: Iterable[str]) -> str:
    """The next step for a call of what is no function: `close` ("did you mean ...") where it fits, a known replacement,
    or, where the name is one of `names` of the formula, the missing sign."""
    if name in names or len(name) == 1:
        return f"write * between factors: {name}*(...)"
    return _ABSENT.get(name.lower()) or close or "`kernelcat operators` lists the functions and operators"


def explained(error: KernelcatError, formula: Formula) -> KernelcatError:
    """The error with a hint that fits what the formula declares: sizes are only known by a declaration."""
    sizes = [d.id for s in formula.statements if isinstance(s, Declaration) for d in s.dims if isinstance(d, Name)]
    hint = error.hint
    if error.code == "KC-F011" and hint.endswith(" in N") and "N" not in sizes:
        hint = f"{hint[:-1]}{sizes[0]}" if sizes else f"declare a size, e.g. {_declared(formula, ['N'])}, and {hint}"
    if error.code == "KC-F013":
        unknown = _undeclared_bounds(formula, set(sizes))
        if unknown:
            are = "is a scalar input here, no size" if len(unknown) == 1 else "are scalar inputs here, no sizes"
            hint = f"{', '.join(unknown)} {are}, so the guard does not count: declare the tensor with its sizes, " \
                   f"e.g. {_declared(formula, unknown)}"
    return KernelcatError(error.code, error.message, hint=hint, span=error.span, source=error.source, name=error.name)


def _declared(formula: Formula, last: Sequence[str]) -> str:
    """A declaration of the tensor that is subscripted first, its last sizes named."""
    found = (n for s in formula.statements if isinstance(s, Assign) for n in _below(s.value)
             if isinstance(n, Subscript) and isinstance(n.base, Name))
    first = next(found, None)
    if first is None or not isinstance(first.base, Name):
        return f"X: f32[{', '.join(last)}]"
    others = [n for n in "BCDEFGIJ" if n not in last][: max(0, len(first.indices) - len(last))]
    return f"{first.base.id}: f32[{', '.join([*others, *last])}]"


def _undeclared_bounds(formula: Formula, sizes: set[str]) -> list[str]:
    """Bare names in the conditions of where() that are neither sizes nor indices nor assigned."""
    known = sizes | {s.name for s in formula.statements if isinstance(s, Assign | Declaration) and s.name}
    found: dict[str, None] = {}
    for s in formula.statements:
        if not isinstance(s, Assign):
            continue
        nodes = list(_below(s.value))
        bound = {b.name for b in s.subscripts or ()} | {b.name for n in nodes if isinstance(n, Reduce) for b in n.binders}
        for n in nodes:
            if isinstance(n, Call) and n.name == "where" and n.args:
                found |= {x.id: None for x in _below(n.args[0]) if isinstance(x, Name) and x.id not in known | bound}
    return list(found)


def _below(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        n = stack.pop()
        yield n
        stack.extend(reversed(parts(n)))
