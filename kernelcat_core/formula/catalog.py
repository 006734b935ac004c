"""The list of operators for people: names, signatures, summaries, examples."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from kernelcat_core.formula.functions import TABLE
from kernelcat_core.formula.operators.definition import REGISTRY


@dataclass(frozen=True)
class CatalogEntry:
    """`example` is a formula that works as it stands."""

    name: str
    signature: str
    summary: str
    example: str
    group: str
    aliases: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


@lru_cache(maxsize=1)
def operators_catalog() -> tuple[CatalogEntry, ...]:
    """Every named operator and scalar function, in order of names."""
    entries = [CatalogEntry(o.name, o.signature, o.summary, o.example, o.group, o.aliases)
               for name, o in REGISTRY.items() if name == o.name]
    for f in TABLE:
        letters = ", ".join("xyz"[:f.arity])
        example = f"Y[i] = {f.name}({', '.join(n + '[i]' for n in 'XZ'[:f.arity])})"
        if f.typing == "integer" or f.op.endswith("_bits"):
            example = "; ".join([*(f"{n}: i32[N]" for n in "XZ"[:f.arity]), example])
        entries.append(CatalogEntry(f.name, f"{f.name}({letters})", f.summary, example, "function", f.aliases))
    return tuple(sorted(entries, key=lambda e: e.name.lower()))
