"""Layer, RMS, batch, group and instance normalisation (as at inference), and unit vectors."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import Axes, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong

_GROUP = "normalisation"
_NAMES = {"weight": "gamma", "scale": "gamma", "bias": "beta", "epsilon": "eps", "input": "x", "dim": "axis"}


def _trailing(x: Tensor, axis: int, name: str) -> Axes:
    first = normalised(axis, x.rank, name)
    return Axes.over(x.rank, list(range(first, x.rank)))


def _affine(text: str, x: Tensor, indices: list[str], gamma: Tensor | None, beta: Tensor | None) -> str:
    """The normalised value times gamma plus beta, which stand at the last of `indices` (as many as they have axes)."""
    for name, t, sign in (("gamma", gamma, "*"), ("beta", beta, " + ")):
        if t is None:
            continue
        if not 0 < t.rank <= len(indices):
            raise wrong(f"{name} has {t.rank} axes, {len(indices)} are normalised")
        text += sign + subscripted(name, indices[len(indices) - t.rank:])
    return text


@operator("layer_norm", group=_GROUP, summary="zero mean and unit variance over the last axes", aliases="LayerNorm layernorm",
          example="layer_norm(X, gamma, beta)", ranks={"gamma": 1, "beta": 1}, renames=_NAMES,
          onnx=OnnxNode("LayerNormalization", ("x", "gamma", "beta"),
                        lambda a: {"axis": a["axis"], "epsilon": a["eps"]}, applies=lambda a: a["gamma"] is not None))
def layer_norm(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, axis: int = -1,
               eps: Scalar = 1e-5) -> str:
    a = _trailing(x, axis, "layer_norm")
    k = ", ".join(a.reduced)
    value = f"({a.full('x')} - {a.at('mu')}) / sqrt({a.at('var')} + eps)"
    indices = [f"i{n}" for n in a.axes]
    return "\n".join([f"{a.at('mu')} = mean[{k}]({a.inner('x')})",
                      f"{a.at('var')} = mean[{k}](({a.inner('x')} - {a.at('mu')})**2)",
                      f"{a.full('y')} = {_affine(value, x, indices, gamma, beta)}"])


@operator("rms_norm", group=_GROUP, summary="divided by the root mean square over the last axes", aliases="RMSNorm rmsnorm",
          example="rms_norm(X, gamma)", ranks={"gamma": 1}, renames=_NAMES)
def rms_norm(x: Tensor, gamma: Tensor | None = None, axis: int = -1, eps: Scalar = 1e-6) -> str:
    a = _trailing(x, axis, "rms_norm")
    value = f"{a.full('x')} / sqrt({a.at('square')} + eps)"
    return "\n".join([f"{a.at('square')} = mean[{', '.join(a.reduced)}]({a.inner('x')}*{a.inner('x')})",
                      f"{a.full('y')} = {_affine(value, x, [f'i{n}' for n in a.axes], gamma, None)}"])


@operator("batch_norm", group=_GROUP, summary="normalised by given statistics of each channel (axis 1)",
          aliases="BatchNorm BatchNorm2d", example="batch_norm(X, mu, variance, gamma, beta)",
          ranks={"x": 4, "mu": 1, "variance": 1, "gamma": 1, "beta": 1},
          renames={**_NAMES, "running_mean": "mu", "mean": "mu", "running_var": "variance", "var": "variance"},
          onnx=OnnxNode("BatchNormalization", ("x", "gamma", "beta", "mu", "variance"),
                        lambda a: {"epsilon": a["eps"]},
                        applies=lambda a: a["gamma"] is not None and a["beta"] is not None))
def batch_norm(x: Tensor, mu: Tensor, variance: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None,
               eps: Scalar = 1e-5) -> str:
    if x.rank < 2:
        raise wrong("batch_norm takes x[N, C, ...]")
    full = Axes.over(x.rank, []).full
    value = f"({full('x')} - mu[i1]) / sqrt(variance[i1] + eps)"
    return f"{full('y')} = {_affine(value, x, ['i1'], gamma, beta)}"


@operator("group_norm", group=_GROUP, summary="zero mean and unit variance over groups of channels", aliases="GroupNorm",
          example="group_norm(X, 4, gamma, beta)", ranks={"x": 4, "gamma": 1, "beta": 1}, renames=_NAMES,
          onnx=OnnxNode("GroupNormalization", ("x", "gamma", "beta"),
                        lambda a: {"num_groups": a["num_groups"], "epsilon": a["eps"]},
                        applies=lambda a: a["gamma"] is not None and a["beta"] is not None))
def group_norm(x: Tensor, num_groups: int, gamma: Tensor | None = None, beta: Tensor | None = None,
               eps: Scalar = 1e-5) -> str:
    if x.rank < 2 or not isinstance(num_groups, int) or num_groups < 1:
        raise wrong("group_norm takes x[N, C, ...] and a positive number of groups")
    spatial = [f"i{n}" for n in range(2, x.rank)]
    inner = [f"k{n}" for n in range(2, x.rank)]
    reduced = ", ".join([f"c in C//{num_groups}", *inner])
    element = subscripted("x", ["i0", f"g*(C//{num_groups}) + c", *inner])
    here = subscripted("x", ["i0", "i1", *spatial])
    group = f"[i0, i1//(C//{num_groups})]"
    value = f"({here} - mu{group}) / sqrt(var{group} + eps)"
    sizes = ", ".join(["N", "C", *(f"S{n}" for n in range(2, x.rank))])
    return "\n".join([f"x: [{sizes}]",
                      f"mu[i0, g in {num_groups}] = mean[{reduced}]({element})",
                      f"var[i0, g in {num_groups}] = mean[{reduced}](({element} - mu[i0, g])**2)",
                      f"{subscripted('y', ['i0', 'i1', *spatial])} = {_affine(value, x, ['i1'], gamma, beta)}"])


@operator("instance_norm", group=_GROUP, summary="zero mean and unit variance over each channel's positions",
          aliases="InstanceNorm InstanceNorm2d", example="instance_norm(X, gamma, beta)",
          ranks={"x": 4, "gamma": 1, "beta": 1}, renames=_NAMES,
          onnx=OnnxNode("InstanceNormalization", ("x", "gamma", "beta"), lambda a: {"epsilon": a["eps"]},
                        applies=lambda a: a["gamma"] is not None and a["beta"] is not None))
def instance_norm(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: Scalar = 1e-5) -> str:
    if x.rank < 3:
        raise wrong("instance_norm takes x[N, C, ...] with at least one axis of positions")
    a = Axes.over(x.rank, list(range(2, x.rank)))
    k = ", ".join(a.reduced)
    value = f"({a.full('x')} - {a.at('mu')}) / sqrt({a.at('var')} + eps)"
    return "\n".join([f"{a.at('mu')} = mean[{k}]({a.inner('x')})",
                      f"{a.at('var')} = mean[{k}](({a.inner('x')} - {a.at('mu')})**2)",
                      f"{a.full('y')} = {_affine(value, x, ['i1'], gamma, beta)}"])


@operator("l2_normalize", group=_GROUP, summary="divided by the 2-norm along an axis", aliases="normalize",
          example="l2_normalize(X, axis=-1)", renames=_NAMES)
def l2_normalize(x: Tensor, axis: int = -1, eps: Scalar = 1e-12) -> str:
    a = Axes.over(x.rank, [normalised(axis, x.rank, "l2_normalize")])
    return (f"{a.at('length')} = sqrt(sum[k]({a.inner('x')}*{a.inner('x')}))\n"
            f"{a.full('y')} = {a.full('x')} / maximum({a.at('length')}, eps)")


@operator("cosine_similarity", group=_GROUP, summary="cosine of the angle between a and b along an axis",
          example="cosine_similarity(A, B)", renames={"dim": "axis", "x1": "a", "x2": "b"})
def cosine_similarity(a: Tensor, b: Tensor, axis: int = -1, eps: Scalar = 1e-8) -> str:
    if a.rank != b.rank:
        raise wrong("cosine_similarity takes tensors of the same shape")
    x = Axes.over(a.rank, [normalised(axis, a.rank, "cosine_similarity")])
    p, q = x.inner("a"), x.inner("b")
    return f"{x.at('y')} = sum[k]({p}*{q}) / maximum(sqrt(sum[k]({p}*{p}))*sqrt(sum[k]({q}*{q})), eps)"
