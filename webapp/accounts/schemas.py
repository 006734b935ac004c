"""What the REST API says about the person who is signed in."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema

Theme = Literal["system", "light", "dark"]
Language = Literal["en", "zh-hans"]


class Preferences(Schema):
    """Per-person settings; `layout` is the front end's own JSON (pane arrangement), at most 16 KiB."""

    theme: Theme
    language: Language
    layout: dict[str, Any]


class PreferencesPatch(Schema):
    """Fields that are absent stay as they are."""

    theme: Theme | None = None
    language: Language | None = None
    layout: dict[str, Any] | None = None


class Person(Schema):
    username: str
    display_name: str


class WorkspaceRef(Schema):
    id: str
    name: str


class Me(Schema):
    """The signed-in person, the personal workspace and the preferences."""

    user: Person
    workspace: WorkspaceRef
    preferences: Preferences
