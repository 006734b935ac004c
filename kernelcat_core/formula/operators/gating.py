"""Gated linear units over halves of an axis, one-hot maxima, softmin, and rotary position embedding."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import Axes, letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.softmax import softmax
from kernelcat_core.formula.operators.windows import per_axis

_NAMES = {"input": "x", "dim": "axis"}
_GATES = {"glu": ("1/(1 + exp(-{0}))", "sigmoid"), "reglu": ("maximum({0}, 0)", "relu"),
          "geglu": ("0.5*{0}*(1 + erf({0}*0.7071067811865476))", "gelu"), "siglu": ("{0}/(1 + exp(-{0}))", "silu"),
          "bilinear_glu": ("{0}", "identity")}


def _gated(name: str, gate: str, function: str) -> None:
    def build(x: Tensor, axis: int = -1) -> str:
        place = normalised(axis, x.rank, name)
        i, size = letters(x.rank), f"N{place}"
        later = subscripted("x", [f"{a} + {size}//2" if k == place else a for k, a in enumerate(i)])
        left = [f"{a} in {size}//2" if k == place else a for k, a in enumerate(i)]
        return "\n".join([f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]", f"_: [{size}, {size}//2*2]",
                          f"{subscripted('y', left)} = {subscripted('x', i)}*({gate.format(later)})"])

    operator(name, group="activation", summary=f"first half of an axis times {function} of the second half",
             example=f"{name}(X)", renames=_NAMES)(build)


for _name, (_gate, _function) in _GATES.items():
    _gated(_name, _gate, _function)


@operator("hardmax", group="normalisation", summary="1 at the first largest element along an axis, else 0", aliases="Hardmax",
          example="hardmax(X, axis=-1)", renames=_NAMES, onnx=OnnxNode("Hardmax", ("x",), lambda a: {"axis": a["axis"]}))
def hardmax(x: Tensor, axis: int = -1) -> str:
    place = normalised(axis, x.rank, "hardmax")
    a = Axes.over(x.rank, [place])
    left = subscripted("y", [f"i{n} in N{n}" for n in range(x.rank)])
    return "\n".join([a.declared("x"), f"{a.at('best')} = argmax[k]({a.inner('x')})",
                      f"{left} = {x.dtype}(where({a.at('best')} == i{place}, 1, 0))"])


@operator("softmin", group="normalisation", summary="softmax of -x", aliases="Softmin", example="softmin(X, axis=-1)",
          renames=_NAMES)
def softmin(x: Tensor, axis: int = -1) -> str:
    return softmax(x, axis).replace("max[k](x[", "max[k](-x[").replace("exp(x[", "exp(-x[")


@operator("softmax2d", group="normalisation", summary="softmax over channels, of x[.., C, H, W]", aliases="Softmax2d",
          example="softmax2d(X)", ranks={"x": 4}, renames=_NAMES)
def softmax2d(x: Tensor) -> str:
    return softmax(x, -3)


@operator("rotary_embedding", group="attention",
          summary="pairs of elements of x[B, heads, S, D] turned by angles whose cos and sin are given for each position",
          example="rotary_embedding(X, C, S)", aliases="RotaryEmbedding rope", ranks={"x": 4, "position_ids": 2},
          renames={"input": "x", "cos_cache": "cos_table", "sin_cache": "sin_table", "cos": "cos_table", "sin": "sin_table",
                   "rotary_embedding_dim": "rotary_dim"})
def rotary_embedding(x: Tensor, cos_table: Tensor, sin_table: Tensor, position_ids: Tensor | None = None,
                     interleaved: bool = False, rotary_dim: int = 0, num_heads: int = 0) -> str:
    """Tables are [positions, rotary_dim/2] (row s, or row position_ids[b, s]) or [B, S, rotary_dim/2].

    Pairs are (d, d + rotary_dim/2), or (2d, 2d + 1) when interleaved; elements from rotary_dim on stay as they are.
    With num_heads x may be [B, S, heads*D]; a shorter x is [.., S, D].
    """
    (part,), (heads,) = per_axis(rotary_dim, 1, "rotary_dim", 0), per_axis(num_heads, 1, "num_heads", 0)
    if x.rank < 2 or cos_table.rank not in (2, 3) or sin_table.rank != cos_table.rank:
        raise wrong("rotary_embedding takes x[B, heads, S, D] and tables [positions, R] or [B, S, R]")
    if (position_ids is not None and position_ids.rank != 2) or (
            (position_ids is not None or cos_table.rank == 3) and x.rank < 3):
        raise wrong("position_ids of rotary_embedding are [B, S]")
    packed = x.rank == 3 and heads > 0
    i = ["b", "s", "h"] if packed else ["b", "h", "s", "d"] if x.rank == 4 else [*(f"n{k}" for k in range(x.rank - 2)), "s", "d"]
    width = f"(N2//{heads})" if packed else f"N{x.rank - 1}"
    d = f"(h % {width})" if packed else "d"
    turned = str(part) if part else width
    half = f"({turned}//2)"
    batch = i[0]
    angle = f"{d}//2" if interleaved else f"{d} % {half}"

    def table(name: str) -> str:
        if cos_table.rank == 3:
            return f"{name}[{batch}, s, {angle}]"
        row = f"i64(position_ids[{batch}, s])" if position_ids is not None else "s"
        return f"{name}[{row}, {angle}]"

    def at(index: str) -> str:
        return subscripted("x", [*i[:-1], index])

    own = i[-1]
    first = f"{d} % 2 == 0" if interleaved else f"{d} < {half}"
    after, before = (f"{own} + 1", f"{own} - 1") if interleaved else (f"{own} + {half}", f"{own} - {half}")
    # both neighbours are loaded under a guard that always holds, so that neither leaves x
    other = f"where({own} >= 0, where({first}, -{at(after)}, {at(before)}), 0)"
    value = f"{at(own)}*{table('cos_table')} + {other}*{table('sin_table')}"
    if part:
        value = f"where({own} >= 0, where({d} < {turned}, {value}, {at(own)}), 0)"
    left = ", ".join(f"{a} in N{k}" for k, a in enumerate(i))
    return f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]\ny[{left}] = {value}"
