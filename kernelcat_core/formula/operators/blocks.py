"""Operators that move blocks: between channels and positions, and between windows and columns."""

from __future__ import annotations

from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.convolution import Padding
from kernelcat_core.formula.operators.definition import OnnxNode, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import Sizes, guards, per_axis, windows

_GROUP = "layout"
_NAMES = {"input": "x", "blocksize": "block", "upscale_factor": "block", "downscale_factor": "block"}


def _lead(x: Tensor, name: str) -> tuple[list[str], str]:
    """Leading indices and their sizes, of x[.., C, H, W]."""
    if x.rank < 3:
        raise wrong(f"{name} takes x[.., C, H, W]")
    lead = [f"n{k}" for k in range(x.rank - 3)]
    return lead, ", ".join([*(f"N{k}" for k in range(x.rank - 3)), "C", "H", "W"])


@operator("depth_to_space", group=_GROUP, summary="channels become blocks of positions (mode DCR or CRD)",
          example="depth_to_space(X, 2)", aliases="DepthToSpace", ranks={"x": 4},
          renames=_NAMES, onnx=OnnxNode("DepthToSpace", ("x",), lambda a: {"blocksize": a["block"], "mode": a["mode"]},
                                        applies=lambda a: a["x"].rank == 4))
def depth_to_space(x: Tensor, block: int, mode: str = "DCR") -> str:
    lead, sizes = _lead(x, "depth_to_space")
    (b,) = per_axis(block, 1, "block of depth_to_space")
    if mode not in ("DCR", "CRD"):
        raise wrong(f"mode of depth_to_space is DCR or CRD, not {mode}")
    inside = f"(h % {b})*{b} + w % {b}"
    channel = f"({inside})*(C//{b * b}) + c" if mode == "DCR" else f"c*{b * b} + {inside}"
    left = ", ".join([*lead, f"c in C//{b * b}", f"h in H*{b}", f"w in W*{b}"])
    return "\n".join([f"x: [{sizes}]", f"_: [C, C//{b * b}*{b * b}]",
                      f"y[{left}] = x[{', '.join([*lead, channel, f'h//{b}', f'w//{b}'])}]"])


@operator("pixel_shuffle", group=_GROUP, summary="depth_to_space with the channel first (CRD)", aliases="PixelShuffle",
          example="pixel_shuffle(X, 2)", ranks={"x": 4}, renames=_NAMES)
def pixel_shuffle(x: Tensor, block: int) -> str:
    return depth_to_space(x, block, "CRD")


@operator("space_to_depth", group=_GROUP, summary="blocks of positions become channels (mode DCR or CRD)",
          example="space_to_depth(X, 2)", aliases="SpaceToDepth", ranks={"x": 4}, renames=_NAMES,
          onnx=OnnxNode("SpaceToDepth", ("x",), lambda a: {"blocksize": a["block"]},
                        applies=lambda a: a["x"].rank == 4 and a["mode"] == "DCR"))
def space_to_depth(x: Tensor, block: int, mode: str = "DCR") -> str:
    lead, sizes = _lead(x, "space_to_depth")
    (b,) = per_axis(block, 1, "block of space_to_depth")
    if mode not in ("DCR", "CRD"):
        raise wrong(f"mode of space_to_depth is DCR or CRD, not {mode}")
    channel, part = ("c % C", "c//C") if mode == "DCR" else (f"c//{b * b}", f"(c % {b * b})")
    left = ", ".join([*lead, f"c in C*{b * b}", f"h in H//{b}", f"w in W//{b}"])
    return "\n".join([f"x: [{sizes}]", f"_: [H, H//{b}*{b}]", f"_: [W, W//{b}*{b}]",
                      f"y[{left}] = x[{', '.join([*lead, channel, f'h*{b} + {part}//{b}', f'w*{b} + {part} % {b}'])}]"])


@operator("pixel_unshuffle", group=_GROUP, summary="space_to_depth with the channel first (CRD)", aliases="PixelUnshuffle",
          example="pixel_unshuffle(X, 2)", ranks={"x": 4}, renames=_NAMES)
def pixel_unshuffle(x: Tensor, block: int) -> str:
    return space_to_depth(x, block, "CRD")


@operator("channel_shuffle", group=_GROUP, summary="channels (axis 1) of every group interleaved", aliases="ChannelShuffle",
          example="channel_shuffle(X, 2)", ranks={"x": 4}, renames={"input": "x"})
def channel_shuffle(x: Tensor, groups: int) -> str:
    if x.rank < 2:
        raise wrong("channel_shuffle takes x[N, C, ...]")
    (g,) = per_axis(groups, 1, "groups of channel_shuffle")
    i = letters(x.rank)
    inner = [i[0], f"(i1 % {g})*(N1//{g}) + i1//{g}", *i[2:]]
    return "\n".join([f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]", f"_: [N1, N1//{g}*{g}]",
                      f"y[{', '.join(f'{a} in N{k}' for k, a in enumerate(i))}] = {subscripted('x', inner)}"])


@operator("unfold", group=_GROUP, summary="overlapping pieces of an axis, along a new last axis (PyTorch's Tensor.unfold)",
          example="unfold(X, 1, 3, 2)", renames={"input": "x", "dimension": "axis", "dim": "axis"})
def unfold(x: Tensor, axis: int, size: int, step: int = 1) -> str:
    place = normalised(axis, x.rank, "unfold")
    (width,) = per_axis(size, 1, "size of unfold")
    (stride,) = per_axis(step, 1, "step of unfold")
    i = letters(x.rank)
    left = [f"{a} in (N{k} - {width})//{stride} + 1" if k == place else a for k, a in enumerate(i)]
    inner = [f"{stride}*{a} + u" if k == place else a for k, a in enumerate(i)]
    return "\n".join([f"x: [{', '.join(f'N{k}' for k in range(x.rank))}]",
                      f"{subscripted('y', [*left, f'u in {width}'])} = {subscripted('x', inner)}"])


@operator("im2col", group=_GROUP, summary="windows of x[N, C, ...] as columns [N, C*window, positions] (PyTorch's F.unfold)",
          example="im2col(X, 3)", ranks={"x": 4}, renames={"input": "x"})
def im2col(x: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Padding = 0, stride: Sizes = 1) -> str:
    if x.rank < 3:
        raise wrong("im2col takes x[N, C, ...] with at least one more axis")
    rank = x.rank - 2
    sizes = tuple(map(str, per_axis(kernel_size, rank, "kernel_size of im2col")))
    found = windows("im2col", sizes, stride, padding, dilation)
    row, column = _digits("r", list(sizes), "C"), _digits("l", [w.output for w in found], None)
    places = [w.place for w in found]
    for w in found:
        places = [p.replace(f"o{w.n}", f"({column[w.n]})").replace(f"k{w.n}", f"({row[w.n + 1]})") for p in places]
    tests = guards(found)
    for w in found:
        tests = tests.replace(f"o{w.n}", f"({column[w.n]})").replace(f"k{w.n}", f"({row[w.n + 1]})")
    element = f"x[n, {', '.join([row[0], *places])}]"
    # the first test always holds; it makes the loads guarded ones, which read nothing outside
    body = f"where(r >= 0, where({tests}, {element}, 0), 0)" if tests else element
    count = "*".join(["C", *sizes])
    return "\n".join([f"x: [N, C, {', '.join(f'D{n}' for n in range(rank))}]",
                      f"y[n, r in {count}, l in {'*'.join(f'({w.output})' for w in found)}] = {body}"])


def _digits(index: str, sizes: list[str], first: str | None) -> list[str]:
    """The row-major digits of an index over these sizes, after one of size `first`."""
    every = ([first] if first else []) + sizes
    found = []
    for k, size in enumerate(every):
        rest = "*".join(f"({s})" for s in every[k + 1:])
        part = f"{index}//({rest})" if rest else index
        found.append(part if k == 0 else f"{part} % ({size})")
    return found


@operator("col2im", group=_GROUP, summary="columns [N, C*window, positions] added up where their windows lie (PyTorch's fold)",
          example="col2im(X, (3,), (1,))", aliases="Col2Im fold", ranks={"x": 3},
          renames={"input": "x", "image_shape": "output_size", "block_shape": "kernel_size", "dilations": "dilation",
                   "pads": "padding", "strides": "stride"},
          onnx=OnnxNode("Col2Im", ("x",), lambda a: {
              "image_shape": list(a["output_size"]), "block_shape": list(a["kernel_size"]),
              "dilations": _list(a["dilation"], a), "strides": _list(a["stride"], a), "pads": _list(a["padding"], a) * 2},
              applies=lambda a: all(isinstance(a[n], tuple) for n in ("output_size", "kernel_size")) and isinstance(
                  a["padding"], int)))
def col2im(x: Tensor, output_size: tuple[int, ...], kernel_size: Sizes, dilation: Sizes = 1, padding: Padding = 0,
           stride: Sizes = 1) -> str:
    if x.rank != 3 or not isinstance(output_size, tuple):
        raise wrong("col2im takes x[N, C*window, positions] and output_size, a tuple")
    image = per_axis(output_size, len(output_size), "output_size of col2im")
    sizes = per_axis(kernel_size, len(image), "kernel_size of col2im")
    found = windows("col2im", tuple(map(str, sizes)), stride, padding, dilation)
    window, row, column, tests, over, divides = 1, "c", "", [], [], []
    total = 1
    for w, d, k in zip(found, image, sizes, strict=True):
        low, high = int(w.before), int(w.after)
        count = (d + low + high - w.dilation * (k - 1) - 1) // w.stride + 1
        at = f"p{w.n} + {low} - {w.dilation}*k{w.n}"
        window, total = window * k, total * count
        row, place = f"({row})*{k} + k{w.n}", f"({at})//{w.stride}"
        column = f"({column})*{count} + {place}" if column else place
        tests.append(f"0 <= {at} and {at} <= {(count - 1) * w.stride}")
        over.append(f"k{w.n} in {k}")
        if w.stride > 1:
            divides.append(f"({at}) % {w.stride} == 0")
    element = f"x[n, {row}, {column}]"
    if divides:
        element = f"where({' and '.join(divides)}, {element}, 0)"
    left = ", ".join(["n", f"c in R//{window}", *(f"p{w.n} in {d}" for w, d in zip(found, image, strict=True))])
    return "\n".join([f"x: [N, R, {total}]", f"_: [R, R//{window}*{window}]",
                      f"y[{left}] = sum[{', '.join(over)}](where({' and '.join(tests)}, {element}, 0))"])


def _list(value: object, arguments: object) -> list[int]:
    assert isinstance(arguments, dict)
    return list(per_axis(value, len(arguments["output_size"]), "col2im", 0))
