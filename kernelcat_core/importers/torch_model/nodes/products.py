"""Matrix products of ATen."""

from __future__ import annotations

from kernelcat_core.dtypes import F32
from kernelcat_core.importers.torch_model.node import Node, aten_op
from kernelcat_core.importers.trace import Value


@aten_op("mm bmm mv dot vdot")
def product(n: Node, a: Value, b: Value) -> Value:
    if not a.size:  # nothing to sum over
        return n.full(n.out, 0)
    return n.call("matmul", a, b)


_SUMS = {"addmv": ("sum[k](a[i, k]*b[k])", "i"), "addmm": ("sum[k](a[i, k]*b[k, j])", "i, j"),
         "baddbmm": ("sum[k](a[p, i, k]*b[p, k, j])", "p, i, j"), "addbmm": ("sum[p, k](a[p, i, k]*b[p, k, j])", "i, j"),
         "addr": ("a[i]*b[j]", "i, j")}


@aten_op("addmm baddbmm addmv addbmm addr")
def added(n: Node, x: Value, a: Value, b: Value) -> Value:
    """beta*x + alpha*(a @ b); x is not read (it may hold NaN) where beta is 0."""
    kind = n.out.dtype
    alpha, beta = n.kw("alpha", 1), n.kw("beta", 1)
    wide = F32 if kind.is_float and kind.bits == 16 else kind
    body, axes = _SUMS[n.name]
    own = n.formula(f"y[{axes}] = {body}", a=n.cast(a, wide), b=n.cast(b, wide)) if a.size else n.full(n.out, 0)
    given: dict[str, Value | float] = {"p": n.cast(own, wide)}
    text = "p"
    if alpha != 1:
        text, given["s"] = "p*s", alpha
    if beta != 0:
        text, given["x"] = f"{text} + x{'' if beta == 1 else '*t'}", x
        if beta != 1:
            given["t"] = beta
    made = n.pointwise(text if text != "p" else "+p", kind, **given)
    from kernelcat_core.importers.torch_model.nodes.layout import expanded

    return expanded(n, made, n.out.shape)


@aten_op("linear")
def linear(n: Node, x: Value, w: Value, bias: Value | None = None) -> Value:
    if not x.size:
        return n.full(n.out, 0)
    return n.call("linear", x, w, bias)
