"""Elementwise expressions as whole-tile vector instructions: three-address code over temporaries.

An expression over one lane axis becomes a `Value`: uniform (the scalar unit has it), a vector (a view of a buffer) or a
mask. What the vector unit cannot do goes through the scalar unit, element by element, into a temporary. What masks are
differs between cores: see dma_bits and dma_numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from kernelcat_core.codegen.dma_ast import Declare, Loop, Put, Stmt, Vector, View
from kernelcat_core.codegen.dma_legal import cast_path, scalar_legal, vector_legal
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.codegen.dma_temps import Temps
from kernelcat_core.codegen.dma_value import Place, Prepared, Value, retyped, shifted, unsupported
from kernelcat_core.dtypes import BOOL, F32, I16, I32, I64, U8, DType
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr, Load, Op, Var, add, cast, index, op

_PLAIN = {1: U8, 2: I16, 4: I32, 8: I64}  # what elements of a size are moved as
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


class VectorCode(Prepared, ABC):
    """Emits the instructions of one statement on elements start .. start + count - 1 of lane `lane`.

    `lane` is None for rank-0 statements. `fresh` names variables; statements go to `out`.
    """

    def __init__(
        self,
        table: Table,
        temps: Temps,
        places: Mapping[str, Place],
        lane: str | None,
        start: Expr,
        count: Expr,
        fresh: Callable[[str], str],
    ) -> None:
        super().__init__(lane, table)
        self.table, self.temps, self.places = table, temps, places
        self.start, self.count, self.fresh = start, count, fresh
        self.out: list[Stmt] = []
        self._memo: dict[int, Value] = {}
        self._scalars: dict[int, Expr] = {}
        self._held: list[Expr] = []

    # ---- entry points

    def value(self, e: Expr, into: View | None = None) -> Value:
        """The value of a prepared expression; `into` is where it should be left if it must be computed anyway."""
        found = self._memo.get(id(e))
        if found is None:
            found = self._make(e, into if self.uses.get(id(e), 1) <= 1 else None)
            self._memo[id(e)] = found
        return found

    def done(self, e: Expr) -> None:
        """One use of `e` is over; after the last its temporary is free."""
        self.uses[id(e)] = self.uses.get(id(e), 1) - 1
        if self.uses[id(e)] <= 0:
            found = self._memo.pop(id(e), None)
            if found is not None and found.temp:
                self.temps.give(found.temp)

    def close(self) -> list[Stmt]:
        """Free what is left and give the statements."""
        for v in self._memo.values():
            if v.temp:
                self.temps.give(v.temp)
        self._memo.clear()
        return self.out

    def assign(self, e: Expr, target: View) -> None:
        """target = e for the elements of this statement."""
        self.store(self.value(e, target), e.dtype, target)
        self.done(e)

    def store(self, v: Value, dtype: DType, target: View) -> None:
        """Leave `v` in `target`."""
        if v.uniform is not None:
            self.fill(target, v.uniform)
        elif v.mask:
            self._mask_to_bytes(v, target)
        elif v.view != target:
            assert v.view is not None
            self.move(target, v.view)

    def fill(self, target: View, value: Expr) -> None:
        """Every element of target = a uniform value."""
        if target.dtype.name in self.table.fills:
            self._emit("fill", target, scalars=(value,))
        else:
            self._loop(lambda at: [Put(shifted(target, at), value)])

    def move(self, target: View, source: View) -> None:
        """Copy elements between buffers of one dtype."""
        dtype = target.dtype
        if dtype.itemsize in self.table.moves:
            plain = _PLAIN.get(dtype.itemsize, dtype) if dtype.name not in ("f32", "f16") else dtype
            self._emit("move", retyped(target, plain), (retyped(source, plain),))
        elif dtype.itemsize == 8:
            pairs = op("mul", self.count, index(2))
            halves = [View(v.buffer, I32, op("mul", v.offset, index(2))) for v in (target, source)]
            self.out.append(Vector("move", halves[0], (halves[1],), count=pairs))
        else:
            self._loop(
                lambda at: [Put(shifted(target, at), Load(source.buffer, (add(source.offset, at),), dtype))]
            )

    # ---- scalar unit

    def scalar(self, e: Expr) -> Expr:
        """A uniform expression as the scalar unit can compute it; roots, exponentials.. go through one vector lane."""
        if not isinstance(e, Op):
            return e
        known = self._scalars.get(id(e))
        if known is None:
            known = self._scalars[id(e)] = self._scalar(e)
        return known

    def _scalar(self, e: Op) -> Expr:
        args = tuple(self.scalar(a) for a in e.args)
        if scalar_legal(self.table, e):
            return Op(e.name, args, e.dtype)
        row = self.table.any(e.name, e.dtype.name)
        if row is None:
            raise unsupported(e)
        views, names = [], [self.temps.take(e.dtype) for _ in args]
        target = self.temps.take(e.dtype)
        for a, name in zip(args, names, strict=True):
            views.append(View(name, e.dtype, ZERO))
            self.out.append(Vector("fill", views[-1], scalars=(a,), count=ONE))
        self._instruction(e.name, row.kind, View(target, e.dtype, ZERO), tuple(views), ONE)
        variable = self.fresh("u")
        self.out.append(Declare(variable, e.dtype, Load(target, (ZERO,), e.dtype)))
        for name in (*names, target):
            self.temps.give(name)
        return Var(variable, e.dtype)

    def element(self, e: Expr, at: Expr) -> Expr:
        """A lane-varying prepared expression for element `at` of this statement, for the scalar unit.

        Parts that only the vector unit can do are computed into temporaries first; `close` frees them."""
        if not self.varies(e):
            return self.scalar(e)
        if isinstance(e, Var):
            return add(self.start, at)
        if isinstance(e, Load):
            place = self.places[e.tensor]
            return Load(place.buffer, (add(add(place.base, self.start), at),), e.dtype)
        assert isinstance(e, Op)
        if scalar_legal(self.table, e):
            return (
                op(e.name, *(self.element(a, at) for a in e.args))
                if e.name != "cast"
                else cast(self.element(e.args[0], at), e.dtype)
            )
        if not vector_legal(self.table, e):
            raise unsupported(e)
        found = self.value(e)
        assert found.view is not None
        assert not found.mask
        if found.temp:
            self._held.append(e)
        return Load(found.view.buffer, (add(found.view.offset, at),), e.dtype)

    # ---- vector unit

    def _make(self, e: Expr, into: View | None) -> Value:
        if not self.varies(e):
            return Value(uniform=self.scalar(e))
        if isinstance(e, Load):
            place = self.places[e.tensor]
            view = View(place.buffer, place.dtype, add(place.base, self.start))
            return self._bytes_to_mask(view) if e.dtype == BOOL else Value(view)
        if isinstance(e, Op) and vector_legal(self.table, e):
            return self._operation(e, into)
        return self._by_elements(e, into)

    def _by_elements(self, e: Expr, into: View | None) -> Value:
        """The scalar unit computes `e` into a buffer; bools become a mask afterwards."""
        outer, self._held = self._held, []
        stored = F32 if e.dtype == BOOL else e.dtype
        target, temp = self._target(stored, None if e.dtype == BOOL else into)
        at = Var(self.fresh("e"))
        value = self.element(e, at)
        if e.dtype == BOOL:
            value = op("where", value, Const(1.0, F32), Const(0.0, F32))
        self.out.append(Loop(at.name, ZERO, self.count, ONE, (Put(shifted(target, at), value),)))
        for held in self._held:
            self.done(held)
        self._held = outer
        if e.dtype != BOOL:
            return Value(target, temp=temp)
        return self._nonzero(target, temp)

    def _operation(self, e: Op, into: View | None) -> Value:
        name, args = e.name, e.args
        if name in ("and", "or", "xor", "not") or (name in ("eq", "ne") and args[0].dtype == BOOL):
            return self._logic(e)
        if name == "where":
            return self._where(e, into)
        if name == "cast":
            return self._cast(e, into)
        if name in COMPARISONS:
            return self._compare(e)
        if name == "neg":
            minus = Const(-1.0 if e.dtype.is_float else -1, e.dtype)
            return self._unary(e, lambda t, a: self._emit("mul", t, (a,), (minus,)), into)
        if len(args) == 2:
            return self._binary(e, into)
        row = self.table.any(name, args[0].dtype.name)
        assert row is not None
        safe = None if row.apart else into
        return self._unary(e, lambda t, a: self._instruction(name, row.kind, t, (a,), self.count), safe)

    def _unary(self, e: Op, emit: Callable[[View, View], None], into: View | None) -> Value:
        source = self._vector(e.args[0])
        target, temp = self._target(e.dtype, into)
        emit(target, source)
        self.done(e.args[0])
        return Value(target, temp=temp)

    def _binary(self, e: Op, into: View | None) -> Value:
        a, b = e.args
        x, y = self.value(a), self.value(b)
        name = e.name
        if name == "sub" and y.uniform is not None:
            name, y = "add", Value(uniform=op("neg", y.uniform))
        scalar_form = self.table.find("scalar", name, e.dtype.name)
        if scalar_form is not None and x.uniform is not None and y.uniform is None:
            x, y = y, x  # add, mul, min and max commute
        fits = scalar_form is not None and (not scalar_form.constants or _is_number(y.uniform))
        if fits and y.uniform is not None and x.view is not None:
            target, temp = self._target(e.dtype, into)
            self._emit(name, target, (x.view,), (y.uniform,))
        else:
            row = self.table.any(e.name, e.dtype.name)
            assert row is not None
            left, lt = self._spread(self.value(a), e.dtype)
            right, rt = self._spread(self.value(b), e.dtype)
            target, temp = self._target(e.dtype, None if row.apart else into)
            self._instruction(e.name, row.kind, target, (left, right), self.count)
            for t in (lt, rt):
                if t:
                    self.temps.give(t)
        self.done(a)
        self.done(b)
        return Value(target, temp=temp)

    def _logic_where(self, e: Op) -> Value:
        """where(c, a, b) of bools = (c and a) or (not c and b), over masks."""
        c, a, b = e.args
        both = self.intern(
            Op("or", (Op("and", (c, a), BOOL), Op("and", (Op("not", (c,), BOOL), b), BOOL)), BOOL)
        )
        self.count_uses(both)
        found = self.value(both)
        self._memo.pop(id(both), None)
        for part in (c, a, b):
            self.done(part)
        return found

    def _cast(self, e: Op, into: View | None) -> Value:
        a = e.args[0]
        if a.dtype == BOOL:
            mask, spare = self._mask(self.value(a))
            target, temp = self._target(F32, into if e.dtype == F32 else None)
            self._mask_to_floats(mask, target)
            if spare:
                self.temps.give(spare)
            self.done(a)
            return (
                Value(target, temp=temp)
                if e.dtype == F32
                else self._convert(Value(target, temp=temp), cast_path(self.table, F32, e.dtype) or (), into)
            )
        if e.dtype == BOOL:
            source = self.value(a)
            found = self._nonzero(source.view, "") if source.view is not None else source
            self.done(a)
            return found
        source = Value(self._vector(a))
        found = self._convert(source, cast_path(self.table, a.dtype, e.dtype) or (), into)
        self.done(a)
        return found

    def _convert(self, source: Value, path: tuple[DType, ...], into: View | None) -> Value:
        """A chain of Cast instructions; the source's temporary, if any, is freed."""
        for k, dtype in enumerate(path):
            assert source.view is not None
            target, temp = self._target(dtype, into if k == len(path) - 1 else None)
            self._emit("cast", target, (source.view,))
            if source.temp:
                self.temps.give(source.temp)
            source = Value(target, temp=temp)
        return source

    # ---- masks

    @abstractmethod
    def _compare(self, e: Op) -> Value:
        """A comparison of numbers, as a mask."""

    @abstractmethod
    def _logic(self, e: Op) -> Value:
        """A combination of masks."""

    @abstractmethod
    def _where(self, e: Op, into: View | None) -> Value:
        """Elements of two operands by a mask."""

    @abstractmethod
    def _nonzero(self, view: View | None, temp: str) -> Value:
        """The mask of the elements that are not zero; frees `temp`."""

    @abstractmethod
    def _bytes_to_mask(self, view: View) -> Value:
        """The mask of a bool tile."""

    @abstractmethod
    def _mask_to_bytes(self, v: Value, target: View) -> None:
        """A mask as a bool tile."""

    @abstractmethod
    def _mask_to_floats(self, v: Value, target: View) -> None:
        """A mask as f32: 1 and 0."""

    # ---- pieces

    def _emit(
        self, name: str, target: View, sources: tuple[View, ...] = (), scalars: tuple[Expr, ...] = ()
    ) -> None:
        self.out.append(Vector(name, target, sources, scalars, self.count))

    def _instruction(
        self, name: str, kind: str, target: View, sources: tuple[View, ...], count: Expr
    ) -> None:
        work = None
        if kind in ("library", "library2"):
            self.temps.library = True
            work = View("scratch", U8, ZERO)
        self.out.append(Vector(name, target, sources, (), count, work=work))

    def _loop(self, body: Callable[[Expr], list[Stmt]]) -> None:
        at = Var(self.fresh("e"))
        self.out.append(Loop(at.name, ZERO, self.count, ONE, tuple(body(at))))

    def _target(self, dtype: DType, into: View | None) -> tuple[View, str]:
        if into is not None and into.dtype == dtype:
            return into, ""
        temp = self.temps.take(dtype)
        return View(temp, dtype, ZERO), temp

    def _vector(self, e: Expr) -> View:
        found = self.value(e)
        assert found.view is not None
        return found.view

    def _spread(self, v: Value, dtype: DType) -> tuple[View, str]:
        """A vector operand; a uniform value is written into a temporary, whose name is returned."""
        if v.view is not None:
            return v.view, ""
        assert v.uniform is not None
        temp = self.temps.take(dtype)
        view = View(temp, dtype, ZERO)
        self.fill(view, v.uniform)
        return view, temp

    def _mask(self, v: Value) -> tuple[Value, str]:
        """`v` as a mask, and a temporary to free afterwards."""
        if v.mask:
            return v, ""
        assert v.uniform is not None
        temp = self.temps.take(F32)
        view = View(temp, F32, ZERO)
        self.fill(view, op("where", v.uniform, Const(1.0, F32), Const(0.0, F32)))
        found = self._nonzero(view, temp)
        return found, found.temp


def _is_number(e: Expr | None) -> bool:
    """Whether `e` is a constant other than NaN."""
    return isinstance(e, Const) and e.value == e.value
