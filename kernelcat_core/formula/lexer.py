"""Text to tokens. Names are normalised (NFKC); mathematical signs become their ASCII spelling."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from kernelcat_core.errors import KernelcatError, Span
from kernelcat_core.formula import limits
from kernelcat_core.formula.hints import dotted

KEYWORDS = frozenset({"and", "or", "not", "in"})
_SIGNS = {"·": "*", "×": "*", "≤": "<=", "≥": ">=", "≠": "!=", "∧": "and", "∨": "or", "¬": "not", "−": "-"}
_CONTINUES = frozenset("+ - * / // % @ ** & | ^ << >> < <= > >= == != and or".split())
_TOKEN = re.compile(
    r"(?P<space>[ \t\r\f\v\u00a0\u2009\u202f]+)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<newline>\n|;)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d][\w\u0300-\u036f]*)"
    r"|(?P<string>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<op>\*\*|//|<<|>>|<=|>=|==|!=|\+=|->|\.\.\.|[-+*/%@<>=()\[\],:&|^~]|[·×≤≥≠∧∨¬√∑∏−])")


class Token(NamedTuple):
    """`kind` is name, number, string, op, newline or end; `text` is normalised."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


def _name(text: str, start: int, end: int) -> Token:
    if text.isascii():
        return Token("op" if text in KEYWORDS else "name", text, start, end)
    normal = unicodedata.normalize("NFKC", text)
    for k, c in enumerate(normal):
        good = c.isalpha() or c == "_" or (k > 0 and (c.isdecimal() or unicodedata.combining(c)))
        if not good:
            raise KernelcatError("KC-F001", f"a name cannot hold {text!r}", span=Span(start, end),
                                 hint="names are letters, digits and _")
    return Token("op" if normal in KEYWORDS else "name", normal, start, end)


def tokenize(source: str) -> list[Token]:
    """The tokens of `source`, an `end` token last. Newlines inside brackets or after an operator do not count."""
    if len(source.encode("utf-8", "surrogatepass")) > limits.TEXT_BYTES:
        raise KernelcatError("KC-F003", "the text is longer than 64 KiB", span=Span(0, 1),
                             hint="split the formula")
    tokens: list[Token] = []
    position, depth = 0, 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise _unexpected(source, position)
        start, position = position, match.end()
        kind, text = match.lastgroup or "", match.group()
        if kind in ("space", "comment"):
            continue
        if kind == "newline":
            joins = text == "\n" and (depth > 0 or (tokens and tokens[-1].text in _CONTINUES))
            if not joins:
                tokens.append(Token("newline", text, start, position))
            continue
        if kind == "name":
            tokens.append(_name(text, start, position))
        elif kind == "number":
            if position < len(source) and (source[position].isalnum() or source[position] in "_."):
                raise KernelcatError("KC-F001", f"a number cannot be followed by {source[position]!r}",
                                     span=Span(position, position + 1), hint="write * between factors")
            tokens.append(Token("number", text, start, position))
        elif kind == "string":
            tokens.append(Token("string", text[1:-1], start, position))
        else:
            depth = max(0, depth + (text in "([") - (text in ")]"))
            tokens.append(Token("op", _SIGNS.get(text, text), start, position))
    tokens.append(Token("end", "", len(source), len(source)))
    return tokens


def _unexpected(source: str, position: int) -> KernelcatError:
    c = source[position]
    if c == ".":
        return dotted(source, position)
    span = Span(position, position + 1)
    if c in "\"'":
        return KernelcatError("KC-F001", "a string is not closed on its line", span=span, hint=f"add {c}")
    if c == "!":
        return KernelcatError("KC-F001", "unexpected '!'", span=span, hint="write != or not")
    shown = repr(c) if c.isprintable() else f"U+{ord(c):04X}"
    return KernelcatError("KC-F001", f"unexpected character {shown}", span=span, hint="")
