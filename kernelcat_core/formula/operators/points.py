"""Neighbours of points."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import Scalar, Tensor, operator, wrong

_RANKS = {"points": 2, "centres": 2}
_NAMES = {"centers": "centres", "k": "max_samples", "K": "max_samples"}


@operator("gather_nearest", group="points",
          summary="positions of the first max_samples points closer than radius to each centre (all points if left out)",
          example="gather_nearest(points, 0.2, 16)", ranks=_RANKS, renames=_NAMES)
def gather_nearest(points: Tensor, radius: Scalar, max_samples: int, centres: Tensor | None = None,
                   order: str = "index") -> str:
    if points.rank != 2 or (centres is not None and centres.rank != 2):
        raise wrong("gather_nearest takes points[N, C] and centres[M, C]")
    if isinstance(max_samples, bool) or not isinstance(max_samples, int) or not 0 < max_samples <= 1 << 16:
        raise wrong("max_samples is a whole number from 1 to 65536")
    if order not in ("index", "nearest"):
        raise wrong(f"order is index or nearest, not {order}")
    middle = "points" if centres is None else "centres"
    key = ", distance" if order == "nearest" else ""
    return (f"distance[i, j] = sum[c](({middle}[i, c] - points[j, c])**2)\n"
            f"first_true(distance < radius*radius, {max_samples}{key})")


@operator("ball_query", group="points", summary="gather_nearest in index order", example="ball_query(points, 0.2, 16)",
          aliases="BallQuery", ranks=_RANKS, renames=_NAMES)
def ball_query(points: Tensor, radius: Scalar = 0.2, max_samples: int = 16, centres: Tensor | None = None) -> str:
    return gather_nearest(points, radius, max_samples, centres)
