"""The last word on errors of formulas: every one has a place and a next step."""

from __future__ import annotations

from kernelcat_core.errors import KernelcatError, Span

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
