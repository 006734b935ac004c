"""Fourier transforms and what belongs to them.

Transforms are products with matrices of cosines and sines, in f64: a sum of n products loses more than a fast transform's
log n, and what cancels there must cancel here.
"""

from __future__ import annotations

import math

from kernelcat_core.importers.onnx_model.node import Node, onnx_op, tensor_type
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged
from kernelcat_core.importers.trace import Value


def _tables(frequencies: int, taps: int, length: int) -> str:
    """Lines for C[f, k] and S[f, k]: angles are reduced as whole numbers, so that they are exact."""
    angle = f"f64((f*k) % {length})*{2 * math.pi / length!r}"
    left = f"[f in {frequencies}, k in {taps}]"
    return f"C{left} = cos({angle})\nS{left} = sin({angle})"


@onnx_op("DFT", 17)
def dft(n: Node) -> Value:
    x = n.x()
    axis = int(n.attr("axis", 1)) if n.version < 20 else int(n.host(2).reshape(-1)[0]) if n.has(2) else -2
    axis %= x.rank
    inverse, half = bool(n.attr("inverse", 0)), bool(n.attr("onesided", 0))
    size = x.shape[axis]
    length = int(n.host(1).reshape(-1)[0]) if n.has(1) else 2*(size - 1) if inverse and half else size
    full = length // 2 + 1
    taps = min(size, full if inverse and half else length)
    count = full if half and not inverse else length
    i = indices("i", x.rank - 1)

    def at(place: str, part: int) -> str:
        return f"f64(x[{', '.join([*(place if k == axis else a for k, a in enumerate(i)), str(part)])}])"

    cos, sin = "C[f, k]", "S[f, k]"
    lines = [_tables(count, taps, length)]
    if inverse and half:  # the other half of the spectrum is the conjugate of this one
        twice = f"where((k == 0) or (2*k == {length}), 1, 2)"
        body = f"sum[k in {taps}]({twice}*({at('k', 0)}*{cos} - {at('k', 1)}*{sin}))/{length}"
        left = ranged(["f" if k == axis else a for k, a in enumerate(i)],
                      [count if k == axis else s for k, s in enumerate(x.shape[:-1])])
        return convert(n, n.formula("\n".join([*lines, f"y[{left}, u in 1] = {body}"]), x=x), x.dtype.name)
    sign = -1 if inverse else 1
    is_complex = x.shape[-1] == 2
    real = f"{at('k', 0)}*{cos}" + (f" {'+' if sign > 0 else '-'} {at('k', 1)}*{sin}" if is_complex else "")
    imaginary = f"{at('k', 0)}*{sin}*{-sign}" + (f" + {at('k', 1)}*{cos}" if is_complex else "")
    outer = ranged(["f" if k == axis else a for k, a in enumerate(i)],
                   [count if k == axis else s for k, s in enumerate(x.shape[:-1])])
    scale = f"/{length}" if inverse else ""
    place = ", ".join("f" if k == axis else a for k, a in enumerate(i))
    lines += [f"A[{outer}] = sum[k in {taps}]({real}){scale}", f"B[{outer}] = sum[k in {taps}]({imaginary}){scale}",
              f"y[{outer}, u in 2] = where(u == 0, A[{place}], B[{place}])"]
    return convert(n, n.formula("\n".join(lines), x=x), x.dtype.name)


@onnx_op("STFT", 17)
def stft(n: Node) -> Value:
    x, step = n.x(0), int(n.host(1).reshape(-1)[0])
    length = int(n.host(3).reshape(-1)[0]) if n.has(3) else n.x(2).shape[0]
    count = length // 2 + 1 if n.attr("onesided", 1) else length
    frames = (x.shape[1] - length) // step + 1
    window = "f64(w[k])*" if n.has(2) else ""
    re = f"{window}f64(x[b, {step}*r + k{', 0' if x.rank == 3 else ''}])"
    im = f"{window}f64(x[b, {step}*r + k, 1])" if x.rank == 3 and x.shape[2] == 2 else ""
    real, imaginary = f"{re}*C[f, k]", f"-{re}*S[f, k]"
    if im:
        real, imaginary = f"{real} + {im}*S[f, k]", f"{imaginary} + {im}*C[f, k]"
    left = f"b in {x.shape[0]}, r in {frames}, f in {count}"
    text = "\n".join([_tables(count, length, length), f"A[{left}] = sum[k in {length}]({real})",
                      f"B[{left}] = sum[k in {length}]({imaginary})",
                      f"y[{left}, u in 2] = where(u == 0, A[b, r, f], B[b, r, f])"])
    return convert(n, n.formula(text, x=x, **({"w": n.x(2)} if n.has(2) else {})), x.dtype.name)


@onnx_op("MelWeightMatrix", 17)
def mel_weight_matrix(n: Node) -> Value:
    """Triangles between neighbouring bands; sizes are known to the host, the edges need not be."""
    bands, length = (int(n.host(k).reshape(-1)[0]) for k in range(2))
    kind = tensor_type(n.attr("output_datatype", 1))
    text = "\n".join([
        "low = 2595*log10(1 + f64(lo)/700)", "high = 2595*log10(1 + f64(hi)/700)",
        f"m[i in {bands + 2}] = f64(i)*((high - low)/{bands + 2}) + low",
        f"e[i in {bands + 2}] = i64(floor({length + 1}*(700*(f64(10)**(m[i]/2595) - 1))/f64(rate)))",
        f"rise[j in {length // 2 + 1}, i in {bands}] = where(e[i + 1] == e[i], f64(j == e[i + 1]), "
        "where((j >= e[i]) and (j <= e[i + 1]), f64(j - e[i])/f64(e[i + 1] - e[i]), 0))",
        f"y[j in {length // 2 + 1}, i in {bands}] = where((e[i + 2] > e[i + 1]) and (j >= e[i + 1]) and (j < e[i + 2]), "
        "f64(e[i + 2] - j)/f64(e[i + 2] - e[i + 1]), rise[j, i])"])
    return convert(n, n.formula(text, rate=n.x(2), lo=n.x(3), hi=n.x(4)), kind.name)
