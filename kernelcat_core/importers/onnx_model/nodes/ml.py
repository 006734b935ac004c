"""Operators of ONNX's ml domain, and TfIdfVectorizer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged
from kernelcat_core.importers.onnx_model.nodes.layout import concatenated, reshaped, split_at
from kernelcat_core.importers.trace import Array, Value

DOMAIN = "ai.onnx.ml"


@onnx_op("ArrayFeatureExtractor", 1, DOMAIN)
def array_feature_extractor(n: Node) -> Value:
    return n.call("take", n.x(0), reshaped(n, n.x(1), (n.x(1).size,)), axis=n.x(0).rank - 1)


@onnx_op("Binarizer", 1, DOMAIN)
def binarizer(n: Node) -> Value:
    return n.formula(f"y = {n.x().dtype}(x > {n.attr('threshold', 0.0)})", x=n.x())


@onnx_op("TfIdfVectorizer")
def tf_idf(n: Node) -> Value:
    """How often each n-gram of the pool occurs in each row, with up to so many elements skipped between its members."""
    pool, places = n.attr("pool_int64s"), n.attr("ngram_indexes")
    if pool is None:
        raise n.refuse("strings have no kernels")
    starts = [*n.attr("ngram_counts"), len(pool)]
    width = max(places) + 1
    x = reshaped(n, n.x(), (1, n.x().size)) if n.x().rank == 1 else n.x()
    rows, length = x.shape
    least, most, skips = n.attr("min_gram_length"), n.attr("max_gram_length"), n.attr("max_skip_count")
    total = n.const(np.zeros((rows, width), np.float32))
    first = 0
    for size, (begin, end) in enumerate(pairwise(starts), 1):
        count = (end - begin) // size
        grams = np.asarray(pool[begin:begin + count * size], np.int64).reshape(count, size)
        columns = np.asarray(places[first:first + count], np.int64)
        first += count
        if not count or not least <= size <= most:
            continue
        # a gram of one element has no gaps, so skipping changes nothing
        strides = range(1, 2 + skips) if size > 1 else range(1, 2)
        for stride in strides:
            span = (size - 1) * stride + 1
            if span > length:
                break
            match = " and ".join(f"(x[b, t + {k * stride}] == g[m, {k}])" for k in range(size))
            total = n.formula(f"c[b, m in {count}] = sum[t in {length - span + 1}](i64({match}))\n"
                              f"y = scatter[b in {rows}, m in {count}](total, (b, p[m]), f32(c[b, m]), \"sum\")",
                              x=x, g=n.const(grams), p=n.const(columns), total=total)
    weights = n.attr("weights")
    if n.attr("mode") != "TF":
        scale = np.ones(width, np.float32)
        if weights is not None:
            scale[np.asarray(places)] = np.asarray(weights, np.float32)
        counted = "f32(x > 0)" if n.attr("mode") == "IDF" else "x"
        total = n.formula(f"y = {counted}*w", x=total, w=n.const(scale))
    return reshaped(n, total, (width,)) if n.x().rank == 1 else total


def transformed(n: Node, x: Value, kind: str) -> Value:
    """Scores [rows, classes] after ONNX's post_transform."""
    match kind:
        case "NONE":
            return x
        case "LOGISTIC":
            return n.formula("y = sigmoid(x)", x=x)
        case "SOFTMAX":
            return n.call("softmax", x, axis=-1)
        case "SOFTMAX_ZERO":  # zeros stay zeros and take no part
            return n.formula("m[i] = max[k](x[i, k])\ne[i, j] = where(x[i, j] == 0, 0, exp(x[i, j] - m[i]))\n"
                             "t[i] = sum[k](e[i, k])\ny[i, j] = where(t[i] == 0, 0, e[i, j]/t[i])", x=x)
    raise n.refuse(f"post_transform {kind}")


def labels(n: Node, places: Value, ints: object) -> Value:
    """The class labels (i64) at places."""
    if ints is None:
        raise n.refuse("labels that are strings have no kernels")
    table = np.asarray(ints, np.int64)
    return n.formula(f"y[i in {places.size}] = t[p[i]]", p=places, t=n.const(table)) if len(table) > 1 else \
        n.const(np.full(places.size, table[0]))


def two_classes(n: Node, score: Value, kind: str, positive: bool) -> Value:
    """Scores [rows, 2] of two classes from one score [rows]: of the second, and what is left for the first."""
    if kind == "LOGISTIC":
        return n.formula("y[i, c in 2] = sigmoid(where(c == 1, s[i], -s[i]))", s=score)
    rest = "1 - s[i]" if positive else "-s[i]"
    return n.formula(f"y[i, c in 2] = where(c == 1, s[i], {rest})", s=score)


def _rows(n: Node) -> Value:
    """The features [rows, features] as f32."""
    x = reshaped(n, n.x(), (1, n.x().size)) if n.x().rank == 1 else n.x()
    return convert(n, x, "f32")


def _products(n: Node, x: Value, count: int) -> Value:
    weights = np.asarray(n.attr("coefficients"), np.float32).reshape(count, x.shape[1])
    bias = np.asarray(n.attr("intercepts") or np.zeros(count), np.float32).reshape(count)
    b = n.trace.stored(bias)
    return n.formula("y[i, c] = sum[k](x[i, k]*w[c, k]) + b[c]", x=x, w=n.trace.stored(weights), b=b)


@onnx_op("LinearRegressor", 1, DOMAIN)
def linear_regressor(n: Node) -> Value:
    return transformed(n, _products(n, _rows(n), n.attr("targets", 1)), n.attr("post_transform", "NONE"))


@onnx_op("LinearClassifier", 1, DOMAIN)
def linear_classifier(n: Node) -> tuple[Value, Value]:
    x, names, kind = _rows(n), n.attr("classlabels_ints"), n.attr("post_transform", "NONE")
    if n.attr("classlabels_strings"):
        raise n.refuse("labels that are strings have no kernels")
    count = len(n.attr("coefficients")) // x.shape[1]
    score = _products(n, x, count)
    if count > 1:
        return labels(n, n.call("argmax", score, axis=1), names), transformed(n, score, kind)
    single = n.formula("y[i] = x[i, 0]", x=score)
    chosen = labels(n, n.formula("y = i64(s > 0)", s=single), names or (0, 1))
    return chosen, two_classes(n, single, kind, True) if names and len(names) == 2 else transformed(n, score, kind)


@onnx_op("SVMRegressor", 1, DOMAIN)
def svm_regressor(n: Node) -> Value:
    """A sum over support vectors of kernel functions; without support vectors a linear one."""
    x, count = _rows(n), n.attr("n_supports", 0)
    gamma, shift, degree = (float(v) for v in n.attr("kernel_params") or (0.0, 0.0, 0.0))
    factors = np.asarray(n.attr("coefficients"), np.float32)
    product = "sum[k](x[i, k]*s[j, k])"
    kernel = {"LINEAR": product, "POLY": f"({gamma!r}*{product} + {shift!r})**{degree!r}",
              "SIGMOID": f"tanh({gamma!r}*{product} + {shift!r})",
              "RBF": f"exp(-({gamma!r})*sum[k]((x[i, k] - s[j, k])**2))"}[n.attr("kernel_type", "LINEAR")]
    vectors = np.asarray(n.attr("support_vectors") if count else np.ones(len(factors)), np.float32)
    lines = [f"f[i, j] = {kernel}", f"y[i, u in 1] = sum[j](f[i, j]*c[j]) + {float((n.attr('rho') or (0.0,))[0])!r}"]
    values = {"s": n.trace.stored(vectors.reshape(count, -1) if count else factors.reshape(1, -1)),
              "c": n.trace.stored(factors if count else np.ones(1, np.float32))}
    made = n.formula("\n".join(lines), x=x, **values)
    return n.formula("y = where(x > 0, 1.0, -1.0)", x=made) if n.attr("one_class", 0) else made


@onnx_op("Scaler", 1, DOMAIN)
def scaler(n: Node) -> Value:
    x = convert(n, n.x(), "f32")
    offset, scale = (n.const(np.asarray(n.attr(name) or default, np.float32))
                     for name, default in (("offset", (0.0,)), ("scale", (1.0,))))
    return n.formula("y = (x - o)*s", x=x, o=offset, s=scale)


@onnx_op("Normalizer", 1, DOMAIN)
def normalizer(n: Node) -> Value:
    norm = {"MAX": "max(x, axis=-1, keepdims=True)", "L1": "sum(abs(x), axis=-1, keepdims=True)",
            "L2": "sqrt(sum(x*x, axis=-1, keepdims=True))"}[n.attr("norm", "MAX")]
    return n.formula(f"m = {norm}\ny = where(m == 0, x, x/m)", x=convert(n, n.x(), "f32"))


@onnx_op("Imputer", 1, DOMAIN)
def imputer(n: Node) -> Value:
    x = n.x()
    values = n.attr("imputed_value_floats") if x.dtype.is_float else n.attr("imputed_value_int64s")
    gone = n.attr("replaced_value_float" if x.dtype.is_float else "replaced_value_int64", 0)
    test = "isnan(x)" if gone != gone else f"x == {gone}"
    return n.formula(f"y = where({test}, v, x)", x=x, v=n.const(np.asarray(values, x.dtype.numpy)))


@onnx_op("FeatureVectorizer", 1, DOMAIN)
def feature_vectorizer(n: Node) -> Value:
    parts = []
    for k, width in enumerate(n.attr("inputdimensions") or [v.shape[-1] for v in map(n.x, range(len(n)))]):
        x = convert(n, n.x(k), "f32")
        x = reshaped(n, x, (1, x.size)) if x.rank == 1 else x
        parts.append(split_at(n, x, 1, [width])[0])
    return concatenated(n, parts, 1)


@onnx_op("OneHotEncoder", 1, DOMAIN)
def one_hot_encoder(n: Node) -> Value:
    """What is in no category gives zeros."""
    categories = n.attr("cats_int64s")
    if categories is None:
        raise n.refuse("categories that are strings have no kernels")
    x = convert(n, n.x(), "i64")
    i = indices("i", x.rank)
    left = ranged([*i, "c"], [*x.shape, len(categories)])
    return n.formula(f"y[{left}] = f32(x{f'[{chr(44).join(i)}]' if i else ''} == t[c])", x=x,
                     t=n.trace.stored(np.asarray(categories, np.int64)))


_LABELS = {"keys_int64s": np.int64, "keys_floats": np.float32, "values_int64s": np.int64, "values_floats": np.float32}


@onnx_op("LabelEncoder", 2, DOMAIN)
def label_encoder(n: Node) -> Value:
    """The value of the first key that equals an element, else the default."""
    found = {side: _table(n, side) for side in ("keys", "values")}
    default = n.attr("default_tensor")
    if default is None:
        floats = found["values"].dtype.kind == "f"
        default = n.attr("default_float" if floats else "default_int64", -0.0 if floats else -1)
    x, count = n.x(), len(found["keys"])
    i = indices("i", x.rank)
    at, left = (f"[{', '.join(i)}]", f"[{ranged(i, x.shape)}]") if i else ("", "")
    hit = f"x{at} == k[j]" + (f" or (isnan(x{at}) and isnan(k[j]))" if x.dtype.is_float else "")
    fallback = n.const(np.asarray(default).reshape(()).astype(found["values"].dtype))
    return n.formula(f"p{left} = min[j in {count}](where({hit}, j, {count}))\n"
                     f"y{left} = where(p{at} < {count}, v[p{at}], d)", x=x, d=fallback,
                     k=n.trace.stored(found["keys"].astype(x.dtype.numpy)), v=n.trace.stored(found["values"]))


def _table(n: Node, side: str) -> Array:
    whole = n.attr(f"{side}_tensor")
    if whole is not None and np.asarray(whole).dtype.kind in "iufb":
        return np.asarray(whole).reshape(-1)
    for name, kind in _LABELS.items():
        if name.startswith(side) and n.attr(name) is not None:
            return np.asarray(n.attr(name), kind)
    raise n.refuse("strings have no kernels")
