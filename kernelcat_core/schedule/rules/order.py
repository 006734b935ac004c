"""Select with a key, when many are wanted: a stable merge sort of every row.

First every block of a few positions is sorted by rank (lanes are candidates, a serial loop counts those that come before).
Then runs are merged in pairs, one program a width, between two sets of workspaces; a pass whose runs are already as long as
the row has no cells. On a CPU a cell merges its two runs with two fingers; elsewhere each element finds its place among the
other run by bisection, all at once. Rows longer than the last width are finished by one pass in which each element is
bisected into every other run. Elements for which the predicate fails come after all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.dtypes import BOOL, I32, I64
from kernelcat_core.ir.expr import TRUE, Const, Expr, Load, Op, Var, add, cast, conjunction, index, mul, op, sub
from kernelcat_core.ir.graph import Axis, Graph, Select, Tensor
from kernelcat_core.ir.tile import Lane, Let, Tile, TileProgram
from kernelcat_core.schedule.affine import constant, linear
from kernelcat_core.schedule.emit import Emitter, compute_dtype
from kernelcat_core.schedule.kernel import Kernel
from kernelcat_core.schedule.rules.common import blocks_of, lane_block
from kernelcat_core.target import Target

_FEW = 16  # so many places are found faster one by one
_WIDEST = 1 << 20  # of the runs that pairs merge when the length of a row is only known at run time


def applies(node: Select) -> bool:
    """Whether the whole order is worth its passes."""
    count = constant(node.count)
    return node.key is not None and (count is None or count > _FEW)


def less(a: Expr, b: Expr, descending: bool) -> Expr:
    """Whether key `a` comes strictly before `b`: NaN is the greatest, -0 equals 0."""
    if a.dtype == BOOL:
        return op("and", a, op("not", b)) if descending else op("and", op("not", a), b)
    if not a.dtype.is_float:
        return op("gt" if descending else "lt", a, b)
    return op("and", *_ordered(a, b, descending))


def _ordered(a: Expr, b: Expr, descending: bool) -> tuple[Expr, Expr]:
    """Two conditions on floats whose conjunction is `less`: not b <= a (or a <= b), and the one that must be a number is."""
    x, y, number = (a, b, b) if descending else (b, a, a)
    return op("not", op("le", x, y)), op("eq", number, number)


def _less_bit(a: Expr, b: Expr, descending: bool) -> Expr:
    """`less` as an i64, 1 or 0, in a form that compilers do not turn into branches: those of a merge cannot be foreseen."""
    if not a.dtype.is_float:
        return cast(less(a, b, descending), I64)
    x, y = _ordered(a, b, descending)
    return op("and_bits", cast(x, I64), cast(y, I64))


@dataclass(frozen=True)
class _Space:
    """One set of workspaces, [rows, n] each: the keys in order of importance, then the positions."""

    keys: tuple[Tensor, ...]
    positions: Tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (*self.keys, self.positions)


@dataclass(frozen=True)
class _Sort:
    kernel: Kernel
    node: Select
    graph: Graph
    spaces: tuple[_Space, _Space]
    lanes: int

    def emitter(self, name: str) -> Emitter:
        """An emitter that knows the workspaces, with a cell for every row."""
        known = {**self.graph.tensors, **{t.name: t for s in self.spaces for t in s.tensors}}
        e = Emitter(self.graph, f"{self.kernel.name}_{name}", "select", known)
        for axis in self.node.axes:
            e.cell(axis)
        return e

    @property
    def n(self) -> Expr:
        return self.node.over.size

    def at(self, place: Expr) -> Expr:
        """The offset of a place of the cell's row in a workspace."""
        shape = (*(a.size for a in self.node.axes), self.n)
        return linear(shape, (*(a.var for a in self.node.axes), place))

    def less(self, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
        """Lexicographic: what misses the predicate comes last, then the key decides."""
        *first, key = zip(a, b, strict=True)
        decided = less(*key, self.node.descending)
        for x, y in first:
            decided = op("or", less(x, y, False), op("and", op("eq", x, y), decided))
        return decided

    def less_bit(self, a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
        """The same as an i64, 1 or 0."""
        *first, key = zip(a, b, strict=True)
        decided = _less_bit(*key, self.node.descending)
        for x, y in first:
            same = op("and_bits", cast(op("eq", x, y), I64), decided)
            decided = op("or_bits", cast(less(x, y, False), I64), same)
        return decided


def lower(kernel: Kernel, graph: Graph, lanes: int, block: int, target: Target) -> tuple[list[TileProgram], list[Tensor]]:
    """The programs in order, and their workspaces."""
    node = kernel.nodes[0]
    assert isinstance(node, Select) and node.key is not None
    s = _Sort(kernel, node, graph, (_space(node, graph, 0), _space(node, graph, 1)), lanes)
    programs = [_blocks(s, block)]
    n = constant(s.n)
    width, turn = block, 0
    turns: Expr = index(0)
    while width < (_WIDEST if n is None else n):
        programs.append((_two_fingers if target.model == "vector" else _bisected)(s, width, turn))
        turns = add(turns, _active(s, width, index(1)))
        width, turn = 2 * width, turn + 1
    if n is None:
        programs.append(_everywhere(s, width, turn))
        turns = add(turns, _active(s, width, index(1)))
    programs.append(_places(s, op("mod", turns, index(2))))
    return programs, [t for space in s.spaces for t in space.tensors]


def _space(node: Select, graph: Graph, number: int) -> _Space:
    shape = (*(a.size for a in node.axes), node.over.size)
    stem = f"{node.output.name}_sort{number}"
    while any(name.startswith(stem) for name in graph.tensors):
        stem += "_"
    assert node.key is not None
    miss = () if node.predicate == TRUE else (Tensor(f"{stem}_miss", BOOL, shape),)
    return _Space((*miss, Tensor(f"{stem}_key", compute_dtype(node.key.dtype), shape)), Tensor(f"{stem}_at", I32, shape))


def _active(s: _Sort, width: int, cells: Expr) -> Expr:
    """`cells` where a row is longer than runs of `width`, else none."""
    return op("where", op("gt", s.n, index(width)), cells, index(0))


def _keys(s: _Sort, e: Emitter, lanes: tuple[Lane, ...], place: Expr) -> tuple[Expr, ...]:
    """The keys of the formula at a position."""
    names = {s.node.over.name: place}
    assert s.node.key is not None
    key = e.value(s.node.key, lanes, names)
    return (key,) if s.node.predicate == TRUE else (op("not", e.value(s.node.predicate, lanes, names)), key)


def _held(e: Emitter, lanes: tuple[Lane, ...], values: tuple[Expr, ...], stem: str) -> tuple[Expr, ...]:
    """The values in tiles, as reads of them."""
    tiles = tuple(e.tile(stem, v.dtype, lanes, "reg") for v in values)
    for t, v in zip(tiles, values, strict=True):
        e.map((t,), lanes, (v,))
    return tuple(_read(t, lanes) for t in tiles)


def _read(t: Tile, lanes: tuple[Lane, ...]) -> Load:
    return t.at(*(lane.var for lane in lanes))


def _blocks(s: _Sort, block: int) -> TileProgram:
    e = s.emitter("blocks")
    number = Var(e.fresh("b"))
    e.cell(Axis(number.name, blocks_of(s.n, block)))
    lane, start = lane_block(e, s.n, block, number, "")
    lanes = (lane,)
    own = _held(e, lanes, _keys(s, e, lanes, add(start, lane.var)), "own")
    rank = e.tile("rank", I64, lanes, "reg")
    e.map((rank,), lanes, (index(0),))
    other = Var(e.fresh("j"))
    e.open(other.name)
    keys = _keys(s, e, (), add(start, other))
    earlier = op("and", op("lt", other, lane.var), op("not", s.less(own, keys)))
    before = op("or", s.less(keys, own), earlier)
    e.map((rank,), lanes, (add(_read(rank, lanes), op("where", before, index(1), index(0))),))
    e.close_for(other.name, lane.extent)
    place = s.at(add(start, _read(rank, lanes)))
    for tensor, value in zip(s.spaces[0].tensors, (*own, add(start, lane.var)), strict=True):
        e.store(tensor, place, lanes, value)
    return e.program()


def _two_fingers(s: _Sort, width: int, turn: int) -> TileProgram:
    """Each cell merges the runs of `width` at its start and after it; fingers are offsets in the workspaces."""
    e = s.emitter(f"merge{width}")
    source, to = s.spaces[turn % 2], s.spaces[(turn + 1) % 2]
    pair = Var(e.fresh("b"))
    e.cell(Axis(pair.name, _active(s, width, blocks_of(s.n, 2 * width))))
    start, middle, end = (Var(e.fresh(name)) for name in ("start", "middle", "end"))
    row = s.at(index(0))
    e.put(Let(start.name, add(row, mul(pair, index(2 * width)))))
    e.put(Let(middle.name, op("min", add(start, index(width)), add(row, s.n))))
    e.put(Let(end.name, op("min", add(start, index(2 * width)), add(row, s.n))))
    left, right = e.tile("left", I64, ()), e.tile("right", I64, ())
    last, final = e.tile("last", I64, ()), e.tile("final", I64, ())
    e.map((left, right, last, final), (), (start, middle, sub(middle, index(1)), sub(end, index(1))))
    both = Var(e.fresh("both"))
    e.put(Let(both.name, op("min", sub(middle, start), sub(end, middle))))
    _from_both_ends(s, e, source, to, (left, right, last, final), (start, end, both))
    _what_is_left(s, e, source, to, (left, right, last, final), add(start, both),
                  sub(sub(end, start), mul(both, index(2))))
    return e.program()


def _from_both_ends(s: _Sort, e: Emitter, source: _Space, to: _Space, fingers: tuple[Tile, ...], bounds: tuple[Expr, ...]
                    ) -> None:
    """As many steps as the shorter run has elements, each placing the least and the greatest that are left: no finger can
    leave its run, and the two chains of comparisons overlap."""
    left, right, last, final = fingers
    start, end, steps = bounds
    step = Var(e.fresh("k"))
    e.open(step.name)
    places = (add(start, step), sub(sub(end, index(1)), step))
    found = []
    for x, y in ((left, right), (last, final)):
        a = tuple(e.load(t, x.at(), ()) for t in source.keys)
        b = tuple(e.load(t, y.at(), ()) for t in source.keys)
        take = e.tile("take", I64, ())
        e.map((take,), (), (s.less_bit(b, a),))
        found.append(take)
    front, rear = found
    chosen = (op("where", op("ne", front.at(), index(0)), right.at(), left.at()),
              op("where", op("ne", rear.at(), index(0)), last.at(), final.at()))
    for place, at in zip(places, chosen, strict=True):
        for before, after in zip(source.tensors, to.tensors, strict=True):
            e.store(after, place, (), e.load(before, at, ()))
    e.map(fingers, (), (add(left.at(), sub(index(1), front.at())), add(right.at(), front.at()),
                        sub(last.at(), rear.at()), sub(final.at(), sub(index(1), rear.at()))))
    e.close_for(step.name, steps)


def _what_is_left(s: _Sort, e: Emitter, source: _Space, to: _Space, fingers: tuple[Tile, ...], start: Expr, count: Expr
                  ) -> None:
    """The `count` elements between the fingers, where one run may be empty."""
    left, right, last, final = fingers
    step = Var(e.fresh("k"))
    e.open(step.name)
    x, y = left.at(), right.at()
    has_left, has_right = op("le", x, last.at()), op("le", y, final.at())
    a = tuple(e.load(t, x, (), has_left) for t in source.keys)
    b = tuple(e.load(t, y, (), has_right) for t in source.keys)
    take = e.tile("take", BOOL, ())
    e.map((take,), (), (op("and", has_right, op("or", op("not", has_left), s.less(b, a))),))
    at = Op("where", (take.at(), y, x), I64)
    for before, after in zip(source.tensors, to.tensors, strict=True):
        e.store(after, add(start, step), (), e.load(before, at, ()))
    moved = cast(take.at(), I64)
    e.map((left, right), (), (add(x, sub(index(1), moved)), add(y, moved)))
    e.close_for(step.name, count)


@dataclass(frozen=True)
class _Element:
    """Lanes over the elements of a row, each with its keys, position, and the run of `width` in which it stands."""

    lanes: tuple[Lane, ...]
    place: Expr
    keys: tuple[Expr, ...]
    position: Expr
    run: Expr


def _elements(s: _Sort, e: Emitter, source: _Space, width: int, lanes: int) -> _Element:
    block = Var(e.fresh("b"))
    e.cell(Axis(block.name, _active(s, width, blocks_of(s.n, lanes))))
    lane, start = lane_block(e, s.n, lanes, block, "")
    place = add(start, lane.var)
    own = tuple(e.load(t, s.at(place), (lane,)) for t in source.keys)
    position = e.load(source.positions, s.at(place), (lane,))
    return _Element((lane,), place, own, position, op("floordiv", place, index(width)))


def _bisect(s: _Sort, e: Emitter, x: _Element, source: _Space, width: int, run: Expr, low: Tile) -> None:
    """low = how many elements of `run` come before each element: equal ones count when their run is the earlier one."""
    lanes = x.lanes
    high = e.tile("high", I64, lanes, "reg")
    length = op("max", index(0), op("min", index(width), sub(s.n, mul(run, index(width)))))
    length = Op("where", (op("eq", run, x.run), index(0), length), I64)
    e.map((low, high), lanes, (index(0), length))
    e.open(step := e.fresh("step"))
    at, to = _read(low, lanes), _read(high, lanes)
    middle = op("floordiv", add(at, to), index(2))
    keys = tuple(e.load(t, s.at(add(mul(run, index(width)), middle)), lanes, op("lt", at, to)) for t in source.keys)
    before = op("where", op("lt", run, x.run), op("not", s.less(x.keys, keys)), s.less(keys, x.keys))
    go = op("and", op("lt", at, to), before)
    stop = op("and", op("lt", at, to), op("not", before))
    e.map((low, high), lanes, (Op("where", (go, add(middle, index(1)), at), I64), Op("where", (stop, middle, to), I64)))
    e.close_for(step, index(width.bit_length()))


def _bisected(s: _Sort, width: int, turn: int) -> TileProgram:
    """Every element goes to its own place in its run plus the number of elements of the other run before it."""
    e = s.emitter(f"merge{width}")
    source, to = s.spaces[turn % 2], s.spaces[(turn + 1) % 2]
    x = _elements(s, e, source, width, s.lanes)
    low = e.tile("low", I64, x.lanes, "reg")
    odd = op("mod", x.run, index(2))
    _bisect(s, e, x, source, width, add(sub(x.run, odd), sub(index(1), odd)), low)
    place = add(sub(x.place, mul(odd, index(width))), _read(low, x.lanes))
    for tensor, value in zip(to.tensors, (*x.keys, x.position), strict=True):
        e.store(tensor, s.at(place), x.lanes, value)
    return e.program()


def _everywhere(s: _Sort, width: int, turn: int) -> TileProgram:
    """The last pass: every element is bisected into all other runs. Rows that come here are longer than `width`, and all
    passes before ran, so that it is known where the runs are."""
    e = s.emitter("all")
    source, to = s.spaces[turn % 2], s.spaces[(turn + 1) % 2]
    x = _elements(s, e, source, width, s.lanes)
    low, total = e.tile("low", I64, x.lanes, "reg"), e.tile("total", I64, x.lanes, "reg")
    e.map((total,), x.lanes, (op("mod", x.place, index(width)),))
    run = Var(e.fresh("r"))
    e.open(run.name)
    _bisect(s, e, x, source, width, run, low)
    e.map((total,), x.lanes, (add(_read(total, x.lanes), _read(low, x.lanes)),))
    e.close_for(run.name, blocks_of(s.n, width))
    for tensor, value in zip(to.tensors, (*x.keys, x.position), strict=True):
        e.store(tensor, s.at(_read(total, x.lanes)), x.lanes, value)
    return e.program()


def _places(s: _Sort, where: Expr) -> TileProgram:
    """The first `count` positions from set number `where`; places without a hit repeat the first one (0 without any)."""
    e = s.emitter("places")
    block = Var(e.fresh("b"))
    e.cell(Axis(block.name, blocks_of(s.node.count, s.lanes)))
    lane, start = lane_block(e, s.node.count, s.lanes, block, "")
    lanes, place = (lane,), add(start, lane.var)
    inside = None if s.node.count == s.n else op("lt", place, s.n)
    for number, space in enumerate(s.spaces):
        if constant(where) not in (None, number):
            continue
        here = op("eq", where, index(number))
        guard, any_hit = conjunction(here, inside), conjunction(here, op("gt", s.n, index(0)))
        e.open()
        found = e.load(space.positions, s.at(place), lanes, guard)
        first = e.load(space.positions, s.at(index(0)), (), any_hit)
        misses = [t for t in space.keys if s.node.predicate != TRUE][:1]
        held: Expr | None = inside
        for t in misses:
            missed = op("not", e.load(t, s.at(place), lanes, guard))
            held = missed if held is None else op("and", held, missed)
            first = Op("where", (op("or", op("le", s.n, index(0)), e.load(t, s.at(index(0)), (), any_hit)),
                                 Const(0, I32), first), I32)
        value = found if held is None else Op("where", (held, found, first), I32)
        e.store(s.node.output, linear(s.node.output.shape, (*(a.var for a in s.node.axes), place)), lanes, value)
        e.close_if(here)
    return e.program()
