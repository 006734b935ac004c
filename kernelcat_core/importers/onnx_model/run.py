"""Runs an ONNX model symbolically: nodes in order, each through its mapping, a function body, or a local function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.onnx_model import nodes as nodes  # fills the table
from kernelcat_core.importers.onnx_model.node import REFUSED, Item, Node, mapping
from kernelcat_core.importers.onnx_model.nodes.host import folded
from kernelcat_core.importers.trace import Array, Evaluate, Trace, Value, coded

Function = Any


@dataclass(frozen=True)
class Imported:
    """A traced model: its trace, and what each output of the model stands for, in order."""

    trace: Trace
    outputs: tuple[tuple[str, Item], ...]
    inputs: tuple[tuple[str, Item], ...] = ()

    def bound(self, given: Mapping[str, Any]) -> list[tuple[str, Array]]:
        """(name in the trace, array) of every tensor of `given`, which has the structure of the traced inputs."""
        found: list[tuple[str, Array]] = []

        def walk(item: Item, contents: Any) -> None:
            if isinstance(item, Value):
                found.append((item.name, coded(np.asarray(contents))[0]))
            elif isinstance(item, list):
                for a, b in zip(item, contents, strict=True):
                    walk(a, b)

        for name, item in self.inputs:
            walk(item, given[name])
        return found


def trace_model(model: Any, inputs: Mapping[str, Any], evaluate: Evaluate, folder: Path | None = None) -> Imported:
    """Trace an onnx.ModelProto for inputs by name (arrays, lists for sequences, None for absent optionals).

    `folder` is where external data lies. Raises KC-I003 for a model that is not valid, KC-I004 for a node that nothing maps.
    """
    return _Model(model, evaluate, folder).traced(inputs)


class _Model:
    def __init__(self, model: Any, evaluate: Evaluate, folder: Path | None) -> None:
        self.model = model
        self.trace = Trace(evaluate)
        self.folder = str(folder or "")
        self.opsets = {o.domain: o.version for o in model.opset_import}
        self.functions = {(f.domain, f.name, getattr(f, "overload", "")): f for f in model.functions}

    def traced(self, inputs: Mapping[str, Any]) -> Imported:
        graph = self.model.graph
        scope: dict[str, Item] = {}
        self._initializers(graph, scope)
        for declared in graph.input:
            if declared.name in inputs:
                scope[declared.name] = self._given(declared.name, inputs[declared.name])
            elif declared.name not in scope:
                raise KernelcatError("KC-I005", f"the model's input {declared.name!r} is missing",
                                     hint="inputs: " + ", ".join(i.name for i in graph.input))
        given = tuple((i.name, scope[i.name]) for i in graph.input if i.name in inputs)
        self._nodes(graph.node, scope, self.opsets)
        return Imported(self.trace, tuple((o.name, scope[o.name]) for o in graph.output), given)

    def _given(self, name: str, item: Any) -> Item:
        if item is None:
            return None
        if isinstance(item, (list, tuple)):
            return [self._given(f"{name}_{k}", v) for k, v in enumerate(item)]
        return self.trace.input(name, np.asarray(item))

    def _initializers(self, graph: Any, scope: dict[str, Item]) -> None:
        for t in graph.initializer:
            scope[t.name] = self.trace.constant(self.array(t))
        for s in graph.sparse_initializer:
            scope[s.values.name] = self.trace.constant(_dense(self.array(s.values), self.array(s.indices), tuple(s.dims)))

    def array(self, tensor: Any) -> Array:
        from onnx import numpy_helper

        made: Array = numpy_helper.to_array(tensor, self.folder)
        return made

    def _nodes(self, listed: Sequence[Any], scope: dict[str, Item], opsets: Mapping[str, int]) -> None:
        for n in listed:
            unknown = [i for i in n.input if i and i not in scope]
            if unknown:
                raise KernelcatError("KC-I003", f"{n.op_type} {n.name!r} reads {unknown[0]!r}, which nothing makes before it",
                                     hint="the model is not valid: onnx.checker.check_model says more")
            values = tuple(scope[i] if i else None for i in n.input)
            attributes = {a.name: self._attribute(a) for a in n.attribute}
            try:
                results = self._node(n, values, attributes, scope, opsets)
            except KernelcatError as error:
                if error.code.startswith("KC-I"):
                    raise
                raise KernelcatError("KC-I004", f"{n.op_type} {n.name!r}: {error.message} ({error.code})",
                                     hint=error.hint) from None
            for name, value in zip(n.output, results):
                if name:
                    scope[name] = value

    def _node(self, n: Any, values: tuple[Item, ...], attributes: dict[str, Any], scope: dict[str, Item],
              opsets: Mapping[str, int]) -> Sequence[Item]:
        domain = "" if n.domain == "ai.onnx" else n.domain
        local = self.functions.get((n.domain, n.op_type, getattr(n, "overload", "")))
        if local is not None:
            return self._function(local, values, attributes)
        known = folded(n.op_type, values, attributes) if not domain else None
        if known is not None:
            return (self.trace.constant(known),)
        version = opsets.get(domain, opsets.get("ai.onnx", 1) if not domain else 1)
        found = mapping(domain, n.op_type, version)
        made: Any = NotImplemented
        if found is not None:
            made = found(Node(n.op_type, self.trace, values, attributes, version, tuple(n.output), self, scope))
        if made is NotImplemented:
            body = _body(n, domain, version, tuple(_type_of(v) for v in values))
            if body is None:
                raise KernelcatError("KC-I004", f"the operator {domain + '.' if domain else ''}{n.op_type} (opset {version}) is "
                                     f"refused: {REFUSED.get(n.op_type, 'not mapped')}",
                                     hint="`kernelcat coverage onnx` lists what is mapped")
            return self._function(body, values, {**self._defaults(n.op_type, domain, version), **attributes})
        return made if isinstance(made, tuple) else (made,)

    def _function(self, function: Function, values: tuple[Item, ...], attributes: Mapping[str, Any]) -> list[Item]:
        """The body of a model-local function, or of an operator that the standard defines by others."""
        scope: dict[str, Item] = dict(zip(function.input, values))
        for name in function.input[len(values):]:
            scope[name] = None
        given = dict(attributes)
        for a in function.attribute_proto:
            given.setdefault(a.name, self._attribute(a))
        opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in function.opset_import}
        self._nodes([_bound(n, given) for n in function.node], scope, opsets)
        return [scope.get(o) for o in function.output]

    def _defaults(self, op: str, domain: str, version: int) -> dict[str, Any]:
        """The attributes that an operator of the standard has when its node does not give them."""
        import onnx

        schema: Any = onnx.defs.get_schema(op, version, domain)
        return {name: self._attribute(a.default_value) for name, a in schema.attributes.items() if a.default_value.name}

    def subgraph(self, graph: Any, bound: dict[str, Item], outer: dict[str, Item]) -> list[Item]:
        """Outputs of an If, Loop or Scan body."""
        scope = {**outer, **bound}
        self._initializers(graph, scope)
        self._nodes(graph.node, scope, self.opsets)
        return [scope[o.name] for o in graph.output]

    def _attribute(self, a: Any) -> Any:
        """An attribute as a number, str, tuple, array or graph. `_Reference`s of functions are bound before."""
        import onnx

        if isinstance(a, _Given):
            return a.value
        match a.type:
            case onnx.AttributeProto.TENSOR:
                return self.array(a.t)
            case onnx.AttributeProto.TENSORS:
                return tuple(self.array(t) for t in a.tensors)
            case onnx.AttributeProto.SPARSE_TENSOR:
                s = a.sparse_tensor
                return _dense(self.array(s.values), self.array(s.indices), tuple(s.dims))
            case onnx.AttributeProto.STRING:
                return a.s.decode("utf-8", "replace")
            case onnx.AttributeProto.STRINGS:
                return tuple(s.decode("utf-8", "replace") for s in a.strings)
            case onnx.AttributeProto.TYPE_PROTO:
                return a.tp
        found = onnx.helper.get_attribute_value(a)
        return tuple(found) if isinstance(found, (list, tuple)) or hasattr(found, "append") else found


@dataclass(frozen=True)
class _Given:
    """An attribute whose value a function's caller gave."""

    name: str
    value: Any


class _BoundNode:
    """A node of a function body with its attribute references replaced."""

    def __init__(self, node: Any, attributes: list[Any]) -> None:
        self.op_type, self.domain, self.name = node.op_type, node.domain, node.name
        self.overload = getattr(node, "overload", "")
        self.input, self.output = list(node.input), list(node.output)
        self.attribute = attributes
        self.proto = node


def _bound(node: Any, given: Mapping[str, Any]) -> Any:
    attributes: list[Any] = []
    for a in node.attribute:
        if not a.ref_attr_name:
            attributes.append(a)
        elif a.ref_attr_name in given:
            attributes.append(_Given(a.name, given[a.ref_attr_name]))
    return _BoundNode(node, attributes)


def _type_of(item: Item) -> tuple[str, tuple[int, ...]] | None:
    return (item.dtype.name, item.shape) if isinstance(item, Value) else None


def _body(n: Any, domain: str, version: int, types: tuple[tuple[str, tuple[int, ...]] | None, ...]) -> Function | None:
    """The FunctionProto by which the standard defines an operator, at an opset, for these input types; None without."""
    import onnx

    try:
        schema: Any = onnx.defs.get_schema(n.op_type, version, domain)
    except onnx.defs.SchemaError:
        return None
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= version] or schema.function_opset_versions
        return _parsed(schema.get_function_with_opset_version(max(versions)))
    if schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= version]
        if not versions:
            versions = list(schema.context_dependent_function_opset_versions)
        proto = _plain_node(n)
        kinds = [onnx.helper.make_tensor_type_proto(_number(t[0]), t[1]).SerializeToString() if t is not None
                 else onnx.TypeProto().SerializeToString() for t in types]
        text = schema.get_context_dependent_function_with_opset_version(max(versions), proto.SerializeToString(), kinds)
        return _parsed(text) if text else None
    return None


def _plain_node(n: Any) -> Any:
    import onnx

    if not isinstance(n, _BoundNode):
        return n
    made = onnx.NodeProto()
    made.CopyFrom(n.proto)
    del made.attribute[:]
    for a in n.attribute:
        if isinstance(a, _Given):
            if a.value is not None:
                made.attribute.append(onnx.helper.make_attribute(a.name, a.value))
        else:
            made.attribute.append(a)
    return made


def _number(name: str) -> int:
    import onnx

    from kernelcat_core.dtypes import DTYPES

    return int(onnx.helper.np_dtype_to_tensor_dtype(DTYPES[name].numpy))


@lru_cache(maxsize=1024)
def _parsed(text: bytes) -> Function:
    import onnx

    made = onnx.FunctionProto()
    made.ParseFromString(text)
    return made


def _dense(values: Array, indices: Array, dims: tuple[int, ...]) -> Array:
    """A sparse tensor written out."""
    made = np.zeros(dims, values.dtype)
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    return made
