"""Losses between two tensors of one shape, and between pairs of vectors (PyTorch's meaning of every argument)."""

from __future__ import annotations

from collections.abc import Mapping

from kernelcat_core.formula.operators.axes import letters, subscripted
from kernelcat_core.formula.operators.definition import Scalar, Tensor, operator, wrong

GROUP = "loss"
_REDUCTIONS = ("mean", "sum", "none")


def reduced(element: str, indices: list[str], reduction: str, name: str) -> str:
    """The last line of a loss: its elements, or their mean or sum."""
    if reduction not in _REDUCTIONS:
        raise wrong(f"reduction of {name} is mean, sum or none, not {reduction}")
    if reduction == "none" or not indices:
        return f"{subscripted('y', indices)} = {element}"
    return f"y = {reduction}[{', '.join(indices)}]({element})"


def same_shape(*tensors: Tensor, name: str) -> list[str]:
    if len({t.rank for t in tensors}) != 1:
        raise wrong(f"{name} takes tensors of one shape")
    return letters(tensors[0].rank)


def _pairwise(name: str, text: str, summary: str, example: str, **scalars: float) -> None:
    """A loss whose element is `text`, with {x} for the input and {t} for the target."""

    def element(input: Tensor, target: Tensor, reduction: str) -> str:
        i = same_shape(input, target, name=name)
        return reduced(text.format(x=subscripted("input", i), t=subscripted("target", i)), i, reduction, name)

    names = {"x": "input", "predictions": "input", "y": "target"}
    if not scalars:

        def plain(input: Tensor, target: Tensor, reduction: str = "mean") -> str:
            return element(input, target, reduction)

        operator(name, group=GROUP, summary=summary, example=example, renames=names)(plain)
    elif "delta" in scalars:

        def with_delta(input: Tensor, target: Tensor, reduction: str = "mean", delta: Scalar = scalars["delta"]) -> str:
            return element(input, target, reduction)

        operator(name, group=GROUP, summary=summary, example=example, renames={**names, "beta": "delta"})(with_delta)
    else:

        def with_margin(input: Tensor, target: Tensor, margin: Scalar = scalars["margin"], reduction: str = "mean") -> str:
            return element(input, target, reduction)

        operator(name, group=GROUP, summary=summary, example=example, renames=names)(with_margin)


_pairwise("mse_loss", "({x} - {t})**2", "square of the difference", "mse_loss(X, T)")
_pairwise("l1_loss", "abs({x} - {t})", "absolute difference", "l1_loss(X, T)")
_pairwise("huber_loss", "where(abs({x} - {t}) <= delta, 0.5*({x} - {t})**2, delta*(abs({x} - {t}) - 0.5*delta))",
          "half a square near 0, linear from delta on", "huber_loss(X, T)", delta=1.0)
_pairwise("smooth_l1_loss", "where(abs({x} - {t}) < delta, 0.5*({x} - {t})**2/delta, abs({x} - {t}) - 0.5*delta)",
          "huber_loss divided by delta", "smooth_l1_loss(X, T)", delta=1.0)
_pairwise("soft_margin_loss", "maximum(-{t}*{x}, 0) + log1p(exp(-abs({t}*{x})))",
          "log(1 + exp(-target*x)), for targets of 1 or -1", "soft_margin_loss(X, T)")
_pairwise("hinge_embedding_loss", "where({t} == 1, {x}, 0) + where({t} == -1, maximum(margin - {x}, 0), 0)",
          "x for a target of 1, what it lacks to the margin for -1", "hinge_embedding_loss(X, T)", margin=1.0)


@operator("bce_loss", group=GROUP, summary="cross entropy of probabilities and targets from 0 to 1",
          aliases="binary_cross_entropy", example="bce_loss(X, T)", renames={"x": "input"})
def bce_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean") -> str:
    i = same_shape(input, target, name="bce_loss")
    x, t = subscripted("input", i), subscripted("target", i)
    value = f"-({t}*maximum(log({x}), -100) + (1 - {t})*maximum(log1p(-{x}), -100))"
    return reduced(_weighted(value, weight, i, "bce_loss"), i, reduction, "bce_loss")


def _weighted(value: str, weight: Tensor | None, i: list[str], name: str) -> str:
    if weight is None:
        return value
    if weight.rank > len(i):
        raise wrong(f"weight of {name} has more axes than its input")
    own = i[len(i) - weight.rank:]
    return f"({value})*{subscripted('weight', ['0' if d == 1 else a for a, d in zip(own, weight.shape, strict=True)])}"


@operator("bce_with_logits_loss", group=GROUP, summary="bce_loss of sigmoid(x), without overflow",
          aliases="binary_cross_entropy_with_logits", example="bce_with_logits_loss(X, T)", ranks={"pos_weight": 1},
          renames={"x": "input"})
def bce_with_logits_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean",
                         pos_weight: Tensor | None = None) -> str:
    i = same_shape(input, target, name="bce_with_logits_loss")
    x, t = subscripted("input", i), subscripted("target", i)
    factor = "1"
    if pos_weight is not None:
        own = i[len(i) - pos_weight.rank:]
        at = ["0" if d == 1 else a for a, d in zip(own, pos_weight.shape, strict=True)]
        factor = f"(1 + ({subscripted('pos_weight', at)} - 1)*{t})"
    value = f"(1 - {t})*{x} + {factor}*(log1p(exp(-abs({x}))) + maximum(-{x}, 0))"
    return reduced(_weighted(value, weight, i, "bce_with_logits_loss"), i, reduction, "bce_with_logits_loss")


@operator("kl_div", group=GROUP, summary="target*(log(target) - x), for logarithms x of probabilities",
          example="kl_div(X, T)", renames={"x": "input"})
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> str:
    i = same_shape(input, target, name="kl_div")
    x, t = subscripted("input", i), subscripted("target", i)
    value = f"exp({t})*({t} - {x})" if log_target else f"where({t} == 0, 0, {t}*log({t})) - {t}*{x}"
    if reduction != "batchmean":
        return reduced(value, i, reduction, "kl_div")
    return f"input: [{', '.join(f'N{k}' for k in range(len(i)))}]\ny = sum[{', '.join(i)}]({value})/N0"


@operator("poisson_nll_loss", group=GROUP, summary="negative log-likelihood of counts under Poisson distributions",
          example="poisson_nll_loss(X, T)", renames={"x": "input"})
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, eps: Scalar = 1e-8,
                     reduction: str = "mean") -> str:
    i = same_shape(input, target, name="poisson_nll_loss")
    x, t = subscripted("input", i), subscripted("target", i)
    value = f"exp({x}) - {t}*{x}" if log_input else f"{x} - {t}*log({x} + eps)"
    if full:  # Stirling's formula for log(target!)
        value += f" + where({t} > 1, {t}*log({t}) - {t} + 0.5*log(6.283185307179586*{t}), 0)"
    return reduced(value, i, reduction, "poisson_nll_loss")


@operator("gaussian_nll_loss", group=GROUP, summary="negative log-likelihood under normal distributions",
          example="gaussian_nll_loss(X, T, V)", renames={"x": "input", "var": "variance"})
def gaussian_nll_loss(input: Tensor, target: Tensor, variance: Tensor, full: bool = False, eps: Scalar = 1e-6,
                      reduction: str = "mean") -> str:
    i = same_shape(input, target, variance, name="gaussian_nll_loss")
    v = f"maximum({subscripted('variance', i)}, eps)"
    value = f"0.5*(log({v}) + ({subscripted('input', i)} - {subscripted('target', i)})**2/{v})"
    return reduced(f"{value} + 0.9189385332046727" if full else value, i, reduction, "gaussian_nll_loss")


@operator("margin_ranking_loss", group=GROUP, summary="what -target*(a - b) lacks to the margin",
          example="margin_ranking_loss(A, B, T)", renames={"input1": "a", "input2": "b"})
def margin_ranking_loss(a: Tensor, b: Tensor, target: Tensor, margin: Scalar = 0.0, reduction: str = "mean") -> str:
    i = same_shape(a, b, target, name="margin_ranking_loss")
    value = f"maximum(margin - {subscripted('target', i)}*({subscripted('a', i)} - {subscripted('b', i)}), 0)"
    return reduced(value, i, reduction, "margin_ranking_loss")


@operator("cosine_embedding_loss", group=GROUP, summary="1 - cosine for a target of 1, the cosine above the margin for -1",
          example="cosine_embedding_loss(A, B, T)", ranks={"target": 1}, renames={"input1": "a", "input2": "b"})
def cosine_embedding_loss(a: Tensor, b: Tensor, target: Tensor, margin: Scalar = 0.0, reduction: str = "mean") -> str:
    if a.rank != b.rank or a.rank not in (1, 2) or target.rank != a.rank - 1:
        raise wrong("cosine_embedding_loss takes a[N, D], b[N, D] and target[N] (N may be left out)")
    i = ["i"] * target.rank
    p, q = subscripted("a", [*i, "k"]), subscripted("b", [*i, "k"])
    cosine, t = subscripted("cosine", i), subscripted("target", i)
    total = f"sum[k]({p}*{q})/sqrt((sum[k]({p}*{p}) + 1e-12)*(sum[k]({q}*{q}) + 1e-12))"
    value = f"where({t} == 1, 1 - {cosine}, 0) + where({t} == -1, maximum({cosine} - margin, 0), 0)"
    return f"{cosine} = {total}\n{reduced(value, i, reduction, 'cosine_embedding_loss')}"


@operator("triplet_margin_loss", group=GROUP, summary="how much nearer than the negative by the margin the positive is not",
          example="triplet_margin_loss(A, P, Q)", ranks={"anchor": 2, "positive": 2, "negative": 2})
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: Scalar = 1.0, p: int | float = 2.0,
                        eps: Scalar = 1e-6, reduction: str = "mean") -> str:
    i = same_shape(anchor, positive, negative, name="triplet_margin_loss")[:-1]
    if anchor.rank == 0 or isinstance(p, bool) or not isinstance(p, int | float) or not p > 0:
        raise wrong("triplet_margin_loss takes vectors or more, and a positive p")

    def distance(other: str) -> str:
        gap = f"({subscripted('anchor', [*i, 'k'])} - {subscripted(other, [*i, 'k'])} + eps)"
        return f"sqrt(sum[k]({gap}**2))" if p == 2 else f"sum[k](abs({gap})**{p!r})**{1 / p!r}"

    near, far = subscripted("near", i), subscripted("far", i)
    value = f"maximum({near} - {far} + margin, 0)"
    return "\n".join([f"{near} = {distance('positive')}", f"{far} = {distance('negative')}",
                      reduced(value, i, reduction, "triplet_margin_loss")])


def arguments_of(a: Mapping[str, object]) -> dict[str, object]:
    """Attributes of ONNX's two losses over classes."""
    found: dict[str, object] = {"reduction": a["reduction"]}
    return found if a["ignore_index"] is None else found | {"ignore_index": a["ignore_index"]}
