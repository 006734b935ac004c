"""Partition: group primitives into kernels, by analysis of index maps only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelcat_core.ir.expr import ONE, Load, Var, coefficient, loads
from kernelcat_core.ir.graph import Compute, Graph, Primitive, Scan, Scatter, Select, expressions, reads
from kernelcat_core.ir.normal_form import same
from kernelcat_core.schedule.affine import flatten, most
from kernelcat_core.schedule.gathers import gathered
from kernelcat_core.schedule.inline import inline, squeeze
from kernelcat_core.schedule.kernel import Kernel, KernelClass
from kernelcat_core.schedule.online import WeightedSum, weighted_sums
from kernelcat_core.schedule.rules import contraction
from kernelcat_core.schedule.simplify import simplified


@dataclass
class _Group:
    """Primitives of one kernel being formed; `rows` as in Kernel. A sealed group takes no more nodes."""

    nodes: list[Primitive]
    rows: list[tuple[int, ...]]
    contraction: bool = False
    sealed: bool = False
    names: set[str] = field(default_factory=set)
    inside: list[Primitive] = field(default_factory=list)  # what a weighted sum is made of


@dataclass(frozen=True)
class Partition:
    """`graph` after rewrites, and its kernels in launch order; `sums` says what those of class attention compute."""

    graph: Graph
    kernels: tuple[Kernel, ...]
    sums: Mapping[str, WeightedSum]


def partition(graph: Graph, fuse: bool = True, attention: bool = True) -> Partition:
    """Fusion groups of `graph`. Without `fuse` each primitive is a kernel of its own (elementwise ones still move in),
    without `attention` softmax-weighted sums are kernels that pass scores through memory."""
    graph = gathered(inline(simplified(squeeze(graph))))
    groups: list[_Group] = []
    sums = weighted_sums(graph) if fuse and attention else {}
    inside = frozenset().union(*(w.inside for w in sums.values()))
    for node in graph.nodes:
        if node.output.name in inside:
            continue
        if node.output.name in sums:
            groups.append(_weighted(sums[node.output.name], graph))
            continue
        joined = _join(node, groups, graph) if fuse and isinstance(node, Compute) else None
        if joined is None:
            groups.append(_start(node, graph))
    readers: dict[str, set[int]] = {}
    for k, g in enumerate(groups):
        for n in (*g.inside, *g.nodes):
            for name in reads(n):
                readers.setdefault(name, set()).add(k)
    return Partition(graph, tuple(_kernel(k, g, readers, graph) for k, g in enumerate(groups)), sums)


def _weighted(found: WeightedSum, graph: Graph) -> _Group:
    inside = [n for n in graph.nodes if n.output.name in found.inside]
    return _Group([found.node], [tuple(range(len(found.node.axes)))], names={found.node.output.name}, inside=inside)


def _start(node: Primitive, graph: Graph) -> _Group:
    every = tuple(range(len(node.axes)))
    if not isinstance(node, Compute):
        return _Group([node], [every], sealed=True, names={node.output.name})
    is_contraction = contraction.match(node, graph) is not None
    return _Group([node], [every], is_contraction, sealed=node.monoid is None, names={node.output.name})


def _join(node: Compute, groups: list[_Group], graph: Graph) -> _Group | None:
    """Add `node` to the groups that made what it reads, merging them; None when that is not possible."""
    sources = [k for k, g in enumerate(groups) if g.names & set(reads(node))]
    if not sources:
        return None
    places = _shared(node, sources, groups, graph)
    if places is None or (not places and len(sources) > 1):  # each reduction to a scalar has its own way of going parallel
        sources = sources[-1:]
        places = _shared(node, sources, groups, graph)
    if places is None or (node.monoid is not None and contraction.match(node, graph) is not None):
        return None
    last = groups[sources[-1]]
    moved = {name for k in sources[:-1] for name in groups[k].names}
    for k in range(sources[0] + 1, sources[-1]):  # nothing between may need what moves later
        if k not in sources and any(moved & set(reads(n)) for n in (*groups[k].inside, *groups[k].nodes)):
            return None
    if len(sources) > 1 and any(groups[k].contraction or groups[k].inside for k in sources):
        return None
    if (last.contraction or last.inside) and (node.monoid is not None or len(places) != len(node.axes)):
        return None
    if not places and (node.axes or node.monoid is not None):
        return None  # after a reduction to a scalar a second pass runs in parallel only in a launch of its own
    for k in reversed(sources[:-1]):
        g = groups[k]
        last.nodes[:0], last.rows[:0] = g.nodes, g.rows
        last.names |= g.names
        del groups[k]
    last.nodes.append(node)
    last.rows.append(places)
    last.names.add(node.output.name)
    if node.monoid is None and len(places) != len(node.axes):
        last.sealed = last.sealed or node.output.name not in graph.outputs
    return last


def _shared(node: Compute, sources: list[int], groups: list[_Group], graph: Graph) -> tuple[int, ...] | None:
    """Places among `node`'s axes of the rows of the source groups, if every read of them is exactly at the rows."""
    axis_place = {a.name: k for k, a in enumerate(node.axes)}
    places: tuple[int, ...] | None = None
    first = groups[sources[0]]
    row_sizes = [first.nodes[0].axes[p].size for p in first.rows[0]]
    for k in sources:
        g = groups[k]
        if g.sealed:
            return None
        sizes = [g.nodes[0].axes[p].size for p in g.rows[0]]
        if len(sizes) != len(row_sizes) or not all(same(a, b) for a, b in zip(sizes, row_sizes)):
            return None
    made = {n.output.name: len(n.axes) for k in sources for n in groups[k].nodes}
    for e in expressions(node):
        for load in loads(e):
            if load.tensor not in made:
                continue
            if made[load.tensor] != len(row_sizes) or load.where is not None:
                return None
            if not all(isinstance(i, Var) and i.name in axis_place for i in load.index):
                return None
            here = tuple(axis_place[i.name] for i in load.index if isinstance(i, Var))
            if len(set(here)) != len(here) or (places is not None and places != here):
                return None
            places = here
    if places is None or not all(same(node.axes[p].size, s) for p, s in zip(places, row_sizes)):
        return None
    if node.monoid is not None and len(places) != len(node.axes):
        return None
    return places


def _kernel(number: int, group: _Group, readers: dict[str, set[int]], graph: Graph) -> Kernel:
    """`readers`: tensor -> numbers of the groups that load it."""
    stored = frozenset(name for name in group.names if name in graph.outputs or readers.get(name, set()) - {number})
    before = [tuple(range(len(n.axes))) for n in group.inside]
    return Kernel(f"k{number}", _classify(group, graph), (*group.inside, *group.nodes), (*before, *group.rows), stored)


def _classify(group: _Group, graph: Graph) -> KernelClass:
    match group.nodes[0]:
        case Select():
            return "select"
        case Scan():
            return "scan"
        case Scatter():
            return "scatter"
    if group.inside:
        return "attention"
    if group.contraction:
        return "contraction"
    nodes = [n for n in group.nodes if isinstance(n, Compute)]
    if all(n.monoid is None for n in nodes):
        return "elementwise"
    return "row" if _prefers_rows(nodes, group.rows, graph) else "column"


def _prefers_rows(nodes: list[Compute], rows: list[tuple[int, ...]], graph: Graph) -> bool:
    """Whether memory is contiguous along what is reduced rather than along the last shared axis."""
    for node, places in zip(nodes, rows):
        inner = [k for k in range(len(node.axes)) if k not in places]
        if node.monoid is None and inner and inner[-1] != len(node.axes) - 1:
            return False
    along, across = 0, 0
    made = {n.output.name for n in nodes}  # stays on chip
    for node in nodes:
        if not node.reduce_axes:
            continue
        for e in node.element:
            for load in (x for x in dict.fromkeys(loads(e)) if x.tensor not in made):
                offset = flatten(Load(load.tensor, load.index, load.dtype), graph.tensors)
                assert isinstance(offset, Load)
                last = coefficient(offset.index[0], node.reduce_axes[-1].name)
                along += last is not None and last[0] == ONE
                if node.axes:
                    own = coefficient(offset.index[0], node.axes[-1].name)
                    across += own is not None and own[0] == ONE
    if not any(n.axes for n in nodes):
        return True
    return along > across and not _window(nodes)


def _window(nodes: list[Compute]) -> bool:
    """Reduced axes of a size known to be below 16: too short to fill lanes."""
    return all((most(a.size) or 16) < 16 for n in nodes for a in n.reduce_axes[-1:])
