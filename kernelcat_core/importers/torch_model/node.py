"""What a mapping sees of an ATen operator, and the table of mappings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcat_core.dtypes import BOOL, F32, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.torch_model.tensors import element_type
from kernelcat_core.importers.trace import Array, Trace, Value

Operand = Value | int | float | bool
"""An argument of an elementwise operator: a tensor or a number."""


@dataclass(frozen=True)
class Spec:
    """What torch says of a result: `stride` in elements."""

    dtype: DType
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Node:
    """One call of an operator. `specs` are its results as torch describes them; `metas` its arguments as fake tensors."""

    op: str
    trace: Trace
    specs: tuple[Spec | None, ...]
    keywords: dict[str, Any]
    metas: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def out(self) -> Spec:
        """The first result."""
        spec = self.specs[0]
        assert spec is not None
        return spec

    @property
    def name(self) -> str:
        """The operator without namespace and overload: add of aten.add.Tensor."""
        return self.op.split(".")[1]

    def kw(self, name: str, default: Any = None) -> Any:
        """A keyword-only argument."""
        return self.keywords.get(name, default)

    def formula(self, text: str, /, **values: Value) -> Value:
        return self.trace.formula(text, **values)

    def formulas(self, text: str, /, **values: Value) -> tuple[Value, ...]:
        """Every output of a formula."""
        return self.trace.formulas(text, **values)

    def call(self, operator: str, /, *tensors: Value | None, **arguments: Any) -> Value:
        return self.trace.call(operator, *tensors, **arguments)

    def const(self, array: Any, dtype: DType | None = None) -> Value:
        return self.trace.constant(array, dtype)

    def full(self, spec: Spec, number: float | bool) -> Value:
        """A constant of one number."""
        return self.const(np.full(spec.shape, number, spec.dtype.numpy))

    def host(self, value: Value) -> Array:
        """Contents that decide the size of a result."""
        return self.trace.host(value)

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value as another type: to integers toward zero, to bool by not being zero."""
        if value.dtype == dtype:
            return value
        if value.constant is not None and value.dtype.bits >= 8 and not value.dtype.name.startswith("f8"):
            with np.errstate(all="ignore"):
                return self.const(value.constant.astype(bool) if dtype == BOOL else value.constant, dtype)
        text = "x != 0" if dtype == BOOL else f"{dtype}(x)"
        return self.formula(f"y = {text}", x=value)

    def pointwise(self, text: str, dtype: DType, /, **operands: Operand) -> Value:
        """An elementwise expression over operands converted to `dtype`; 16-bit floats compute in f32, rounded once.

        Numbers are written into the text. The result has the type that the text gives it, `dtype` for 16-bit floats.
        """
        lines: list[str] = []
        values: dict[str, Value] = {}
        wide = F32 if dtype.is_float and dtype.bits == 16 else dtype
        for name, x in operands.items():
            if not isinstance(x, Value):
                text = re.sub(rf"\b{name}\b", number(x, dtype), text)
            elif x.dtype == wide:
                values[name] = x
            elif wide == BOOL:
                values[f"{name}_"] = x
                lines.append(f"{name} = {name}_ != 0")
            else:
                values[f"{name}_"] = x
                lines.append(f"{name} = {wide}({name}_)")
        made = self.trace.formula("\n".join([*lines, f"y = {text}"]), **values)
        return self.cast(made, dtype) if wide != dtype and made.dtype == wide else made

    def promoted(self) -> DType:
        """The type in which torch computes with this node's arguments (torch.result_type over all of them)."""
        from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

        kind = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
        given = [m for m in self.metas if isinstance(m, (int, float)) or hasattr(m, "dtype")]
        return element_type(elementwise_dtypes(*given, type_promotion_kind=kind)[1])

    def refuse(self, what: str) -> KernelcatError:
        """The error of a call that has no formula."""
        return KernelcatError("KC-I004", f"{self.op}: {what}", hint="run this operator outside of the compiled part")


def number(x: float | bool, dtype: DType) -> str:
    """A number as a literal of the formula language that means the same beside a tensor of `dtype`."""
    if dtype == BOOL:
        return str(bool(x))
    if dtype.is_integer:
        return f"({int(x)})"
    x = float(x)
    if math.isnan(x) or math.isinf(x):
        return f"({x})"
    return f"({x!r})"


Result = Value | Sequence[Value | None]
Mapping = Callable[..., Result]

TABLE: dict[str, Mapping] = {}
"""Operator ("aten.add.Tensor") -> mapping."""


def aten_op(names: str) -> Callable[[Mapping], Mapping]:
    """Register a mapping for operators, separated by spaces; `aten.` is put before names and `.default` behind without overload.

    The mapping is called with the node and the operator's positional arguments, defaults filled in: tensors as Values.
    """

    def register(f: Mapping) -> Mapping:
        for name in names.split():
            full = name if name.count(".") == 2 else f"aten.{name}" if "." in name else f"aten.{name}.default"
            if full in TABLE:
                raise AssertionError(f"{full} is mapped twice")
            TABLE[full] = f
        return f

    return register


def indices(letter: str, count: int) -> list[str]:
    """Names of indices."""
    return [f"{letter}{k}" for k in range(count)]


def ranged(names: Sequence[str], sizes: Sequence[int]) -> str:
    """Indices with their ranges, as they stand on the left or in a reducer."""
    return ", ".join(f"{n} in {s}" for n, s in zip(names, sizes, strict=True))


def left(names: Sequence[str], sizes: Sequence[int]) -> str:
    """The left side of a formula, y[i0 in 3, i1 in 4]; y alone for a scalar."""
    return f"y[{ranged(names, sizes)}]" if names else "y"


def at(tensor: str, subscripts: Sequence[str]) -> str:
    """An element of a tensor."""
    return f"{tensor}[{', '.join(subscripts)}]" if subscripts else tensor


def axes_of(dim: Any, rank: int) -> tuple[int, ...]:
    """The axes that an optional int or list names: all of them for None and for an empty list; none of a scalar."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(rank))
    listed = dim if isinstance(dim, (list, tuple)) else [dim]
    return tuple(sorted({int(d) % rank for d in listed})) if rank else ()
