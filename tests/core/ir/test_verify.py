"""Every rule of ir/verify rejects a graph that breaks it, and accepts the graphs around it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelcat_core.dtypes import BOOL, F8E4M3, F16, F32, I32, I64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var, f32, index, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Select, Tensor, monoid
from kernelcat_core.ir.verify import verify_graph

M, N = Size("M"), Size("N")
ROWS, COLUMNS = Axis("i", M), Axis("j", N)
X = Tensor("X", F32, (M, N))
AT = Load("X", (ROWS.var, COLUMNS.var), F32)
ROW = Compute(Tensor("R", F32, (M,)), (ROWS,), (AT,), (COLUMNS,), monoid("sum", F32))
MAP = Compute(Tensor("Y", F32, (M, N)), (ROWS, COLUMNS), (op("exp", AT),))
PICK = Select(Tensor("P", I32, (M, index(3))), (ROWS,), COLUMNS, index(3), op("gt", AT, f32(0)))
GOOD = Graph((X,), (ROW, MAP, PICK), ("R", "Y", "P"))


def with_element(*element: Expr) -> Graph:
    return replace(GOOD, nodes=(replace(MAP, element=element),), outputs=("Y",))


def with_row(**changes: object) -> Graph:
    return replace(GOOD, nodes=(replace(ROW, **changes),), outputs=("R",))  # type: ignore[arg-type]


def with_pick(**changes: object) -> Graph:
    return replace(GOOD, nodes=(replace(PICK, **changes),), outputs=("P",))  # type: ignore[arg-type]


BROKEN: dict[str, tuple[Graph, str]] = {
    "two tensors, one name": (replace(GOOD, nodes=(ROW, ROW), outputs=("R",)), "two tensors"),
    "axis twice": (with_row(reduce_axes=(ROWS,)), "occurs twice"),
    "size and tensor": (replace(GOOD, inputs=(X, Tensor("M", F32, ()))), "a tensor and a size"),
    "no output": (replace(GOOD, outputs=()), "no output"),
    "unknown output": (replace(GOOD, outputs=("Z",)), "no tensor"),
    "output twice": (replace(GOOD, outputs=("R", "R")), "listed twice"),
    "size from nowhere": (with_row(reduce_axes=(Axis("j", Size("Q")),)), "not an axis of any input"),
    "read before write": (with_element(Load("R", (ROWS.var,), F32)), "before it is written"),
    "rank": (with_element(Load("X", (ROWS.var,), F32)), "1 subscripts for rank 2"),
    "dtype of a load": (with_element(Load("X", (ROWS.var, COLUMNS.var), F16)), "has type f16"),
    "subscript type": (with_element(Load("X", (Var("i"), Const(0, I32)), F32)), "not i64"),
    "predicate of a load": (with_element(replace(AT, where=AT, fill=f32(0))), "is not bool"),
    "fill of a load": (with_element(replace(AT, where=Const(True, BOOL), fill=index(0))), "does not fit"),
    "fill without predicate": (with_element(replace(AT, fill=f32(0))), "does not fit"),
    "unknown operation": (with_element(Op("frobnicate", (AT,), F32)), "unknown operation"),
    "arity": (with_element(Op("add", (AT,), F32)), "it takes 2"),
    "operands": (with_element(Op("add", (AT, index(0)), F32)), "have types f32, i64"),
    "result of a comparison": (with_element(Op("lt", (AT, AT), F32)), "lt of f32 has type f32"),
    "result of an operation": (with_element(Op("add", (AT, AT), F16)), "add of f32 has type f16"),
    "condition": (with_element(Op("where", (AT, AT, AT), F32)), "condition of where"),
    "division of integers": (
        with_element(Op("cast", (Op("div", (Var("i"), Var("j")), I64),), F32)),
        "div does not take i64",
    ),
    "arithmetic on bool": (
        with_element(Op("cast", (Op("add", (op("lt", AT, AT), op("lt", AT, AT)), BOOL),), F32)),
        "add does not take bool",
    ),
    "logic on numbers": (with_element(Op("not", (AT,), BOOL)), "not does not take f32"),
    "bits of floats": (with_element(Op("and_bits", (AT, AT), F32)), "and_bits does not take f32"),
    "storage types": (with_element(Op("add", (Const(1.0, F8E4M3),) * 2, F8E4M3)), "does not take f8e4m3"),
    "literal range": (with_element(Op("cast", (Const(1 << 40, I32),), F32)), "is no i32"),
    "unbound": (with_element(Op("cast", (Var("q"),), F32)), "'q' is not bound"),
    "variable type": (with_element(Var("i", F32)), "has type i64, used as f32"),
    "reduce axes without monoid": (with_row(monoid=None), "without a monoid"),
    "monoid without reduce axes": (with_row(reduce_axes=(), element=(f32(0),)), "without reduce axes"),
    "number of states": (with_row(monoid=monoid("argmax", F32)), "2 states, but 1 elements"),
    "type of a state": (with_row(monoid=monoid("sum", I64)), "state 0 of sum has type i64"),
    "finish sees no reduce axis": (with_row(finish=Op("cast", (COLUMNS.var,), F32)), "'j' is not bound"),
    "type of the output": (with_element(op("lt", AT, AT)), "the value has type bool, the output f32"),
    "shape": (
        replace(GOOD, nodes=(replace(MAP, axes=(ROWS,), element=(f32(0),)),), outputs=("Y",)),
        "not that of its axes",
    ),
    "size is data": (with_row(axes=(Axis("i", Load("X", (index(0), index(0)), F32)),)), "has type f32"),
    "selection type": (with_pick(output=Tensor("P", I64, (M, index(3)))), "gives i32"),
    "selection predicate": (with_pick(predicate=AT), "predicate has type f32"),
    "selection shape": (with_pick(count=index(4)), "not that of its axes"),
}


def test_good_graph() -> None:
    verify_graph(GOOD)
    verify_graph(with_row(finish=op("add", Var("s0", F32), Op("cast", (ROWS.var,), F32))))
    verify_graph(with_pick(key=AT))


@pytest.mark.parametrize("case", BROKEN)
def test_rule(case: str) -> None:
    graph, words = BROKEN[case]
    with pytest.raises(KernelcatError, match=words) as caught:
        verify_graph(graph)
    assert caught.value.code == "KC-G001"
