"""Operands of Mma that lie in memory across their panels, moved into them by blocks.

A panel wants its k values outermost. Where neighbours in memory differ in k (a weight of shape [n, k]), a block of vectors is
transposed in registers (Eklundh 1972: log2 steps that swap the off-diagonal halves). Where rows of `a` lie side by side, whole
panels are copied for one k after the other. Element by element, either would touch a cache line for each element.
"""

from __future__ import annotations

from kernelcat_core.codegen.cstyle import C, Speller, cast_template
from kernelcat_core.codegen.vcontext import Context, vector_class
from kernelcat_core.codegen.vmma import Panel
from kernelcat_core.codegen.vplan import Group
from kernelcat_core.codegen.vspell import VectorSpeller
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import ONE, Expr, Load, Size, Var, coefficient, variables
from kernelcat_core.ir.tile import Copy


def turned(ctx: Context, group: Group) -> list[str] | None:
    """C statements for a group that only copies an operand against the order of its panels; None for other groups."""
    if len(group.lanes) != 2 or len(group.body) != 1:
        return None
    s, names = group.body[0], [lane.name for lane in group.lanes]
    if not isinstance(s, Copy) or s.where is not None or s.tile not in ctx.panels:
        return None
    forms = [coefficient(s.offset, n) for n in names]
    if any(f is None or set(names) & variables(f[0]) for f in forms):
        return None
    outer, inner = (f[0] for f in forms if f is not None)
    if outer != ONE or inner == ONE:
        return None
    panel = ctx.panels[s.tile]
    return _transposed(ctx, group, s, panel) if panel.k_first else _side_by_side(ctx, group, s, panel)


def _offset(ctx: Context, group: Group, e: Expr, outer: str, inner: str) -> str:
    """The C text of an offset at given texts of both lanes."""
    places = {group.lanes[0].name: outer, group.lanes[1].name: inner}

    def leaf(n: Load | Var | Size) -> str:
        return places[n.name] if isinstance(n, Var) and n.name in places else ctx.leaf(n)

    return Speller(C, leaf).text(e, 12)


def _converted(text: str, source: DType, to: DType) -> str:
    return text if source == to else cast_template(source, to).replace("{0}", text)


def _bounds(ctx: Context, group: Group) -> tuple[str, str, str, str]:
    """C names of both lanes and texts of their extents."""
    (a, b) = (ctx.names.get("var", lane.name) for lane in group.lanes)
    (n, m) = (ctx.scalar.text(lane.extent, 11) for lane in group.lanes)
    return a, b, n, m


def _transposed(ctx: Context, group: Group, s: Copy, panel: Panel) -> list[str]:
    vc = vector_class(ctx, group.body, group.lanes[-1].name)
    dtype = ctx.tile(s.tile).dtype
    tensor, tile = ctx.names.get("tensor", s.tensor), ctx.names.get("tile", s.tile)
    z, x, nz, nx = _bounds(ctx, group)
    speller = VectorSpeller(vc, group.lanes[1].name, x, lambda _: "", ctx.scalar)
    loaded = f"{vc.prefix}_load_{dtype}({tensor} + {_offset(ctx, group, s.offset, z, f'({x} + l)')})"
    row = speller.converted(loaded, dtype, panel.dtype)
    one = _converted(f"{tensor}[{_offset(ctx, group, s.offset, z, x)}]", dtype, panel.dtype)
    element = f"{tile}[{panel.place(z, x)}] = {one};"
    return [f"for (int64_t {x} = 0; {x} < {nx}; {x} += {vc.lanes}) {{",
            f"  const int64_t some = {nx} - {x} < {vc.lanes} ? {nx} - {x} : {vc.lanes};",
            f"  int64_t {z} = 0;",
            f"  if (some == {vc.lanes})",
            f"    for (; {z} + {vc.lanes} <= {nz}; {z} += {vc.lanes}) {{",
            f"      {vc.type(panel.dtype)} square[{vc.lanes}];",
            f"      for (int l = 0; l < {vc.lanes}; l++) square[l] = {row};",
            f"      {vc.prefix}_turn_{panel.dtype}(square);",
            f"      for (int l = 0; l < {vc.lanes}; l++) {vc.prefix}_store_{panel.dtype}({tile} + "
            f"{panel.place(f'({z} + l)', x)}, square[l]);",
            "    }",
            f"  for (int64_t first = {x}; {z} < {nz}; {z}++)",
            f"    for (int64_t {x} = first; {x} < first + some; {x}++) {element}",
            "}"]


def _side_by_side(ctx: Context, group: Group, s: Copy, panel: Panel) -> list[str]:
    dtype = ctx.tile(s.tile).dtype
    tensor, tile = ctx.names.get("tensor", s.tensor), ctx.names.get("tile", s.tile)
    y, z, ny, nz = _bounds(ctx, group)
    first = f"{tensor} + {_offset(ctx, group, s.offset, y, z)}"
    head = f"for (int64_t {y} = 0; {y} < {ny}; {y} += {panel.rows})"
    to = f"{tile} + {y} * {panel.depth} + {z} * {panel.rows}"
    return [head, f"  for (int64_t {z} = 0; {z} < {nz}; {z}++) {{",
            f"    const {C.type(dtype)} *from = {first};",
            f"    {C.type(panel.dtype)} *to = {to};",
            f"    if ({ny} - {y} >= {panel.rows})",
            f"      for (int l = 0; l < {panel.rows}; l++) to[l] = {_converted('from[l]', dtype, panel.dtype)};",
            "    else",
            f"      for (int l = 0; l < {ny} - {y}; l++) to[l] = {_converted('from[l]', dtype, panel.dtype)};",
            "  }"]
