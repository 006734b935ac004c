"""Reductions of whole tensors over any axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelcat_core.formula.operators.axes import Axes, axis_list
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong

AxisArgument = int | tuple[int, ...] | None
_DIM = {"dim": "axis", "keepdim": "keepdims", "input": "x", "axes": "axis"}
_GROUP = "reduction"


def _axes_attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`axes` and `keepdims`, as the Reduce nodes have them (axes are an input there from opset 18)."""
    x: Tensor = arguments["x"]
    return {"axes": axis_list(arguments["axis"], x.rank, "reduction"), "keepdims": int(arguments["keepdims"])}


def _reduce(op: str, x: Tensor, axis: AxisArgument, keepdims: bool, body: str = "{}") -> str:
    a = Axes.over(x.rank, axis_list(axis, x.rank, op))
    if not a.reduced:
        raise wrong(f"{op} of a scalar has nothing to reduce")
    return f"{a.left('y', keepdims)} = {op}[{', '.join(a.reduced)}]({body.format(a.inner('x'))})"


def _simple(op: str, summary: str, onnx: str, aliases: str = "") -> None:
    def build(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
        return _reduce(op, x, axis, keepdims)

    operator(op, group=_GROUP, summary=summary, example=f"{op}(X, axis=1)", aliases=aliases, renames=_DIM,
             onnx=OnnxNode(onnx, ("x",), _axes_attributes) if onnx else None)(build)


_simple("sum", "sum over axes (all when none are named)", "ReduceSum", "reduce_sum")
_simple("prod", "product over axes", "ReduceProd", "reduce_prod")
_simple("mean", "mean over axes", "ReduceMean", "reduce_mean average")
_simple("max", "largest element over axes, NaN wins", "ReduceMax", "amax reduce_max")
_simple("min", "smallest element over axes, NaN wins", "ReduceMin", "amin reduce_min")
_simple("any", "whether some element holds", "")
_simple("all", "whether every element holds", "")
_simple("logsumexp", "log of the sum of exp, without overflow", "ReduceLogSumExp")


def _arg(op: str, summary: str, onnx: str) -> None:
    def build(x: Tensor, axis: int | None = None, keepdims: bool = False) -> str:
        if isinstance(axis, tuple):
            raise wrong(f"axis of {op} is one axis, or left out for all")
        return _reduce(op, x, axis, keepdims)

    operator(op, group=_GROUP, summary=summary, example=f"{op}(X, axis=-1)", renames=_DIM,
             onnx=OnnxNode(onnx, ("x",), lambda a: {"axis": a["axis"], "keepdims": int(a["keepdims"])},
                           applies=lambda a: a["axis"] is not None))(build)


_arg("argmax", "position of the largest element, the first of equals", "ArgMax")
_arg("argmin", "position of the smallest element, the first of equals", "ArgMin")


@operator("norm", group=_GROUP, summary="p-norm over axes: any order, 0 (how many are not 0), inf and -inf",
          example="norm(X, axis=-1)", aliases="vector_norm", renames={**_DIM, "p": "ord"})
def norm(x: Tensor, ord: int | float = 2, axis: AxisArgument = None, keepdims: bool = False) -> str:
    if isinstance(ord, bool) or not isinstance(ord, int | float) or ord != ord:
        raise wrong("the order of norm is a number")
    if ord == 1:
        return _reduce("sum", x, axis, keepdims, "abs({})")
    if ord == 2:
        return _apply("sqrt", _reduce("sum", x, axis, keepdims, "{0}*{0}"))
    if abs(ord) == float("inf"):
        return _reduce("max" if ord > 0 else "min", x, axis, keepdims, "abs({})")
    if ord == 0:
        return _reduce("sum", x, axis, keepdims, "where({} != 0, 1.0, 0.0)")
    return f"{_reduce('sum', x, axis, keepdims, f'abs({{}})**({ord!r})')}**({1 / ord!r})"


def _apply(function: str, line: str) -> str:
    left, _, right = line.partition(" = ")
    return f"{left} = {function}({right})"


@operator("l1_norm", group=_GROUP, summary="sum of absolute values over axes", example="l1_norm(X, axis=-1)", renames=_DIM,
          onnx=OnnxNode("ReduceL1", ("x",), _axes_attributes))
def l1_norm(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return norm(x, 1, axis, keepdims)


@operator("l2_norm", group=_GROUP, summary="root of the sum of squares over axes", example="l2_norm(X, axis=-1)",
          renames=_DIM, onnx=OnnxNode("ReduceL2", ("x",), _axes_attributes))
def l2_norm(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return norm(x, 2, axis, keepdims)


@operator("sum_square", group=_GROUP, summary="sum of squares over axes", example="sum_square(X, axis=-1)", renames=_DIM,
          onnx=OnnxNode("ReduceSumSquare", ("x",), _axes_attributes))
def sum_square(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return _reduce("sum", x, axis, keepdims, "{0}*{0}")


def _variance(x: Tensor, axis: AxisArgument, keepdims: bool, correction: int, name: str) -> str:
    a = Axes.over(x.rank, axis_list(axis, x.rank, name))
    if not a.reduced:
        raise wrong(f"{name} of a scalar has nothing to reduce")
    k = ", ".join(a.reduced)
    square = f"(f32({a.inner('x')}) - {a.at('mu')})**2" if not x.dtype.is_float else f"({a.inner('x')} - {a.at('mu')})**2"
    lines = [a.declared("x"), f"{a.left('mu', False)} = mean[{k}]({a.inner('x')})"]
    if correction == 0:
        lines.append(f"{a.left('y', keepdims)} = mean[{k}]({square})")
    else:
        lines.append(f"{a.left('y', keepdims)} = sum[{k}]({square}) / ({a.count()} - {correction})")
    return "\n".join(lines)


@operator("var", group=_GROUP, summary="variance over axes (correction 0: of the population)", example="var(X, axis=-1)",
          aliases="variance", renames={**_DIM, "ddof": "correction"})
def var(x: Tensor, axis: AxisArgument = None, correction: int = 0, keepdims: bool = False) -> str:
    return _variance(x, axis, keepdims, correction, "var")


@operator("std", group=_GROUP, summary="standard deviation over axes", example="std(X, axis=-1)",
          renames={**_DIM, "ddof": "correction"})
def std(x: Tensor, axis: AxisArgument = None, correction: int = 0, keepdims: bool = False) -> str:
    *first, last = _variance(x, axis, keepdims, correction, "std").split("\n")
    return "\n".join([*first, _apply("sqrt", last)])


@operator("log_sum", group=_GROUP, summary="logarithm of the sum over axes", example="log_sum(X, axis=-1)",
          renames=_DIM, onnx=OnnxNode("ReduceLogSum", ("x",), _axes_attributes))
def log_sum(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return _apply("log", _reduce("sum", x, axis, keepdims))


@operator("count_nonzero", group=_GROUP, summary="how many elements are not 0, over axes", example="count_nonzero(X, axis=-1)",
          renames=_DIM)
def count_nonzero(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return _reduce("sum", x, axis, keepdims, "i64({} != 0)")


@operator("nansum", group=_GROUP, summary="sum over axes of what is not NaN", example="nansum(X, axis=-1)", renames=_DIM)
def nansum(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    return _reduce("sum", x, axis, keepdims, "where(isnan({0}), 0, {0})" if x.dtype.is_float else "{}")


@operator("nanmean", group=_GROUP, summary="mean over axes of what is not NaN", example="nanmean(X, axis=-1)", renames=_DIM)
def nanmean(x: Tensor, axis: AxisArgument = None, keepdims: bool = False) -> str:
    total = nansum(x, axis, keepdims)
    count = _reduce("sum", x, axis, keepdims, "where(isnan({}), 0.0, 1.0)" if x.dtype.is_float else "where({0} == {0}, 1.0, 0.0)")
    return f"{total} / {count.partition(' = ')[2]}"
