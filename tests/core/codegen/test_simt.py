"""Tile programs that no schedule emits yet, lowered for SIMT and run on the functional model against their meaning."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.codegen import simt
from kernelcat_core.codegen.simt_ast import Barrier, Branch, Kernel, Loop, Node, Repeat
from kernelcat_core.dtypes import F16, F32, I64, DType
from kernelcat_core.ir import tile_interpreter
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, add, cast, f32, index, mul, op
from kernelcat_core.ir.graph import Axis, Monoid, Tensor
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
    Tile,
    TileModule,
    TileProgram,
    Wait,
)
from tests.core.backends.cuda.emulate import AVAILABLE, Emulated

needs_model = pytest.mark.skipif(not AVAILABLE, reason="no C++ compiler")
M, N, K = Size("M"), Size("N"), Size("K")
SUM = Monoid("sum", (F32,), (f32(0.0),), (op("add", Var("a0", F32), Var("b0", F32)),))
LIMITS = simt.Limits(48 << 10, True)


def module(program: TileProgram) -> TileModule:
    return TileModule("example", ("M", "N", "K"), program.reads, program.writes, (), (program,))


def barriers(nodes: tuple[Node, ...]) -> int:
    """Barriers in the text, loops counted once."""
    total = 0
    for n in nodes:
        total += isinstance(n, Barrier)
        if isinstance(n, Loop | Repeat | Branch):
            total += barriers(n.body)
        if isinstance(n, Branch):
            total += barriers(n.otherwise)
    return total


def lowered(program: TileProgram) -> Kernel:
    (kernel,) = simt.lower(module(program), LIMITS)
    return kernel


def agrees(program: TileProgram, sizes: dict[str, int], tolerance: float = 2e-5) -> None:
    rng = np.random.default_rng(0)
    emulated = Emulated(module(program))
    shapes = {t.name: [sizes[d.name] for d in t.shape if isinstance(d, Size)] for t in program.reads}
    inputs = {t.name: rng.standard_normal(shapes[t.name]).astype(t.dtype.numpy) for t in program.reads}
    expected = tile_interpreter.run(module(program), inputs, sizes)
    for name, array in emulated.run(inputs, sizes).items():
        np.testing.assert_allclose(array, expected[name], rtol=tolerance, atol=tolerance * 10)


def lanes(rows: int, columns: int) -> tuple[Lane, Lane]:
    return Lane("y", rows, Var("ny")), Lane("x", columns, Var("nx"))


def at(name: str, dtype: DType = F32) -> Load:
    return Load(name, (Var("y"), Var("x")), dtype)


def extent(name: str, size: Expr, capacity: int, start: Expr) -> Let:
    return Let(name, op("min", index(capacity), op("sub", size, start)))


def row_sums(rows: int, columns: int) -> TileProgram:
    """Y[m] = sum over n of X[m, n]^2, a block of `rows` at a time, blocks of columns added up."""
    y, x = lanes(rows, columns)
    start = mul(Var("b"), index(rows))
    place = add(mul(add(start, y.var), N), add(mul(Var("j"), index(columns)), x.var))
    one = Load("r", (Var("y"),), F32)
    body: tuple[Stmt, ...] = (
        extent("ny", M, rows, start),
        Map(("total",), (y,), (f32(0.0),)),
        For(
            "j",
            op("floordiv", add(N, index(columns - 1)), index(columns)),
            (
                extent("nx", N, columns, mul(Var("j"), index(columns))),
                Copy("q", "t", (y, x), "X", place),
                Wait("q"),
                Reduce(("r",), SUM, (y, x), "x", (op("mul", at("t"), at("t")),)),
                Map(("total",), (y,), (op("add", Load("total", (Var("y"),), F32), one),)),
            ),
        ),
        Store("Y", add(start, y.var), (y,), Load("total", (Var("y"),), F32)),
    )
    tiles = (
        Tile("t", F32, (rows, columns), "near"),
        Tile("r", F32, (rows,), "reg"),
        Tile("total", F32, (rows,), "reg"),
    )
    grid = (Axis("b", op("floordiv", add(M, index(rows - 1)), index(rows))),)
    return TileProgram("k", (Tensor("X", F32, (M, N)),), (Tensor("Y", F32, (M,)),), grid, tiles, body)


def chain(dtype: DType, block: int = 32) -> TileProgram:
    """P = A B; Q = 2 P as an operand; Y = Q B: rows of Y, and the sums of its rows in Z. K = N <= block."""
    y, x = lanes(block, block)
    z = Lane("z", block, N)
    start = mul(Var("b"), index(block))
    width = index(block)
    row = Load("r", (Var("y"),), F32)
    body: tuple[Stmt, ...] = (
        extent("ny", M, block, start),
        Let("nx", N),
        Copy("q", "a", (y, z), "A", add(mul(add(start, y.var), N), z.var)),
        Copy("p", "w", (z, x), "B", add(mul(z.var, N), x.var)),
        Wait("q"),
        Wait("p"),
        Map(("c",), (Lane("y", block, width), Lane("x", block, width)), (f32(0.0),)),
        Mma("c", "a", "w", y, x, z),
        Map(("a",), (y, x), (cast(op("mul", at("c"), f32(2.0)), dtype),)),
        Map(("c",), (Lane("y", block, width), Lane("x", block, width)), (f32(0.0),)),
        Mma("c", "a", "w", y, x, z),
        Reduce(("r",), SUM, (y, x), "x", (at("c"),)),
        Store("Z", add(start, y.var), (y,), row),
        Store("Y", add(mul(add(start, y.var), N), x.var), (y, x), at("c")),
    )
    tiles = (
        Tile("a", dtype, (block, block), "mat_a"),
        Tile("w", dtype, (block, block), "mat_b"),
        Tile("c", F32, (block, block), "acc"),
        Tile("r", F32, (block,), "reg"),
    )
    grid = (Axis("b", op("floordiv", add(M, index(block - 1)), index(block))),)
    return TileProgram(
        "k",
        (Tensor("A", dtype, (M, N)), Tensor("B", dtype, (N, N))),
        (Tensor("Y", F32, (M, N)), Tensor("Z", F32, (M,))),
        grid,
        tiles,
        body,
    )


@needs_model
@pytest.mark.parametrize(("rows", "columns"), [(16, 32), (7, 5), (1, 64)])
def test_reduction_of_rows(rows: int, columns: int) -> None:
    for m, n in ((1, 1), (33, 70), (16, 32), (0, 3), (3, 0)):
        agrees(row_sums(rows, columns), {"M": m, "N": n, "K": 0})


@needs_model
@pytest.mark.parametrize("dtype", [F32, F16])
def test_an_operand_that_is_computed(dtype: DType) -> None:
    for m, n in ((40, 32), (5, 17), (1, 1)):
        agrees(chain(dtype), {"M": m, "N": n, "K": 0}, 2e-5 if dtype == F32 else 2e-2)


@needs_model
def test_an_odd_block_takes_the_general_product() -> None:
    agrees(chain(F32, 20), {"M": 31, "N": 19, "K": 0})


def test_barriers_stand_only_between_owners() -> None:
    # Copies of both operands, products, the new operand, products, partial sums: each hands over to other threads once,
    # and the operand is overwritten only after all have read it.
    assert barriers(lowered(chain(F32)).body) == 4


def test_a_loop_frees_its_scratch_before_the_next_turn() -> None:
    (loop,) = (n for n in lowered(row_sums(16, 32)).body if isinstance(n, Loop))
    assert barriers(loop.body) == 2


def test_traffic() -> None:
    shared = frozenset({"s"})
    needed, after = simt.Traffic().touch(frozenset(), shared)
    assert not needed
    needed, after = after.touch(shared, frozenset())
    assert needed
    assert after == simt.Traffic(frozenset(), shared)
    assert after.touch(shared, frozenset()) == (False, after)
    assert after.touch(frozenset(), shared)[0]


def uniform_branch() -> TileProgram:
    """Y[m] = sum of row m where that is positive, else -1; a scalar chooses, and a uniform If guards the store."""
    c = Lane("c", 64, Var("n"))
    total = Load("total", (), F32)
    body: tuple[Stmt, ...] = (
        Let("n", op("min", index(64), N)),
        Copy("q", "t", (c,), "X", add(mul(Var("m"), N), c.var)),
        Wait("q"),
        Reduce(("total",), SUM, (c,), "c", (Load("t", (Var("c"),), F32),)),
        Map(("kept",), (), (op("where", op("gt", total, f32(0.0)), total, f32(-1.0)),)),
        If(op("ge", N, index(1)), (Store("Y", Var("m"), (), Load("kept", (), F32)),)),
        If(op("lt", N, index(1)), (Store("Y", Var("m"), (), Const(5.0, F32)),)),
    )
    tiles = (Tile("t", F32, (64,), "near"), Tile("total", F32, (), "scalar"), Tile("kept", F32, (), "scalar"))
    return TileProgram("k", (Tensor("X", F32, (M, N)),), (Tensor("Y", F32, (M,)),), (Axis("m", M),), tiles, body)


@needs_model
def test_uniform_branches_and_scalars() -> None:
    for n in (1, 40, 0):
        agrees(uniform_branch(), {"M": 5, "N": n, "K": 0})


@needs_model
def test_scatter_and_negative_division() -> None:
    """Y[(c * 7) mod N] = floor((c - 5) / 3): a computed place, and floor division of a negative number."""
    c = Lane("c", 32, N)
    value = op("floordiv", add(c.var, index(-5)), index(3))
    body = (Store("Y", op("mod", mul(c.var, index(7)), N), (c,), value),)
    program = TileProgram("k", (), (Tensor("Y", I64, (N,)),), (), (), body)
    emulated = Emulated(module(program))
    got = emulated.run({}, {"M": 0, "N": 11, "K": 0})["Y"]
    expected = np.zeros(11, np.int64)
    expected[np.arange(11) * 7 % 11] = (np.arange(11) - 5) // 3
    np.testing.assert_array_equal(got, expected)
