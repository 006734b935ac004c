"""Asynchronous fills of shared memory for a staged contraction: element by element, or 16 bytes at a time.

Sizes are known at run time only, so both ways are in the text: a block takes the wide one where its rows start on 16
bytes and are whole. That asks of the tensor's address, of the stride between rows, and of where the block starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelcat_core.codegen import simt_layout as layouts
from kernelcat_core.codegen.simt_ast import Aligned, Assign, AsyncCopy, Branch, Node, Repeat
from kernelcat_core.dtypes import BOOL
from kernelcat_core.ir.expr import Expr, Load, Op, Var, add, conjunction, index, mul, op, substitute
from kernelcat_core.ir.tile import Copy, lane_stride

if TYPE_CHECKING:
    from kernelcat_core.codegen.simt import Lowering

ASYNC_BYTES = (4, 8)  # element sizes that cp.async takes one at a time
WIDE_BYTES = 16


def fill(low: Lowering, c: Copy) -> tuple[list[Node], bool]:
    """The nodes that fill the current slot of an operand, and whether some of them are asynchronous."""
    from kernelcat_core.codegen.simt import Group

    if not low.limits.async_copies:
        return low.group(Group(c.lanes, (c,))), False
    dtype = low.program.tile[c.tile].dtype
    single = dtype.itemsize in ASYNC_BYTES
    narrow = _elements(low, c) if single else low.group(Group(c.lanes, (c,)))
    wide = _wide(low, c)
    if wide is None:
        return narrow, single
    condition, nodes = wide
    return [Branch(condition, tuple(nodes), tuple(narrow))], True


def _elements(low: Lowering, c: Copy) -> list[Node]:
    """Like a group of this copy alone, but elements inside start an asynchronous copy."""
    from kernelcat_core.codegen.simt import Group

    group = Group(c.lanes, (c,))
    layout = low.group_layout(group)
    dtype = low.program.tile[c.tile].dtype
    place = low.element(c.tile, (), c.lanes)
    assert isinstance(place, Load)
    start = AsyncCopy(place, Load(c.tensor, (low.read(c.offset, layout.items, c.lanes),), dtype))
    body: tuple[Node, ...] = (start,)
    if c.where is not None:
        value = low.loaded(c, layout.items, c.lanes)
        assert isinstance(value, Op)
        body = (Branch(value.args[0], (start,), (Assign(place, value.args[2]),)),)
    return low.over(layout, c.lanes, body, (low.zero(c.tile, c.lanes),), low.unrolling(group))


def _wide(low: Lowering, c: Copy) -> tuple[Expr, list[Node]] | None:
    """(when it may be taken, nodes) of the fill by 16 bytes; None where the two arrays never run in the same direction."""
    dtype = low.program.tile[c.tile].dtype
    count = WIDE_BYTES // dtype.itemsize
    inner = low.contiguous_lane(c.tile)
    strides = [lane_stride(c.offset, lane) for lane in c.lanes]
    along, across = c.lanes[inner], c.lanes[1 - inner]
    pitch = strides[1 - inner]
    if c.where is not None or strides[inner] != index(1) or pitch is None or along.capacity % count:
        return None
    start = substitute(c.offset, {along.name: index(0), across.name: index(0)})
    aligned = low.named(("aligned", c.tensor), f"aligned_{c.tensor}")
    low.facts[aligned] = Aligned(aligned, c.tensor, WIDE_BYTES)
    condition = conjunction(
        Var(aligned, BOOL),
        op("eq", along.extent, index(along.capacity)),
        op("eq", Op("mod", (pitch, index(count)), pitch.dtype), index(0)),
        op("eq", Op("mod", (start, index(count)), start.dtype), index(0)),
    )
    assert condition is not None
    pieces = [lane.capacity for lane in c.lanes]
    pieces[inner] //= count
    item = low.named(("wide", tuple(pieces), inner), "i")
    plain = layouts.linear((pieces[0], pieces[1]), inner, low.threads, low.thread, item)
    spread = list(plain.coordinates)
    spread[inner] = mul(spread[inner], index(count))
    layout = replace(plain, coordinates=tuple(spread))
    lanes = list(c.lanes)
    lanes[inner] = replace(along, extent=index(along.capacity))
    place = low.element(c.tile, (), c.lanes)
    assert isinstance(place, Load)
    copy = AsyncCopy(place, Load(c.tensor, (low.read(c.offset, (), c.lanes),), dtype), count)
    v = low.named("v", "v")
    next_place = substitute(place, {along.name: add(along.var, Var(v))})
    zeros = low.zero(c.tile, c.lanes)
    assert isinstance(zeros, Assign)
    blank = Repeat(v, count, (Assign(next_place, zeros.value),))
    return condition, low.over(layout, tuple(lanes), (copy,), (blank,))
