"""Elementwise operators that take more than one scalar operation: each is one expression."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, expression, operator, wrong

_GROUP = "activation"


def _one(name: str, text: str, summary: str, onnx: OnnxNode | None = None, aliases: str = "", group: str = _GROUP,
         **scalars: float) -> None:
    expression(name, ("x",), scalars, text, group=group, summary=summary, aliases=aliases, onnx=onnx)


def _node(op_type: str, **attributes: float) -> OnnxNode:
    return OnnxNode(op_type, ("x",), lambda a: dict(attributes))


_one("relu", "maximum(x, 0)", "x where positive, else 0", _node("Relu"), "ReLU")
_one("relu6", "minimum(maximum(x, 0), 6)", "relu, at most 6", None, "ReLU6")
_one("sigmoid", "1 / (1 + exp(-x))", "logistic function", _node("Sigmoid"), "Sigmoid expit")
_one("silu", "x / (1 + exp(-x))", "x times sigmoid(x)", None, "swish SiLU Swish")
_one("softplus", "maximum(x, 0) + log1p(exp(-abs(x)))", "log(1 + exp(x)), without overflow", _node("Softplus"), "Softplus")
_one("logsigmoid", "minimum(x, 0) - log1p(exp(-abs(x)))", "log(sigmoid(x)), without overflow", None, "log_sigmoid LogSigmoid")
_one("quick_gelu", "x / (1 + exp(-1.702*x))", "x times sigmoid(1.702 x)", None, "QuickGELU")
_one("elu", "where(x > 0, x, alpha*expm1(x))", "x where positive, else alpha (exp(x) - 1)",
     OnnxNode("Elu", ("x",), lambda a: {"alpha": a["alpha"]}), "ELU", alpha=1.0)
_one("selu", "1.0507009873554805*where(x > 0, x, 1.6732632423543772*expm1(x))", "scaled elu",
     _node("Selu"), "SELU")
_one("celu", "maximum(x, 0) + minimum(alpha*expm1(x/alpha), 0)", "continuously differentiable elu",
     OnnxNode("Celu", ("x",), lambda a: {"alpha": a["alpha"]}), "CELU", alpha=1.0)
_one("leaky_relu", "where(x >= 0, x, negative_slope*x)", "x where positive, else a small multiple of it",
     OnnxNode("LeakyRelu", ("x",), lambda a: {"alpha": a["negative_slope"]}), "LeakyReLU", negative_slope=0.01)
_one("hardsigmoid", "minimum(maximum(x/6 + 0.5, 0), 1)", "piecewise linear sigmoid",
     _node("HardSigmoid", alpha=1 / 6, beta=0.5), "hard_sigmoid Hardsigmoid")
_one("hardswish", "x*minimum(maximum(x/6 + 0.5, 0), 1)", "x times hardsigmoid(x)", _node("HardSwish"),
     "hard_swish Hardswish")
_one("mish", "x*tanh(maximum(x, 0) + log1p(exp(-abs(x))))", "x times tanh(softplus(x))", _node("Mish"), "Mish")
_one("softsign", "x / (1 + abs(x))", "x / (1 + |x|)", _node("Softsign"), "Softsign")
_one("tanhshrink", "x - tanh(x)", "x minus tanh(x)", None, "Tanhshrink")
_one("hardshrink", "where(abs(x) > threshold, x, 0)", "0 near 0, else x",
     OnnxNode("Shrink", ("x",), lambda a: {"lambd": a["threshold"], "bias": 0.0}), "Hardshrink", threshold=0.5)
_one("softshrink", "where(x > threshold, x - threshold, where(x < -threshold, x + threshold, 0))",
     "moved towards 0 by the threshold",
     OnnxNode("Shrink", ("x",), lambda a: {"lambd": a["threshold"], "bias": a["threshold"]}), "Softshrink", threshold=0.5)
_one("hardtanh", "minimum(maximum(x, low), high)", "x held between two bounds", None, "Hardtanh", low=-1.0, high=1.0)
_one("square", "x*x", "x times x", None, group="arithmetic")
_one("reciprocal", "1 / x", "1 / x", _node("Reciprocal"), group="arithmetic")
_one("positive", "x", "x itself", _node("Identity"), "identity", group="arithmetic")
_one("deg2rad", "x*0.017453292519943295", "degrees to radians", None, "radians", group="arithmetic")
_one("rad2deg", "x*57.29577951308232", "radians to degrees", None, "degrees", group="arithmetic")

expression("logaddexp", ("x", "y"), {}, "maximum(x, y) + where(x == y, log(2), log1p(exp(-abs(x - y))))",
           group="arithmetic", summary="log(exp(x) + exp(y)), without overflow")
expression("prelu", ("x", "slope"), {}, "where(x >= 0, x, slope*x)", group=_GROUP,
           summary="leaky relu with a given slope", aliases="PReLU", onnx=OnnxNode("PRelu", ("x", "slope")))
expression("lerp", ("x", "y", "weight"), {}, "x + weight*(y - x)", group="arithmetic", summary="from x to y by weight")
expression("swiglu", ("x", "gate"), {}, "gate*x / (1 + exp(-x))", group=_GROUP, summary="silu(x) times a gate")
expression("heaviside", ("x", "y"), {}, "where(x < 0, 0, where(x > 0, 1, where(isnan(x), x, y)))", group="arithmetic",
           summary="0 below 0, 1 above, y at 0")
expression("masked_fill", ("x", "mask", "fill"), {}, "where(mask, fill, x)", group="arithmetic",
           summary="fill where the mask holds, else x")


@operator("gelu", group=_GROUP, summary="x times the normal distribution function of x", aliases="GELU Gelu",
          example="gelu(X)", elementwise=True,
          onnx=OnnxNode("Gelu", ("x",), lambda a: {"approximate": a["approximate"]}))
def gelu(x: Tensor, approximate: str = "none") -> str:
    if approximate == "none":
        return "0.5*x*(1 + erf(x*0.7071067811865476))"
    if approximate == "tanh":
        return "0.5*x*(1 + tanh(0.7978845608028654*(x + 0.044715*x*x*x)))"
    raise wrong(f"approximate of gelu is none or tanh, not {approximate}")


@operator("clip", group="arithmetic", summary="x held between two bounds", aliases="clamp Clip",
          example="clip(X, -1.0, 1.0)", renames={"a_min": "min", "a_max": "max"}, elementwise=True,
          onnx=OnnxNode("Clip", ("x", "min", "max")))
def clip(x: Tensor, min: Scalar | None = None, max: Scalar | None = None) -> str:
    text = "x"
    if min is not None:
        text = f"maximum({text}, min)"
    if max is not None:
        text = f"minimum({text}, max)"
    return text
