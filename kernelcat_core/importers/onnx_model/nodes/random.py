"""Random numbers of ONNX: a counter-based generator, so that every element is a function of its place and the seed.

With a seed in the model the numbers are the same in every run; they are not those of other libraries.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op, tensor_type
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged
from kernelcat_core.importers.trace import Value


def _seed(n: Node) -> Value:
    """Two words that kernels read: of the seed, or of this run (then nothing is kept for the next)."""
    given = n.attr("seed")
    if given is None:
        n.trace.volatile = True
        return n.trace.input("seed", np.asarray([secrets.randbits(32), secrets.randbits(32)], np.uint32))
    word = int(np.asarray(given, np.float32).view(np.uint32))
    place = len(n.trace.nodes)  # nodes with equal seeds draw different numbers
    return n.trace.stored(np.asarray([word, place], np.uint32))


def uniform(n: Node, shape: Sequence[int]) -> Value:
    """f32 numbers in [0, 1) with 24 random bits.

    The mixing steps are those of a 32-bit hash with low bias (C. Wellons, "Prospecting for hash functions", 2018).
    """
    if 0 in shape:
        return n.const(np.empty(tuple(shape), np.float32))
    i = indices("i", len(shape))
    place = " + ".join(f"{a}*{math.prod(shape[k + 1:])}" for k, a in enumerate(i)) or "0"
    at, left = f"[{', '.join(i)}]" if i else "", f"[{ranged(i, shape)}]" if i else ""
    lines = [f"h0{left} = u32({place})*u32(2654435769) + s[0]"]
    for k, (shift, factor) in enumerate(((16, 2146121005), (15, 2221713035), (16, 2654435769), (16, 2146121005))):
        mixed = f"u32(bitwise_xor(h{k}{at}, h{k}{at} >> u32({shift})))*u32({factor})"
        lines.append(f"h{k + 1}{left} = {mixed}{' + s[1]' if k == 1 else ''}")
    lines.append(f"y{left} = f32(bitwise_xor(h4{at}, h4{at} >> u32(15)) >> u32(8))*{2.0 ** -24!r}")
    return n.formula("\n".join(lines), s=_seed(n))


def _drawn(n: Node, shape: Sequence[int], kind: str) -> Value:
    if n.op.startswith("RandomUniform"):
        low, high = n.attr("low", 0.0), n.attr("high", 1.0)
        return convert(n, n.formula(f"y = {low!r} + u*{high - low!r}", u=uniform(n, shape)), kind)
    both = uniform(n, [2, *shape])  # Box and Muller's transform
    i = indices("i", len(shape))
    rest = "".join(f", {a}" for a in i)
    left = f"[{ranged(i, shape)}]" if i else ""
    made = n.formula(f"y{left} = {n.attr('mean', 0.0)!r} + {n.attr('scale', 1.0)!r}*"
                     f"sqrt(-2*log(1 - u[0{rest}]))*cos({2 * math.pi!r}*u[1{rest}])", u=both)
    return convert(n, made, kind)


@onnx_op("RandomUniform RandomNormal")
def random(n: Node) -> Value:
    return _drawn(n, n.attr("shape"), tensor_type(n.attr("dtype", 1)).name)


@onnx_op("RandomUniformLike RandomNormalLike")
def random_like(n: Node) -> Value:
    return _drawn(n, n.x().shape, tensor_type(n.attr("dtype")).name if n.attr("dtype") else n.x().dtype.name)


@onnx_op("Bernoulli")
def bernoulli(n: Node) -> Value:
    kind = tensor_type(n.attr("dtype")).name if n.attr("dtype") else n.x().dtype.name
    return convert(n, n.formula("y = u < x", u=uniform(n, n.x().shape), x=n.x()), kind)


@onnx_op("Multinomial")
def multinomial(n: Node) -> Value:
    """The largest of the log-probabilities, each moved by a draw from Gumbel's distribution."""
    x, count = n.x(), n.attr("sample_size", 1)
    rows, classes = x.shape
    draws = uniform(n, (rows, count, classes))
    made = n.formula("y[b, s] = argmax[c](x[b, c] - log(-log(u[b, s, c] + 1e-12)))", x=x, u=draws)
    return convert(n, made, tensor_type(n.attr("dtype", 6)).name)


@onnx_op("Dropout", 1)
def dropout_attributes(n: Node) -> tuple[Item, ...]:
    """Before opset 12 models for inference say so by leaving elements alone; before 7 by is_test."""
    if n.version < 7 and not n.attr("is_test", 0):
        return _dropped(n, float(n.attr("ratio", 0.5)))
    return _kept(n)


@onnx_op("Dropout", 12)
def dropout(n: Node) -> tuple[Item, ...]:
    training = bool(n.host(2).reshape(-1)[0]) if n.has(2) else False
    ratio = float(n.host(1).reshape(-1)[0]) if n.has(1) else 0.5
    return _dropped(n, ratio) if training and ratio else _kept(n)


def _kept(n: Node) -> tuple[Item, ...]:
    return n.x(), n.const(np.ones(n.x().shape, np.bool_))


def _dropped(n: Node, ratio: float) -> tuple[Item, ...]:
    x = n.x()
    mask = n.formula(f"y = u >= {ratio!r}", u=uniform(n, x.shape))
    return n.formula(f"y = where(m, x*{1/(1 - ratio) if ratio < 1 else 0.0!r}, 0)", m=mask, x=x), mask
