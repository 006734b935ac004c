"""Tile programs: the level that all targets share, between a schedule and a lowering for an execution model.

A program runs once a grid cell; cells are independent, and a barrier over the grid is a second program. Statements act on
tiles (arrays of constant shape on chip) over `lanes`: element axes with a constant capacity and a run-time extent, both
uniform over the cell. A statement touches only elements below its extents; the rest of a tile keeps what it had, and is
poison before the first write. Statement order is serial for the cell; within a statement elements are independent.

Rules that every lowering may rely on (ir/tile_verify.py checks them):
- A tile has rank 0 (a uniform scalar), 1 or 2. A statement over axes `(y, x)` reads tiles either of rank 0, as
  `Load(tile, ())`, with exactly its axes in their order, as `Load(tile, (Var y, Var x))`, or of rank 1 over one of them, as
  `Load(tile, (Var x,))`: a row or a column of statistics. There is no other indexing of tiles, so beside such statistics an
  element's owner never needs another element, but in Reduce and Mma.
- Tensors are flat here: `offset` is an i64 expression over Sizes, grid, loop, let and lane variables, in elements. It and
  `where` may read tiles too (a computed subscript), which makes the access a gather or a scatter.
- A copied tile may be touched only after `Wait` of its token (copies may be asynchronous).
- A cell never reads a tensor that its own program writes, but for the element that a Store with `combine` renews.
- Stores of different cells, and of different elements of one statement, never meet. Those with `combine` may meet an
  element again from the same lane of the same cell; they happen in the order of the statements and loops of the cell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import ONE, ZERO, Expr, Load, Var, coefficient, loads, variables
from kernelcat_core.ir.graph import Axis, Monoid, Tensor

Scope = Literal["scalar", "reg", "near", "mat_a", "mat_b", "acc"]


@dataclass(frozen=True)
class Tile:
    """An on-chip array. scalar: rank 0, uniform; reg: close to its owner (accumulators); near: block-shared staging;
    mat_a [m, k], mat_b [k, n]: operands of Mma in whatever layout the target's instruction wants; acc [m, n]: its result."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    scope: Scope

    def at(self, *index: Expr) -> Load:
        """A read of this tile, for use in Map, Reduce and Store expressions."""
        return Load(self.name, index, self.dtype)


@dataclass(frozen=True)
class Lane:
    """An element axis of a statement: Var `name` runs over 0 .. extent-1, and extent <= capacity (the tile's shape)."""

    name: str
    capacity: int
    extent: Expr

    @property
    def var(self) -> Var:
        return Var(self.name)


@dataclass(frozen=True)
class Let:
    """`name` (i64, uniform) stands for `value` from here to the end of the block."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Copy:
    """tile[lanes] <- tensor[offset] where `where` holds (elsewhere no access happens and the element is `fill`).

    Asynchronous: done after Wait(token). With `is_box` the last lane walks memory with stride one and no predicate
    depends on a lane, which is what DMA engines and vector loads take; otherwise it is a gather, one address an element.
    """

    token: str
    tile: str
    lanes: tuple[Lane, ...]
    tensor: str
    offset: Expr
    where: Expr | None = None
    fill: Expr | None = None

    @property
    def is_box(self) -> bool:
        return _contiguous(self.offset, self.where, self.lanes)


@dataclass(frozen=True)
class Wait:
    token: str


@dataclass(frozen=True)
class Map:
    """tiles[lanes] = values, element by element; all values are formed before any is written. Values read tiles only."""

    tiles: tuple[str, ...]
    lanes: tuple[Lane, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True)
class Reduce:
    """tiles[lanes but `over`] = fold of `elements` (one expression a state) over lane `over`, from the identity.

    The order of the fold is the target's. `over` is the last lane; for the vector model it may be the first of two.
    """

    tiles: tuple[str, ...]
    monoid: Monoid
    lanes: tuple[Lane, ...]
    over: str
    elements: tuple[Expr, ...]


@dataclass(frozen=True)
class Mma:
    """c[m, n] += sum over k of a[m, k] * b[k, n]; all three lanes have extents; a and b hold zeros or values below them.

    For the vector model `b` may be the result of another Mma, read as it lies.
    """

    c: str
    a: str
    b: str
    m: Lane
    n: Lane
    k: Lane


@dataclass(frozen=True)
class Store:
    """tensor[offset] <- value (over tiles and variables) for every element of `lanes` where `where` holds.

    With `combine`, an expression over Vars a0 (the element as it is, in the type of `value`) and b0 (`value`), the element is
    renewed: tensor[offset] <- combine. What the tensor held before the program counts.
    """

    tensor: str
    offset: Expr
    lanes: tuple[Lane, ...]
    value: Expr
    where: Expr | None = None
    combine: Expr | None = None

    @property
    def is_box(self) -> bool:
        return _contiguous(self.offset, self.where, self.lanes)


@dataclass(frozen=True)
class For:
    """Serial loop: Var `var` over 0 .. extent-1. `stages` > 1 asks for that many slots for the tiles copied inside."""

    var: str
    extent: Expr
    body: tuple[Stmt, ...]
    stages: int = 1


@dataclass(frozen=True)
class If:
    """`body` when the uniform condition holds."""

    condition: Expr
    body: tuple[Stmt, ...]


Stmt = Let | Copy | Wait | Map | Reduce | Mma | Store | For | If


@dataclass(frozen=True)
class TileProgram:
    """One launch. `reads` and `writes` are the tensors it touches, flat; `grid` cells are independent."""

    name: str
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]
    grid: tuple[Axis, ...]
    tiles: tuple[Tile, ...]
    body: tuple[Stmt, ...]
    kernel_class: str = "fallback"
    threads: int = 0

    @cached_property
    def tile(self) -> dict[str, Tile]:
        return {t.name: t for t in self.tiles}


@dataclass(frozen=True)
class TileModule:
    """Programs in launch order, with the tensors between them. `sizes` names the i64 arguments in order.

    The host entry of every rendered module is `int entry(void **tensors, const int64_t *sizes)`: tensors are `inputs`
    then `outputs`; `temporaries` are allocated by the entry; returns 0 or an error number.
    """

    name: str
    sizes: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    temporaries: tuple[Tensor, ...]
    programs: tuple[TileProgram, ...]
    config: tuple[tuple[str, int], ...] = field(default=())

    @cached_property
    def text(self) -> str:
        from kernelcat_core.ir.tile_printer import print_module

        return print_module(self)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def _contiguous(offset: Expr, where: Expr | None, lanes: tuple[Lane, ...]) -> bool:
    if not lanes:
        return True
    names = {lane.name for lane in lanes}
    if where is not None and (variables(where) & names or loads(where)):
        return False
    if loads(offset):
        return False
    form = coefficient(offset, lanes[-1].name)
    return form is not None and form[0] == ONE and all(coefficient(offset, n) is not None for n in names)


def lane_stride(offset: Expr, lane: Lane) -> Expr | None:
    """Elements between neighbours along `lane` (zero when `offset` does not use it); None when not affine."""
    form = coefficient(offset, lane.name)
    return None if form is None else form[0]


def is_uniform(offset: Expr, lane: Lane) -> bool:
    """Whether every element along `lane` has the same offset."""
    return lane_stride(offset, lane) == ZERO


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, in text order, blocks before their contents."""
    for s in body:
        yield s
        if isinstance(s, For | If):
            yield from statements(s.body)
