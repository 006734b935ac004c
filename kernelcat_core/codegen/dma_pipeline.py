"""Three stages beside each other, for cores without queues: copies of the next step, vectors of this one, stores of the last.

A step (a cell of the grid, or an iteration of a loop that asks for stages) that begins with copies is rewritten: its copies
fill the other slot of their buffers one step earlier, and its stores leave from the other slot one step later. `Turn`
exchanges the slots, one wait follows, then the stores and copies are issued, then the step's vectors run beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelcat_core.codegen.dma_ast import (
    Assign,
    Block,
    Branch,
    CopyIn,
    CopyOut,
    Declare,
    Loop,
    NextCell,
    Order,
    Queue,
    Stmt,
    StoreOne,
    Sync,
    Turn,
    other_slot,
)
from kernelcat_core.ir.expr import ONE, ZERO, Expr, Load, Var, add, loads, op, substitute

Body = tuple[Stmt, ...]


@dataclass(frozen=True)
class Pipelined:
    """The body of a cell; what runs `first`, for a first cell; the scalars of `state` and what runs `last`, around the loop
    over cells; the buffers that need a second slot."""

    body: Body
    first: Body
    state: Body
    last: Body
    turned: frozenset[str]


@dataclass
class _Run:
    """What rewriting one program keeps: buffers that stores leave from, and those that take turns already."""

    order: Order
    outs: frozenset[str]
    turned: set[str]

    def held(self, buffer: str) -> tuple[Var, Var]:
        """The variables that a late store keeps: where it goes and how many elements, 0 for none."""
        return Var(f"{buffer}__place"), Var(f"{buffer}__count")


def pipelined(body: Body, grid: tuple[str, ...], order: Order, outs: frozenset[str]) -> Pipelined:
    """Rewrite a cell's body; `outs` are buffers that only stores leave from.

    The copies of a cell are spelled over its grid variables with `next_name`."""
    run = _Run(order, outs, set())
    inner = tuple(_within(s, run) for s in body)
    split = _split(inner)
    if split is None:
        return Pipelined(inner, (), (), (), frozenset(run.turned))
    fetch, kept, rest = split
    ahead = _renamed(fetch, {g: Var(next_name(g)) for g in grid})
    steps, state, rest, last = _stages(fetch, NextCell(ahead), rest, run)
    return Pipelined((*kept, *steps, *rest), ahead, state, last, frozenset(run.turned))


def _stages(fetch: Body, following: Stmt, rest: Body, run: _Run) -> tuple[Body, Body, Body, Body]:
    """The start of a step, the scalars around the loop, the step's own work, and what is left to store after the loop.

    Three stages run beside each other where every store leaves from a buffer of its own: the copies of the next step,
    this step's vectors, the stores of the one before. Otherwise stores leave at the end of their step."""
    names = sorted(_copied(fetch))
    run.turned |= set(names)
    stores, work = _late(rest, run)
    run.turned |= {s.source.buffer for s in stores}
    turns = [*names, *sorted(s.source.buffer for s in stores)]
    state: list[Stmt] = []
    leaving: list[Stmt] = []
    for s in stores:
        place, count = run.held(s.source.buffer)
        state += [Declare(v.name, v.dtype, ZERO, False) for v in (place, count)]
        source = replace(s.source, buffer=other_slot(s.source.buffer))
        late = CopyOut(s.tensor, place, source, s.rows, count, s.stride, s.pitch)
        leaving.append(Branch(op("gt", count, ZERO), (late,)))
    wait, ready = Sync(run.order.load, run.order.vector), Sync(run.order.vector, run.order.store)
    begun: Body = (*(Turn(n) for n in turns), wait, *((ready,) if stores else ()), *leaving, following)
    ended: Body = (*(Turn(s.source.buffer) for s in stores), ready, *leaving) if stores else ()
    return begun, tuple(state), work, ended


def _late(body: Body, run: _Run) -> tuple[list[CopyOut], Body]:
    """The stores of a step that can leave one step late, and the step without them; none unless all can."""
    found: list[CopyOut] = []
    work: list[Stmt] = []
    for s in body:
        if isinstance(s, Block):
            inner: list[Stmt] = []
            for x in s.body:
                if isinstance(x, CopyOut) and x.rows == ONE and x.source.buffer in run.outs and x.source.offset == ZERO:
                    place, count = run.held(x.source.buffer)
                    found.append(x)
                    inner += [Assign(place.name, x.offset), Assign(count.name, x.length)]
                else:
                    inner.append(x)
            s = replace(s, body=tuple(inner))
        work.append(s)
    buffers = [s.source.buffer for s in found]
    alone = len(set(buffers)) == len(buffers) and not set(buffers) & run.turned
    if not found or not alone or any(_stores(s) for s in work):
        return [], body
    return found, tuple(work)


def _stores(s: Stmt) -> bool:
    """Whether anything in a statement leaves for global memory."""
    match s:
        case CopyOut() | StoreOne():
            return True
        case Loop() | Block() | NextCell():
            return any(_stores(x) for x in s.body)
        case Branch():
            return any(_stores(x) for x in (*s.body, *s.otherwise))
    return False


def next_name(name: str) -> str:
    """A grid variable of the cell that this task takes next."""
    return f"{name}__next"


def _within(s: Stmt, run: _Run) -> Stmt:
    """Loops inside a statement, pipelined."""
    match s:
        case Loop():
            s = replace(s, body=tuple(_within(x, run) for x in s.body))
            split = _split(s.body)
            if split is None or not s.ahead or _copied(split[0]) & run.turned:
                return s
            fetch, kept, rest = split
            later = add(Var(s.var), s.step)
            first = Branch(op("lt", s.start, s.stop), _renamed(fetch, {s.var: s.start}))
            following = Branch(op("lt", later, s.stop), _renamed(fetch, {s.var: later}))
            steps, state, rest, last = _stages(fetch, following, rest, run)
            return Block((*state, first, replace(s, body=(*kept, *steps, *rest)), *last))
        case Block():
            return replace(s, body=tuple(_within(x, run) for x in s.body))
        case Branch():
            return replace(s, body=tuple(_within(x, run) for x in s.body))
    return s


def _split(body: Body) -> tuple[Body, Body, Body] | None:
    """The statements that copy, those of them that later ones need too, and the rest; None where there are no copies or
    something else comes before them."""
    end = next((k for k, s in enumerate(body) if isinstance(s, Queue) and s.step == "dequeue"), 0)
    fetch = tuple(s for s in body[:end] if not isinstance(s, Queue))
    if not _copied(fetch) or not all(_is_fetch(s) for s in fetch):
        return None
    return fetch, tuple(s for s in fetch if isinstance(s, Declare)), body[end:]


def _is_fetch(s: Stmt) -> bool:
    """Whether a statement only copies, or names what copies need, without a look at data."""
    match s:
        case Declare():
            return s.constant and s.value is not None and _is_plain(s.value)
        case CopyIn():
            return all(_is_plain(e) for e in (s.target.offset, s.offset, s.rows, s.length, s.stride))
        case Branch():
            return _is_plain(s.condition) and not s.otherwise and all(_is_fetch(x) for x in s.body)
    return False


def _is_plain(e: Expr) -> bool:
    return not any(isinstance(n, Load) for n in loads(e))


def _copied(body: Body) -> set[str]:
    """Buffers that copies fill."""
    found: set[str] = set()
    for s in body:
        if isinstance(s, CopyIn):
            found.add(s.target.buffer)
        elif isinstance(s, Branch):
            found |= _copied(s.body)
    return found


def _renamed(body: Body, names: Mapping[str, Expr]) -> Body:
    """The copies of another step: into the other slots, with names of their own."""
    values = dict(names)
    out: list[Stmt] = []
    for s in body:
        match s:
            case Declare():
                assert s.value is not None
                out.append(Declare(next_name(s.name), s.dtype, substitute(s.value, values)))
                values[s.name] = Var(next_name(s.name), s.dtype)
            case CopyIn():
                target = replace(s.target, buffer=other_slot(s.target.buffer), offset=substitute(s.target.offset, values))
                parts = (substitute(e, values) for e in (s.offset, s.rows, s.length, s.stride))
                offset, rows, length, stride = parts
                out.append(CopyIn(target, s.tensor, offset, rows, length, stride, s.pitch))
            case Branch():
                out.append(Branch(substitute(s.condition, values), _renamed(s.body, values)))
    return tuple(out)
