"""Lists of ONNX nodes under construction: equal nodes are shared, values get short names, constants are scalars.

The `onnx` package is imported when a list becomes protos, so that this module costs nothing until then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelcat_core.dtypes import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    U4,
    U8,
    U16,
    U32,
    U64,
    DType,
)

# The newest operator set that every release of onnx which the project allows (1.18 on) knows, and its file format.
OPSET = 23
IR_VERSION = 11

# DType -> number in onnx.TensorProto.DataType (fixed by the file format).
ELEMENT_TYPE: dict[DType, int] = {
    F32: 1, U8: 2, I8: 3, U16: 4, I16: 5, I32: 6, I64: 7, BOOL: 9, F16: 10, F64: 11, U32: 12, U64: 13, BF16: 16,
    F8E4M3: 17, F8E5M2: 19, U4: 21, I4: 22,
}  # fmt: skip

Attribute = int | float | str | tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """`operator` of `domain` applied to values by name ("" where an optional input is left out)."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    constant: tuple[Any, DType] | None = None
    domain: str = ""


@dataclass
class Nodes:
    """Append-only; `taken` are names that belong to tensors."""

    taken: set[str]
    list: list[Node] = field(default_factory=list)
    _known: dict[Any, str] = field(default_factory=dict)
    _count: int = 0

    def fresh(self) -> str:
        """A value name that nothing has."""
        while True:
            self._count += 1
            if (name := f"t{self._count}") not in self.taken:
                return name

    def emit(self, operator: str, *inputs: str, **attributes: Attribute) -> str:
        """The value of a node with one output; the same as before when an equal node exists."""
        key = (operator, inputs, tuple(sorted(attributes.items())))
        if key not in self._known:
            self._known[key] = self.fresh()
            self.list.append(Node(operator, inputs, (self._known[key],), key[2]))
        return self._known[key]

    def constant(self, value: bool | int | float, dtype: DType) -> str:
        """A 0-d constant."""
        return self._constant(value, dtype)

    def vector(self, *values: int) -> str:
        """A 1-d constant of i64."""
        return self._constant(values, I64)

    def _constant(self, value: Any, dtype: DType) -> str:
        key = ("constant", repr(value), dtype.name)
        if key not in self._known:
            self._known[key] = self.fresh()
            self.list.append(Node("Constant", (), (self._known[key],), (), (value, dtype)))
        return self._known[key]

    def call(
        self,
        operator: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        domain: str = "",
        **attributes: Attribute,
    ) -> None:
        """A node with named outputs."""
        self.list.append(Node(operator, inputs, outputs, tuple(sorted(attributes.items())), None, domain))

    def name(self, value: str, name: str) -> None:
        """Call `value` by `name` from now on: its node is renamed unless it has a name that counts already."""
        for k in reversed(range(len(self.list))):
            if self.list[k].outputs == (value,) and value not in self.taken:
                self._rename(value, name)
                return
        self.call("Identity", (value,), (name,))

    def _rename(self, old: str, new: str) -> None:
        for k, node in enumerate(self.list):
            if old in node.inputs or old in node.outputs:
                inputs = tuple(new if i == old else i for i in node.inputs)
                outputs = tuple(new if o == old else o for o in node.outputs)
                self.list[k] = Node(node.operator, inputs, outputs, node.attributes, node.constant, node.domain)
        self._known = {key: new if name == old else name for key, name in self._known.items()}


def protos(nodes: list[Node]) -> list[Any]:
    """The nodes as onnx.NodeProto."""
    from onnx import helper

    found = []
    for node in nodes:
        proto = helper.make_node(node.operator, list(node.inputs), list(node.outputs), domain=node.domain or None)
        proto.attribute.extend(helper.make_attribute(name, value) for name, value in node.attributes)
        if node.constant is not None:
            proto.attribute.append(helper.make_attribute("value", _tensor(*node.constant)))
        found.append(proto)
    return found


def _tensor(value: Any, dtype: DType) -> Any:
    import numpy as np
    from onnx import numpy_helper

    with np.errstate(all="ignore"):
        return numpy_helper.from_array(np.array(value).astype(dtype.numpy))
