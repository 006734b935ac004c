"""Elementwise expressions as whole-tile vector instructions: three-address code over temporaries.

An expression over one lane axis becomes a `Value`: uniform (the scalar unit has it), a vector (a view of a buffer) or a
bit mask. What the vector unit cannot do goes through the scalar unit, element by element, into a temporary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelcat_core.codegen.dma_ast import Declare, Loop, Put, Stmt, Vector, View
from kernelcat_core.codegen.dma_legal import cast_path, scalar_legal, vector_legal
from kernelcat_core.codegen.dma_table import Table
from kernelcat_core.codegen.dma_temps import Temps
from kernelcat_core.codegen.dma_value import Place, Prepared, Value, padded, retyped, shifted, unsupported
from kernelcat_core.dtypes import BOOL, F16, F32, I16, I32, U8, DType
from kernelcat_core.ir.expr import ONE, ZERO, Const, Expr, Load, Op, Var, add, cast, index, op

COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
MASK_LANES = 128  # mask operations work on whole groups of so many bits


class VectorCode(Prepared):
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
        super().__init__(lane)
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
        if target.dtype.name in ("f32", "f16", "bf16", "i16", "i32", "u16", "u32"):
            self._emit("fill", target, scalars=(value,))
        else:
            self._loop(lambda at: [Put(shifted(target, at), value)])

    def move(self, target: View, source: View) -> None:
        """Copy elements between buffers of one dtype."""
        dtype = target.dtype
        if dtype.itemsize == 1:
            self._loop(
                lambda at: [Put(shifted(target, at), Load(source.buffer, (add(source.offset, at),), dtype))]
            )
        elif dtype.itemsize == 8:
            pairs = op("mul", self.count, index(2))
            halves = [View(v.buffer, I32, op("mul", v.offset, index(2))) for v in (target, source)]
            self.out.append(Vector("move", halves[0], (halves[1],), count=pairs))
        else:
            plain = (
                dtype if dtype.name in ("f32", "f16", "i32", "i16") else I16 if dtype.itemsize == 2 else I32
            )
            self._emit("move", retyped(target, plain), (retyped(source, plain),))

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
        safe = None if row.kind == "library" else into
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
        if scalar_form is not None and y.uniform is not None and x.view is not None:
            target, temp = self._target(e.dtype, into)
            self._emit(name, target, (x.view,), (y.uniform,))
        else:
            row = self.table.any(e.name, e.dtype.name)
            assert row is not None
            left, lt = self._spread(self.value(a), e.dtype)
            right, rt = self._spread(self.value(b), e.dtype)
            target, temp = self._target(e.dtype, None if row.kind == "library2" else into)
            self._instruction(e.name, row.kind, target, (left, right), self.count)
            for t in (lt, rt):
                if t:
                    self.temps.give(t)
        self.done(a)
        self.done(b)
        return Value(target, temp=temp)

    def _compare(self, e: Op) -> Value:
        a, b = e.args
        x, y = self.value(a), self.value(b)
        name = e.name
        if x.uniform is not None:
            name = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name)
            x, y = y, x
        temp = self.temps.take(F32)
        target = View(temp, U8, ZERO)
        count = padded(self.count, 64 if a.dtype.itemsize == 4 else 128)
        assert x.view is not None
        if y.uniform is not None:
            self.out.append(Vector("compare_scalar", target, (x.view,), (y.uniform,), count, name.upper()))
        else:
            assert y.view is not None
            self.out.append(Vector("compare", target, (x.view, y.view), (), count, name.upper()))
        self.done(a)
        self.done(b)
        return Value(target, mask=True, temp=temp)

    def _logic(self, e: Op) -> Value:
        masks = [self._mask(self.value(a)) for a in e.args]
        views = [m.view for m, _ in masks]
        assert all(v is not None for v in views)
        words = [View(v.buffer, I16, ZERO) for v in views if v is not None]
        groups = op("floordiv", add(self.count, index(MASK_LANES - 1)), index(MASK_LANES))
        count = op("mul", groups, index(MASK_LANES // 16))
        temp = self.temps.take(F32)
        target = View(temp, I16, ZERO)
        name = {"ne": "xor", "eq": "xnor"}.get(e.name, e.name)
        if name in ("xor", "xnor"):
            spare = self.temps.take(F32)
            other = View(spare, I16, ZERO)
            self.out += [
                Vector("or_bits", target, (words[0], words[1]), count=count),
                Vector("and_bits", other, (words[0], words[1]), count=count),
                Vector("not_bits", other, (other,), count=count),
                Vector("and_bits", target, (target, other), count=count),
            ]
            if name == "xnor":
                self.out.append(Vector("not_bits", target, (target,), count=count))
            self.temps.give(spare)
        else:
            self.out.append(Vector(f"{name}_bits", target, tuple(words), count=count))
        for (_, spare_temp), a in zip(masks, e.args, strict=True):
            if spare_temp:
                self.temps.give(spare_temp)
            self.done(a)
        return Value(View(temp, U8, ZERO), mask=True, temp=temp)

    def _where(self, e: Op, into: View | None) -> Value:
        c, a, b = e.args
        if e.dtype == BOOL:
            return self._logic_where(e)
        mask, spare = self._mask(self.value(c))
        x, y = self.value(a), self.value(b)
        dtype = (
            F32 if e.dtype == I32 else e.dtype
        )  # Select moves bits: a 32-bit integer is as good as a float
        left, lt = self._spread(x, e.dtype)
        assert mask.view is not None
        if y.uniform is not None and e.dtype != I32:
            target, temp = self._target(e.dtype, into)
            self.out.append(Vector("select_scalar", target, (mask.view, left), (y.uniform,), self.count))
            rt = ""
        else:
            right, rt = self._spread(y, e.dtype)
            target, temp = self._target(e.dtype, into)
            self.out.append(
                Vector(
                    "select",
                    retyped(target, dtype),
                    (mask.view, retyped(left, dtype), retyped(right, dtype)),
                    (),
                    self.count,
                )
            )
        for t in (spare, lt, rt):
            if t:
                self.temps.give(t)
        for part in (c, a, b):
            self.done(part)
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
            one, zero = Const(1.0, F32), Const(0.0, F32)
            mask, spare = self._mask(self.value(a))
            target, temp = self._target(F32, into if e.dtype == F32 else None)
            ones, extra = self._spread(Value(uniform=one), F32)
            assert mask.view is not None
            self.out.append(Vector("select_scalar", target, (mask.view, ones), (zero,), self.count))
            self.temps.give(extra)
            if spare:
                self.temps.give(spare)
            self.done(a)
            return (
                Value(target, temp=temp)
                if e.dtype == F32
                else self._convert(Value(target, temp=temp), (e.dtype,), into)
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

    def _nonzero(self, view: View | None, temp: str) -> Value:
        """The mask of the elements that are not zero; frees `temp`."""
        assert view is not None
        bits = self.temps.take(F32)
        count = padded(self.count, 64 if view.dtype.itemsize == 4 else 128)
        self.out.append(
            Vector("compare_scalar", View(bits, U8, ZERO), (view,), (Const(0.0, view.dtype),), count, "NE")
        )
        if temp:
            self.temps.give(temp)
        return Value(View(bits, U8, ZERO), mask=True, temp=bits)

    def _bytes_to_mask(self, view: View) -> Value:
        wide = self.temps.take(F16)
        self._emit("cast", View(wide, F16, ZERO), (retyped(view, U8),))
        return self._nonzero(View(wide, F16, ZERO), wide)

    def _mask_to_bytes(self, v: Value, target: View) -> None:
        half = self.temps.take(F16)
        view = View(half, F16, ZERO)
        assert v.view is not None
        self._emit("fill", view, scalars=(Const(1.0, F16),))
        self.out.append(Vector("select_scalar", view, (v.view, view), (Const(0.0, F16),), self.count))
        self._emit("cast", retyped(target, U8), (view,))
        self.temps.give(half)
