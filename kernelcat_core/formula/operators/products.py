"""Contractions: matrix products, linear layers, einsum."""

from __future__ import annotations

import re

from kernelcat_core.formula.operators.axes import normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, Tensors, operator, wrong

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


@operator("gemm", group=_GROUP, summary="alpha a b + beta c, a or b transposed when asked", aliases="Gemm addmm",
          example="gemm(A, B, C)", ranks={"c": 2}, renames={"transA": "transpose_a", "transB": "transpose_b"},
          onnx=OnnxNode("Gemm", ("a", "b", "c"), lambda x: {"transA": int(x["transpose_a"]), "transB": int(x["transpose_b"]),
                                                            "alpha": x["alpha"], "beta": x["beta"]},
                        applies=lambda x: x["alpha"] is not None and x["beta"] is not None))
def gemm(a: Tensor, b: Tensor, c: Tensor | None = None, alpha: Scalar = 1.0, beta: Scalar = 1.0,
         transpose_a: bool = False, transpose_b: bool = False) -> str:
    if a.rank != 2 or b.rank != 2 or (c is not None and c.rank > 2):
        raise wrong("gemm takes matrices a and b, and c with at most two axes")
    rows = "N0" if not transpose_a else "N1"
    columns = "M1" if not transpose_b else "M0"
    x, y = ("a[k, i]" if transpose_a else "a[i, k]"), ("b[j, k]" if transpose_b else "b[k, j]")
    value, lines = f"sum[k]({x}*{y})", ["a: [N0, N1]", "b: [M0, M1]"]
    if alpha != 1:
        value = f"alpha*{value}"
    if c is not None:
        names = ["i", "j"][2 - c.rank:]
        place = subscripted("c", ["0" if d == 1 else n for n, d in zip(names, c.shape, strict=True)])
        sizes = ["1" if d == 1 else n for n, d in zip([rows, columns][2 - c.rank:], c.shape, strict=True)]
        lines += [f"c: [{', '.join(sizes)}]"] if sizes else []
        value += f" + {place}" if beta == 1 else f" + beta*{place}"
    return "\n".join([*lines, f"y[i in {rows}, j in {columns}] = {value}"])


@operator("bilinear", group=_GROUP, summary="x1 weight x2 for every output feature, plus bias", aliases="Bilinear",
          example="bilinear(A, B, W, b)", ranks={"weight": 3, "bias": 1}, renames={"input1": "x1", "input2": "x2"})
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> str:
    if x1.rank != x2.rank or x1.rank == 0 or weight.rank != 3:
        raise wrong("bilinear takes x1[.., I], x2[.., J] and weight[O, I, J]")
    lead = [f"b{k}" for k in range(x1.rank - 1)]
    inner = f"half[{', '.join([*lead, 'o', 'j'])}]"
    return "\n".join([f"{inner} = sum[i]({subscripted('x1', [*lead, 'i'])}*weight[o, i, j])",
                      f"{subscripted('y', [*lead, 'o'])} = sum[j]({inner}*{subscripted('x2', [*lead, 'j'])})"
                      + ("" if bias is None else " + bias[o]")])


@operator("tensordot", group=_GROUP, summary="sum of products over the last axes of a and the first of b, or over pairs of axes",
          example="tensordot(A, B, 1)", renames={"dims": "axes"})
def tensordot(a: Tensor, b: Tensor, axes: int | tuple[tuple[int, ...], tuple[int, ...]] = 2) -> str:
    if isinstance(axes, int) and not isinstance(axes, bool):
        count = axes
        if not 0 <= count <= min(a.rank, b.rank):
            raise wrong(f"tensordot cannot sum over {count} axes of tensors with {a.rank} and {b.rank}")
        left, right = list(range(a.rank - count, a.rank)), list(range(count))
    else:
        pairs = axes if isinstance(axes, tuple) and len(axes) == 2 else ((), (0,))
        first, second = (p if isinstance(p, tuple) else (p,) for p in pairs)
        left, right = [normalised(k, a.rank, "tensordot") for k in first], [normalised(k, b.rank, "tensordot") for k in second]
    if len(left) != len(right) or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise wrong("tensordot takes a number of axes, or a pair of equally long lists of axes")
    x = [f"k{left.index(n)}" if n in left else f"i{n}" for n in range(a.rank)]
    y = [f"k{right.index(n)}" if n in right else f"j{n}" for n in range(b.rank)]
    body = f"{subscripted('a', x)}*{subscripted('b', y)}"
    if left:
        body = f"sum[{', '.join(f'k{n}' for n in range(len(left)))}]({body})"
    return f"{subscripted('y', [n for n in (*x, *y) if n[0] != 'k'])} = {body}"


@operator("pairwise_distance", group=_GROUP, summary="p-norm of a - b + eps over the last axis",
          example="pairwise_distance(A, B)", renames={"x1": "a", "x2": "b"})
def pairwise_distance(a: Tensor, b: Tensor, p: int | float = 2.0, eps: Scalar = 1e-6, keepdim: bool = False) -> str:
    if a.rank != b.rank or a.rank == 0 or isinstance(p, bool) or not isinstance(p, int | float) or not p > 0:
        raise wrong("pairwise_distance takes two tensors of one shape, and a positive p")
    lead = [f"i{k}" for k in range(a.rank - 1)]
    gap = f"({subscripted('a', [*lead, 'k'])} - {subscripted('b', [*lead, 'k'])} + eps)"
    total = f"sqrt(sum[k]({gap}**2))" if p == 2 else f"sum[k](abs({gap})**({p!r}))**({1 / p!r})"
    return f"{subscripted('y', [*lead, 'u in 1'] if keepdim else lead)} = {total}"
