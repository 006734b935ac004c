"""Tensors from nothing, and from shapes alone: constants, ranges, unit matrices, one-hot vectors."""

from __future__ import annotations

from kernelcat_core.dtypes import DTYPES
from kernelcat_core.formula.operators.axes import letters, normalised, subscripted
from kernelcat_core.formula.operators.definition import OnnxNode, Scalar, Tensor, operator, wrong
from kernelcat_core.formula.operators.windows import per_axis

_GROUP = "creation"


def typed(dtype: str, name: str) -> str:
    if dtype not in DTYPES:
        raise wrong(f"dtype of {name} is the name of a type, such as f32 or i64, not {dtype}")
    return dtype


def _sizes(shape: object, name: str) -> tuple[int, ...]:
    items = shape if isinstance(shape, tuple) else (shape,)
    return per_axis(items, len(items), f"shape of {name}", 0)


def _filled(shape: object, value: str, name: str) -> str:
    left = [f"i{k} in {d}" for k, d in enumerate(_sizes(shape, name))]
    return f"{subscripted('y', left)} = {value}"


@operator("full", group=_GROUP, summary="one value everywhere", example="full((3, 4), 1.5)", aliases="constant_of_shape",
          renames={"size": "shape", "fill_value": "value"})
def full(shape: tuple[int, ...], value: Scalar = 0.0, dtype: str = "f32") -> str:
    return _filled(shape, f"{typed(dtype, 'full')}(value)", "full")


@operator("zeros", group=_GROUP, summary="0 everywhere", example="zeros((3, 4))", renames={"size": "shape"})
def zeros(shape: tuple[int, ...], dtype: str = "f32") -> str:
    return _filled(shape, f"{typed(dtype, 'zeros')}(0)", "zeros")


@operator("ones", group=_GROUP, summary="1 everywhere", example="ones((3, 4))", renames={"size": "shape"})
def ones(shape: tuple[int, ...], dtype: str = "f32") -> str:
    return _filled(shape, f"{typed(dtype, 'ones')}(1)", "ones")


@operator("full_like", group=_GROUP, summary="one value in the shape of x", example="full_like(X, 1.5)",
          renames={"input": "x", "fill_value": "value"})
def full_like(x: Tensor, value: Scalar = 0.0, dtype: str | None = None) -> str:
    names = ", ".join(f"N{k}" for k in range(x.rank))
    left = [f"i{k} in N{k}" for k in range(x.rank)]
    declared = f"x: [{names}]\n" if x.rank else ""
    return f"{declared}{subscripted('y', left)} = {typed(dtype or x.dtype.name, 'full_like')}(value)"


@operator("arange", group=_GROUP, summary="start, start + step, .. up to stop", example="arange(0, 10, 3)", aliases="Range",
          renames={"end": "stop", "limit": "stop", "delta": "step"})
def arange(start: int | float, stop: int | float | None = None, step: int | float = 1, dtype: str | None = None) -> str:
    first, last = (0, start) if stop is None else (start, stop)
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in (first, last, step)) or step == 0:
        raise wrong("arange takes numbers, and a step that is not 0")
    count = max(0, -int(-((last - first) / step) // 1))
    real = any(isinstance(v, float) for v in (first, last, step))
    kind = typed(dtype or ("f32" if real else "i64"), "arange")
    wide = "f64" if kind == "f64" else "f32"
    position = f"{wide}(i)*({step!r}) + ({first!r})" if real else f"i*({step}) + ({first})"
    return f"y[i in {count}] = {kind}({position})"


@operator("linspace", group=_GROUP, summary="evenly spaced numbers from start to stop", example="linspace(0, 1, 5)",
          renames={"end": "stop"})
def linspace(start: int | float, stop: int | float, steps: int, dtype: str = "f32") -> str:
    (count,) = per_axis(steps, 1, "steps of linspace", 0)
    wide = "f64" if dtype == "f64" else "f32"
    gap = (stop - start) / max(1, count - 1)
    # from the nearer end, so that both ends are exact
    return (f"y[i in {count}] = {typed(dtype, 'linspace')}(where(2*i < {count}, {float(start)!r} + {wide}(i)*({gap!r}), "
            f"{float(stop)!r} - {wide}({count - 1} - i)*({gap!r})))")


@operator("eye", group=_GROUP, summary="1 on a diagonal, else 0", example="eye(3, 4)", renames={"n_rows": "n", "M": "m"})
def eye(n: int, m: int | None = None, k: int = 0, dtype: str = "f32") -> str:
    rows, columns = _sizes((n, n if m is None else m), "eye")
    return f"y[i in {rows}, j in {columns}] = {typed(dtype, 'eye')}(where(j == i + ({_whole(k, 'eye')}), 1, 0))"


@operator("eye_like", group=_GROUP, summary="1 on a diagonal, else 0, in the shape of x", example="eye_like(X)",
          aliases="EyeLike", renames={"input": "x"},
          onnx=OnnxNode("EyeLike", ("x",), lambda a: {"k": a["k"], "dtype": a["dtype"]}))
def eye_like(x: Tensor, k: int = 0, dtype: str | None = None) -> str:
    if x.rank != 2:
        raise wrong("eye_like takes a matrix")
    kind = typed(dtype or x.dtype.name, "eye_like")
    return f"x: [N, M]\ny[i in N, j in M] = {kind}(where(j == i + ({_whole(k, 'eye_like')}), 1, 0))"


def _whole(k: object, name: str) -> int:
    if isinstance(k, bool) or not isinstance(k, int):
        raise wrong(f"k of {name} is a whole number")
    return k


@operator("one_hot", group=_GROUP, summary="`on` at the given position of a new axis, else `off`; positions count from the "
          "end when negative", example="one_hot(indices, 10)", ranks={"indices": 1},
          renames={"num_classes": "depth", "input": "indices", "off_value": "off", "on_value": "on"})
def one_hot(indices: Tensor, depth: int, axis: int = -1, on: Scalar = 1.0, off: Scalar = 0.0, dtype: str = "f32") -> str:
    if isinstance(depth, bool) or not isinstance(depth, int) or depth < 1:
        raise wrong("depth of one_hot is a positive number")
    place = normalised(axis, indices.rank + 1, "one_hot")
    i = letters(indices.rank)
    chosen = subscripted("indices", i)
    left = [*i[:place], f"u in {depth}", *i[place:]]
    return f"{subscripted('y', left)} = {typed(dtype, 'one_hot')}(where({chosen} == u or {chosen} == u - {depth}, on, off))"


_COSINES = {"hann": (0.5, 0.5, 0.0), "hamming": (25 / 46, 21 / 46, 0.0), "blackman": (0.42, 0.5, 0.08)}


def _window(name: str, terms: tuple[float, float, float]) -> None:
    def build(size: int, periodic: bool = True, dtype: str = "f32") -> str:
        (count,) = per_axis(size, 1, f"size of {name}_window", 0)
        kind, wide = typed(dtype, f"{name}_window"), "f64" if dtype == "f64" else "f32"
        angle = f"{wide}(i)*({6.283185307179586 / max(1, count if periodic else count - 1)!r})"
        if count == 1:
            return f"y[i in 1] = {kind}(1.0)"
        third = f" + {terms[2]!r}*cos(2*{angle})" if terms[2] else ""
        return f"y[i in {count}] = {kind}({terms[0]!r} - {terms[1]!r}*cos({angle}){third})"

    operator(f"{name}_window", group=_GROUP, summary=f"{name.title()}'s window of a given length", example=f"{name}_window(16)",
             renames={"window_length": "size"})(build)


for _name, _terms in _COSINES.items():
    _window(_name, _terms)


@operator("tri", group=_GROUP, summary="1 on and below a diagonal, else 0", example="tri(3, 4)", renames={"M": "m"})
def tri(n: int, m: int | None = None, k: int = 0, dtype: str = "f32") -> str:
    rows, columns = _sizes((n, n if m is None else m), "tri")
    return f"y[i in {rows}, j in {columns}] = {typed(dtype, 'tri')}(where(j <= i + ({_whole(k, 'tri')}), 1, 0))"


@operator("vander", group=_GROUP, summary="powers of each element along a new last axis, rising or falling",
          example="vander(x, 4)", ranks={"x": 1}, renames={"N": "n"})
def vander(x: Tensor, n: int, increasing: bool = False) -> str:
    (count,) = per_axis(n, 1, "n of vander", 0)
    i = letters(x.rank)
    power = "j" if increasing else f"({count - 1} - j)"
    kind = x.dtype.name if x.dtype.is_float else "i64"
    return f"{subscripted('y', [*i, f'j in {count}'])} = {kind}({subscripted('x', i)})**{kind}({power})"
