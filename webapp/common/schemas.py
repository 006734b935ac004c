"""Shapes shared by every REST endpoint: the error envelope."""

from __future__ import annotations

from ninja import Field, Schema


class ErrorBody(Schema):
    """One coded error. `line`, `column`, `end_column` (1-based) are set when the error has a place in a formula."""

    code: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    text: str = ""


class ErrorEnvelope(Schema):
    """The body of every answer with a 4xx or 5xx status."""

    error: ErrorBody


class Paging(Schema):
    """Which part of a list: at most 500 rows at once."""

    limit: int = Field(50, ge=1, le=500)
    offset: int = Field(0, ge=0)
