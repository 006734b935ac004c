"""Layouts: which thread of a block owns which elements of a tile, and where in its private array it keeps them.

A layout is a tuple of unrolled loops over private items and, for each lane, its coordinate as an expression over the
loops and the thread's place in the block. Two statements over tiles of one shape use one layout, so an element's owner
never changes between them and no exchange is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.dtypes import I64
from kernelcat_core.ir.expr import Expr, Op, Var, add, index, mul


def div(a: Expr, b: int) -> Expr:
    """a / b for a >= 0."""
    return a if b == 1 else Op("floordiv", (a, index(b)), I64)


def rem(a: Expr, b: int) -> Expr:
    """a % b for a >= 0."""
    return index(0) if b == 1 else Op("mod", (a, index(b)), I64)


@dataclass(frozen=True)
class Layout:
    """`loops` are (variable, count) of the private items, outer first: also the shape of a private array.

    `covers` says for each lane whether its coordinate always lies below the capacity. `columns` threads share a row of a
    rank-2 tile, this one being number `column`; `row_loops` are the loops that choose the row.
    """

    loops: tuple[tuple[str, int], ...]
    coordinates: tuple[Expr, ...]
    covers: tuple[bool, ...]
    row_loops: tuple[str, ...] = ()
    columns: int = 1
    column: Expr = index(0)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(n for _, n in self.loops)

    @property
    def items(self) -> tuple[Expr, ...]:
        """Subscripts of this element in a private array."""
        return tuple(Var(v) if n > 1 else index(0) for v, n in self.loops)


def row(capacity: int, threads: int, thread: Expr, item: str) -> Layout:
    """Rank 1: element c belongs to thread c % threads, so that neighbours read neighbouring addresses."""
    count = -(-capacity // threads)
    coordinate = add(thread, mul(Var(item), index(threads))) if count > 1 else thread
    return Layout(((item, count),), (coordinate,), (capacity == count * threads,))


def linear(shape: tuple[int, int], inner: int, threads: int, thread: Expr, item: str) -> Layout:
    """Rank 2 for filling shared memory: consecutive threads walk lane `inner`, which is contiguous in the tensor."""
    total = shape[0] * shape[1]
    count = -(-total // threads)
    element = add(thread, mul(Var(item), index(threads))) if count > 1 else thread
    fast, slow = rem(element, shape[inner]), div(element, shape[inner])
    exact = total == count * threads
    coordinates = (slow, fast) if inner == 1 else (fast, slow)
    return Layout(
        ((item, count),), coordinates, (exact or inner == 0, exact or inner == 1), (item,), shape[1], coordinates[1]
    )


@dataclass(frozen=True)
class Split:
    """One axis of a block tile over threads: `parts` threads, `items` elements each, in runs of `run` neighbours."""

    parts: int
    items: int

    @property
    def run(self) -> int:
        return min(4, self.items)

    def coordinate(self, part: Expr, item: str) -> Expr:
        if self.items == 1:
            return part
        start = mul(part, index(self.run))
        if self.items <= 4:
            return add(start, Var(item))
        far = mul(div(Var(item), self.run), index(self.parts * self.run))
        return add(add(far, start), rem(Var(item), self.run))


def split(capacity: int) -> Split:
    """8 x 16 of 128, 4 x 16 of 64, 4 x 8 of 32, 2 x 8 of 16; others in pieces of one, padded to 8 parts."""
    for items, least in ((8, 128), (4, 32), (2, 16)):
        if capacity >= least and capacity % (items * 8) == 0 and capacity // items <= 32:
            return Split(capacity // items, items)
    parts = 8 if capacity <= 64 else 16
    return Split(parts, -(-capacity // parts))


def block(shape: tuple[int, int], ty: Expr, tx: Expr, loops: tuple[str, str]) -> tuple[Layout, tuple[int, int]]:
    """Rank 2 for FMA contractions: thread (ty, tx) owns a small rectangle. Gives the layout and the threads (down, across)."""
    y, x = split(shape[0]), split(shape[1])
    layout = Layout(
        ((loops[0], y.items), (loops[1], x.items)),
        (y.coordinate(ty, loops[0]), x.coordinate(tx, loops[1])),
        (y.parts * y.items == shape[0], x.parts * x.items == shape[1]),
        (loops[0],),
        x.parts,
        tx,
    )
    return layout, (y.parts, x.parts)


@dataclass(frozen=True)
class WarpGrid:
    """Warps of a block over a tile of m16n8k16 steps: `down` x `across` warps of `rows` x `columns` elements each."""

    down: int
    across: int
    rows: int
    columns: int

    @property
    def threads(self) -> int:
        return 32 * self.down * self.across

    def corner(self, warp: Expr) -> tuple[Expr, Expr]:
        """Where a warp's part of the block starts."""
        return mul(div(warp, self.across), index(self.rows)), mul(rem(warp, self.across), index(self.columns))


def warp_grid(shape: tuple[int, int], depth: int) -> WarpGrid | None:
    """How warps tile a block; None when the shape is no multiple of what the instruction takes (16 x 16 x 16 here)."""
    if any(n % 16 for n in (*shape, depth)):
        return None
    down = 2 if shape[0] % 32 == 0 else 1
    across = 4 if shape[1] % 64 == 0 and shape[1] >= 128 else 2 if shape[1] % 32 == 0 else 1
    return WarpGrid(down, across, shape[0] // down, shape[1] // across)


def fragments(grid: WarpGrid, warp: Expr, lane: Expr, loops: tuple[str, str, str]) -> Layout:
    """Rank 2 for tensor cores: the accumulator layout of mma.m16n8k16 as the PTX ISA documents it."""
    top, left = grid.corner(warp)
    mi, ni, e = (Var(name) for name in loops)
    y = add(add(add(top, mul(mi, index(16))), div(lane, 4)), mul(div(e, 2), index(8)))
    x = add(add(add(left, mul(ni, index(8))), mul(rem(lane, 4), index(2))), rem(e, 2))
    column = add(mul(rem(warp, grid.across), index(8)), add(mul(rem(lane, 4), index(2)), rem(e, 2)))
    counts = (grid.rows // 16, grid.columns // 8, 4)
    # e chooses one of two rows and one of two columns: each of its values keeps its own partial result.
    return Layout(
        tuple(zip(loops, counts, strict=True)), (y, x), (True, True), (loops[0], loops[2]), grid.across * 8, column
    )
