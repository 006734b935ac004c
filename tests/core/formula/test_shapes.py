"""Tensors from nothing, parts of tensors, small linear algebra: against PyTorch, NumPy and ONNX."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.core.formula.operator_cases import Case, agrees, reference
from tests.core.formula.running import fails, run

FAR = 9223372036854775807
CASES: dict[str, Case] = {
    "full": ("y = full((3, 4), 1.5)", {}, lambda: torch.full((3, 4), 1.5)),
    "full empty": ("y = full((3, 0), 7, dtype=i32)", {}, lambda: torch.full((3, 0), 7)),
    "full scalar": ("y = full((), 7, dtype=i64)", {}, lambda: torch.tensor(7)),
    "full like": ("y = full_like(x, 2)", {"x": (3, 4)}, lambda x: torch.full_like(x, 2)),
    "zeros": ("y = zeros((2, 3)) + ones(3)", {}, lambda: torch.ones(2, 3)),
    "linspace": ("y = linspace(-1, 2.5, 7)", {}, lambda: torch.linspace(-1, 2.5, 7)),
    "eye": ("y = eye(3, 5, k=1)", {}, lambda: np.eye(3, 5, 1)),
    "eye like": ("y = eye_like(x, k=-1, dtype=i64)", {"x": (3, 5)}, lambda x: np.eye(3, 5, -1, dtype="i8")),
    "one hot": ("i: i64[A,B]; y = one_hot(i, 5, axis=1, on=3, off=-1)", {"i": np.array([[0, 3], [-1, 2]])},
                lambda i: reference("OneHot", i, np.array(5), np.array([-1, 3], "f4"), axis=1)),
    "split": ("y = split_piece(x, (2,3,2), 1, axis=1)", {"x": (4, 7)}, lambda x: x.split((2, 3, 2), 1)[1]),
    "unflatten": ("y = unflatten(x, 1, (2,-1,3))", {"x": (4, 12, 2)}, lambda x: x.unflatten(1, (2, -1, 3))),
    "movedim": ("y = movedim(x, (0,1), (2,0))", {"x": (4, 5, 6)}, lambda x: x.movedim((0, 1), (2, 0))),
    "repeat": ("y = repeat_interleave(x, 3, axis=1)", {"x": (4, 5, 6)}, lambda x: x.repeat_interleave(3, 1)),
    "repeat all": ("y = repeat_interleave(x, 3)", {"x": (4, 5, 6)}, lambda x: x.repeat_interleave(3)),
    "trace": ("y = trace(x)", {"x": (4, 6)}, lambda x: x[:4, :4].trace()),
    "meshgrid": ('y = meshgrid((a,b), index=1, indexing="xy")', {"a": (4,), "b": (3,)},
                 lambda a, b: torch.meshgrid(a, b, indexing="xy")[1]),
    "cross": ("y = cross(a, b, axis=1)", {"a": (4, 3, 2), "b": (4, 3, 2)}, lambda a, b: torch.cross(a, b, 1)),
    "kron": ("y = kron(a, b)", {"a": (2, 3), "b": (4, 2)}, torch.kron),
    "kron ranks": ("y = kron(a, b)", {"a": (2, 3), "b": (4,)}, torch.kron),
    "triangles of tall matrices": ("y = tril(x, k=-1) + triu(x, k=2)", {"x": (5, 3)}, lambda x: x.tril(-1) + x.triu(2)),
    **{f"arange {a}": (f"y = arange({', '.join(map(repr, a))})", {}, lambda a=a: torch.arange(*a))
       for a in ((5,), (2, 9), (9, 2, -3), (0, 1, 0.25), (1, 0, -0.3), (3, 3))},
    **{f"slice {k}": (f"y = slice(x, {s}, {e}, {a}, {t})", {"x": (6, 7)},
                      lambda x, s=s, e=e, a=a, t=t: reference("Slice", x, *map(np.array, (s, e, a, t))))
       for k, (s, e, a, t) in enumerate([((1,), (4,), (0,), (1,)), ((-3, 0), (FAR, 5), (0, 1), (1, 2)),
                                         ((5, -1), (0, -FAR), (1, 0), (-2, -1)), ((FAR,), (-FAR,), (1,), (-3,)),
                                         ((0,), (-1,), (1,), (1,)), ((3,), (2,), (0,), (1,)), ((-99,), (3,), (0,), (2,))])},
    **{f"chunk {k}": (f"y = chunk_piece(x, 3, {k}, axis=1)", {"x": (4, 7)}, lambda x, k=k: x.chunk(3, 1)[k]) for k in range(3)},
    **{f"diagonal {k}": (f"y = diagonal(x, {k}, 0, 2)", {"x": (4, 5, 6)}, lambda x, k=k: x.diagonal(k, 0, 2))
       for k in (0, 2, -1)},
    **{f"diag embed {k}": (f"y = diag_embed(x, {k})", {"x": (4, 5)}, lambda x, k=k: torch.diag_embed(x, k)) for k in (0, 2, -1)},
    **{f"cdist {p}": (f"y = cdist(a, b, p={p})", {"a": (2, 3, 4), "b": (2, 5, 4)}, lambda a, b, p=p: torch.cdist(a, b, p=p))
       for p in (2, 1, 0, 3, 1.5, float("inf"))},
    **{f"det {n}": (f"x: f32[5,{n},{n}]; y = det(x)", {"x": (5, n, n)}, torch.det) for n in (1, 2, 3, 4)},
    **{f"inverse {n}": (f"x: f32[5,{n},{n}]; y = inverse(x)", {"x": (5, n, n)}, torch.inverse) for n in (1, 2, 3, 4)},
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case], rtol=1e-4, atol=1e-4)


def test_pieces_make_the_whole() -> None:
    x = np.arange(20, dtype="i4").reshape(2, 10)
    pieces = [run(f"x: i32[A,B]; y = chunk_piece(x, 4, {k}, axis=1)", x=x) for k in range(4)]
    assert [p.shape[1] for p in pieces] == [3, 3, 3, 1]
    np.testing.assert_array_equal(np.concatenate(pieces, 1), x)


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = det(x)", x="3x3")
    fails("KC-F005", "y = slice(x, (0,), (1,), (0,), (0,))", x="3x4")
    fails("KC-F005", "y = arange(0, 5, 0)")
    fails("KC-F005", "y = full((2,), 1, dtype=f12)")
    fails("KC-F005", "y = split_piece(x, (1,2), 2)", x="3x4")
    fails("KC-F017", "y = split_piece(x, (1,3), 0)", x="3x4")


def test_a_quotient_may_be_negative() -> None:
    """(2*0 - 1)//4 is -1, so the bound at 0 counts."""
    x = np.arange(5, dtype="f4")
    assert run("y[o in 6] = x[minimum(maximum((2*o - 1)//4, 0), 4)]", x=x).tolist() == [0, 0, 0, 1, 1, 2]
