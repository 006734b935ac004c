"""What a mapping sees of an ONNX node, and the table of mappings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.trace import Array, Trace, Value, element_type

Item = Value | list[Any] | None
"""What a name of an ONNX graph stands for: a tensor, a sequence (a list), an absent optional (None)."""


class Run(Protocol):
    """The part of an importer that control flow needs: run a subgraph with extra names bound."""

    def subgraph(self, graph: Any, bound: dict[str, Item], outer: dict[str, Item]) -> list[Item]:
        """Outputs of an ONNX subgraph; `outer` are the names visible around the node."""


@dataclass(frozen=True)
class Node:
    """One node with its inputs resolved. `version` is the opset of its domain in the model."""

    op: str
    trace: Trace
    inputs: tuple[Item, ...]
    attributes: dict[str, Any]
    version: int
    outputs: tuple[str, ...]
    run: Run
    scope: dict[str, Item] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.inputs)

    def has(self, place: int) -> bool:
        """Whether the optional input number `place` is there."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def x(self, place: int = 0) -> Value:
        """A tensor input that must be there."""
        value = self.inputs[place] if place < len(self.inputs) else None
        if not isinstance(value, Value):
            raise KernelcatError("KC-I003", f"{self.op} lacks its input number {place}", hint="the model is not valid")
        return value

    def maybe(self, place: int) -> Value | None:
        """A tensor input, None where it is left out."""
        return self.x(place) if self.has(place) else None

    def host(self, place: int) -> Array:
        """The contents of an input that decides shapes: axes, sizes, repeats."""
        return self.trace.host(self.x(place))

    def ints(self, place: int, attribute: str = "") -> tuple[int, ...] | None:
        """Integers from input `place`, or from an attribute (where older opsets have them); None without either."""
        if self.has(place):
            return tuple(int(v) for v in np.atleast_1d(self.host(place)))
        found = self.attributes.get(attribute)
        return None if found is None else tuple(int(v) for v in np.atleast_1d(found))

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute: numbers, str, tuples of them, arrays, graphs."""
        return self.attributes.get(name, default)

    def formula(self, text: str, /, **values: Value) -> Value:
        return self.trace.formula(text, **values)

    def formulas(self, text: str, /, **values: Value) -> tuple[Value, ...]:
        """Every output of a formula."""
        return self.trace.formulas(text, **values)

    def call(self, operator: str, /, *tensors: Value | None, **arguments: Any) -> Value:
        return self.trace.call(operator, *tensors, **arguments)

    def const(self, array: Any, dtype: DType | None = None) -> Value:
        return self.trace.constant(array, dtype)

    def refuse(self, what: str) -> KernelcatError:
        """The error of a node that has no mapping (yet)."""
        return KernelcatError("KC-I004", f"{self.op} (opset {self.version}): {what}",
                              hint="`kernelcat coverage onnx` lists what is mapped")


Mapping = Callable[[Node], Item | Sequence[Item] | tuple[Item, ...]]
"""Gives what a node puts out, or NotImplemented where the standard's body of the operator is to be used."""

TABLE: dict[tuple[str, str], dict[int, Mapping]] = {}
"""(domain, operator) -> first opset -> mapping; the highest first opset not above the model's is used."""


_STRINGS = "strings have no kernels"
REFUSED = {
    "ImageDecoder": "decoding image files is no kernel", "RegexFullMatch": _STRINGS, "StringConcat": _STRINGS,
    "StringNormalizer": _STRINGS, "StringSplit": _STRINGS, "CategoryMapper": _STRINGS, "DictVectorizer": _STRINGS,
    "CastMap": "maps have no kernels", "ZipMap": "maps have no kernels",
    "Gradient": "gradients of a model are not taken inside it",
}
"""Why operators of the standard are refused for good."""


def onnx_op(names: str, since: int = 1, domain: str = "") -> Callable[[Mapping], Mapping]:
    """Register a mapping for one operator or several (separated by spaces), from opset `since` on."""

    def register(f: Mapping) -> Mapping:
        for name in names.split():
            versions = TABLE.setdefault((domain, name), {})
            if since in versions:
                raise AssertionError(f"{name}-{since} is mapped twice")
            versions[since] = f
        return f

    return register


def mapping(domain: str, op: str, version: int) -> Mapping | None:
    """The mapping for an operator at an opset."""
    versions = TABLE.get((domain, op), {})
    fitting = [s for s in versions if s <= version]
    return versions[max(fitting)] if fitting else None


def tensor_type(number: int) -> DType:
    """The DType of an ONNX element type number. Raises KC-I002."""
    import onnx

    try:
        return element_type(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, KernelcatError):
        name = onnx.TensorProto.DataType.Name(number)
        raise KernelcatError("KC-I002", f"tensors of type {name} have no kernels",
                             hint="convert to a float, integer or bool type first") from None
