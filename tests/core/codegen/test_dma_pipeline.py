"""Steps that copy ahead and store late: what is rewritten, and what is left alone."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import (
    Block,
    Branch,
    CopyIn,
    CopyOut,
    Declare,
    Loop,
    NextCell,
    Order,
    Put,
    Queue,
    Stmt,
    Sync,
    Turn,
    Vector,
    View,
)
from kernelcat_core.codegen.dma_pipeline import pipelined
from kernelcat_core.dtypes import F32, I64
from kernelcat_core.ir.expr import ONE, ZERO, Load, Size, Var, index, mul

ORDER = Order(load="IO", store="IO", vector="V", scalar="V", in_order=frozenset({"IO", "V"}), queues=False)
X, OUT, N = View("x", F32, ZERO), View("out", F32, ZERO), Size("N")
FETCH: tuple[Stmt, ...] = (
    Declare("at", I64, mul(Var("b"), index(64))),
    Queue("alloc", "x"),
    CopyIn(X, "X", Var("at"), ONE, N, ZERO, 0),
    Queue("enqueue", "x"),
    Queue("dequeue", "x"),
)
WORK = Block((Vector("abs", OUT, (X,), count=N), CopyOut("Y", Var("at"), OUT, ONE, N, ZERO, 0)))


def test_a_cell_copies_ahead_and_stores_late() -> None:
    found = pipelined((*FETCH, WORK), ("b",), ORDER, frozenset({"out"}))
    assert found.turned == {"x", "out"}
    kinds = [type(s) for s in found.body]
    assert kinds == [Declare, Turn, Turn, Sync, Sync, Branch, NextCell, Queue, Block]
    following = found.body[6]
    assert isinstance(following, NextCell)
    assert following.body == found.first
    copy = found.first[-1]
    assert isinstance(copy, CopyIn)
    assert (copy.target.buffer, copy.offset) == ("x__other", Var("at__next", I64))
    assert [s.name for s in found.state if isinstance(s, Declare)] == ["out__place", "out__count"]
    assert isinstance(found.last[-1], Branch)
    work = found.body[-1]
    assert isinstance(work, Block)
    assert not any(isinstance(s, CopyOut) for s in work.body)


def test_a_loop_that_goes_ahead_guards_its_first_and_its_next_copies() -> None:
    loop = Loop("b", ZERO, N, ONE, (*FETCH, Vector("abs", OUT, (X,), count=N)), ahead=True)
    (block,) = pipelined((loop,), (), ORDER, frozenset()).body
    assert isinstance(block, Block)
    assert [type(s) for s in block.body] == [Branch, Loop]
    inner = block.body[1]
    assert isinstance(inner, Loop)
    assert [type(s) for s in inner.body] == [Declare, Turn, Sync, Branch, Queue, Vector]


def test_steps_that_need_data_for_their_copies_stay_as_they_are() -> None:
    by_data = Declare("at", I64, Load("x", (ZERO,), I64))
    for before in ((by_data,), (Put(X, Load("X", (ZERO,), F32)),)):
        body = (*before, *FETCH[1:], WORK)
        found = pipelined(body, ("b",), ORDER, frozenset({"out"}))
        assert found.body == body
        assert not found.turned


def test_stores_stay_where_another_store_shares_their_buffer() -> None:
    found = pipelined((*FETCH, WORK, WORK), ("b",), ORDER, frozenset({"out"}))
    assert found.turned == {"x"}
    assert found.body[-2:] == (WORK, WORK)
