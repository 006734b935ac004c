"""Masks of one bit an element: comparisons give them, logic works on 16-bit words of them, selections read them."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import Vector, View
from kernelcat_core.codegen.dma_value import Value, padded, retyped
from kernelcat_core.codegen.dma_vector import VectorCode
from kernelcat_core.dtypes import BOOL, F16, F32, I16, I32, U8
from kernelcat_core.ir.expr import ZERO, Const, Op, add, index, op

MASK_LANES = 128  # mask operations work on whole groups of so many bits


class BitMaskCode(VectorCode):
    """Vector code for cores whose comparisons give bits."""

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

    def _mask_to_floats(self, v: Value, target: View) -> None:
        ones, extra = self._spread(Value(uniform=Const(1.0, F32)), F32)
        assert v.view is not None
        self.out.append(Vector("select_scalar", target, (v.view, ones), (Const(0.0, F32),), self.count))
        self.temps.give(extra)
