"""Pools of ONNX."""

from __future__ import annotations

import math
from typing import Any

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.convolution import padding, spatial
from kernelcat_core.importers.trace import Value


def _window(n: Node, x: Value) -> dict[str, Any]:
    """Arguments of our pools for the node's attributes."""
    sizes, kernel = x.shape[2:], tuple(n.attr("kernel_shape"))
    if not 1 <= len(sizes) <= 3:
        raise n.refuse(f"{len(sizes)} spatial axes")
    strides, dilations = spatial(n, sizes)
    return {"kernel_size": kernel, "stride": strides, "padding": padding(n, sizes, kernel), "dilation": dilations,
            "ceil_mode": bool(n.attr("ceil_mode", 0))}


@onnx_op("MaxPool")
def max_pool(n: Node) -> tuple[Value, ...]:
    x = n.x()
    name, window = f"max_pool{x.rank - 2}d", _window(n, x)
    made = n.call(name, x, **window)
    if len(n.outputs) < 2:
        return (made,)
    return made, n.call(f"{name}_indices", x, **window, storage_order=n.attr("storage_order", 0), whole=True)


@onnx_op("AveragePool")
def average_pool(n: Node) -> Value:
    return n.call(f"avg_pool{n.x().rank - 2}d", n.x(), **_window(n, n.x()),
                  count_include_pad=bool(n.attr("count_include_pad", 0)))


@onnx_op("LpPool")
def lp_pool(n: Node) -> Value:
    return n.call(f"lp_pool{n.x().rank - 2}d", n.x(), **_window(n, n.x()), p=int(n.attr("p", 2)))


@onnx_op("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def global_pool(n: Node) -> Value:
    name = {"GlobalAveragePool": "global_avg_pool", "GlobalMaxPool": "global_max_pool"}.get(n.op)
    return n.call(name, n.x()) if name else n.call("global_lp_pool", n.x(), p=int(n.attr("p", 2)))


@onnx_op("MaxUnpool")
def max_unpool(n: Node) -> Value:
    """Indices are places in a whole tensor of the size that the windows give. An explicit shape is larger; elements keep
    their positions along every axis."""
    x = n.x(0)
    sizes = x.shape[2:]
    strides, _ = spatial(n, sizes)
    pairs = padding(n, sizes, n.attr("kernel_shape"))
    plain = [*x.shape[:2], *((size - 1) * s + k - a - b
                             for size, s, k, (a, b) in zip(sizes, strides, n.attr("kernel_shape"), pairs, strict=True))]
    made = tuple(int(v) for v in n.host(2)) if n.has(2) else tuple(plain)
    element = ", ".join(f"i{k}" for k in range(x.rank))
    places = [f"(I[{element}])//{math.prod(plain[k + 1:])}" + (f" % {plain[k]}" if k else "") for k in range(x.rank)]
    empty = ", ".join(f"z{k} in {s}" for k, s in enumerate(made))
    return n.formula(f"base[{empty}] = {x.dtype}(0)\ny = scatter[{element}](base, ({', '.join(places)}), x[{element}])",
                     x=x, I=n.x(1))
