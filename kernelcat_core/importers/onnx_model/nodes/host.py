"""Arithmetic of shapes: small constants that models compute with are worked out by the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, tensor_type
from kernelcat_core.importers.trace import Array, Value

LIMIT = 256
"""Elements of a constant that still counts as a shape rather than as data."""


def _int_div(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype))


_FOLD: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _int_div, "Neg": np.negative, "Abs": np.abs,
    "Equal": np.equal, "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal, "Not": np.logical_not, "And": np.logical_and, "Or": np.logical_or, "Where": np.where,
    "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt,
}


_REDUCE: dict[str, Callable[..., Any]] = {"ReduceProd": np.prod, "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min}


def folded(op: str, values: tuple[Item, ...], attributes: Mapping[str, Any]) -> Array | None:
    """The value of an operator on small constants, None where it is not one of those."""
    arrays: list[Array] = []
    for v in values:
        if not isinstance(v, Value) or v.constant is None or v.size > LIMIT:
            return None
        arrays.append(v.constant)
    if not arrays:
        return None
    if op in _FOLD:
        with np.errstate(all="ignore"):
            made = np.asarray(_FOLD[op](*arrays))
        return made if made.dtype.kind == "b" else made.astype(arrays[-1].dtype)
    if op == "Concat":
        return np.concatenate(arrays, attributes.get("axis", 1))
    if op == "Gather":
        axis = attributes.get("axis", 0)
        return np.take(arrays[0], np.where(arrays[1] < 0, arrays[1] + arrays[0].shape[axis], arrays[1]), axis)
    if op == "Slice" and len(arrays) > 2:
        return _slice(*arrays)
    if op in _REDUCE and len(arrays) == 1 and "axes" not in attributes and not attributes.get("noop_with_empty_axes"):
        return np.asarray(_REDUCE[op](arrays[0], keepdims=bool(attributes.get("keepdims", 1)))).astype(arrays[0].dtype)
    if op == "Cast" and arrays[0].dtype.kind in "iub" and tensor_type(attributes["to"]).kind in "iub":
        return arrays[0].astype(tensor_type(attributes["to"]).numpy)
    return None


def _slice(x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    places = range(len(starts)) if axes is None else axes.tolist()
    strides = np.ones(len(starts), int) if steps is None else steps
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts.tolist(), ends.tolist(), places, strides.tolist(), strict=True):
        parts[axis] = slice(start, end if end > -(1 << 62) else None, step)
    return x[tuple(parts)]
