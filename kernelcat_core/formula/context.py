"""Where an expression stands while it is lowered: visible indices and guards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelcat_core.formula.indexing import Guard
from kernelcat_core.ir.expr import Expr, Var, conjunction
from kernelcat_core.ir.polynomial import Polynomial


@dataclass(frozen=True)
class Index:
    """A visible index: `var` is its Var's name in the graph, `size` its range (None while unknown)."""

    var: str
    size: Expr | None


@dataclass(frozen=True)
class Context:
    """`indices` by name; `ranges` by key (for reducers below); `mentioned`: names that subscripts of the statement use."""

    indices: Mapping[str, Index] = field(default_factory=dict)
    ranges: Mapping[str, Expr] = field(default_factory=dict)
    keys: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    mentioned: frozenset[str] = frozenset()
    guards: tuple[Guard, ...] = ()

    def guarded(self, guard: Guard) -> Context:
        return replace(self, guards=(*self.guards, guard))

    def bind(self, indices: Mapping[str, Index]) -> Context:
        return replace(self, indices={**self.indices, **indices})

    @property
    def condition(self) -> Expr | None:
        return conjunction(*(g.condition for g in self.guards))

    @property
    def facts(self) -> tuple[Polynomial, ...]:
        return tuple(f for g in self.guards for f in g.facts)

    @property
    def sizes(self) -> dict[str, Expr]:
        """Var name -> range size of the indices whose range is known."""
        return {i.var: i.size for i in self.indices.values() if i.size is not None}

    def names(self) -> dict[str, Expr]:
        return {n: Var(i.var) for n, i in self.indices.items()}


EMPTY = Context()
