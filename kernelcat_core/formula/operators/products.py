"""Contractions: matrix products, linear layers, einsum."""

from __future__ import annotations

import re

from kernelcat_core.formula.operators.axes import subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, Tensors, operator, wrong

_GROUP = "product"


@operator("matmul", group=_GROUP, summary="matrix product; leading axes are batches and broadcast", example="matmul(A, B)",
          aliases="MatMul bmm mm dot", onnx=OnnxNode("MatMul", ("a", "b")))
def matmul(a: Tensor, b: Tensor) -> str:
    if a.rank == 0 or b.rank == 0:
        raise wrong("matmul takes tensors, not scalars", "multiply with *")
    batch = max(a.rank, b.rank, 2) - 2
    rows, columns = (["m"] if a.rank > 1 else []), (["n"] if b.rank > 1 else [])
    lead = [f"b{k}" for k in range(batch)]
    left, right = _batch(a, lead, b), _batch(b, lead, a)
    x, y = subscripted("a", [*left, *rows, "k"]), subscripted("b", [*right, "k", *columns])
    return f"{subscripted('y', [*lead, *rows, *columns])} = sum[k]({x}*{y})"


def _batch(x: Tensor, lead: list[str], other: Tensor) -> list[str]:
    """Batch subscripts of x: 0 on an axis of size 1 that the other operand makes longer."""
    count = max(0, x.rank - 2)
    names = lead[len(lead) - count:]
    found: list[str] = []
    for k, name in enumerate(names):
        place = other.rank - 2 - count + k
        longer = place >= 0 and other.rank > 2 and other.shape[place] != 1
        found.append("0" if x.shape[k] == 1 and longer else name)
    return found


@operator("linear", group=_GROUP, summary="x times the transposed weight, plus bias", aliases="Linear Dense",
          example="linear(X, W, b)", ranks={"bias": 1}, renames={"input": "x"},
          onnx=OnnxNode("Gemm", ("x", "weight", "bias"), lambda a: {"transB": 1}, applies=lambda a: a["x"].rank == 2))
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    if x.rank == 0 or weight.rank != 2:
        raise wrong("linear takes x[..., in] and weight[out, in]")
    lead = [f"i{k}" for k in range(x.rank - 1)]
    body = f"sum[k]({subscripted('x', [*lead, 'k'])}*weight[o, k])"
    return f"{subscripted('y', [*lead, 'o'])} = {body}{'' if bias is None else ' + bias[o]'}"


@operator("outer", group=_GROUP, summary="every product of an element of a and one of b", example="outer(a, b)",
          ranks={"a": 1, "b": 1})
def outer(a: Tensor, b: Tensor) -> str:
    if a.rank != 1 or b.rank != 1:
        raise wrong("outer takes two vectors")
    return "y[i, j] = a[i]*b[j]"


def _letters(equation: object) -> tuple[int, ...]:
    """How many axes each operand of an equation has."""
    text = str(equation).replace(" ", "").partition("->")[0]
    return tuple(len(term) for term in text.split(","))


@operator("einsum", group=_GROUP, summary="sum of products, by Einstein's notation", example='einsum("ij,jk->ik", A, B)',
          operand_ranks=_letters,
          onnx=OnnxNode("Einsum", ("operands",), lambda a: {"equation": a["equation"]}))
def einsum(equation: str, operands: Tensors) -> str:
    if not isinstance(equation, str):
        raise wrong("the first argument of einsum is its equation", 'einsum("ij,jk->ik", A, B)')
    text = equation.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z]*(,[A-Za-z]*)*(->[A-Za-z]*)?", text):
        raise wrong(f"einsum cannot read '{equation}'", 'write letters, commas and ->, e.g. "ij,jk->ik"')
    left, arrow, out = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise wrong(f"'{equation}' has {len(terms)} operands, {len(operands)} are given")
    for term, x in zip(terms, operands, strict=True):
        if len(term) != x.rank:
            raise wrong(f"'{term}' has {len(term)} letters for a tensor with {x.rank} axes")
    letters = list(dict.fromkeys("".join(terms)))
    if not arrow:
        out = "".join(sorted(c for c in letters if left.count(c) == 1))
    if len(set(out)) != len(out) or any(c not in letters for c in out):
        raise wrong(f"the result '{out}' of einsum repeats a letter or has one that no operand has")
    reduced = [c for c in letters if c not in out]
    factors = "*".join(subscripted(f"operands{k}", list(t)) for k, t in enumerate(terms))
    body = f"sum[{', '.join(reduced)}]({factors})" if reduced else factors
    return f"{subscripted('y', list(out))} = {body}"
