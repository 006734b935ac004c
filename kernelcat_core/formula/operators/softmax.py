"""Softmax and its relatives along axes."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import letters, normalised
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator

_DIM = {"dim": "axis", "input": "x"}


def _pair(x: Tensor, axis: int) -> tuple[str, str, str]:
    """Subscripts: all axes, all with the reduced one called k, the kept ones."""
    k = normalised(axis, x.rank, "softmax")
    names = letters(x.rank)
    inner = ["k" if n == k else i for n, i in enumerate(names)]
    kept = [i for n, i in enumerate(names) if n != k]
    return ", ".join(names), ", ".join(inner), ", ".join(kept)


def _at(name: str, subscripts: str) -> str:
    return f"{name}[{subscripts}]" if subscripts else name


@operator("softmax", group="normalisation", summary="exp(x) / sum(exp(x)) along an axis", aliases="Softmax",
          example="softmax(X, axis=-1)", renames=_DIM,
          onnx=OnnxNode("Softmax", ("x",), lambda a: {"axis": a["axis"]}))
def softmax(x: Tensor, axis: int = -1) -> str:
    full, inner, kept = _pair(x, axis)
    return (f"{_at('top', kept)} = max[k](x[{inner}])\n"
            f"{_at('total', kept)} = sum[k](exp(x[{inner}] - {_at('top', kept)}))\n"
            f"y[{full}] = exp(x[{full}] - {_at('top', kept)}) / {_at('total', kept)}")
