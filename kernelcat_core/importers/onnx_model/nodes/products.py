"""Matrix products of ONNX."""

from __future__ import annotations

import string

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
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
    values = [n.x(k) for k in range(len(n))]
    terms, out = _spelled(n.attr("equation"), [v.rank for v in values])
    sizes: dict[str, int] = {}
    for term, v in zip(terms, values, strict=True):
        for letter, size in zip(term, v.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 0)) if size != 1 else sizes.get(letter, 1)
    for k, (term, v) in enumerate(zip(terms, values, strict=True)):  # an axis of size 1 stretches: it says nothing
        kept = [j for j, letter in enumerate(term) if v.shape[j] == sizes[letter]]
        terms[k] = "".join(term[j] for j in kept)
        values[k] = reshaped(n, v, [v.shape[j] for j in kept])
    tensors = {f"t{k}": v for k, v in enumerate(values)}
    made = n.formula(f"y = einsum({','.join(terms) + '->' + out!r}, {', '.join(tensors)})", **tensors)
    return convert(n, made, n.x().dtype.name)


def _spelled(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The terms and the result of an equation with letters for its ellipses."""
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [c for c in string.ascii_letters if c not in left]
    widest = max((r - len(t) + 3 for r, t in zip(ranks, terms, strict=True) if "..." in t), default=0)
    every = "".join(free[:widest])
    spelled = [t.replace("...", every[widest - (r - len(t) + 3):]) if "..." in t else t
               for r, t in zip(ranks, terms, strict=True)]
    if not arrow:
        out = every + "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    return spelled, out.replace("...", every)
