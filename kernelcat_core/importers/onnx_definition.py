"""The ONNX definition of formulas and operators.

It stands in importers, above formula and ir, because both directions share the tables of onnx_nodes and onnx_scalar:
what a source node means is what its target node means. A formula becomes a model of standard nodes. A formula that is
one operator call becomes one standard node where the operator names one (`Operator.onnx`), else a call of a
FunctionProto in the domain "kernelcat" whose body is made of standard nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcat_core.dtypes import DTYPES, I64, DType
from kernelcat_core.formula.lower import Lowered, OperatorCall
from kernelcat_core.importers.onnx_graph import graph_nodes, shape_text
from kernelcat_core.importers.onnx_nodes import ELEMENT_TYPE, IR_VERSION, OPSET, Attribute, Node, Nodes, protos
from kernelcat_core.ir.graph import Graph, Tensor

if TYPE_CHECKING:
    import onnx

DOMAIN = "kernelcat"

# DType -> the name of its element type in node schemas, where the two differ.
_TYPE_NAMES = {
    "f64": "double", "f32": "float", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16", "i32": "int32",
    "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


def onnx_model(source: Lowered | Graph, name: str = "formula") -> onnx.ModelProto:
    """The model of a formula (or of a bare graph, which is never one operator), with its names, dtypes and shapes.

    Sizes are symbolic dimensions. Raises KC-R001 for what standard nodes cannot say.
    """
    from onnx import helper

    graph = source if isinstance(source, Graph) else source.graph
    call = None if isinstance(source, Graph) else source.call
    imports, functions = [helper.make_opsetid("", OPSET)], []
    inputs, outputs = [t.name for t in graph.inputs], list(graph.outputs)
    body = None if call is None else standard_nodes(call, graph)
    if body is None and call is not None:
        own = call.operator.name
        functions = [helper.make_function(DOMAIN, own, inputs, outputs, protos(graph_nodes(graph)), imports)]
        imports = [*imports, helper.make_opsetid(DOMAIN, 1)]
        body = [Node(own, tuple(inputs), tuple(outputs), domain=DOMAIN)]
    elif body is None:
        body = graph_nodes(graph)
    types = [_typed(t) for t in graph.inputs], [_typed(graph.tensors[o]) for o in outputs]
    return helper.make_model(
        helper.make_graph(protos(body), name, types[0], types[1]),
        opset_imports=imports,
        functions=functions,
        ir_version=IR_VERSION,
        producer_name="kernelcat",
    )


def onnx_text(source: Lowered | Graph, name: str = "formula") -> str:
    """The model of `onnx_model` in ONNX's text form."""
    from onnx import printer

    return str(printer.to_text(onnx_model(source, name)))


def standard_nodes(call: OperatorCall, graph: Graph) -> list[Node] | None:
    """The operator's standard node, after constants for the inputs that the operator knows as numbers.

    None where the operator has no such node, or not for these arguments.
    """
    hint = call.operator.onnx
    if hint is None or not hint.applies(call.arguments):
        return None
    nodes = Nodes(set(graph.tensors))
    inputs = [given for name in hint.inputs for given in _given(nodes, call, name, graph)]
    attributes = hint.attributes(call.arguments)
    for place, name in _later_inputs(hint.op_type, hint.domain):
        if name in attributes and (place >= len(inputs) or not inputs[place]):
            inputs = inputs[:place]
            inputs += [""] * (place - len(inputs))
            inputs.append(_constant(nodes, attributes.pop(name), graph.tensors[inputs[0]]))
    while inputs and not inputs[-1]:
        inputs.pop()
    if not _accepts(
        hint.op_type, hint.domain, [graph.tensors[i].dtype if i in graph.tensors else None for i in inputs]
    ):
        return None
    tidy = {k: _attribute(v) for k, v in attributes.items() if v is not None}
    nodes.call(hint.op_type, tuple(inputs), graph.outputs, hint.domain, **tidy)
    return nodes.list


def _given(nodes: Nodes, call: OperatorCall, parameter: str, graph: Graph) -> list[str]:
    """The inputs that stand for a parameter: one, "" when it is left out, any number for a variadic one."""
    if call.tensors.get(parameter):
        return [str(call.tensors[parameter])]
    number = call.arguments.get(parameter)
    if isinstance(number, int | float) and graph.inputs:
        return [_constant(nodes, float(number), graph.inputs[0])]
    several = [n for k, n in call.tensors.items() if n and k.rstrip("0123456789") == parameter and k != parameter]
    return several or [""]


def _later_inputs(op_type: str, domain: str) -> list[tuple[int, str]]:
    """Places and names of the inputs of a standard node but the first."""
    from onnx import defs

    schema = defs.get_schema(op_type, OPSET, domain)
    return list(enumerate(i.name for i in schema.inputs))[1:]


def _accepts(op_type: str, domain: str, dtypes: list[DType | None]) -> bool:
    """Whether the standard node takes inputs of these types (None: a constant, made to fit)."""
    from onnx import defs

    schema = defs.get_schema(op_type, OPSET, domain)
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    for place, dtype in enumerate(dtypes):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        names = allowed.get(formal.type_str, {formal.type_str})
        if dtype is not None and f"tensor({_TYPE_NAMES.get(dtype.name, dtype.name)})" not in names:
            return False
    return True


def _attribute(value: Any) -> Attribute:
    """Lists become tuples, and the name of a dtype its number in the file format."""
    if isinstance(value, str) and value in DTYPES:
        return ELEMENT_TYPE[DTYPES[value]]
    return tuple(value) if isinstance(value, list) else value


def _constant(nodes: Nodes, value: Any, like: Tensor) -> str:
    """A number of the type of the first input, or a list of i64 (axes, shapes)."""
    if isinstance(value, tuple | list):
        return nodes.vector(*value)
    return nodes.constant(value, like.dtype if isinstance(value, float) else I64)


def _typed(tensor: Tensor) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(tensor.name, ELEMENT_TYPE[tensor.dtype], [shape_text(d) for d in tensor.shape])
