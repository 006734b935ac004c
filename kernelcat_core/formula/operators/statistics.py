"""Normalisation by the statistics of the input itself, over axes of choice."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import Axes, axis_list, normalised
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong

_GROUP = "normalisation"
_NAMES = {"weight": "gamma", "scale": "gamma", "bias": "beta", "epsilon": "eps", "input": "x", "dim": "axis", "axes": "axis"}


def _moments(x: Tensor, over: list[int]) -> tuple[Axes, list[str]]:
    """Lines for the mean `mu` and the variance `var` over axes."""
    a = Axes.over(x.rank, over)
    k = ", ".join(a.reduced)
    return a, [f"{a.at('mu')} = mean[{k}]({a.inner('x')})",
               f"{a.at('var')} = mean[{k}](({a.inner('x')} - {a.at('mu')})**2)"]


@operator("batch_norm_training", group=_GROUP, summary="zero mean and unit variance of each channel (axis 1) over the batch",
          example="batch_norm_training(X, gamma, beta)", ranks={"x": 4, "gamma": 1, "beta": 1}, renames=_NAMES)
def batch_norm_training(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: Scalar = 1e-5) -> str:
    if x.rank < 2:
        raise wrong("batch_norm_training takes x[N, C, ...]")
    a, lines = _moments(x, [k for k in range(x.rank) if k != 1])
    value = f"({a.full('x')} - {a.at('mu')}) / sqrt({a.at('var')} + eps)"
    value += ("*gamma[i1]" if gamma is not None else "") + (" + beta[i1]" if beta is not None else "")
    return "\n".join([*lines, f"{a.full('y')} = {value}"])


@operator("mean_variance_normalization", group=_GROUP, summary="zero mean and unit variance over axes",
          aliases="MeanVarianceNormalization mean_variance_normalisation", example="mean_variance_normalization(X)",
          ranks={"x": 4}, renames=_NAMES)
def mean_variance_normalization(x: Tensor, axis: tuple[int, ...] = (0, 2, 3), eps: Scalar = 1e-9) -> str:
    a, lines = _moments(x, axis_list(axis, x.rank, "mean_variance_normalization"))
    return "\n".join([*lines, f"{a.full('y')} = ({a.full('x')} - {a.at('mu')}) / (sqrt({a.at('var')}) + eps)"])


@operator("weight_standardize", group=_GROUP, summary="zero mean and unit variance of each filter (axis 0)",
          aliases="weight_standardise", example="weight_standardize(W)", ranks={"x": 4}, renames=_NAMES)
def weight_standardize(x: Tensor, eps: Scalar = 1e-5) -> str:
    if x.rank < 2:
        raise wrong("weight_standardize takes x[F, ...]")
    a, lines = _moments(x, list(range(1, x.rank)))
    return "\n".join([*lines, f"{a.full('y')} = ({a.full('x')} - {a.at('mu')}) / sqrt({a.at('var')} + eps)"])


@operator("lp_normalize", group=_GROUP, summary="divided by the p-norm along an axis (0 where that is 0)",
          aliases="LpNormalization", example="lp_normalize(X, axis=-1)", renames=_NAMES,
          onnx=OnnxNode("LpNormalization", ("x",), lambda a: {"axis": a["axis"], "p": a["p"]},
                        applies=lambda a: a["p"] in (1, 2) and a["eps"] == 0))
def lp_normalize(x: Tensor, axis: int = -1, p: int | float = 2, eps: Scalar = 0.0) -> str:
    if isinstance(p, bool) or not isinstance(p, int | float) or not p > 0:
        raise wrong("p of lp_normalize is a positive number")
    a = Axes.over(x.rank, [normalised(axis, x.rank, "lp_normalize")])
    if p == 1:
        length = f"sum[k](abs({a.inner('x')}))"
    elif p == 2:
        length = f"sqrt(sum[k]({a.inner('x')}*{a.inner('x')}))"
    elif p == float("inf"):
        length = f"max[k](abs({a.inner('x')}))"
    else:
        length = f"sum[k](abs({a.inner('x')})**{p!r})**{1 / p!r}"
    value = f"{a.full('x')} / maximum({a.at('length')}, eps)"
    return (f"{a.at('length')} = {length}\n"
            f"{a.full('y')} = where({a.at('length')} == 0, 0, {value})")


@operator("add_rms_norm", group=_GROUP, summary="rms_norm of x + residual over the last axis",
          aliases="SkipSimplifiedLayerNormalization", example="add_rms_norm(X, R, gamma)",
          ranks={"gamma": 1}, renames=_NAMES)
def add_rms_norm(x: Tensor, residual: Tensor, gamma: Tensor | None = None, eps: Scalar = 1e-6) -> str:
    if x.rank == 0 or x.rank != residual.rank:
        raise wrong("add_rms_norm takes two tensors of one shape")
    a = Axes.over(x.rank, [x.rank - 1])
    lines = [f"{a.full('z')} = {a.full('x')} + {a.full('residual')}", f"{a.at('m')} = mean[k]({a.inner('z')}*{a.inner('z')})"]
    scale = f"*gamma[i{x.rank - 1}]" if gamma is not None else ""
    return "\n".join([*lines, f"{a.full('y')} = {a.full('z')} / sqrt({a.at('m')} + eps){scale}"])
