"""Products whose left operand is read where it lies in memory, without packing.

An operand that lies with a constant step between rows or between k values is packed only where enough columns use it. Below
that the micro-kernel takes its elements from memory, one broadcast each.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.codegen.vtypes import STORAGE
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import ONE, ZERO, Expr, coefficient, substitute, variables
from kernelcat_core.ir.tile import Copy, Mma
from kernelcat_core.schedule.panels import MR, columns

FEW_COLUMNS = 128  # up to here an element of `a` is used too seldom to be copied first
TAIL = 8  # rows of the block that computes what is left below whole panels

# Rows of a block whose accumulators, two vectors each, stay in registers.
ROWS = f"""#if KC_BYTES == 64
#define KC_ROWS {MR} /* 2 * {MR} accumulators of 32 registers */
#else
#define KC_ROWS {MR // 2 - 2} /* 2 * {MR // 2 - 2} accumulators of 16 registers */
#endif"""


@dataclass(frozen=True)
class Lying:
    """Where the first element is, and how it goes on: `form` "rows" has neighbouring k side by side and `step` elements
    between rows, "columns" has neighbouring rows side by side and `step` elements between k values."""

    tensor: str
    first: Expr
    form: str
    step: Expr


def lying(s: Copy, product: Mma, dtype: DType) -> Lying | None:
    """How `product` (of `dtype`) can read its copied `a` where it lies; None where that has to be packed."""
    if s.where is not None or len(s.lanes) != 2 or product.n.capacity > FEW_COLUMNS:
        return None
    m, k = s.lanes
    row, depth = coefficient(s.offset, m.name), coefficient(s.offset, k.name)
    if row is None or depth is None or {m.name, k.name} & (variables(row[0]) | variables(depth[0])):
        return None
    first = substitute(s.offset, {m.name: ZERO, k.name: ZERO})
    if depth[0] == ONE:
        return Lying(s.tensor, first, "rows", row[0])
    return Lying(s.tensor, first, "columns", depth[0]) if row[0] == ONE else None


def lying_kernel(dtype: DType, form: str) -> str:
    """kc_mma_<form>_<dtype> for a Lying `a`: c[MR, NR] (+)= sum over k of a[MR, k] * b[k, NR], rows of b `next` elements apart.

    kc_tail_<form>_<dtype> computes the last `rows` rows of a block; it reads no row of `a` past them.
    """
    t = STORAGE[dtype.name]
    along = "step" if form == "rows" else "1"
    head = f"int64_t depth, const {t} *a, int64_t step, const {t} *b, int64_t next, {t} *c, int64_t pitch, bool fresh"
    at = f"at[(row + i < {MR} ? i : 0) * {along} + {_depth(form)}]"
    return f"""static __attribute__((noinline)) void kc_mma_{form}_{dtype}({head}) {{
  for (int column = 0; column < {columns(dtype)}; column += 2 * L{dtype.itemsize})
    for (int row = 0; row < {MR}; row += KC_ROWS) {{
      const {t} *at = a + row * {along};
{_block(dtype, "KC_ROWS", at, str(MR))}
    }}
}}
static __attribute__((noinline)) void kc_tail_{form}_{dtype}(int64_t rows, {head}) {{
  for (int column = 0; column < {columns(dtype)}; column += 2 * L{dtype.itemsize})
    for (int row = 0; row < rows; row += {TAIL}) {{
      int64_t from[{TAIL}];
      for (int i = 0; i < {TAIL}; i++) from[i] = (row + i < rows ? row + i : rows - 1) * {along};
{_block(dtype, str(TAIL), f"a[from[i] + {_depth(form)}]", "rows")}
    }}
}}"""


def _depth(form: str) -> str:
    return "k" if form == "rows" else "k * step"


def _block(dtype: DType, rows: str, element: str, limit: str) -> str:
    """`rows` accumulators of two vectors over the whole depth; `element` is the C text of a[i, k]."""
    w, t = dtype.itemsize, STORAGE[dtype.name]
    v, load, store = f"v{w}{dtype}", f"kc{w}_load_{dtype}", f"kc{w}_store_{dtype}"
    return f"""      {t} *ct = c + row * pitch + column;
      const {t} *bt = b + column;
      {v} s[{rows}][2];
#pragma GCC unroll {MR}
      for (int i = 0; i < {rows}; i++) {{
        s[i][0] = s[i][1] = ({v}){{0}};
        if (!fresh && row + i < {limit}) {{
          s[i][0] = {load}(ct + i * pitch);
          s[i][1] = {load}(ct + i * pitch + L{w});
        }}
      }}
      for (int64_t k = 0; k < depth; k++, bt += next) {{
        const {v} b0 = {load}(bt), b1 = {load}(bt + L{w});
#pragma GCC unroll {MR}
        for (int i = 0; i < {rows}; i++) {{
          const {t} x = {element};
          s[i][0] += b0 * x;
          s[i][1] += b1 * x;
        }}
      }}
#pragma GCC unroll {MR}
      for (int i = 0; i < {rows}; i++)
        if (row + i < {limit}) {{
          {store}(ct + i * pitch, s[i][0]);
          {store}(ct + i * pitch + L{w}, s[i][1]);
        }}"""
