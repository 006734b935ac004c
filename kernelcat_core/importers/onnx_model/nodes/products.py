"""Matrix products of ONNX."""

from __future__ import annotations

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.trace import Value


@onnx_op("MatMul")
def matmul(n: Node) -> Value:
    made = n.call("matmul", n.x(0), n.x(1))
    return convert(n, made, n.x().dtype.name)


@onnx_op("Gemm")
def gemm(n: Node) -> Value:
    a = "A[k, m]" if n.attr("transA", 0) else "A[m, k]"
    b = "B[n, k]" if n.attr("transB", 0) else "B[k, n]"
    alpha, beta = n.attr("alpha", 1.0), n.attr("beta", 1.0)
    kind = n.x().dtype
    text = f"P[m, n] = sum[k]({a}*{b})"
    scaled = "P" if alpha == 1.0 else f"{alpha}*P"
    values = {"A": n.x(0), "B": n.x(1)}
    if n.has(2) and beta != 0:
        values["C"] = n.x(2)
        scaled += " + C" if beta == 1.0 else f" + {beta}*C"
    if scaled == "P":
        return convert(n, n.formula(text, **values), kind.name)
    return convert(n, n.formula(f"{text}\ny = {scaled}", **values), kind.name)


@onnx_op("Einsum")
def einsum(n: Node) -> Value:
    tensors = {f"t{k}": n.x(k) for k in range(len(n))}
    made = n.formula(f"y = einsum({n.attr('equation')!r}, {', '.join(tensors)})", **tensors)
    return convert(n, made, n.x().dtype.name)
