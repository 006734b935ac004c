"""Kernels made for ranges of sizes, of which a call takes the one that its sizes fall into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula.scope import closest
from kernelcat_core.ir.expr import Expr, Size, index, transform
from kernelcat_core.ir.graph import Graph, Tensor, mapped


@dataclass(frozen=True)
class Bucket:
    """The sizes from `least` to `most`."""

    least: int
    most: int

    def size(self, name: str) -> Expr:
        """What a kernel for this bucket knows of the size: all, or its bound."""
        return index(self.most) if self.least == self.most else Size(name, self.most)

    def __str__(self) -> str:
        return str(self.most) if self.least == self.most else f"{self.least}..{self.most}"


def buckets(edges: Iterable[int]) -> tuple[Bucket, ...]:
    """Buckets that end at the rising `edges` and start after the one before (the first at 1). Raises KC-F018."""
    ends = tuple(edges)
    if any(type(e) is not int or e < 1 for e in ends) or any(a >= b for a, b in pairwise(ends)):
        raise KernelcatError("KC-F018", f"{ends} are no bounds of buckets", hint="give rising whole numbers, such as (1, 16)")
    return tuple(Bucket(a + 1, b) for a, b in zip((0, *ends), ends))


@dataclass(frozen=True)
class Buckets:
    """Buckets of some sizes of a graph."""

    of: tuple[tuple[str, tuple[Bucket, ...]], ...]

    @classmethod
    def made(cls, graph: Graph, edges: Mapping[str, Iterable[int]]) -> Buckets:
        """Raises KC-F018 for a name that is no size of the graph and for edges that do not rise."""
        for name in edges:
            if name not in graph.size_names:
                raise KernelcatError("KC-F018", f"the formula has no size {name!r}",
                                     hint=closest(name, graph.size_names) or "sizes: " + ", ".join(graph.size_names))
        return cls(tuple((name, buckets(e)) for name, e in edges.items()))

    def chosen(self, sizes: Mapping[str, int]) -> tuple[tuple[str, Bucket], ...]:
        """The bucket of each size that falls into one."""
        found = [(name, next((b for b in every if b.least <= sizes[name] <= b.most), None)) for name, every in self.of]
        return tuple((name, b) for name, b in found if b is not None)


def specialised(graph: Graph, chosen: Iterable[tuple[str, Bucket]]) -> Graph:
    """The graph for sizes in these buckets, with the same tensors."""
    known = {name: bucket.size(name) for name, bucket in chosen}

    def told(e: Expr) -> Expr:
        return transform(e, lambda n: known.get(n.name) if isinstance(n, Size) else None)

    def tensor(t: Tensor) -> Tensor:
        return replace(t, shape=tuple(map(told, t.shape)))

    return Graph(tuple(map(tensor, graph.inputs)), tuple(mapped(n, told, tensor) for n in graph.nodes), graph.outputs)
