"""Prefix folds along one axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcat_core.formula.operators.axes import normalised
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator

_NAMES = {"dim": "axis", "input": "x"}
_GROUP = "scan"


def _attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """CumSum takes its axis as an input."""
    return {"axis": arguments["axis"], "exclusive": int(arguments["exclusive"]), "reverse": int(arguments["reverse"])}


def _scan(op: str, name: str, x: Tensor, axis: int, reverse: bool, exclusive: bool) -> str:
    place = normalised(axis, x.rank, name)
    return f'scan("{op}", x, {place}, reverse={bool(reverse)}, exclusive={bool(exclusive)})'


@operator("cumsum", group=_GROUP, summary="running sums along an axis (integers as i64); exclusive leaves the own element out",
          example="cumsum(X, axis=1)", aliases="CumSum cumulative_sum", renames=_NAMES,
          onnx=OnnxNode("CumSum", ("x",), _attributes, applies=lambda a: a["x"].dtype.is_float))
def cumsum(x: Tensor, axis: int = -1, reverse: bool = False, exclusive: bool = False) -> str:
    return _scan("sum", "cumsum", x, axis, reverse, exclusive)


@operator("cumprod", group=_GROUP, summary="running products along an axis (integers as i64)", example="cumprod(X, axis=1)",
          aliases="cumulative_prod", renames=_NAMES)
def cumprod(x: Tensor, axis: int = -1, reverse: bool = False, exclusive: bool = False) -> str:
    return _scan("prod", "cumprod", x, axis, reverse, exclusive)


@operator("cummax", group=_GROUP, summary="largest element so far along an axis, NaN wins", example="cummax(X, axis=1)",
          renames=_NAMES)
def cummax(x: Tensor, axis: int = -1, reverse: bool = False) -> str:
    return _scan("max", "cummax", x, axis, reverse, False)


@operator("cummin", group=_GROUP, summary="smallest element so far along an axis, NaN wins", example="cummin(X, axis=1)",
          renames=_NAMES)
def cummin(x: Tensor, axis: int = -1, reverse: bool = False) -> str:
    return _scan("min", "cummin", x, axis, reverse, False)


@operator("cummax_indices", group=_GROUP, summary="position of the largest element so far, the last of equals",
          example="cummax_indices(X, axis=1)", renames=_NAMES)
def cummax_indices(x: Tensor, axis: int = -1, reverse: bool = False) -> str:
    return _scan("argmax", "cummax_indices", x, axis, reverse, False)


@operator("cummin_indices", group=_GROUP, summary="position of the smallest element so far, the last of equals",
          example="cummin_indices(X, axis=1)", renames=_NAMES)
def cummin_indices(x: Tensor, axis: int = -1, reverse: bool = False) -> str:
    return _scan("argmin", "cummin_indices", x, axis, reverse, False)


@operator("logcumsumexp", group=_GROUP, summary="log of the running sums of exp along an axis, without overflow",
          example="logcumsumexp(X, axis=1)", renames=_NAMES)
def logcumsumexp(x: Tensor, axis: int = -1, reverse: bool = False, exclusive: bool = False) -> str:
    return _scan("logsumexp", "logcumsumexp", x, axis, reverse, exclusive)
