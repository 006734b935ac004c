"""Normalisations of ONNX."""

from __future__ import annotations

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.trace import Value


@onnx_op("BatchNormalization")
def batch_norm(n: Node) -> tuple[Value, ...]:
    x, scale, bias, mean, variance = (n.x(k) for k in range(5))
    eps = n.attr("epsilon", 1e-5)
    if not n.attr("training_mode", 0) and not (n.version < 9 and not n.attr("is_test", 1)):
        return (convert(n, n.call("batch_norm", x, mean, variance, scale, bias, eps=eps), x.dtype.name),)
    momentum = n.attr("momentum", 0.9)
    i = [f"i{k}" for k in range(x.rank)]
    over = ", ".join(a for k, a in enumerate(i) if k != 1)
    element = ", ".join(i)
    made = n.formulas(
        f"mu[i1] = mean[{over}](x[{element}])\nvar[i1] = mean[{over}]((x[{element}] - mu[i1])**2)\n"
        f"y[{element}] = (x[{element}] - mu[i1])/sqrt(var[i1] + {eps})*s[i1] + b[i1]\n"
        f"m2 = m*{momentum} + mu*{1 - momentum}\nv2 = v*{momentum} + var*{1 - momentum}\n-> y, m2, v2",
        x=x, s=scale, b=bias, m=mean, v=variance)
    return tuple(convert(n, v, t.dtype.name) for v, t in zip(made, (x, mean, variance), strict=True))


@onnx_op("InstanceNormalization")
def instance_norm(n: Node) -> Value:
    return n.call("instance_norm", n.x(0), n.x(1), n.x(2), eps=n.attr("epsilon", 1e-5))


@onnx_op("LpNormalization")
def lp_normalization(n: Node) -> Value:
    x = n.x()
    axis = n.attr("axis", -1) % x.rank
    norm = f"sum(abs(x), axis={axis}, keepdims=True)" if n.attr("p", 2) == 1 else f"sqrt(sum(x*x, axis={axis}, keepdims=True))"
    return n.formula(f"m = {norm}\ny = where(m == 0, 0, x/m)", x=x)


@onnx_op("LRN")
def lrn(n: Node) -> Value:
    return n.call("lrn", n.x(), size=n.attr("size"), alpha=n.attr("alpha", 1e-4), beta=n.attr("beta", 0.75),
                  bias=n.attr("bias", 1.0))


@onnx_op("GroupNormalization", 18)
def group_norm(n: Node) -> Value:
    """In opset 18 scale and bias are one number a group, since 21 one a channel."""
    x, scale, bias = n.x(0), n.x(1), n.x(2)
    groups = n.attr("num_groups")
    if n.version < 21:
        each = x.shape[1] // groups
        scale, bias = (n.formula(f"y[c in {x.shape[1]}] = s[c//{each}]", s=v) for v in (scale, bias))
    return convert(n, n.call("group_norm", x, num_groups=groups, gamma=scale, beta=bias, eps=n.attr("epsilon", 1e-5)),
                   x.dtype.name)
