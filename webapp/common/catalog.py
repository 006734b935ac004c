"""Message catalogs without the gettext tools: reads .po, writes .mo, finds the texts that need translation."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path

TEMPLATE_TEXT = re.compile(r'{%\s*translate\s+(?:"([^"]+)"|\'([^\']+)\')')
TEMPLATE_BLOCK = re.compile(r"{%\s*blocktranslate\b[^%]*%}(.*?){%\s*endblocktranslate\s*%}", re.DOTALL)
BLOCK_VALUE = re.compile(r"{{\s*(\w+)\s*}}")
CALLS = {"_", "gettext", "gettext_lazy", "ngettext"}
ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr|msgstr\[\d\])\s+(".*")$')
MAGIC = 0x950412DE


def po_read(text: str) -> dict[str, str]:
    """msgid -> msgstr. A plural entry is keyed `singular\\0plural`, its forms are joined by NUL, as in a .mo file."""
    found: dict[str, str] = {}
    for block in re.split(r"\n\s*\n", text):
        parts: dict[str, str] = {}
        name = ""
        for line in block.splitlines():
            entry = ENTRY.match(line.strip())
            if entry:
                name = entry[1]
                parts[name] = ast.literal_eval(entry[2])
            elif line.startswith('"') and name:
                parts[name] += ast.literal_eval(line.strip())
        if "msgid_plural" in parts:
            forms = [parts[form] for form in sorted(parts) if form.startswith("msgstr[")]
            found[f"{parts['msgid']}\0{parts['msgid_plural']}"] = "\0".join(forms)
        elif "msgid" in parts:
            found[parts["msgid"]] = parts["msgstr"]
    return found


def mo_write(messages: dict[str, str]) -> bytes:
    """The binary catalog (GNU .mo, little-endian, sorted by msgid, no hash table)."""
    pairs = sorted((key.encode(), value.encode()) for key, value in messages.items())
    keys_at = 28
    values_at = keys_at + 8 * len(pairs)
    text_at = values_at + 8 * len(pairs)
    tables: list[bytes] = []
    texts: list[bytes] = []
    for column in (0, 1):
        for pair in pairs:
            tables.append(struct.pack("<II", len(pair[column]), text_at))
            texts.append(pair[column] + b"\0")
            text_at += len(pair[column]) + 1
    head = struct.pack("<7I", MAGIC, 0, len(pairs), keys_at, values_at, 0, values_at + 8 * len(pairs))
    return head + b"".join(tables) + b"".join(texts)


def template_texts(text: str) -> set[str]:
    """Texts of `translate` and `blocktranslate` tags."""
    plain = {double or single for double, single in TEMPLATE_TEXT.findall(text)}
    return plain | {BLOCK_VALUE.sub(r"%(\1)s", block) for block in TEMPLATE_BLOCK.findall(text)}


def python_texts(text: str) -> set[str]:
    """Literal first arguments of gettext calls (of ngettext: singular NUL plural)."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            wanted = 2 if node.func.id == "ngettext" else 1
            words = [arg.value for arg in node.args[:wanted] if isinstance(arg, ast.Constant)]
            if len(words) == wanted:
                found.add("\0".join(str(word) for word in words))
    return found


def texts_of(folder: Path) -> set[str]:
    """Every text below `folder` that people see through a template or a gettext call."""
    pages = (template_texts(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html"))
    modules = (python_texts(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
    return set().union(*pages, *modules)
