"""Maps, reductions and products of tile programs in the `dma` model."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import Assign, Block, Declare, Loop, Put, Stmt, Vector, View
from kernelcat_core.codegen.dma_context import Context
from kernelcat_core.codegen.dma_value import Value
from kernelcat_core.dtypes import BF16, F16, F32, U8, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Expr,
    Load,
    Op,
    Var,
    add,
    cast,
    index,
    loads,
    mul,
    op,
    substitute,
    walk,
)
from kernelcat_core.ir.tile import Map, Mma, Reduce

# Combining operation -> the reduction of a whole tile by it.
_FOLDS = {"add": "sum", "max": "max", "min": "min"}


def lower_map(ctx: Context, s: Map) -> list[Stmt]:
    """tiles = values, element by element; nothing where the tile shares its source's buffer."""
    if s.tiles[0] in ctx.aliases:
        return []

    def emit(lane: str, start: Expr, count: Expr, row: Expr | None) -> list[Stmt]:
        code = ctx.code(lane, start, count, row)
        roots = [code.prepare(v) for v in s.values]
        late: list[tuple[Value, DType, View]] = []
        copies: list[str] = []
        for k, (tile, root) in enumerate(zip(s.tiles, roots, strict=True)):
            target = ctx.view(tile, row, start)
            if not any(n.tensor == tile for later in s.values[k + 1 :] for n in loads(later)):
                code.assign(root, target)
                continue
            value = code.value(root)
            if (
                value.view is not None and not value.temp
            ):  # another tile, which may be written before this is stored
                kept = ctx.temps.take(value.view.dtype)
                copies.append(kept)
                code.move(View(kept, value.view.dtype, ZERO), value.view)
                value = Value(View(kept, value.view.dtype, ZERO))
            late.append((value, root.dtype, target))
        for value, dtype, target in late:
            code.store(value, dtype, target)
        for name in copies:
            ctx.temps.give(name)
        return code.close()

    return ctx.over(s.lanes, emit)


def lower_scalar_map(ctx: Context, s: Map) -> list[Stmt]:
    code = ctx.code(None, ZERO, ONE)
    values = [code.scalar(code.prepare(v)) for v in s.values]
    if len(values) == 1:
        return [*code.close(), Assign(s.tiles[0], values[0])]
    held = [Var(ctx.fresh("v"), v.dtype) for v in values]
    return [
        *code.close(),
        Block(
            (
                *(Declare(h.name, h.dtype, v) for h, v in zip(held, values, strict=True)),
                *(Assign(t, h) for t, h in zip(s.tiles, held, strict=True)),
            )
        ),
    ]


def lower_reduce(ctx: Context, s: Reduce) -> list[Stmt]:
    """Rank-1: into scalar variables. Rank-2: each row into scalar variables, then into the rank-1 tiles."""
    if len(s.lanes) == 1:
        states = [Var(t, d) for t, d in zip(s.tiles, s.monoid.state, strict=True)]
        return [
            *(Assign(v.name, i) for v, i in zip(states, s.monoid.identity, strict=True)),
            *ctx.over(
                s.lanes, lambda lane, start, count, row: _fold(ctx, s, states, lane, start, count, row)
            ),
        ]
    states = [Var(ctx.fresh("r"), d) for d in s.monoid.state]
    inner: list[Stmt] = [
        Declare(v.name, v.dtype, i, False) for v, i in zip(states, s.monoid.identity, strict=True)
    ]
    row = s.lanes[0].var
    inner += ctx.over(
        (s.lanes[1],), lambda lane, start, count, _: _fold(ctx, s, states, lane, start, count, row)
    )
    inner += [Put(ctx.view(t, None, row), v) for t, v in zip(s.tiles, states, strict=True)]
    return [Loop(row.name, ZERO, s.lanes[0].extent, ONE, tuple(inner))]


def _fold(
    ctx: Context, s: Reduce, states: list[Var], lane: str, start: Expr, count: Expr, row: Expr | None
) -> list[Stmt]:
    """states = combine(states, elements of this chunk)."""
    code = ctx.code(lane, start, count, row)
    roots = [code.prepare(e) for e in s.elements]
    combine = s.monoid.combine[0]
    name = _FOLDS.get(combine.name) if isinstance(combine, Op) and len(states) == 1 else None
    if name is not None and ctx.table.find("reduce", name, states[0].dtype.name) and code.varies(roots[0]):
        source = code.value(roots[0]).view
        assert source is not None
        ctx.temps.reduces = True
        total = View("result", states[0].dtype, ZERO)
        code.out.append(
            Vector(f"reduce_{name}", total, (source,), (), count, work=View("work", states[0].dtype, ZERO))
        )
        part: Expr = Load("result", (ZERO,), states[0].dtype)
        return [*code.close(), Assign(states[0].name, substitute(combine, {"a0": states[0], "b0": part}))]
    at = Var(ctx.fresh("e"))
    items = [code.element(r, at) for r in roots]
    lanes = [Var(ctx.fresh("v"), i.dtype) for i in items]
    names: dict[str, Expr] = {}
    for k, (a, b) in enumerate(zip(states, lanes, strict=True)):
        names |= {f"a{k}": a, f"b{k}": b}
    merged = [substitute(c, names) for c in s.monoid.combine]
    for e in merged:
        for n in walk(e):
            if isinstance(n, Op) and n.args[0].dtype.is_float and n.name not in ctx.table.scalar_ops:
                raise KernelcatError(
                    "KC-R001", f"the fold {s.monoid.name} needs {n.name}, which the scalar unit lacks"
                )
    held = [Var(ctx.fresh("v"), v.dtype) for v in states]
    body: tuple[Stmt, ...] = (
        *(Declare(v.name, v.dtype, i) for v, i in zip(lanes, items, strict=True)),
        *(Declare(h.name, h.dtype, m) for h, m in zip(held, merged, strict=True)),
        *(Assign(v.name, h) for v, h in zip(states, held, strict=True)),
    )
    return [*code.close(), Loop(at.name, ZERO, count, ONE, body)]


def lower_mma(ctx: Context, s: Mma) -> list[Stmt]:
    """By the core's matrix instruction where it has one for these tiles; else row by row of the result:
    c[m, :] += a[m, k] * b[k, :], in f32; other dtypes on the scalar unit."""
    a, b, c = (ctx.program.tile[t] for t in (s.a, s.b, s.c))
    narrow = (F32, F16, BF16)
    m, k = s.m.var, s.k.var
    if _has_matrix_form(ctx, s):
        return ctx.guarded((s.m, s.k, s.n), [_product(ctx, s)])

    def factor(dtype: DType) -> Expr:
        return cast(Load(s.a, (add(mul(m, index(ctx.rooms[s.a].pitch)), k),), a.dtype), dtype)

    def vector(lane: str, start: Expr, count: Expr, _: Expr | None) -> list[Stmt]:
        source = ctx.view(s.b, k, start)
        before: list[Stmt] = []
        temp = ""
        if b.dtype != F32:
            temp = ctx.temps.take(F32)
            source = View(temp, F32, ZERO)
            before = [Vector("cast", source, (ctx.view(s.b, k, start),), (), count)]
        target = ctx.view(s.c, m, start)
        if ctx.table.find("fused", "axpy", "f32"):
            row: tuple[Stmt, ...] = (Vector("axpy", target, (source,), (factor(F32),), count),)
        else:
            held = ctx.temps.take(F32)
            part = View(held, F32, ZERO)
            row = (Vector("mul", part, (source,), (factor(F32),), count), Vector("add", target, (target, part), (), count))
            ctx.temps.give(held)
        if temp:
            ctx.temps.give(temp)
        rows = Loop(m.name, ZERO, s.m.extent, ONE, row, independent=True)
        return [Loop(k.name, ZERO, s.k.extent, ONE, (*before, rows))]

    def scalar(lane: str, start: Expr, count: Expr, _: Expr | None) -> list[Stmt]:
        at = add(start, Var(lane))
        cell = add(mul(m, index(ctx.rooms[s.c].pitch)), at)
        right = cast(Load(s.b, (add(mul(k, index(ctx.rooms[s.b].pitch)), at),), b.dtype), c.dtype)
        total = op("add", Load(s.c, (cell,), c.dtype), op("mul", factor(c.dtype), right))
        put = Put(View(ctx.rooms[s.c].buffer, c.dtype, cell), total)
        return [
            Loop(
                m.name,
                ZERO,
                s.m.extent,
                ONE,
                (Loop(k.name, ZERO, s.k.extent, ONE, (Loop(lane, ZERO, count, ONE, (put,)),)),),
            )
        ]

    emit = vector if c.dtype == F32 and a.dtype in narrow and b.dtype in narrow else scalar
    return ctx.guarded((s.m, s.k), ctx.over((s.n,), emit))


def _has_matrix_form(ctx: Context, s: Mma) -> bool:
    """Whether one instruction multiplies whole tiles: its rows have no gaps, depth and width are multiples of its units."""
    a, b, c = (ctx.program.tile[t] for t in (s.a, s.b, s.c))
    row = ctx.table.find("matrix", "mma", a.dtype.name)
    if row is None or a.dtype != b.dtype or c.dtype != F32 or any(t in ctx.aliases for t in (s.a, s.b, s.c)):
        return False
    whole = all(ctx.rooms[t.name].pitch == t.shape[1] for t in (a, b, c))
    return whole and a.shape[1] == b.shape[0] and b.shape[1] == c.shape[1] and b.shape[1] % ctx.table.matrix_columns == 0


def _product(ctx: Context, s: Mma) -> Vector:
    """c += a b; the work space holds the second factor turned twice, and a partial result."""
    a, b, c = (ctx.program.tile[t] for t in (s.a, s.b, s.c))
    depth, width = b.shape
    ctx.temps.product = max(ctx.temps.product, 2 * depth * width * b.dtype.itemsize + a.shape[0] * width * 4)
    views = [ctx.view(t.name, None, ZERO) for t in (c, a, b)]
    scalars = (s.m.extent, s.k.extent, s.n.extent, index(depth), index(width))
    return Vector("mma", views[0], (views[1], views[2]), scalars, None, work=View("product", U8, ZERO))
