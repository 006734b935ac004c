"""Losses over classes: axis 1 of x[N, C, ..] (axis 0 of x[C])."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong
from kernelcat_core.formula.operators.losses import GROUP, arguments_of, reduced

_RANKS = {"input": 2, "target": 1, "weight": 1}
_NAMES = {"x": "input", "scores": "input", "labels": "target", "weights": "weight"}


def _places(input: Tensor, name: str) -> tuple[list[str], list[str], int]:
    """Indices of the target, of the input with class c, and the axis of classes."""
    if input.rank == 0:
        raise wrong(f"{name} takes input[N, C, ..] or input[C]")
    axis = 1 if input.rank > 1 else 0
    i = [f"i{k}" for k in range(input.rank)]
    return [a for k, a in enumerate(i) if k != axis], ["c" if k == axis else a for k, a in enumerate(i)], axis


def _labelled(chosen: str, smooth: str, kept: list[str], target: str, weight: Tensor | None, ignore: int | None,
              reduction: str, name: str) -> list[str]:
    """Lines from the loss of each label (`chosen`, without its weight, plus `smooth`) to the result."""
    part = f"weight[{target}]" if weight is not None else "1.0"
    value = f"{part}*({chosen}){smooth}" if weight is not None else f"{chosen}{smooth}"
    valid = f"{target} != {ignore}" if ignore is not None else ""
    if valid:
        value = f"where({valid}, {value}, 0)"
    if reduction != "mean" or not (valid or weight is not None):
        return [reduced(value, kept, reduction, name)]
    count = f"where({valid}, {part}, 0)" if valid else part
    if not kept:
        return [f"y = ({value})/({count})"]
    over = ", ".join(kept)
    return [f"total = sum[{over}]({value})", f"count = sum[{over}]({count})", "y = total/count"]


@operator("nll_loss", group=GROUP, summary="minus the log-probability of each target class",
          aliases="NegativeLogLikelihoodLoss", example="target: i64[N]; nll_loss(input, target)",
          ranks=_RANKS, renames=_NAMES, onnx=OnnxNode("NegativeLogLikelihoodLoss", ("input", "target", "weight"), arguments_of))
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int | None = -100,
             reduction: str = "mean") -> str:
    kept, full, axis = _places(input, "nll_loss")
    if target.rank != len(kept) or not target.dtype.is_integer:
        raise wrong("nll_loss takes an integer target[N, ..]", "declare it: target: i64[N]")
    label = subscripted("target", kept)
    full[axis] = label
    return "\n".join(_labelled(f"-{subscripted('input', full)}", "", kept, label, weight, ignore_index, reduction, "nll_loss"))


@operator("cross_entropy", group=GROUP, summary="nll_loss of log_softmax; targets are classes, or probabilities of all classes",
          aliases="SoftmaxCrossEntropyLoss cross_entropy_loss",
          example="target: i64[N]; cross_entropy(input, target)", ranks=_RANKS, renames=_NAMES,
          onnx=OnnxNode("SoftmaxCrossEntropyLoss", ("input", "target", "weight"), arguments_of,
                        applies=lambda a: a["target"].rank == a["input"].rank - 1 and a["label_smoothing"] == 0))
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int | None = -100,
                  reduction: str = "mean", label_smoothing: float = 0.0) -> str:
    kept, full, axis = _places(input, "cross_entropy")
    if isinstance(label_smoothing, bool) or not isinstance(label_smoothing, int | float) or not 0 <= label_smoothing <= 1:
        raise wrong("label_smoothing of cross_entropy is a number from 0 to 1")
    spread = float(label_smoothing)
    level = subscripted("level", kept)
    lines = [f"input: [{', '.join('C' if k == axis else f'N{k}' for k in range(input.rank))}]",
             f"{level} = logsumexp[c]({subscripted('input', full)})"]
    factor = "*weight[c]" if weight is not None else ""
    if target.rank == input.rank:
        share = subscripted("target", full)
        if spread:
            share = f"({share}*{1 - spread!r} + {spread!r}/C)"
        value = f"sum[c](({level} - {subscripted('input', full)})*{share}{factor})"
        if reduction == "none" or not kept:
            return "\n".join([*lines, f"{subscripted('y', kept)} = {value}"])
        return "\n".join([*lines, f"row[{', '.join(kept)}] = {value}", reduced(f"row[{', '.join(kept)}]", kept, reduction,
                                                                                "cross_entropy")])
    if target.rank != len(kept) or not target.dtype.is_integer:
        raise wrong("cross_entropy takes an integer target[N, ..], or probabilities in the shape of the input",
                    "declare it: target: i64[N]")
    label = subscripted("target", kept)
    place = [label if k == axis else a for k, a in enumerate(full)]
    chosen, smooth = f"{level} - {subscripted('input', place)}", ""
    if spread:
        chosen = f"{1 - spread!r}*({chosen})"
        even = subscripted("even", kept)
        lines.append(f"{even} = {spread!r}*sum[c](({level} - {subscripted('input', full)}){factor})/C")
        smooth = f" + {even}"
    return "\n".join([*lines, *_labelled(chosen, smooth, kept, label, weight, ignore_index, reduction, "cross_entropy")])


@operator("multi_margin_loss", group=GROUP, summary="how far below the target class by the margin the other classes are not",
          example="target: i64[N]; multi_margin_loss(input, target)", ranks=_RANKS, renames=_NAMES)
def multi_margin_loss(input: Tensor, target: Tensor, margin: Scalar = 1.0, p: int = 1, reduction: str = "mean") -> str:
    if input.rank != 2 or target.rank != 1 or not target.dtype.is_integer or p not in (1, 2):
        raise wrong("multi_margin_loss takes input[N, C], an integer target[N] and p = 1 or 2")
    gap = "maximum(margin - input[i0, target[i0]] + input[i0, c], 0)"
    power = f"{gap}**2" if p == 2 else gap
    return "\n".join(["input: [N, C]", f"row[i0] = sum[c](where(c == target[i0], 0, {power}))/C",
                      reduced("row[i0]", ["i0"], reduction, "multi_margin_loss")])
