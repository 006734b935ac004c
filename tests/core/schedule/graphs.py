"""Small graphs over every kernel class, built by hand so that these tests need no parser."""

from __future__ import annotations

from collections.abc import Callable

from kernelcat_core.dtypes import BOOL, F16, F32, I32, I64, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, add, cast, index, mul, op, sub
from kernelcat_core.ir.graph import Axis, Compute, Graph, Scan, Scatter, Select, Tensor, monoid

M, N, K = Size("M"), Size("N"), Size("K")
i, j, k = Var("i"), Var("j"), Var("k")


def tensor(name: str, *shape: Expr, dtype: DType = F32) -> Tensor:
    return Tensor(name, dtype, shape)


def at(name: str, *position: Expr, dtype: DType = F32) -> Load:
    return Load(name, position, dtype)


def softmax() -> Graph:
    rows, over = (Axis("i", M),), (Axis("k", N),)
    top = Compute(tensor("m", M), rows, (at("X", i, k),), over, monoid("max", F32))
    total = Compute(tensor("s", M), rows, (op("exp", sub(at("X", i, k), at("m", i))),), over, monoid("sum", F32))
    y = op("div", op("exp", sub(at("X", i, j), at("m", i))), at("s", i))
    return Graph((tensor("X", M, N),), (top, total, Compute(tensor("Y", M, N), (*rows, Axis("j", N)), (y,))), ("Y",))


def softmax_middle() -> Graph:
    """Softmax's first half over the middle axis of three."""
    top = Compute(tensor("m", M, K), (Axis("i", M), Axis("j", K)), (at("X", i, k, j),), (Axis("k", N),), monoid("max", F32))
    axes = (Axis("i", M), Axis("l", N), Axis("j", K))
    y = Compute(tensor("Y", M, N, K), axes, (op("exp", sub(at("X", i, Var("l"), j), at("m", i, j))),))
    return Graph((tensor("X", M, N, K),), (top, y), ("Y",))


def layer_norm() -> Graph:
    rows, over = (Axis("i", M),), (Axis("k", N),)
    count = cast(N, F32)
    mean = Compute(tensor("mu", M), rows, (at("X", i, k),), over, monoid("sum", F32), op("div", Var("s0", F32), count))
    centred = sub(at("X", i, k), at("mu", i))
    var = Compute(tensor("v", M), rows, (mul(centred, centred),), over, monoid("sum", F32),
                  op("div", Var("s0", F32), count))
    scale = op("rsqrt", add(at("v", i), Const(1e-5, F32)))
    y = add(mul(mul(sub(at("X", i, j), at("mu", i)), scale), at("gamma", j)), at("beta", j))
    return Graph((tensor("X", M, N), tensor("gamma", N), tensor("beta", N)),
                 (mean, var, Compute(tensor("Y", M, N), (*rows, Axis("j", N)), (y,))), ("Y",))


def attention() -> Graph:
    """One head: query X[M, K], keys and values Z[N, K], each key only for later queries."""
    rows, over, s = (Axis("i", M),), (Axis("j", N),), Axis("j", N)
    dot = Compute(tensor("p", M, N), (*rows, s), (mul(at("X", i, k), at("Z", j, k)),), (Axis("k", K),), monoid("sum", F32))
    score = op("where", op("le", j, add(i, index(2))), at("p", i, j), Const(float("-inf"), F32))
    top = Compute(tensor("m", M), rows, (score,), over, monoid("max", F32))
    power = op("exp", sub(score, at("m", i)))
    total = Compute(tensor("s", M), rows, (power,), over, monoid("sum", F32))
    y = Compute(tensor("Y", M, K), (*rows, Axis("k", K)), (mul(op("div", power, at("s", i)), at("Z", j, k)),), over,
                monoid("sum", F32))
    return Graph((tensor("X", M, K), tensor("Z", N, K)), (dot, top, total, y), ("Y",))


def matmul_bias() -> Graph:
    axes = (Axis("i", M), Axis("j", N))
    c = Compute(tensor("C", M, N), axes, (mul(at("A", i, k), at("B", k, j)),), (Axis("k", K),), monoid("sum", F32))
    y = Compute(tensor("Y", M, N), axes, (op("tanh", add(at("C", i, j), at("b", j))),))
    return Graph((tensor("A", M, K), tensor("B", K, N), tensor("b", N)), (c, y), ("Y",))


def convolution() -> Graph:
    """Conv1D with padding 1, stride 2, over channels: an implicit matrix product with guarded gathers."""
    place = sub(add(mul(j, index(2)), Var("r")), index(1))
    inside = op("and", op("ge", place, index(0)), op("lt", place, N))
    x = Load("X", (k, place), F32, inside, Const(0.0, F32))
    out = op("floordiv", add(N, index(1)), index(2))
    c = Compute(tensor("Y", M, out), (Axis("i", M), Axis("j", out)), (mul(x, at("W", i, k, Var("r"))),),
                (Axis("k", K), Axis("r", index(3))), monoid("sum", F32))
    return Graph((tensor("X", K, N), tensor("W", M, K, index(3))), (c,), ("Y",))


def pool() -> Graph:
    out = op("floordiv", N, index(2))
    axes = (Axis("i", M), Axis("j", out))
    value = at("X", i, add(mul(j, index(2)), Var("r")))
    return Graph((tensor("X", M, N),), (Compute(tensor("Y", M, out), axes, (value,), (Axis("r", index(2)),),
                                                monoid("max", F32)),), ("Y",))


def chain_f16() -> Graph:
    axes = (Axis("i", M), Axis("j", N))
    h = Compute(tensor("h", M, N, dtype=F16), axes, (mul(at("X", i, j, dtype=F16), at("b", j, dtype=F16)),))
    y = Compute(tensor("Y", M, N, dtype=F16), axes, (op("tanh", at("h", i, j, dtype=F16)),))
    return Graph((tensor("X", M, N, dtype=F16), tensor("b", N, dtype=F16)), (h, y), ("Y",))


def argmax_rows() -> Graph:
    node = Compute(tensor("Y", M, dtype=I64), (Axis("i", M),), (at("X", i, k), k), (Axis("k", N),), monoid("argmax", F32),
                   Var("s1", I64))
    return Graph((tensor("X", M, N),), (node,), ("Y",))


def narrow_max() -> Graph:
    """A maximum whose state is declared f16, and an argmin beside it."""
    x = at("X", i, k, dtype=F16)
    top = Compute(tensor("Y", M, dtype=F16), (Axis("i", M),), (x,), (Axis("k", N),), monoid("max", F16))
    place = Compute(tensor("Z", M, dtype=I64), (Axis("i", M),), (x, k), (Axis("k", N),), monoid("argmin", F16), Var("s1", I64))
    return Graph((tensor("X", M, N, dtype=F16),), (top, place), ("Y", "Z"))


def whole_sum() -> Graph:
    total = Compute(tensor("s"), (), (at("X", i, j),), (Axis("i", M), Axis("j", N)), monoid("sum", F32))
    root = Compute(tensor("q"), (), (op("sqrt", op("abs", at("s"))),))
    y = Compute(tensor("Y", M, N), (Axis("i", M), Axis("j", N)), (add(at("X", i, j), at("q")),))
    return Graph((tensor("X", M, N),), (total, root, y), ("Y", "s"))


def gather() -> Graph:
    """A computed subscript: rows of a table, 0 outside."""
    row = cast(at("I", i, dtype=I64), I64)
    inside = op("and", op("ge", row, index(0)), op("lt", row, N))
    value = Load("T", (row, j), F32, inside, Const(0.0, F32))
    return Graph((tensor("T", N, K), tensor("I", M, dtype=I64)),
                 (Compute(tensor("Y", M, K), (Axis("i", M), Axis("j", K)), (value,)),), ("Y",))


def names_meet() -> Graph:
    """Tensors and sizes that are called like the schedule's own variables."""
    b, c = Size("b"), Size("n")
    y = Compute(tensor("c", b, c), (Axis("q", b), Axis("r0", c)), (mul(at("acc", Var("q"), Var("r0")), at("t_acc", Var("r0"))),))
    s = Compute(tensor("s_c", b), (Axis("q", b),), (at("c", Var("q"), Var("p")),), (Axis("p", c),), monoid("sum", F32))
    return Graph((tensor("acc", b, c), tensor("t_acc", c)), (y, s), ("c", "s_c"))


def nearest(by_key: bool) -> Graph:
    d = sub(at("P", i), at("P", j))
    distance = mul(d, d)
    node = Select(Tensor("Y", I64, (M, index(4))), (Axis("i", M),), Axis("j", M), index(4),
                  op("lt", distance, Const(0.5, F32)), distance if by_key else None)
    return Graph((tensor("P", M),), (node,), ("Y",))


def ordered(count: Expr, descending: bool = False, guarded: bool = False) -> Graph:
    """Positions that sort the rows of X[M, N], or the first of them; without negative elements when guarded."""
    x = at("X", i, j)
    predicate = op("ge", x, Const(0.0, F32)) if guarded else Const(True, BOOL)
    node = Select(Tensor("Y", I32, (M, count)), (Axis("i", M),), Axis("j", N), count, predicate, x, descending)
    return Graph((tensor("X", M, N),), (node,), ("Y",))


def scan(over: int, name: str, reverse: bool = False, exclusive: bool = False) -> Graph:
    """A scan along an axis of X[M, N, K]; argmax_last keeps the positions, logsumexp forms its value."""
    axes = (Axis("i", M), Axis("j", N), Axis("k", K))
    x, m = at("X", i, j, k), monoid(name, F32)
    element = (x, axes[over].var) if name == "argmax_last" else (x, Const(1.0, F32)) if name == "logsumexp" else (x,)
    dtype = I64 if name == "argmax_last" else F32
    finish = {"argmax_last": Var("s1", I64), "logsumexp": add(Var("s0", F32), op("log", Var("s1", F32)))}.get(name)
    node = Scan(tensor("Y", M, N, K, dtype=dtype), axes, over, m, element, reverse, exclusive, finish)
    return Graph((tensor("X", M, N, K),), (node,), ("Y",))


def scatter_rows(name: str | None) -> Graph:
    """Rows of V[N, K] folded into rows I[n] of X[M, K]."""
    u, v = Axis("u", N), Axis("v", K)
    node = Scatter(tensor("Y", M, K), (Axis("i", M), Axis("k", K)), at("X", i, k), (u, v),
                   (cast(at("I", u.var, dtype=I32), I64), v.var), at("V", u.var, v.var),
                   None if name is None else monoid(name, F32))
    return Graph((tensor("X", M, K), tensor("I", N, dtype=I32), tensor("V", N, K)), (node,), ("Y",))


def scatter_last_axis() -> Graph:
    """Elements of V[M, N] folded into columns I[m, n] of X[M, K], where they are positive."""
    u, v = Axis("u", M), Axis("v", N)
    value = at("V", u.var, v.var)
    node = Scatter(tensor("Y", M, K), (Axis("i", M), Axis("k", K)), at("X", i, k), (u, v),
                   (u.var, at("I", u.var, v.var, dtype=I64)), value, monoid("max", F32), op("gt", value, Const(0.0, F32)))
    return Graph((tensor("X", M, K), tensor("I", M, N, dtype=I64), tensor("V", M, N)), (node,), ("Y",))


def histogram() -> Graph:
    """Counts of the values of I[M]: the serial case."""
    node = Scatter(tensor("Y", N, dtype=I64), (Axis("j", N),), index(0), (Axis("u", M),), (at("I", Var("u"), dtype=I64),),
                   index(1), monoid("sum", I64))
    return Graph((tensor("I", M, dtype=I64), tensor("X", N)), (node,), ("Y",))


# What renews elements in memory: targets with explicit copies cannot.
SCATTERS: dict[str, Callable[[], Graph]] = {
    "scatter_rows": lambda: scatter_rows("sum"), "scatter_rows_last": lambda: scatter_rows(None),
    "scatter_last_axis": scatter_last_axis, "histogram": histogram,
}
GRAPHS: dict[str, Callable[[], Graph]] = {
    "attention": attention,
    "softmax": softmax, "softmax_middle": softmax_middle, "layer_norm": layer_norm, "matmul_bias": matmul_bias,
    "convolution": convolution, "pool": pool, "chain_f16": chain_f16, "argmax_rows": argmax_rows, "whole_sum": whole_sum,
    "narrow_max": narrow_max,
    "gather": gather, "names_meet": names_meet, "select_by_position": lambda: nearest(False),
    "select_by_key": lambda: nearest(True),
    "sort": lambda: ordered(N), "sort_descending": lambda: ordered(N, True), "sort_guarded": lambda: ordered(N, False, True),
    "top_few": lambda: ordered(index(3), True), "top_many": lambda: ordered(index(40), True, True),
    "scan_first": lambda: scan(0, "sum"), "scan_middle": lambda: scan(1, "max", reverse=True),
    "scan_last": lambda: scan(2, "prod", exclusive=True), "scan_positions": lambda: scan(2, "argmax_last", True, False),
    "scan_log": lambda: scan(1, "logsumexp"),
    **SCATTERS,
}
