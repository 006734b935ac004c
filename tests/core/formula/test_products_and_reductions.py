"""Reductions, contractions and further layouts against PyTorch, NumPy and ONNX."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from tests.core.formula.operator_cases import Case, agrees, reference
from tests.core.formula.running import fails, normal

X = {"x": (3, 4, 5)}
HOLES = normal(3, 5)
HOLES[0, 2] = np.nan
HOLES[1] = 0
INF = float("inf")

CASES: dict[str, Case] = {
    **{f"norm {p}": (f"y = norm(x, ord={p}, axis=(0,2))", X, lambda x, p=p: torch.linalg.vector_norm(x, p, (0, 2)))
       for p in (0, 1, 3, -1, 0.5, INF, -INF)},
    "log of sum": ("y = log_sum(x*x, axis=1)", X, lambda x: (x * x).sum(1).log()),
    "count": ("y = count_nonzero(x, axis=1)", {"x": np.nan_to_num(HOLES)}, lambda x: x.count_nonzero(1)),
    "nan sum": ("y = nansum(x, axis=1)", {"x": HOLES}, lambda x: x.nansum(1)),
    "nan mean": ("y = nanmean(x, axis=0, keepdims=True)", {"x": HOLES}, lambda x: x.nanmean(0, keepdim=True)),
    "gemm": ("y = gemm(a, b, c, alpha=0.5, beta=2, transA=True, transB=True)", {"a": (4, 3), "b": (5, 4), "c": (5,)},
             lambda a, b, c: 0.5 * a.T @ b.T + 2 * c),
    "gemm column": ("c: f32[3,1]; y = gemm(a, b, c)", {"a": (3, 4), "b": (4, 5), "c": (3, 1)}, lambda a, b, c: a @ b + c),
    "bilinear": ("y = bilinear(a, b, w, c)", {"a": (2, 3), "b": (2, 4), "w": (5, 3, 4), "c": (5,)}, F.bilinear),
    "tensordot": ("y = tensordot(a, b, 2)", {"a": (2, 3, 4), "b": (3, 4, 5)}, lambda a, b: torch.tensordot(a, b, 2)),
    "tensordot pairs": ("y = tensordot(a, b, ((0,2),(1,0)))", {"a": (2, 3, 4), "b": (4, 2, 5)},
                        lambda a, b: torch.tensordot(a, b, ((0, 2), (1, 0)))),
    **{f"distance {p}": (f"y = pairwise_distance(a, b, p={p})", {"a": (3, 4), "b": (3, 4)},
                         lambda a, b, p=p: F.pairwise_distance(a, b, p=p)) for p in (2, 1, 3)},
    **{f"{w} {p}": (f"y = {w}_window(9, periodic={p})", {},
                    lambda w=w, p=p: reference(f"{w.title()}Window", np.array(9), periodic=int(p)))
       for w in ("hann", "hamming", "blackman") for p in (True, False)},
    "tri": ("y = tri(3, 5, k=1)", {}, lambda: np.tri(3, 5, 1)),
    "vander": ("y = vander(x, 4)", {"x": (3,)}, lambda x: torch.vander(x, 4)),
    "flip": ("y = flip(x, axis=(0,2))", X, lambda x: x.flip((0, 2))),
    "roll": ("y = roll(x, (1,-2), axis=(0,2))", X, lambda x: x.roll((1, -2), (0, 2))),
    "unsqueeze": ("y = unsqueeze(x, (0,-1))", X, lambda x: x[None, ..., None]),
    "squeeze": ("x: f32[1,4,1]; y = squeeze(x)", {"x": (1, 4, 1)}, lambda x: x.squeeze()),
    "squeeze axes": ("y = squeeze(x, (0,2))", {"x": (1, 4, 1)}, lambda x: x.squeeze()),
    "tile": ("y = tile(x, (2,1,3,2))", X, lambda x: x.tile(2, 1, 3, 2)),
    **{f"quarters {k}": (f"y = rot90(x, {k}, (0,2))", X, lambda x, k=k: x.rot90(k, (0, 2))) for k in range(-1, 4)},
    "sequences": ("n: i64[B]; y = reverse_sequence(x, n)", {"x": (5, 3, 2), "n": np.array([5, 1, 3])},
                  lambda x, n: reference("ReverseSequence", x, n)),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    agrees(CASES[case])


def test_arguments_are_checked() -> None:
    fails("KC-F005", "y = tensordot(a, b, 3)", a="2x3", b="3x2")
    fails("KC-F005", "y = roll(x, (1, 2), axis=0)", x="3x4")
    fails("KC-F005", "y = rot90(x, 1, (0, 0))", x="3x4")
    fails("KC-F005", "y = gemm(a, b)", a="2x3x4", b="4x5")
