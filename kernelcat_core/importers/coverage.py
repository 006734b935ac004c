"""Which operators of a source are imported, and how. docs/coverage.md is written from this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

HOWS = {
    "formula": "a mapping writes it as formulas, which become kernels",
    "host": "control flow, containers, shapes or constants: the host decides, kernels compute what is inside",
    "function": "the standard defines it by other operators, and those are imported",
    "refused": "KC-I004 or KC-I002, for the reason given",
}
_HOST_FAMILIES = frozenset({"control", "sequences", "shapes"})
_DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")


@dataclass(frozen=True)
class Entry:
    """One operator of a source: `how` is a key of HOWS; `note` says why it is refused or since which opsets it is mapped."""

    domain: str
    name: str
    how: str
    note: str = ""


def onnx() -> tuple[Entry, ...]:
    """Every operator of the installed ONNX package's standard domains, in order of domain and name."""
    from onnx import defs

    from kernelcat_core.importers.onnx_model import nodes as nodes
    from kernelcat_core.importers.onnx_model.node import REFUSED, TABLE

    newest: dict[tuple[str, str], Any] = {(s.domain, s.name): s for s in defs.get_all_schemas()}
    found: list[Entry] = []
    for (domain, name), schema in sorted(newest.items()):
        if domain not in _DOMAINS:
            continue
        versions = TABLE.get((domain, name))
        if versions:
            first = min(versions)
            family = versions[max(versions)].__module__.rpartition(".")[2]
            found.append(Entry(domain, name, "host" if family in _HOST_FAMILIES else "formula",
                               f"since opset {first}" if first > 1 and not domain else ""))
        elif schema.has_function or schema.has_context_dependent_function:
            found.append(Entry(domain, name, "function"))
        else:
            found.append(Entry(domain, name, "refused", REFUSED.get(name, "not mapped")))
    return tuple(found)


def torch() -> tuple[Entry, ...]:
    """The ATen operators (with overloads) that are mapped. What torch takes apart into these is imported as well."""
    from kernelcat_core.importers.torch_model import nodes as nodes
    from kernelcat_core.importers.torch_model.node import TABLE

    parts = [name.split(".", 1) for name in TABLE]
    return tuple(sorted((Entry(domain, name, "formula") for domain, name in parts), key=lambda e: (e.domain, e.name)))


SOURCES: dict[str, Callable[[], tuple[Entry, ...]]] = {"onnx": onnx, "torch": torch}


def totals(entries: Sequence[Entry]) -> dict[str, int]:
    """How many operators there are of each kind, and in all."""
    counts = Counter(e.how for e in entries)
    return {**{how: counts[how] for how in HOWS}, "total": len(entries)}


def report(source: str) -> dict[str, Any]:
    """The entries of a source and their totals, as plain values."""
    entries = SOURCES[source]()
    return {"source": source, "totals": totals(entries),
            "operators": [{"domain": e.domain or "ai.onnx", "name": e.name, "how": e.how, "note": e.note} for e in entries]}


def page() -> str:
    """docs/coverage.md."""
    lines = ["# What is imported", "", "Written from the tables of mappings (`make golden`).", ""]
    lines += [f"- **{how}**: {meaning}" for how, meaning in HOWS.items()]
    for source in SOURCES:
        made = report(source)
        counts = ", ".join(f"{n} {how}" for how, n in made["totals"].items())
        lines += ["", f"## {source}", "", f"{counts}.", "", "| domain | operator | how | note |", "|---|---|---|---|"]
        lines += [f"| {o['domain']} | {o['name']} | {o['how']} | {o['note']} |" for o in made["operators"]]
    return "\n".join(lines) + "\n"
