"""Small graphs, written by hand, that tests of numerics share."""

from __future__ import annotations

from kernelcat_core.dtypes import BOOL, F32, I32, I64, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var, cast, index, mul, op, sub
from kernelcat_core.ir.graph import Axis, Compute, Graph, Select, Tensor, monoid

M, N, K = Size("M"), Size("N"), Size("K")
ROW, COLUMN, TERM = Axis("i", M), Axis("j", N), Axis("k", K)


def at(t: Tensor, *axes: Axis) -> Load:
    return Load(t.name, tuple(a.var for a in axes), t.dtype)


def graph(inputs: list[Tensor], *nodes: Compute | Select) -> Graph:
    return Graph(tuple(inputs), nodes, (nodes[-1].output.name,))


def elementwise(name: str, dtype: DType = F32) -> Graph:
    x = Tensor("X", dtype, (N,))
    e = op(name, at(x, COLUMN))
    return graph([x], Compute(Tensor("Y", e.dtype, (N,)), (COLUMN,), (e,)))


def matmul(dtype: DType = F32) -> Graph:
    a, b = Tensor("A", dtype, (M, K)), Tensor("B", dtype, (K, N))
    element = mul(cast(at(a, ROW, TERM), F32), cast(at(b, TERM, COLUMN), F32))
    finish = None if dtype == F32 else cast(Var("s0", F32), dtype)
    out = Tensor("C", dtype, (M, N))
    return graph([a, b], Compute(out, (ROW, COLUMN), (element,), (TERM,), monoid("sum", F32), finish))


def softmax(subtract_maximum: bool = True) -> Graph:
    x, top, total = (Tensor(n, F32, s) for n, s in (("X", (M, K)), ("T", (M,)), ("S", (M,))))
    shifted: Expr = sub(at(x, ROW, TERM), at(top, ROW)) if subtract_maximum else at(x, ROW, TERM)
    power = op("exp", shifted)
    return graph(
        [x],
        Compute(top, (ROW,), (at(x, ROW, TERM),), (TERM,), monoid("max", F32)),
        Compute(total, (ROW,), (power,), (TERM,), monoid("sum", F32)),
        Compute(Tensor("Y", F32, (M, K)), (ROW, TERM), (op("div", power, at(total, ROW)),)),
    )


def sums() -> Graph:
    x = Tensor("X", F32, (M, K))
    return graph([x], Compute(Tensor("Y", F32, (M,)), (ROW,), (at(x, ROW, TERM),), (TERM,), monoid("sum", F32)))


def argmax_of_products() -> Graph:
    """argmax over j of sum_k A[i,k] B[k,j]: positions decided by values that carry errors."""
    g = matmul()
    c = g.nodes[0].output
    m = monoid("argmax", F32)
    node = Compute(Tensor("Y", I64, (M,)), (ROW,), (at(c, ROW, COLUMN), COLUMN.var), (COLUMN,), m, Var("s1", I64))
    return Graph(g.inputs, (*g.nodes, node), ("Y",))


def neighbours(order: bool = False) -> Graph:
    """First three j with (X[j] - X[i])^2 < r * r, by position or by distance."""
    x, r = Tensor("X", F32, (N,)), Tensor("r", F32, ())
    here = Axis("i", N)
    d = sub(at(x, COLUMN), at(x, here))
    close = op("lt", mul(d, d), mul(at(r), at(r)))
    out = Tensor("P", I32, (N, index(3)))
    return graph([x, r], Select(out, (here,), COLUMN, index(3), close, mul(d, d) if order else None))


def count_below() -> Graph:
    """How many of the products X*X are below one: a test close to its threshold is uncertain."""
    x = Tensor("X", F32, (K,))
    below = op("lt", mul(at(x, TERM), at(x, TERM)), Const(1.0, F32))
    return graph([x], Compute(Tensor("Y", I64, ()), (), (Op("cast", (below,), I64),), (TERM,), monoid("sum", I64)))


def any_small() -> Graph:
    x = Tensor("X", F32, (M, K))
    test = op("lt", mul(at(x, ROW, TERM), Const(0.1, F32)), Const(1.0, F32))
    return graph([x], Compute(Tensor("Y", BOOL, (M,)), (ROW,), (test,), (TERM,), monoid("any", BOOL)))
