"""More elementwise arithmetic, each one expression: what PyTorch and ONNX have and scalar functions lack."""

from __future__ import annotations

from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, expression, operator, wrong

_GROUP = "arithmetic"
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


def _one(name: str, text: str, summary: str, aliases: str = "", onnx: OnnxNode | None = None, group: str = _GROUP,
         **scalars: float) -> None:
    expression(name, ("x",), scalars, text, group=group, summary=summary, aliases=aliases, onnx=onnx)


def _two(name: str, text: str, summary: str, aliases: str = "", **scalars: float) -> None:
    expression(name, ("x", "y"), scalars, text, group=_GROUP, summary=summary, aliases=aliases)


_one("frac", "x - trunc(x)", "x without its whole part")
_one("sinc", "where(x == 0, 1, sin(3.141592653589793*x)/(3.141592653589793*x))", "sin(pi x) / (pi x), 1 at 0")
_one("entr", "where(x > 0, -x*log(x), where(x < 0, -inf, where(x == 0, 0, x)))", "-x log(x), 0 at 0")
_one("isposinf", "isinf(x) and x > 0", "is positive infinity")
_one("isneginf", "isinf(x) and x < 0", "is negative infinity")
_one("thresholded_relu", "where(x > alpha, x, 0)", "x above alpha, else 0", "ThresholdedRelu",
     OnnxNode("ThresholdedRelu", ("x",), lambda a: {"alpha": a["alpha"]}), group="activation", alpha=1.0)
_one("threshold", "where(x > threshold, x, value)", "x above the threshold, else a value", group="activation", threshold=0.0,
     value=0.0)
_one("shrink", "where(x > lambd, x - bias, where(x < -lambd, x + bias, 0))", "moved towards 0 by bias, 0 near 0", "Shrink",
     OnnxNode("Shrink", ("x",), lambda a: {"lambd": a["lambd"], "bias": a["bias"]}), group="activation", lambd=0.5, bias=0.0)
_one("linear_sigmoid", "minimum(maximum(alpha*x + beta, 0), 1)", "alpha x + beta held between 0 and 1 (ONNX HardSigmoid)",
     "HardSigmoid", OnnxNode("HardSigmoid", ("x",), lambda a: {"alpha": a["alpha"], "beta": a["beta"]}), group="activation",
     alpha=0.2, beta=0.5)
_one("scaled_swish", "x / (1 + exp(-alpha*x))", "x times sigmoid(alpha x)", group="activation", alpha=1.0)
_one("scaled_softplus", "where(beta*x > threshold, x, log1p(exp(minimum(beta*x, threshold)))/beta)",
     "log(1 + exp(beta x)) / beta, x itself above the threshold", group="activation", beta=1.0, threshold=20.0)
_one("scaled_selu", "gamma*where(x > 0, x, alpha*expm1(x))", "gamma times elu (ONNX Selu)",
     onnx=OnnxNode("Selu", ("x",), lambda a: {"alpha": a["alpha"], "gamma": a["gamma"]}), group="activation",
     alpha=1.6732632423543772, gamma=1.0507009873554805)
_one("scaled_tanh", "alpha*tanh(beta*x)", "alpha tanh(beta x)", "stanh", group="activation", alpha=1.0, beta=1.0)

_two("xlogy", "where(isnan(y), nan, where(x == 0, 0, x*log(y)))", "x log(y), 0 where x is 0")
_two("xlog1py", "where(isnan(y), nan, where(x == 0, 0, x*log1p(y)))", "x log(1 + y), 0 where x is 0")
_two("ldexp", "x*exp2(y)", "x times 2 to the power y")
_two("float_power", "f64(x)**f64(y)", "x to the power y in f64")
_two("logaddexp2", "maximum(x, y) + where(x == y, 1, log1p(exp2(-abs(x - y)))*1.4426950408889634)",
     "log2(2**x + 2**y), without overflow")
_two("rsub", "y - alpha*x", "y - alpha x", alpha=1.0)
_two("add_scaled", "x + alpha*y", "x + alpha y", alpha=1.0)
_two("isclose", "x == y or abs(x - y) <= atol + rtol*abs(y) and isfinite(y)", "whether x is within tolerances of y",
     rtol=1e-5, atol=1e-8)
_two("squared_difference", "(x - y)**2", "square of x - y")
expression("addcmul", ("x", "y", "z"), {"value": 1.0}, "x + value*y*z", group=_GROUP, summary="x + value y z")
expression("addcdiv", ("x", "y", "z"), {"value": 1.0}, "x + value*(y/z)", group=_GROUP, summary="x + value y / z")


@operator("floor_mod", group=_GROUP, summary="x - y*floor(x / y), exact for floats too (Python's remainder)",
          example="floor_mod(X, Z)", elementwise=True, renames={"input": "x", "other": "y"})
def floor_mod(x: Tensor, y: Tensor) -> str:
    if not (x.dtype.is_float or y.dtype.is_float):
        return "x % y"
    return "r = fmod(x, y)\nwhere(r != 0 and (r < 0) != (y < 0), r + y, r)"


@operator("trunc_divide", group=_GROUP, summary="x / y rounded towards 0", example="trunc_divide(X, Z)", elementwise=True,
          renames={"input": "x", "other": "y"})
def trunc_divide(x: Tensor, y: Tensor) -> str:
    if x.dtype.is_float or y.dtype.is_float:
        return "trunc(x/y)"
    # a quotient that floors is one too small where a remainder has the other sign
    return "q = x//y\nwhere(q < 0 and q*y != x, q + 1, q)"


@operator("nan_to_num", group=_GROUP, summary="NaN and infinities replaced (by 0 and the largest numbers when not said)",
          example="nan_to_num(X)", elementwise=True, renames={"input": "x"})
def nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> str:
    if not x.dtype.is_float:
        return "x"
    top = _LARGEST[x.dtype.name]
    high, low = top if posinf is None else posinf, -top if neginf is None else neginf
    return f"where(isnan(x), {nan!r}, where(x == inf, {high!r}, where(x == -inf, {low!r}, x)))"


@operator("logit", group=_GROUP, summary="log(x / (1 - x)), x held between eps and 1 - eps where eps is given",
          example="logit(X)", elementwise=True, renames={"input": "x"})
def logit(x: Tensor, eps: Scalar | None = None) -> str:
    return "log(x/(1 - x))" if eps is None else "z = minimum(maximum(x, eps), 1 - eps)\nlog(z/(1 - z))"


@operator("round_decimals", group=_GROUP, summary="x rounded to a number of decimals, halves to even",
          example="round_decimals(X, 2)", elementwise=True, renames={"input": "x"})
def round_decimals(x: Tensor, decimals: int = 0) -> str:
    if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 30:
        raise wrong("decimals of round_decimals is a whole number from -30 to 30")
    if decimals >= 0:
        return f"rint(x*{10.0 ** decimals!r})/{10.0 ** decimals!r}"
    return f"rint(x/{10.0 ** -decimals!r})*{10.0 ** -decimals!r}"
