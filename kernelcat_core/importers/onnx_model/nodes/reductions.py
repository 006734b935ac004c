"""Reductions of ONNX: axes come as an attribute in older opsets, as an input in newer ones."""

from __future__ import annotations

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.trace import Value

_BODY = {
    "ReduceSum": "sum(x{a})", "ReduceProd": "prod(x{a})", "ReduceMean": "mean(x{a})", "ReduceMax": "max(x{a})",
    "ReduceMin": "min(x{a})", "ReduceL1": "sum(abs(x){a})", "ReduceL2": "sqrt(sum(x*x{a}))", "ReduceSumSquare": "sum(x*x{a})",
    "ReduceLogSum": "log(sum(x{a}))", "ReduceLogSumExp": "logsumexp(x{a})",
}


@onnx_op(" ".join(_BODY))
def reduce(n: Node) -> Value:
    x = n.x()
    axes = n.ints(1, "axes")
    if not axes:
        if n.attr("noop_with_empty_axes", 0):
            return _pointwise(n, x)
        axes = tuple(range(x.rank))
    keep = bool(n.attr("keepdims", 1))
    kind = x.dtype
    if x.rank == 0:
        return _pointwise(n, x)
    if kind.is_float:
        body = _BODY[n.op].format(a=f", axis={tuple(axes)!r}, keepdims={keep}")
        return n.formula(f"y = {body}", x=x)
    if kind.kind == "b":
        wide = convert(n, x, "u8")
        return convert(n, n.formula(f"y = {_BODY[n.op].format(a=f', axis={tuple(axes)!r}, keepdims={keep}')}", x=wide), "bool")
    wide = x
    if n.op in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean"):
        wide = convert(n, x, "f64")
    body = _BODY[n.op].format(a=f", axis={tuple(axes)!r}, keepdims={keep}")
    return convert(n, n.formula(f"y = {body}", x=wide), kind.name)


def _pointwise(n: Node, x: Value) -> Value:
    """What a reduction over no axes does to each element."""
    match n.op:
        case "ReduceL1" | "ReduceL2":
            return n.formula("y = abs(x)", x=x)
        case "ReduceSumSquare":
            return n.formula("y = x*x", x=x)
        case "ReduceLogSum":
            return n.formula("y = log(x)", x=x)
    return x


@onnx_op("ArgMax ArgMin")
def arg(n: Node) -> Value:
    x, axis, keep = n.x(), n.attr("axis", 0), bool(n.attr("keepdims", 1))
    operator = n.op.lower()
    if not n.attr("select_last_index", 0):
        return n.call(operator, x, axis=axis, keepdims=keep)
    turned = n.call(operator, n.call("flip", x, axis=axis), axis=axis, keepdims=keep)
    return n.formula(f"y = {x.shape[axis] - 1} - x", x=turned)


@onnx_op("Softmax LogSoftmax", 13)
def softmax(n: Node) -> Value:
    return n.call("softmax" if n.op == "Softmax" else "log_softmax", n.x(), axis=n.attr("axis", -1))


@onnx_op("Softmax LogSoftmax", 1)
def softmax_flattened(n: Node) -> Value:
    """Until opset 12 the axes from `axis` on are one."""
    x = n.x()
    axis = n.attr("axis", 1) % max(1, x.rank)
    rows = 1
    for s in x.shape[:axis]:
        rows *= s
    flat = n.call("reshape", x, shape=(rows, x.size // max(1, rows)))
    made = n.call("softmax" if n.op == "Softmax" else "log_softmax", flat, axis=1)
    return n.call("reshape", made, shape=x.shape)


@onnx_op("Hardmax", 13)
def hardmax(n: Node) -> Value:
    axis = n.attr("axis", -1) % n.x().rank
    places = n.call("argmax", n.x(), axis=axis, keepdims=True)
    left = ", ".join(f"i{k}" for k in range(n.x().rank))
    inner = ", ".join("0" if k == axis else f"i{k}" for k in range(n.x().rank))
    ranges = ", ".join(f"i{k} in {s}" for k, s in enumerate(n.x().shape))
    del left
    return n.formula(f"y[{ranges}] = {n.x().dtype}(p[{inner}] == i{axis})", p=places)
