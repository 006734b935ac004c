"""Small linear algebra: products of vectors and blocks, distances, determinants and inverses of small matrices."""

from __future__ import annotations

from itertools import permutations

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong

_GROUP = "product"
_LARGEST = 4


@operator("cross", group=_GROUP, summary="cross product along an axis of size 3", example="cross(A, B)",
          renames={"dim": "axis", "input": "a", "other": "b"})
def cross(a: Tensor, b: Tensor, axis: int = -1) -> str:
    if a.rank != b.rank:
        raise wrong("cross takes tensors of the same shape")
    place = normalised(axis, a.rank, "cross")
    i = letters(a.rank)

    def at(name: str, shift: int) -> str:
        return subscripted(name, [f"({t} + {shift}) % 3" if k == place else t for k, t in enumerate(i)])

    shape = ", ".join("3" if k == place else f"N{k}" for k in range(a.rank))
    left = [f"{t} in 3" if k == place else f"{t} in N{k}" for k, t in enumerate(i)]
    return "\n".join([f"a: [{shape}]", f"b: [{shape}]",
                      f"{subscripted('y', left)} = {at('a', 1)}*{at('b', 2)} - {at('a', 2)}*{at('b', 1)}"])


@operator("kron", group=_GROUP, summary="Kronecker product: every element of a times all of b", example="kron(A, B)",
          renames={"input": "a", "other": "b"})
def kron(a: Tensor, b: Tensor) -> str:
    rank = max(a.rank, b.rank)
    if rank == 0:
        raise wrong("kron takes tensors, not scalars")
    left, x, y, lines = [], [], [], []
    for name, t, letter in (("a", a, "N"), ("b", b, "M")):
        if t.rank:
            lines.append(f"{name}: [{', '.join(f'{letter}{k + rank - t.rank}' for k in range(t.rank))}]")
    for k in range(rank):
        own, other = k >= rank - a.rank, k >= rank - b.rank
        left.append(f"i{k} in " + "*".join([f"N{k}"] * own + [f"M{k}"] * other))
        if own:
            x.append(f"i{k}//M{k}" if other else f"i{k}")
        if other:
            y.append(f"i{k} % M{k}" if own else f"i{k}")
    return "\n".join([*lines, f"{subscripted('y', left)} = {subscripted('a', x)}*{subscripted('b', y)}"])


@operator("cdist", group=_GROUP, summary="p-norm distances of every row of a and every row of b", example="cdist(A, B)",
          renames={"x1": "a", "x2": "b"})
def cdist(a: Tensor, b: Tensor, p: int | float = 2) -> str:
    if a.rank != b.rank or a.rank < 2:
        raise wrong("cdist takes a[.., P, M] and b[.., R, M]")
    lead = [f"b{k}" for k in range(a.rank - 2)]
    x, y = subscripted("a", [*lead, "p", "k"]), subscripted("b", [*lead, "r", "k"])
    left, gap = subscripted("y", [*lead, "p", "r"]), f"abs({x} - {y})"
    if p == 2:
        return f"{left} = sqrt(sum[k](({x} - {y})**2))"
    if p == 1:
        return f"{left} = sum[k]({gap})"
    if p == float("inf"):
        return f"{left} = max[k]({gap})"
    if p == 0:
        return f"{left} = sum[k](where({gap} > 0, 1.0, 0.0))"
    if isinstance(p, bool) or not isinstance(p, int | float) or not p > 0:
        raise wrong("p of cdist is a number, not negative")
    return f"{left} = sum[k]({gap}**{p!r})**{1 / p!r}"


def _square(x: Tensor, name: str) -> tuple[int, list[str]]:
    if x.rank < 2 or x.shape[-1] is None or x.shape[-1] != x.shape[-2] or not 1 <= x.shape[-1] <= _LARGEST:
        raise wrong(f"{name} takes square matrices of 1 to {_LARGEST} rows, a number known when the formula is written",
                    "declare the matrix: X: f32[3, 3]")
    return x.shape[-1], letters(x.rank - 2)


def _minor(rows: list[int], columns: list[int], lead: list[str]) -> str:
    """The determinant of some rows and columns, by Leibniz' sum over permutations."""
    terms: list[str] = []
    for order in permutations(range(len(rows))):
        odd = sum(order[p] > order[q] for p in range(len(order)) for q in range(p + 1, len(order))) % 2
        product = "*".join(subscripted("x", [*lead, str(rows[k]), str(columns[c])]) for k, c in enumerate(order))
        terms.append(("- " if odd else "+ ") + (product or "1.0"))
    return " ".join(terms).removeprefix("+ ")


def _determinant(n: int, lead: list[str]) -> str:
    """By the first row from three rows on, so that few products are formed twice."""
    every = list(range(n))
    if n < 3:
        return _minor(every, every, lead)
    terms = [f"{'-' if c % 2 else '+'} {subscripted('x', [*lead, '0', str(c)])}*"
             f"({_minor(every[1:], [k for k in every if k != c], lead)})" for c in every]
    return " ".join(terms).removeprefix("+ ")


@operator("det", group=_GROUP, summary="determinants of small square matrices (the last two axes)",
          example="X: f32[6, 3, 3]; det(X)", aliases="Det", ranks={"x": 3}, renames={"input": "x", "A": "x"},
          onnx=OnnxNode("Det", ("x",)))
def det(x: Tensor) -> str:
    n, lead = _square(x, "det")
    return f"{subscripted('y', lead)} = {_determinant(n, lead)}"


@operator("inverse", group=_GROUP, summary="inverses of small square matrices (the last two axes), by cofactors",
          example="X: f32[6, 3, 3]; inverse(X)", aliases="inv", ranks={"x": 3}, renames={"input": "x", "A": "x"})
def inverse(x: Tensor) -> str:
    n, lead = _square(x, "inverse")
    every = list(range(n))
    value = ""
    for r in reversed(every):
        for c in reversed(every):
            minor = _minor([k for k in every if k != c], [k for k in every if k != r], lead)
            entry = f"({'-' if (r + c) % 2 else ''}({minor}))"
            value = entry if not value else f"where(i*{n} + j == {r * n + c}, {entry}, {value})"
    left = subscripted("y", [*lead, f"i in {n}", f"j in {n}"])
    determinant = subscripted("d", lead)
    return f"{determinant} = {_determinant(n, lead)}\n{left} = {value}/{determinant}"
