"""Shapes and constants: what the host knows without running anything."""

from __future__ import annotations

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op
from kernelcat_core.importers.trace import Value


@onnx_op("Constant")
def constant(n: Node) -> Item:
    for name, value in n.attributes.items():
        match name:
            case "value" | "sparse_value":
                return n.const(value)
            case "value_float":
                return n.const(np.float32(value))
            case "value_floats":
                return n.const(np.asarray(value, np.float32))
            case "value_int":
                return n.const(np.int64(value))
            case "value_ints":
                return n.const(np.asarray(value, np.int64))
    raise n.refuse("strings have no kernels")


@onnx_op("Shape")
def shape(n: Node) -> Value:
    found = n.x().shape
    return n.const(np.asarray(found[n.attr("start", 0):n.attr("end", len(found))], np.int64))


@onnx_op("Size")
def size(n: Node) -> Value:
    return n.const(np.int64(n.x().size))


@onnx_op("ConstantOfShape")
def constant_of_shape(n: Node) -> Value:
    value = np.asarray(n.attr("value", np.zeros(1, np.float32))).reshape(-1)[0]
    return n.const(np.full(n.ints(0), value))


@onnx_op("EyeLike")
def eye_like(n: Node) -> Value:
    from kernelcat_core.importers.onnx_model.node import tensor_type

    kind = tensor_type(n.attr("dtype")) if n.attr("dtype") else n.x().dtype
    rows, columns = n.x().shape
    return n.const(np.eye(rows, columns, n.attr("k", 0)).astype(kind.numpy))


@onnx_op("Range")
def range_(n: Node) -> Value:
    start, limit, delta = (n.host(k) for k in range(3))
    return n.const(np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype))
