"""Values of expressions over one lane axis, and expressions prepared so that what they share is computed once."""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.codegen.dma_ast import View
from kernelcat_core.codegen.dma_expand import expand
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.dtypes import F32, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import ZERO, Expr, Load, Op, Var, add, index, op


@dataclass(frozen=True)
class Value:
    """`uniform`: a scalar expression; else `view`, the buffer that holds the elements, or their bits when `mask`."""

    view: View | None = None
    uniform: Expr | None = None
    mask: bool = False
    temp: str = ""


@dataclass(frozen=True)
class Place:
    """Where a tile's current row lies: its element 0 is element `base` of `buffer`."""

    buffer: str
    dtype: DType
    base: Expr = ZERO


def padded(count: Expr, lanes: int) -> Expr:
    """`count` rounded up to a multiple of `lanes`, a power of two."""
    return op("mul", op("floordiv", add(count, index(lanes - 1)), index(lanes)), index(lanes))


def retyped(v: View, dtype: DType) -> View:
    """The same elements read as another dtype of the same size."""
    return View(v.buffer, dtype, v.offset)


def shifted(v: View, at: Expr) -> View:
    """The view from element `at` on."""
    return View(v.buffer, v.dtype, add(v.offset, at))


def unsupported(e: Op) -> KernelcatError:
    """What to raise for an operation that neither unit can do."""
    return KernelcatError(
        "KC-R001",
        f"this core has neither an instruction nor a scalar form of {e.name} on {e.args[0].dtype}",
        hint="cast the operands to f32",
    )


class Prepared:
    """Expressions with equal subtrees made one object; `uses` counts who still needs each."""

    def __init__(self, lane: str | None, table: Table) -> None:
        self.lane, self._table = lane, table
        self.uses: dict[int, int] = {}
        self._canonical: dict[tuple[object, ...], Expr] = {}
        self._by_id: dict[int, Expr] = {}
        self._keep: list[Expr] = []
        self._varies: dict[int, bool] = {}

    def prepare(self, e: Expr) -> Expr:
        """`e` expanded, equal subtrees made one object, its uses counted. Call it for all roots before `value`."""
        root = self.intern(expand(e, F32, self._table))
        self.count_uses(root)
        return root

    def intern(self, e: Expr) -> Expr:
        known = self._by_id.get(id(e))
        if known is not None:
            return known
        if isinstance(e, Op):
            args = tuple(self.intern(a) for a in e.args)
            key: tuple[object, ...] = (e.name, e.dtype, *(id(a) for a in args))
            made: Expr = Op(e.name, args, e.dtype)
        else:
            key, made = (type(e), e), e
        found = self._canonical.setdefault(key, made)
        self._by_id[id(e)] = found
        self._keep.append(e)  # an id stays taken while its object lives
        return found

    def count_uses(self, e: Expr) -> None:
        seen = self.uses.get(id(e), 0)
        self.uses[id(e)] = seen + 1
        if seen == 0 and isinstance(e, Op):
            for a in e.args:
                self.count_uses(a)

    def varies(self, e: Expr) -> bool:
        """Whether `e` differs between elements."""
        known = self._varies.get(id(e))
        if known is None:
            if isinstance(e, Var):
                known = e.name == self.lane
            elif isinstance(e, Load):
                known = bool(e.index) and self.lane is not None
            else:
                known = isinstance(e, Op) and any(self.varies(a) for a in e.args)
            self._varies[id(e)] = known
        return known
