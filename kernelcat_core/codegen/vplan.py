"""Plan of a program for the vector model: which statements share one loop over lanes, and where each tile lives.

Neighbouring statements over equal lanes become one Group: elements are independent, so running all statements for a few
lanes, then for the next, gives what running them one after the other gives. A tile that lives inside one Group stays in
vector registers. An accumulator that is only combined into and then folded by a Reduce keeps a few partial states in
registers (`Narrow`), whatever its capacity: the order of the fold is the target's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelcat_core.ir.expr import ZERO, Const, Expr, Load, Op, Var, evaluate, substitute, variables, walk
from kernelcat_core.ir.graph import Monoid
from kernelcat_core.ir.tile import (
    Copy,
    For,
    If,
    Lane,
    Let,
    Map,
    Mma,
    Reduce,
    Stmt,
    Store,
    TileProgram,
    Wait,
    lane_stride,
    statements,
)

UNROLL_TRIPS = 128  # a serial loop inside a lane loop may stream memory only when it is this short


@dataclass(frozen=True)
class Narrow:
    """Accumulator tiles of one reduction that live in registers, a few partial states each."""

    tiles: tuple[str, ...]
    monoid: Monoid
    capacity: int


@dataclass(frozen=True)
class Group:
    """Statements over the same lanes, renamed to `lanes`; For and If inside are uniform."""

    lanes: tuple[Lane, ...]
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Start:
    """A narrow accumulator is set to the identity."""

    narrow: Narrow


@dataclass(frozen=True)
class Fold:
    """A narrow accumulator is folded into the rank-0 tiles `into`."""

    narrow: Narrow
    into: tuple[str, ...]


@dataclass(frozen=True)
class Fresh:
    """The accumulator of Mma statements is cleared: the next Mma need not read it."""

    tile: str


@dataclass(frozen=True)
class Loop:
    """A For whose body is a plan of its own."""

    var: str
    extent: Expr
    body: tuple[Item, ...]


@dataclass(frozen=True)
class Branch:
    condition: Expr
    body: tuple[Item, ...]


Item = Let | Copy | Map | Store | Mma | Group | Start | Fold | Fresh | Loop | Branch


@dataclass(frozen=True)
class Plan:
    """`items` in order; `narrow` by tile name; `local` tiles live in one Group's registers, `memory` tiles in arrays."""

    items: tuple[Item, ...]
    narrow: dict[str, Narrow]
    local: frozenset[str]
    memory: tuple[str, ...]


def plan(program: TileProgram) -> Plan:
    """The plan of a program's body."""
    body = _shrink(program)
    narrow = _narrow(program, body)
    products = frozenset(s.c for s in statements(body) if isinstance(s, Mma))
    products -= {t for t in products if any(_read_before_product(block, t) for block in _blocks(body))}
    items = tuple(_Grouper(narrow, products).block(body))
    local = _locals(program, items, narrow)
    memory = tuple(t.name for t in program.tiles if t.shape and t.name not in local and t.name not in narrow)
    return Plan(items, narrow, local, memory)


def products_of(items: tuple[Item, ...]) -> Iterator[Mma]:
    """Every Mma of a plan's items."""
    for item in items:
        if isinstance(item, Mma):
            yield item
        elif isinstance(item, Loop | Branch):
            yield from products_of(item.body)


def lanes_of(s: Stmt) -> tuple[Lane, ...]:
    return s.lanes if isinstance(s, Copy | Map | Reduce | Store) else ()


def expressions_of(s: Stmt) -> list[Expr]:
    """Expressions of one statement, its lanes' extents aside; blocks give their own condition or extent only."""
    match s:
        case Let():
            return [s.value]
        case Copy():
            return [s.offset, *(x for x in (s.where, s.fill) if x is not None)]
        case Map():
            return list(s.values)
        case Reduce():
            return list(s.elements)
        case Store():
            return [s.offset, s.value, *(x for x in (s.where,) if x is not None)]
        case For():
            return [s.extent]
        case If():
            return [s.condition]
    return []


def tiles_read(s: Stmt) -> set[str]:
    """Tiles that a statement itself reads (Mma included), not those of statements inside it."""
    if isinstance(s, Mma):
        return {s.a, s.b, s.c}
    found = {n.tensor for e in expressions_of(s) for n in walk(e) if isinstance(n, Load)}
    for lane in lanes_of(s):
        found |= {n.tensor for n in walk(lane.extent) if isinstance(n, Load)}
    return found


def tiles_written(s: Stmt) -> tuple[str, ...]:
    match s:
        case Copy():
            return (s.tile,)
        case Map() | Reduce():
            return s.tiles
        case Mma():
            return (s.c,)
    return ()


def rewritten(s: Stmt, names: dict[str, Expr], lanes: dict[str, Lane]) -> Stmt:
    """`s` with variables substituted and lanes exchanged by name, blocks included."""
    def f(e: Expr) -> Expr:
        return substitute(e, names)

    def g(e: Expr | None) -> Expr | None:
        return None if e is None else substitute(e, names)

    new = tuple(lanes.get(lane.name, lane) for lane in lanes_of(s))
    match s:
        case Let():
            return Let(s.name, f(s.value))
        case Copy():
            return replace(s, lanes=new, offset=f(s.offset), where=g(s.where), fill=g(s.fill))
        case Map():
            return replace(s, lanes=new, values=tuple(f(v) for v in s.values))
        case Reduce():
            over = lanes[s.over].name if s.over in lanes else s.over
            return replace(s, lanes=new, over=over, elements=tuple(f(v) for v in s.elements))
        case Store():
            return replace(s, lanes=new, offset=f(s.offset), value=f(s.value), where=g(s.where))
        case For():
            return replace(s, extent=f(s.extent), body=tuple(rewritten(x, names, lanes) for x in s.body))
        case If():
            return replace(s, condition=f(s.condition), body=tuple(rewritten(x, names, lanes) for x in s.body))
    return s


def _shrink(program: TileProgram) -> tuple[Stmt, ...]:
    """Writes of a whole tile that is only ever read below one extent stop at that extent, so that they fuse."""
    reads: dict[str, set[tuple[Expr, ...]]] = {}
    fixed: set[str] = set()
    for s in statements(program.body):
        if isinstance(s, Mma):
            fixed |= {s.a, s.b, s.c}
        for e in expressions_of(s):
            for n in walk(e):
                if isinstance(n, Load) and n.index:
                    reads.setdefault(n.tensor, set()).add(tuple(lane.extent for lane in lanes_of(s)))
    wanted = {t: next(iter(x)) for t, x in reads.items() if len(x) == 1 and t not in fixed}

    def block(body: tuple[Stmt, ...], defined: frozenset[str]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        for s in body:
            if isinstance(s, Let):
                defined = defined | {s.name}
            elif isinstance(s, For):
                s = replace(s, body=block(s.body, defined | {s.var}))
            elif isinstance(s, If):
                s = replace(s, body=block(s.body, defined))
            elif isinstance(s, Map | Copy) and s.lanes:
                targets = {wanted.get(t) for t in tiles_written(s)}
                extent = next(iter(targets)) if len(targets) == 1 else None
                whole = all(isinstance(lane.extent, Const) and lane.extent.value == lane.capacity for lane in s.lanes)
                if whole and extent is not None and all(variables(x) <= defined for x in extent):
                    s = replace(s, lanes=tuple(replace(lane, extent=x) for lane, x in zip(s.lanes, extent, strict=True)))
            done.append(s)
        return tuple(done)

    return block(program.body, frozenset(a.name for a in program.grid))


def _unify(pattern: Expr, e: Expr, known: dict[str, Expr]) -> bool:
    """Whether `e` is `pattern` with its Vars replaced, consistently with `known` (which grows)."""
    if isinstance(pattern, Var):
        if pattern.name in known:
            return known[pattern.name] == e
        known[pattern.name] = e
        return True
    if isinstance(pattern, Const):
        return isinstance(e, Const) and repr(e.value) == repr(pattern.value)
    if isinstance(pattern, Op):
        return (isinstance(e, Op) and e.name == pattern.name
                and all(_unify(p, x, known) for p, x in zip(pattern.args, e.args, strict=True)))
    return False


def _narrow(program: TileProgram, body: tuple[Stmt, ...]) -> dict[str, Narrow]:
    found: dict[str, Narrow] = {}
    every = list(statements(body))
    for s in every:
        if not isinstance(s, Reduce) or len(s.lanes) != 1 or any(program.tile[t].shape for t in s.tiles):
            continue
        lane = s.lanes[0]
        sources = [e for e in s.elements if isinstance(e, Load) and e.index == (lane.var,)]
        names = tuple(e.tensor for e in sources)
        if len(sources) != len(s.elements) or len(set(names)) != len(names) or lane.extent != Const(lane.capacity, ZERO.dtype):
            continue
        users = [u for u in every if u is not s and set(names) & (tiles_read(u) | set(tiles_written(u)))]
        starts = [u for u in users if _is_start(u, names, s.monoid)]
        if len(starts) == 1 and all(u in starts or _is_step(u, names, s.monoid) for u in users):
            narrow = Narrow(names, s.monoid, lane.capacity)
            found.update(dict.fromkeys(names, narrow))
    return found


def _is_start(s: Stmt, names: tuple[str, ...], monoid: Monoid) -> bool:
    return (isinstance(s, Map) and s.tiles == names and len(s.lanes) == 1
            and all(isinstance(v, Const) and repr(v.value) == repr(i.value)
                    for v, i in zip(s.values, monoid.identity, strict=True)))


def _is_step(s: Stmt, names: tuple[str, ...], monoid: Monoid) -> bool:
    if not isinstance(s, Map) or s.tiles != names or len(s.lanes) != 1:
        return False
    at = (s.lanes[0].var,)
    known: dict[str, Expr] = {f"a{k}": Load(t, at, v.dtype) for k, (t, v) in enumerate(zip(names, s.values, strict=True))}
    if not all(_unify(c, v, known) for c, v in zip(monoid.combine, s.values, strict=True)):
        return False
    taken = [known[f"b{k}"] for k in range(len(names)) if f"b{k}" in known]
    return not any(isinstance(n, Load) and n.tensor in names for e in taken for n in walk(e))


class _Grouper:
    """Collects statements into Groups. `pending` holds the group being formed."""

    def __init__(self, narrow: dict[str, Narrow], products: frozenset[str]) -> None:
        self.narrow = narrow
        self.products = products

    def block(self, body: tuple[Stmt, ...]) -> Iterator[Item]:
        lanes: tuple[Lane, ...] = ()
        pending: list[Stmt] = []

        def flush() -> Iterator[Item]:
            nonlocal lanes
            if pending:
                yield Group(lanes, tuple(pending))
            pending.clear()
            lanes = ()

        for s in body:
            if isinstance(s, Wait):
                continue
            if isinstance(s, Map) and s.tiles[0] in self.narrow and all(isinstance(v, Const) for v in s.values):
                yield Start(self.narrow[s.tiles[0]])
                continue
            if isinstance(s, Map) and s.tiles[0] in self.products and _clears(s):
                yield from flush()
                yield Fresh(s.tiles[0])
                continue
            if isinstance(s, Reduce) and isinstance(s.elements[0], Load) and s.elements[0].tensor in self.narrow:
                yield from flush()
                yield Fold(self.narrow[s.elements[0].tensor], s.tiles)
                continue
            own = self._lanes(s)
            if own:
                if pending and not _fits(own, lanes, s, pending):
                    yield from flush()
                if not pending:
                    lanes = own
                pending.append(_renamed(s, own, lanes))
                continue
            if isinstance(s, For | If | Mma):
                yield from flush()
                if isinstance(s, For):
                    yield Loop(s.var, s.extent, tuple(self.block(s.body)))
                elif isinstance(s, If):
                    yield Branch(s.condition, tuple(self.block(s.body)))
                else:
                    yield s
                continue
            # A uniform statement runs before the group unless the two touch the same tiles.
            touched = {t for p in pending for q in statements((p,)) for t in (*tiles_read(q), *tiles_written(q))}
            produced = {t for p in pending for q in statements((p,)) for t in tiles_written(q)}
            if tiles_read(s) & produced or set(tiles_written(s)) & touched:
                yield from flush()
            assert isinstance(s, Let | Copy | Map | Store)
            yield s
        yield from flush()

    def _lanes(self, s: Stmt) -> tuple[Lane, ...]:
        """The lanes of a statement that can be part of a group; () for uniform statements and whatever stands alone."""
        if not isinstance(s, For | If):
            return lanes_of(s)
        inner = list(statements(s.body))
        found = [lanes_of(x) for x in inner if lanes_of(x)]
        if not found or any(isinstance(x, Reduce | Mma) for x in inner):
            return ()
        if any(set(tiles_written(x)) & set(self.narrow) for x in inner) or any(_key(x) != _key(found[0]) for x in found):
            return ()
        if any(lane.name in variables(e) for lane in found[0] for x in inner if isinstance(x, Let) for e in [x.value]):
            return ()
        if any(v in variables(lane.extent) for lane in found[0] for v in _defined(s)) or not _cheap(s):
            return ()
        uniform = {t for x in inner if not lanes_of(x) for t in tiles_written(x)}
        first: dict[str, bool] = {}
        for x in inner:
            for t in tiles_read(x):
                first.setdefault(t, False)
            for t in tiles_written(x):
                first.setdefault(t, True)
        return found[0] if all(first[t] for t in uniform) else ()


def _clears(s: Map) -> bool:
    """Whether a Map sets a whole tile to zero."""
    return (len(s.tiles) == 1 and isinstance(s.values[0], Const) and repr(s.values[0].value) in ("0", "0.0")
            and all(lane.extent == Const(lane.capacity, ZERO.dtype) for lane in s.lanes))


def _blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    yield body
    for s in statements(body):
        if isinstance(s, For | If):
            yield s.body


def _read_before_product(body: tuple[Stmt, ...], tile: str) -> bool:
    """Whether a block reads an accumulator before it clears it or adds a product to it (to correct earlier sums, say)."""
    for s in statements(body):
        if (isinstance(s, Mma) and s.c == tile) or (isinstance(s, Map) and tile in s.tiles and _clears(s)):
            return False
        if tile in tiles_read(s):
            return any(isinstance(x, Mma) and x.c == tile for x in statements(body))
    return False


def _defined(s: For | If) -> set[str]:
    """Variables that a block and the blocks inside it define."""
    own = {s.var} if isinstance(s, For) else set()
    return own | {x.var for x in statements(s.body) if isinstance(x, For)} | {
        x.name for x in statements(s.body) if isinstance(x, Let)}


def _key(lanes: tuple[Lane, ...]) -> tuple[tuple[int, Expr], ...]:
    return tuple((lane.capacity, lane.extent) for lane in lanes)


def _fits(own: tuple[Lane, ...], lanes: tuple[Lane, ...], s: Stmt, pending: list[Stmt]) -> bool:
    """Whether `s` may join the group: equal lanes, and it reads nothing that a Reduce of the group makes."""
    made = {t for p in pending if isinstance(p, Reduce) for t in p.tiles}
    inner = list(statements((s,)))
    if any(tiles_read(x) & made for x in inner) or _key(own) != _key(lanes):
        return False
    rank0 = {t for x in inner if not lanes_of(x) for t in tiles_written(x)}
    return not any(rank0 & tiles_read(q) for p in pending for q in statements((p,)))


def _renamed(s: Stmt, own: tuple[Lane, ...], lanes: tuple[Lane, ...]) -> Stmt:
    """`s` over `lanes` instead of its own; inner statements may use several names for the same lane."""
    if not isinstance(s, For | If):
        names: dict[str, Expr] = {a.name: b.var for a, b in zip(own, lanes, strict=True) if a.name != b.name}
        return rewritten(s, names, {a.name: b for a, b in zip(own, lanes, strict=True)})
    return replace(s, body=tuple(_renamed(x, lanes_of(x) or own, lanes) for x in s.body if not isinstance(x, Wait)))


def _cheap(s: For | If) -> bool:
    """Whether running a whole serial loop for a few lanes at a time costs no memory bandwidth."""
    if isinstance(s, If):
        return all(_cheap(x) for x in s.body if isinstance(x, For | If))
    trips = 1
    node: Stmt = s
    loop_vars = []
    while isinstance(node, For):
        trips = trips * evaluate(node.extent, {}) if isinstance(node.extent, Const) else UNROLL_TRIPS + 1
        loop_vars.append(node.var)
        inner = [x for x in node.body if isinstance(x, For)]
        node = inner[0] if inner else Wait("")
    if trips <= UNROLL_TRIPS:
        return True
    copies = [x for x in statements(s.body) if isinstance(x, Copy) and x.lanes]
    moving = _defined(s)
    return not any(variables(x.offset) & moving and lane_stride(x.offset, x.lanes[-1]) not in (None, ZERO) for x in copies)


def _locals(program: TileProgram, items: tuple[Item, ...], narrow: dict[str, Narrow]) -> frozenset[str]:
    """Tiles that one Group alone uses and writes before it reads them."""
    uses: dict[str, list[Group | None]] = {}
    first_is_write: dict[str, bool] = {}

    def visit(block: tuple[Item, ...]) -> None:
        for item in block:
            if isinstance(item, Loop | Branch):
                visit(item.body)
            elif isinstance(item, Group):
                for s in statements(item.body):
                    for t in tiles_read(s):
                        uses.setdefault(t, []).append(item)
                        first_is_write.setdefault(t, False)
                    for t in tiles_written(s):
                        uses.setdefault(t, []).append(item)
                        first_is_write.setdefault(t, not isinstance(s, Reduce))
            elif isinstance(item, Mma):
                for t in (item.a, item.b, item.c):
                    uses.setdefault(t, []).append(None)

    visit(items)
    return frozenset(t.name for t in program.tiles if t.shape and t.name not in narrow and first_is_write.get(t.name)
                     and uses[t.name][0] is not None and all(g is uses[t.name][0] for g in uses[t.name]))
