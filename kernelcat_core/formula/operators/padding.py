"""Elements before and after the axes of a tensor, or fewer of them."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong

_MODES = ("constant", "reflect", "edge", "wrap", "symmetric")
_ALIASES = {"replicate": "edge", "circular": "wrap"}
Pairs = tuple[tuple[int, int], ...]


def _pairs(x: Tensor, pads: object) -> Pairs:
    pairs = pads if isinstance(pads, tuple) else ()
    if len(pairs) != x.rank or any(not isinstance(p, tuple) or len(p) != 2 or any(
            isinstance(v, bool) or not isinstance(v, int) for v in p) for p in pairs):
        raise wrong(f"pads of pad is {x.rank} pairs (before, after); negative numbers crop")
    return pairs


def _place(mode: str, index: str, size: str) -> str:
    """Where the element at `index`, which may lie outside 0 .. size-1, comes from."""
    if mode == "edge":
        return f"minimum(maximum({index}, 0), {size} - 1)"
    if mode == "wrap":
        return f"({index}) % {size}"
    if mode == "reflect":  # 2 1 | 0 1 2 | 1 0: a period of 2 size - 2
        period = f"maximum(2*{size} - 2, 1)"
        return f"minimum(({index}) % {period}, {period} - ({index}) % {period})"
    return f"minimum(({index}) % (2*{size}), 2*{size} - 1 - ({index}) % (2*{size}))"


@operator("pad", group="layout",
          summary="elements before and after each axis: constant, reflect, edge, wrap or symmetric; negative pads crop",
          example="pad(X, ((1, 1), (0, 2)))", renames={"input": "x", "pad_width": "pads", "constant_values": "value"},
          onnx=OnnxNode("Pad", ("x",), lambda a: {"pads": [p[k] for k in (0, 1) for p in a["pads"]], "mode": a["mode"]},
                        applies=lambda a: a["value"] == 0 and a["mode"] in ("constant", "edge", "wrap")))
def pad(x: Tensor, pads: tuple[tuple[int, int], ...], value: Scalar = 0, mode: str = "constant") -> str:
    pairs = _pairs(x, pads)
    mode = _ALIASES.get(mode, mode)
    if mode not in _MODES:
        raise wrong(f"mode of pad is one of {', '.join(_MODES)}, not {mode}")
    left, inner, guards = [], [], []
    for k, (low, high) in enumerate(pairs):
        left.append(f"i{k} in N{k} + {low + high}" if low + high >= 0 else f"i{k} in N{k} - {-low - high}")
        index = f"i{k} - {low}" if low > 0 else f"i{k} + {-low}" if low else f"i{k}"
        if mode == "constant" or (low <= 0 and high <= 0):
            inner.append(index)
            guards += ([f"i{k} >= {low}"] if low > 0 else []) + ([f"{index} < N{k}"] if high > 0 else [])
        else:
            inner.append(_place(mode, index, f"N{k}"))
    element = subscripted("x", inner)
    body = f"where({' and '.join(guards)}, {element}, value)" if guards else element
    declared = f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]\n" if x.rank else ""
    return f"{declared}{subscripted('y', left)} = {body}"


@operator("center_crop_pad", group="layout", summary="axes cut or filled with 0 on both sides to given sizes",
          example="center_crop_pad(X, (6, 30))", aliases="CenterCropPad", renames={"input": "x"},
          onnx=OnnxNode("CenterCropPad", ("x",), lambda a: {"shape": list(a["shape"]), "axes": a["axes"]}))
def center_crop_pad(x: Tensor, shape: tuple[int, ...], axes: tuple[int, ...] | None = None) -> str:
    wanted = shape if isinstance(shape, tuple) else (shape,)
    over = tuple(range(x.rank)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    if len(wanted) != len(over) or any(isinstance(d, bool) or not isinstance(d, int) or d < 0 for d in wanted):
        raise wrong("shape of center_crop_pad is one size for each of its axes")
    sizes = {normalised(a, x.rank, "center_crop_pad"): d for a, d in zip(over, wanted, strict=True)}
    left, inner, guards = [], [], []
    for k in range(x.rank):
        if k not in sizes:
            left.append(f"i{k}")
            inner.append(f"i{k}")
            continue
        # the smaller half of an odd difference comes first, for crops and for pads
        place = f"i{k} + maximum(N{k} - {sizes[k]}, 0)//2 - maximum({sizes[k]} - N{k}, 0)//2"
        left.append(f"i{k} in {sizes[k]}")
        inner.append(place)
        guards += [f"0 <= {place}", f"{place} < N{k}"]
    body = f"where({' and '.join(guards)}, {subscripted('x', inner)}, 0)" if guards else subscripted("x", letters(x.rank))
    return f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]\n{subscripted('y', left)} = {body}"
