"""Mma in the vector model: panels, and the micro-kernel that keeps a block of the result in vector registers.

A panel holds MR rows of `a` (or NR columns of `b`) with k outermost: what the micro-kernel reads front to back. An operand
that a program has already laid out in panels (a workspace written by a pack program) is read where it lies; others are
copied into panels by the cell. Where few columns use an `a` that lies in memory with a constant step between rows or
between k values, packing would not pay, and the micro-kernel reads it as it lies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelcat_core.codegen.vlying import Lying, lying
from kernelcat_core.codegen.vtypes import STORAGE
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import ONE, ZERO, Expr, Op, Var, coefficient, index, substitute, transform, variables
from kernelcat_core.ir.tile import Copy, For, If, Mma, Stmt, TileProgram, statements
from kernelcat_core.schedule.panels import MR, columns


@dataclass(frozen=True)
class Panel:
    """The layout of an operand tile in memory: panels of `rows` (MR or NR), `depth` k values each, of `dtype`."""

    rows: int
    depth: int
    dtype: DType
    k_first: bool  # lanes are (k, n), as for b, and not (m, k)

    def place(self, outer: str, inner: str) -> str:
        """The C index of the element at the two lanes of the tile."""
        k, r = (outer, inner) if self.k_first else (inner, outer)
        return f"({r}) / {self.rows} * {self.rows * self.depth} + ({k}) * {self.rows} + ({r}) % {self.rows}"


@dataclass(frozen=True)
class Direct:
    """An operand read from a tensor that holds panels: the first element's offset and the step between panels."""

    tensor: str
    first: Expr
    step: Expr


def panels(program: TileProgram) -> dict[str, Panel]:
    """Layouts of the operand tiles of a program's Mma statements; results used as operands stay as they are."""
    found: dict[str, Panel] = {}
    products = {s.c for s in statements(program.body) if isinstance(s, Mma)}
    for s in statements(program.body):
        if isinstance(s, Mma):
            dtype = program.tile[s.c].dtype
            found[s.a] = Panel(MR, program.tile[s.a].shape[1], dtype, False)
            if s.b not in products:
                found[s.b] = Panel(columns(dtype), program.tile[s.b].shape[0], dtype, True)
    return found


def direct(s: Copy, panel: Panel, dtype: DType) -> Direct | None:
    """How to read a copied operand in place: its offset must be panel * step + k * rows + row % rows."""
    if s.where is not None or dtype != panel.dtype or len(s.lanes) != 2:
        return None
    k, r = (s.lanes[0].name, s.lanes[1].name) if panel.k_first else (s.lanes[1].name, s.lanes[0].name)
    rows = index(panel.rows)

    def split(e: Expr) -> Expr | None:
        if isinstance(e, Op) and e.args and e.args[0] == Var(r) and e.args[-1] == rows:
            return {"floordiv": Var("panel of " + r), "mod": Var("row of " + r)}.get(e.name)
        return None

    offset = transform(s.offset, split)
    if r in variables(offset):
        return None
    inner = coefficient(offset, "row of " + r)
    along = coefficient(offset, k)
    across = coefficient(offset, "panel of " + r)
    if inner is None or along is None or across is None or inner[0] != ONE or along[0] != rows:
        return None
    names = {k: ZERO, "row of " + r: ZERO, "panel of " + r: ZERO}
    if variables(across[0]) & set(names):
        return None
    return Direct(s.tensor, substitute(offset, names), across[0])


def without_direct(program: TileProgram, layouts: dict[str, Panel]) -> tuple[TileProgram, dict[str, Direct | Lying]]:
    """The program without the copies of operands that can be read in place, and how to read those."""
    written: dict[str, list[Copy]] = {}
    for s in statements(program.body):
        if isinstance(s, Copy) and s.tile in layouts:
            written.setdefault(s.tile, []).append(s)
    dtypes = {t.name: t.dtype for t in program.reads}
    uses: dict[str, list[Mma]] = {}
    for s in statements(program.body):
        if isinstance(s, Mma):
            uses.setdefault(s.a, []).append(s)
    known: dict[str, Direct | Lying] = {}
    for t, copies in written.items():
        if len(copies) != 1:
            continue
        dtype = dtypes[copies[0].tensor]
        found: Direct | Lying | None = direct(copies[0], layouts[t], dtype)
        if found is None and len(uses.get(t, ())) == 1:
            found = lying(copies[0], uses[t][0], dtype) if dtype == layouts[t].dtype else None
        if found is not None:
            known[t] = found

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        kept = (s for s in body if not (isinstance(s, Copy) and s.tile in known))
        return tuple(replace(s, body=block(s.body)) if isinstance(s, For | If) else s for s in kept)

    return replace(program, body=block(program.body)), known


def micro_kernel(dtype: DType) -> str:
    """kc_mma_<dtype>: c[MR, NR] (+)= sum over k of a[k, MR] * b[k, NR]; `fresh` ignores what c holds."""
    w = dtype.itemsize
    t, v = f"{STORAGE[dtype.name]}", f"v{w}{dtype}"
    nr = columns(dtype)
    load, store = f"kc{w}_load_{dtype}", f"kc{w}_store_{dtype}"
    return f"""static __attribute__((noinline)) void kc_mma_{dtype}(int64_t depth, const {t} *a, const {t} *b, {t} *c, int64_t pitch, bool fresh) {{
  for (int column = 0; column < {nr}; column += 2 * L{w})
    for (int row = 0; row < {MR}; row += KC_ROWS) {{
      const {t} *at = a + row, *bt = b + column;
      {t} *ct = c + row * pitch + column;
      {v} s[KC_ROWS][2];
#pragma GCC unroll {MR}
      for (int i = 0; i < KC_ROWS; i++) {{
        s[i][0] = s[i][1] = ({v}){{0}};
        if (!fresh && row + i < {MR}) {{
          s[i][0] = {load}(ct + i * pitch);
          s[i][1] = {load}(ct + i * pitch + L{w});
        }}
      }}
      for (int64_t k = 0; k < depth; k++, at += {MR}, bt += {nr}) {{
        const {v} b0 = {load}(bt), b1 = {load}(bt + L{w});
#pragma GCC unroll {MR}
        for (int i = 0; i < KC_ROWS; i++) {{
          s[i][0] += b0 * at[row + i < {MR} ? i : 0];
          s[i][1] += b1 * at[row + i < {MR} ? i : 0];
        }}
      }}
#pragma GCC unroll {MR}
      for (int i = 0; i < KC_ROWS; i++)
        if (row + i < {MR}) {{
          {store}(ct + i * pitch, s[i][0]);
          {store}(ct + i * pitch + L{w}, s[i][1]);
        }}
    }}
}}"""
