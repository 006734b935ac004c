"""Softmax and its relatives along an axis."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import Axes, normalised
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator

_DIM = {"dim": "axis", "input": "x"}


def _parts(x: Tensor, axis: int, name: str) -> tuple[Axes, list[str]]:
    """The shifted exponentials' sum: two lines, `top` and `total`."""
    a = Axes.over(x.rank, [normalised(axis, x.rank, name)])
    return a, [f"{a.at('top')} = max[k]({a.inner('x')})",
               f"{a.at('total')} = sum[k](exp({a.inner('x')} - {a.at('top')}))"]


@operator("softmax", group="normalisation", summary="exp(x) / sum(exp(x)) along an axis", aliases="Softmax",
          example="softmax(X, axis=-1)", renames=_DIM,
          onnx=OnnxNode("Softmax", ("x",), lambda a: {"axis": a["axis"]}))
def softmax(x: Tensor, axis: int = -1) -> str:
    a, lines = _parts(x, axis, "softmax")
    return "\n".join([*lines, f"{a.full('y')} = exp({a.full('x')} - {a.at('top')}) / {a.at('total')}"])


@operator("log_softmax", group="normalisation", summary="logarithm of softmax, without overflow", aliases="LogSoftmax",
          example="log_softmax(X, axis=-1)", renames=_DIM,
          onnx=OnnxNode("LogSoftmax", ("x",), lambda a: {"axis": a["axis"]}))
def log_softmax(x: Tensor, axis: int = -1) -> str:
    a, lines = _parts(x, axis, "log_softmax")
    return "\n".join([*lines, f"{a.full('y')} = {a.full('x')} - {a.at('top')} - log({a.at('total')})"])
