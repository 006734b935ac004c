"""torch's primitives, to which its reference decompositions come down: most are ATen operators under another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcat_core.importers.torch_model.node import TABLE, Node, aten_op, indices
from kernelcat_core.importers.torch_model.nodes.layout import moved, reshaped
from kernelcat_core.importers.trace import Value

_SAME = {
    "default": "abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc exp exp2 expm1 floor lgamma log log1p log2 "
    "log10 neg reciprocal round rsqrt sign signbit sin sinh sqrt tan tanh trunc atan2 fmax fmin hypot maximum minimum "
    "clone bitwise_not",
    "Tensor": "add sub mul div eq ne lt le gt ge fmod remainder bitwise_and bitwise_or bitwise_xor",
}
for _overload, _names in _SAME.items():
    for _name in _names.split():
        TABLE[f"prims.{_name}.default"] = TABLE[f"aten.{_name}.{_overload}"]
TABLE["prims.pow.default"] = TABLE["aten.pow.Tensor_Tensor"]
TABLE["prims.where.default"] = TABLE["aten.where.self"]
TABLE["prims.cat.default"] = TABLE["aten.cat.default"]
for _name, _overload in (("sum", "dim_IntList"), ("prod", "dim_int"), ("amax", "default"), ("amin", "default")):
    TABLE[f"prims.{_name}.default"] = TABLE[f"aten.{_name}.{_overload}"]


@aten_op("prims.transpose.default")
def transpose(n: Node, x: Value, order: Sequence[int]) -> Value:
    inner = [""] * x.rank
    for place, axis in enumerate(order):
        inner[axis] = f"i{place}"
    return moved(n, x, n.out.shape, inner)


for _name in ("erf_inv", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e"):
    _aten = {"erf_inv": "erfinv", "bessel_i0": "i0", "bessel_i0e": "special_i0e", "bessel_i1": "special_i1",
             "bessel_i1e": "special_i1e"}[_name]
    TABLE[f"prims.{_name}.default"] = lambda n, x, _aten=_aten: TABLE[f"aten.{_aten}.default"](
        Node(f"aten.{_aten}.default", n.trace, n.specs, n.keywords, n.metas), x)


@aten_op("prims.broadcast_in_dim.default")
def broadcast_in_dim(n: Node, x: Value, shape: Sequence[int], axes: Sequence[int]) -> Value:
    return moved(n, x, shape, ["0" if s == 1 else f"i{a}" for a, s in zip(axes, x.shape, strict=True)])


@aten_op("prims.collapse_view.default prims.split_dim.default prims.squeeze.default prims.reshape.default prims.view_of.default "
         "prims.collapse.default")
def same_elements(n: Node, x: Value, *_: Any) -> Value:
    return reshaped(n, x, n.out.shape)


@aten_op("prims.device_put.default prims.conj_physical.default prims.view_of_dtype.default")
def same(n: Node, x: Value, *_: Any) -> Value:
    if x.dtype != n.out.dtype:
        raise n.refuse("bits of one type are not read as another")
    return x


@aten_op("prims.iota.default")
def iota(n: Node, length: int) -> Value:
    return n.const(int(n.kw("start", 0)) + np.arange(length) * int(n.kw("step", 1)), n.out.dtype)


@aten_op("prims.rev.default")
def rev(n: Node, x: Value, axes: Sequence[int]) -> Value:
    return moved(n, x, x.shape,
                 [f"{s} - 1 - {i}" if k in axes else i for k, (i, s) in enumerate(zip(indices("i", x.rank), x.shape))])


@aten_op("prims.full.default prims.empty.default prims.empty_strided.default prims.empty_permuted.default "
         "prims.scalar_tensor.default")
def full(n: Node, *a: Any) -> Value:
    value = a[0] if n.name == "scalar_tensor" else a[1] if n.name == "full" else 0
    return n.full(n.out, value)
