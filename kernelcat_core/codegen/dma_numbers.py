"""Masks of one number an element: comparisons give 1 and 0 in the type of their operands, which become f32 here.

A selection works on the bits: with m all ones where the mask is 1, a ^ b, & m, ^ b gives a there and b elsewhere.
"""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import Vector, View
from kernelcat_core.codegen.dma_value import Value, retyped
from kernelcat_core.codegen.dma_vector import VectorCode
from kernelcat_core.dtypes import BOOL, F32, I16, I32, U8, DType
from kernelcat_core.ir.expr import ZERO, Const, Expr, Op, op


class NumberMaskCode(VectorCode):
    """Vector code for cores whose comparisons give numbers."""

    def _compare(self, e: Op) -> Value:
        a, b = e.args
        x, y, name = self.value(a), self.value(b), e.name
        if x.uniform is not None:
            name = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(name, name)
            x, y = y, x
        found = self._compared(name, x, y, a.dtype)
        self.done(a)
        self.done(b)
        return found

    def _compared(self, name: str, x: Value, y: Value, dtype: DType) -> Value:
        """x `name` y; a core without an unordered != gives it as the opposite of ==, which a NaN fails."""
        inverted = name == "ne" and self.table.find("compare", "ne", dtype.name) is None
        name = "eq" if inverted else name
        temp = self.temps.take(dtype)
        target = View(temp, dtype, ZERO)
        assert x.view is not None
        if y.uniform is not None:
            self._emit_compare("compare_scalar", name, target, (x.view,), (y.uniform,))
        else:
            assert y.view is not None
            self._emit_compare("compare", name, target, (x.view, y.view))
        if dtype != F32:
            wide = self.temps.take(F32)
            self._emit("cast", View(wide, F32, ZERO), (target,))
            self.temps.give(temp)
            temp, target = wide, View(wide, F32, ZERO)
        if inverted:
            self._emit("not", target, (target,))
        return Value(target, mask=True, temp=temp)

    def _emit_compare(
        self, form: str, name: str, target: View, sources: tuple[View, ...], scalars: tuple[Expr, ...] = ()
    ) -> None:
        self.out.append(Vector(form, target, sources, scalars, self.count, name.upper()))

    def _logic(self, e: Op) -> Value:
        masks = [self._mask(self.value(a)) for a in e.args]
        name = {"ne": "xor", "eq": "xor"}.get(e.name, e.name)
        temp = self.temps.take(F32)
        target = View(temp, F32, ZERO)
        self._emit(name, target, tuple(m.view for m, _ in masks if m.view is not None))
        if e.name == "eq":
            self._emit("not", target, (target,))
        for (_, spare), a in zip(masks, e.args, strict=True):
            if spare:
                self.temps.give(spare)
            self.done(a)
        return Value(target, mask=True, temp=temp)

    def _where(self, e: Op, into: View | None) -> Value:
        c, a, b = e.args
        if e.dtype == BOOL:
            return self._logic_where(e)
        mask, spare = self._mask(self.value(c))
        word = I32 if e.dtype.itemsize == 4 else I16
        held = self.temps.take(word)
        bits = View(held, word, ZERO)
        assert mask.view is not None
        self._emit("cast", bits, (mask.view,))
        self._emit("mul", bits, (bits,), (Const(-1, word),))
        x, y = self.value(a), self.value(b)
        left, lt = self._spread(x, e.dtype)
        zero = isinstance(y.uniform, Const) and y.uniform.value == 0 and str(y.uniform.value)[0] != "-"
        right, rt = (None, "") if zero else self._spread(y, e.dtype)
        # Only the first source of an instruction on bits may be its target.
        target, temp = self._target(e.dtype, into)
        if right is not None:
            fresh = self.temps.take(word)
            chosen = View(fresh, word, ZERO)
            self._emit("xor_bits", chosen, (retyped(left, word), retyped(right, word)))
            self._emit("and_bits", chosen, (chosen, bits))
            self._emit("xor_bits", retyped(target, word), (retyped(right, word), chosen))
            self.temps.give(fresh)
        else:
            self._emit("and_bits", retyped(target, word), (retyped(left, word), bits))
        for t in (held, spare, lt, rt):
            if t:
                self.temps.give(t)
        for part in (c, a, b):
            self.done(part)
        return Value(target, temp=temp)

    def _mask(self, v: Value) -> tuple[Value, str]:
        if v.mask:
            return v, ""
        assert v.uniform is not None
        temp = self.temps.take(F32)
        self.fill(View(temp, F32, ZERO), op("where", v.uniform, Const(1.0, F32), Const(0.0, F32)))
        return Value(View(temp, F32, ZERO), mask=True, temp=temp), temp

    def _nonzero(self, view: View | None, temp: str) -> Value:
        assert view is not None
        found = self._compared("ne", Value(view), Value(uniform=Const(0.0 if view.dtype.is_float else 0, view.dtype)), view.dtype)
        if temp:
            self.temps.give(temp)
        return found

    def _bytes_to_mask(self, view: View) -> Value:
        temp = self.temps.take(F32)
        self._emit("cast", View(temp, F32, ZERO), (retyped(view, U8),))
        return Value(View(temp, F32, ZERO), mask=True, temp=temp)

    def _mask_to_bytes(self, v: Value, target: View) -> None:
        assert v.view is not None
        self._emit("cast", retyped(target, U8), (v.view,))

    def _mask_to_floats(self, v: Value, target: View) -> None:
        assert v.view is not None
        self._emit("move", target, (v.view,))
