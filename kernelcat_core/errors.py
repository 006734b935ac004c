"""Errors and failures: one table of codes, one exception for people, one value for failed candidates.

A user error is a `KernelcatError`: it has a code, a place in the source text, a cause and a next step. A candidate that
fails to compile or run is a `Failure`, a value that tuners and boards can store.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Span:
    """A half-open range of characters `[start, end)` of one source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


# Code -> what it means. Stages: F formula, G graph, S schedule, R render, B build, M measure, N numerics, I import,
# W web, X our machine failed. Every code has a test that triggers it and a line in docs/errors.md.
CODES: dict[str, str] = {
    "KC-B001": "the compiler rejected the source",
    "KC-B002": "no toolchain for this target on this machine",
    "KC-B003": "the compiler ran past its time limit",
    "KC-F001": "unexpected character",
    "KC-F002": "unexpected token",
    "KC-F003": "a limit on the text was exceeded",
    "KC-F004": "unknown function or operator",
    "KC-F005": "wrong arguments",
    "KC-F006": "unknown name",
    "KC-F007": "a name is assigned twice, or an input is assigned",
    "KC-F008": "left subscripts are not distinct plain indices",
    "KC-F009": "an index is free: neither on the left nor reduced",
    "KC-F010": "an index is shadowed",
    "KC-F011": "an index has no size",
    "KC-F012": "an index has two sizes",
    "KC-F013": "a load leaves its tensor",
    "KC-F014": "wrong number of subscripts",
    "KC-F015": "type error",
    "KC-F016": "empty reduction has no value",
    "KC-F017": "shapes do not agree",
    "KC-F018": "bad declaration",
    "KC-F019": "nothing to compute",
    "KC-F020": "given shapes do not fit the formula",
    "KC-G001": "a graph does not satisfy its rules",
    "KC-G002": "this has no gradient",
    "KC-I001": "an imported operator could not be written as a formula",
    "KC-I002": "a model holds an element type that has no kernels",
    "KC-I003": "a model is not valid",
    "KC-I004": "a model's operator is not mapped",
    "KC-I005": "an input of a model is missing or does not fit",
    "KC-I006": "a TensorFlow model cannot be converted here",
    "KC-M001": "the kernel failed while running",
    "KC-M002": "the kernel ran past its time limit",
    "KC-M003": "the kernel changed its inputs",
    "KC-M004": "a measured time is below the physical limit",
    "KC-M005": "a kernel or compiler wrote too much output",
    "KC-M006": "a run was cancelled",
    "KC-M007": "times of a functional model are not device times",
    "KC-M008": "a kernel's process ran while it should be stopped",
    "KC-N001": "a kernel's output differs from the oracle",
    "KC-N002": "the formula itself is unstable on this input",
    "KC-R001": "the target cannot express this",
    "KC-S001": "unknown target or device",
    "KC-S002": "a knob or its value is not legal",
    "KC-S003": "a tile program does not satisfy its rules",
    "KC-W001": "nobody is signed in",
    "KC-W002": "there is no such thing here, or it is not yours",
    "KC-W003": "the request is not allowed",
    "KC-W004": "the request is not well formed",
    "KC-W005": "the text is too long",
    "KC-W006": "a newer version was saved in the meantime",
    "KC-W007": "too many sign-in attempts",
    "KC-W008": "a sign-in link was used already or has expired",
    "KC-W009": "the job is over",
    "KC-W010": "too many jobs are waiting",
    "KC-W011": "a live topic is not known",
    "KC-X001": "the sandbox is not available on this machine",
    "KC-X002": "our own process failed",
    "KC-X003": "the port is in use",
    "KC-X004": "no Redis-compatible server was found",
    "KC-X005": "a service did not start",
    "KC-X006": "a preview took too long and was stopped",
    "KC-X007": "a preview process ended unexpectedly",
    "KC-X008": "a job ran past its time limit",
    "KC-X009": "a job lost its worker too often",
    "KC-X010": "the server failed",
    "KC-X011": "too many previews are waiting",
    "KC-X012": "the process of a job ended unexpectedly",
}


@dataclass(frozen=True)
class Failure:
    """A failed candidate: `code` from CODES, `message` for people, `detail` is the tool's own output."""

    code: str
    message: str
    detail: str = ""
    hint: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "detail": self.detail, "hint": self.hint}


class KernelcatError(Exception):
    """A user error: what (`code`, `message`), where (`line`, `column`, 1-based, or None), next step (`hint`)."""

    def __init__(self, code: str, message: str, *, hint: str = "", span: Span | None = None,
                 source: str | None = None, name: str = "formula") -> None:
        if code not in CODES:
            raise AssertionError(f"unknown error code {code}")
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.span = span
        self.source = source
        self.name = name

    def located(self, source: str, name: str = "formula") -> KernelcatError:
        """The same error, tied to the text its span points into."""
        return KernelcatError(self.code, self.message, hint=self.hint, span=self.span, source=source, name=name)

    @property
    def line(self) -> int | None:
        if self.span is None or self.source is None:
            return None
        return self.source.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        if self.span is None or self.source is None:
            return None
        return self.span.start - (self.source.rfind("\n", 0, self.span.start) + 1) + 1

    @property
    def end_column(self) -> int | None:
        """One past the last marked character, on the line of `line`."""
        if self.span is None or self.source is None or self.column is None:
            return None
        end_of_line = self.source.find("\n", self.span.start)
        stop = min(self.span.end, end_of_line if end_of_line >= 0 else len(self.source))
        return self.column + max(1, stop - self.span.start)

    def __str__(self) -> str:
        place = f" {self.name}:{self.line}:{self.column}" if self.line is not None else ""
        lines = [f"{self.code}{place}: {self.message}"]
        if self.line is not None and self.source is not None and self.column is not None:
            text = self.source.split("\n")[self.line - 1]
            width = (self.end_column or self.column + 1) - self.column
            lines += [f"  {text}", "  " + " " * (self.column - 1) + "^" * width]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that the command line and the web share."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "line": self.line,
                "column": self.column, "end_column": self.end_column, "text": str(self)}

    def to_failure(self) -> Failure:
        return Failure(self.code, self.message, str(self), self.hint)


def with_detail(failure: Failure, detail: str) -> Failure:
    """The same failure with the tool's output attached."""
    return replace(failure, detail=detail)
