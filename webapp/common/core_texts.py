"""What the core says, in the reader's language. The core speaks English; `{}` stands for what it fills in."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from webapp.common.core_texts_zh import ERRORS, GALLERY, HOSTS

LANGUAGES = {"zh-hans": {**HOSTS, **GALLERY, **ERRORS}}


def core_text(text: str, language: str) -> str:
    """`text` in `language`; as it is where there is no translation."""
    if language not in LANGUAGES or not text:
        return text
    exact = LANGUAGES[language].get(text)
    if exact is not None:
        return exact
    for pattern, translation in _patterns(language):
        found = pattern.fullmatch(text)
        if found:
            return translation.format(*found.groups())
    return text


def error_in(body: dict[str, Any] | None, language: str) -> dict[str, Any] | None:
    """An error body with its message and hint in `language`; the code, the place and the full text stay."""
    if body is None or language not in LANGUAGES:
        return body
    return {**body, "message": core_text(body["message"], language), "hint": core_text(body.get("hint", ""), language)}


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Longest fixed part first, so that the most telling pattern wins."""
    open_texts = [(text, other) for text, other in LANGUAGES[language].items() if "{}" in text]
    open_texts.sort(key=lambda pair: -len(pair[0].replace("{}", "")))
    return [(re.compile("(.+?)".join(map(re.escape, text.split("{}"))), re.DOTALL), other) for text, other in open_texts]
