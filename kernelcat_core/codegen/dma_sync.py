"""Order between pipes: finds where one pipe must wait for another (or for itself) and inserts a Sync there.

Every buffer is watched as a whole. A fact (buffer, source pipe, wrote, pipe) says that `source` touched the buffer and
that `pipe` has not been told to wait for it; a conflicting access of `pipe` needs a Sync first. Queues bring their own
order for the pipes that they connect. Loops are analysed until their entry facts no longer grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kernelcat_core.codegen.dma_ast import (
    Assign,
    Block,
    Branch,
    Buffer,
    CopyIn,
    CopyOut,
    Declare,
    Loop,
    NextCell,
    Order,
    Pipe,
    Put,
    Queue,
    Stmt,
    StoreOne,
    Sync,
    Turn,
    Vector,
    other_slot,
)
from kernelcat_core.ir.expr import Expr, Load, walk

Fact = tuple[str, Pipe, bool, Pipe]
Facts = frozenset[Fact]


class _Access:
    """What one statement does in one pipe."""

    def __init__(self, pipe: Pipe, reads: set[str], writes: set[str]) -> None:
        self.pipe, self.reads, self.writes = pipe, reads, writes


@dataclass
class _Context:
    """The watched buffers, and what is known already: nested fixed points ask for the same loops again and again.

    Statements are told apart by identity; those of the body live as long as this does.
    """

    keys: Mapping[str, str]
    roles: Mapping[str, str]
    order: Order
    accesses: dict[int, tuple[_Access, ...]] = field(default_factory=dict)
    loops: dict[tuple[int, Facts], tuple[list[Stmt], Facts]] = field(default_factory=dict)


def insert_syncs(body: tuple[Stmt, ...], buffers: tuple[Buffer, ...], order: Order = Order()) -> tuple[Stmt, ...]:
    """`body`, which runs again and again for the cells of one core, with the Syncs it needs."""
    keys = {b.name: b.queue or b.name for b in buffers}
    keys |= {other_slot(b.name): other_slot(b.name) for b in buffers if b.slots > 1 and not b.queue}
    c = _Context(keys, {b.name: b.role for b in buffers}, order)
    entry: Facts = frozenset()
    while True:
        out, leave = _run(body, entry, c)
        if leave <= entry:
            return out
        entry |= leave


def _run(body: tuple[Stmt, ...], facts: Facts, c: _Context) -> tuple[tuple[Stmt, ...], Facts]:
    out: list[Stmt] = []
    for s in body:
        if id(s) not in c.accesses:
            c.accesses[id(s)] = tuple(_accesses(s, c.keys, c.order))
        for access in c.accesses[id(s)]:
            facts, syncs = _step(facts, access, c.order)
            out += syncs
        match s:
            case Loop():
                made, facts = _loop(s, facts, c)
                out += made
                continue
            case Branch():
                yes, after_yes = _run(s.body, facts, c)
                no, after_no = _run(s.otherwise, facts, c)
                s, facts = Branch(s.condition, yes, no), after_yes | after_no
            case Block():
                inner, facts = _run(s.body, facts, c)
                s = Block(inner, s.note)
            case NextCell():
                inner, after = _run(s.body, facts, c)
                s, facts = NextCell(inner), facts | after
            case Sync():
                facts = _apply(facts, [(s.before, s.after)])
            case Turn():
                swapped = {s.buffer: other_slot(s.buffer), other_slot(s.buffer): s.buffer}
                facts = frozenset((swapped.get(f[0], f[0]), *f[1:]) for f in facts)
            case Queue() if c.order.queues:
                facts = _queue(facts, s, c.keys[s.buffer], c.roles[s.buffer], c.order)
        out.append(s)
    return tuple(out), facts


def _loop(s: Loop, facts: Facts, c: _Context) -> tuple[list[Stmt], Facts]:
    """The loop, after the Syncs that only its first iteration would need."""
    key = (id(s), facts)
    if key not in c.loops:
        c.loops[key] = _analysed(s, facts, c)
    return c.loops[key]


def _analysed(s: Loop, facts: Facts, c: _Context) -> tuple[list[Stmt], Facts]:
    first, _ = _run(s.body, facts, c)
    wanted = _syncs(first)
    inner, _ = _fixed(s, _apply(facts, wanted), c)
    hoisted = wanted - _syncs(inner)
    entry = _apply(facts, hoisted)
    inner, leave = _fixed(s, entry, c)
    loop = replace(s, body=inner)
    return [*(Sync(*pair) for pair in sorted(hoisted)), loop], entry | leave


def _fixed(s: Loop, entry: Facts, c: _Context) -> tuple[tuple[Stmt, ...], Facts]:
    """The body for entry facts that hold before every iteration."""
    while True:
        inner, leave = _run(s.body, entry, c)
        if s.independent or leave <= entry:
            return inner, entry | leave
        entry |= leave


def _syncs(body: tuple[Stmt, ...]) -> frozenset[tuple[Pipe, Pipe]]:
    """Every (before, after) of the Syncs in a body, however deep."""
    found: set[tuple[Pipe, Pipe]] = set()
    for s in body:
        if isinstance(s, Sync):
            found.add((s.before, s.after))
        elif isinstance(s, Loop | Block | NextCell):
            found |= _syncs(s.body)
        elif isinstance(s, Branch):
            found |= _syncs(s.body) | _syncs(s.otherwise)
    return frozenset(found)


def _apply(facts: Facts, pairs: Iterable[tuple[Pipe, Pipe]]) -> Facts:
    """What is left after Syncs. What the scalar unit has waited for is over for everything that it issues later."""
    for before, after in pairs:
        facts = frozenset(f for f in facts if f[1] != before or (after != "S" and f[3] != after))
    return facts


def _step(facts: Facts, a: _Access, order: Order) -> tuple[Facts, list[Stmt]]:
    """The Syncs that an access needs, and the facts after it."""
    sources = {f[1] for f in facts if f[3] == a.pipe and (f[0] in a.writes or (f[2] and f[0] in a.reads))}
    facts = _apply(facts, [(source, a.pipe) for source in sources])
    fresh = {
        (b, a.pipe, wrote, p)
        for wrote, touched in ((False, a.reads), (True, a.writes))
        for b in touched
        for p in order.pipes
        if not (a.pipe == p and p in order.in_order)
    }
    return facts | fresh, [Sync(source, a.pipe) for source in sorted(sources)]


def _queue(facts: Facts, s: Queue, key: str, role: str, order: Order) -> Facts:
    """Allocation waits for the last reader (and so for the writer before it), dequeueing for the writer."""
    filler, drainer = (order.load, order.vector) if role == "in" else (order.vector, order.store)
    waits = {"alloc": {(drainer, filler), (filler, filler)}, "dequeue": {(filler, drainer)}}.get(
        s.step, set()
    )
    return frozenset(f for f in facts if not (f[0] == key and (f[1], f[3]) in waits))


def _accesses(s: Stmt, keys: Mapping[str, str], order: Order) -> Iterator[_Access]:
    """Accesses in the order in which the scalar unit causes them; what it reads itself comes first."""
    read = {keys[n.tensor] for e in _scalars(s) for n in walk(e) if isinstance(n, Load) and n.tensor in keys}
    put = {keys[s.target.buffer]} if isinstance(s, Put) else set()
    if read or put:
        yield _Access(order.scalar, read, put)
    match s:
        case Vector():
            writes = {keys[s.target.buffer]} | ({keys[s.work.buffer]} if s.work is not None else set())
            reads = {keys[v.buffer] for v in s.sources}
            if s.op in ("axpy", "mma"):
                reads |= {keys[s.target.buffer]}
            if s.op == "mma":  # factors are filled up with zeros
                writes |= {keys[v.buffer] for v in s.sources}
            yield _Access(order.vector, reads, writes)
        case CopyIn():
            yield _Access(order.load, set(), {keys[s.target.buffer]})
        case CopyOut():
            yield _Access(order.store, {keys[s.source.buffer]}, set())


def _scalars(s: Stmt) -> Iterator[Expr]:
    """The expressions that the scalar unit evaluates for `s` itself (not for the statements inside it)."""
    match s:
        case Declare():
            if s.value is not None:
                yield s.value
        case Assign():
            yield s.value
        case Loop():
            yield from (s.start, s.stop, s.step)
        case Branch():
            yield s.condition
        case Vector():
            yield from s.scalars
            yield from (v.offset for v in (s.target, *s.sources))
            if s.count is not None:
                yield s.count
        case Put():
            yield from (s.target.offset, s.value)
        case StoreOne():
            yield from (s.offset, s.value)
        case CopyIn():
            yield from (s.target.offset, s.offset, s.rows, s.length, s.stride)
        case CopyOut():
            yield from (s.source.offset, s.offset, s.rows, s.length, s.stride)
