"""Operators of ONNX's ml domain, and TfIdfVectorizer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
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


@onnx_op("TreeEnsemble", 5, DOMAIN)
def tree_ensemble(n: Node) -> Value:
    """All trees of all rows go down one level at a time."""
    x = n.x()
    real = x.dtype.name
    modes = np.asarray(n.attr("nodes_modes"), np.int64)
    splits = np.asarray(n.attr("nodes_splits")).astype(x.dtype.numpy)
    inner = len(modes)
    sides = [_targets(n, side, inner) for side in ("true", "false")]
    depth = _depth(sides, n.attr("tree_roots"), inner)
    sets, sizes = _members(n, modes, splits)
    roots = np.asarray(n.attr("tree_roots"), np.int64)
    place = n.formula(f"y[b in {x.shape[0]}, t in {len(roots)}] = r[t]", r=n.const(roots)) if len(roots) > 1 else \
        n.const(np.full((x.shape[0], 1), roots[0]))
    tests = "where(m == 0, v <= s, where(m == 1, v < s, where(m == 2, v >= s, where(m == 3, v > s, " \
            "where(m == 4, v == s, where(m == 5, v != s, hit[b, t]))))))"
    missing = np.asarray(n.attr("nodes_missing_value_tracks_true") or np.zeros(inner, int), np.int64)
    node = f"minimum(at[b, t], {inner - 1})"
    test = tests.replace("m ==", f"mode[{node}] ==").replace("v ", f"x[b, feature[{node}]] ").replace(" s,", f" split[{node}],")
    for _ in range(depth):
        place = n.formula(
            f"hit[b in {x.shape[0]}, t in {len(roots)}] = any[k in {sets.shape[1]}]("
            f"(k < count[{node}]) and (x[b, feature[{node}]] == member[{node}, k]))\n"
            f"go[b in {x.shape[0]}, t in {len(roots)}] = ({test}) or ((miss[{node}] != 0) and isnan(x[b, feature[{node}]]))\n"
            f"y[b in {x.shape[0]}, t in {len(roots)}] = where(at[b, t] >= {inner}, at[b, t], "
            f"where(go[b, t], yes[{node}], no[{node}]))",
            x=x, at=place, feature=n.const(_padded(n.attr("nodes_featureids"))), mode=n.const(_padded(modes)),
            split=n.const(_padded(splits, x.dtype.numpy)), yes=n.const(_padded(sides[0])), no=n.const(_padded(sides[1])),
            member=n.const(sets), count=n.const(_padded(sizes)), miss=n.const(_padded(missing)))
    weights = np.asarray(n.attr("leaf_weights")).astype(x.dtype.numpy)
    targets, count = np.asarray(n.attr("leaf_targetids"), np.int64), n.attr("n_targets")
    how = {0: "sum", 1: "sum", 2: "min", 3: "max"}[n.attr("aggregate_function", 1)]
    leaf = f"(at[b, t] - {inner})"
    none = {"sum": "0", "min": "inf", "max": "-inf"}[how]
    text = (f"y[b in {x.shape[0]}, o in {count}] = {how}[t in {len(roots)}]("
            f"where(target[{leaf}] == o, weight[{leaf}], {real}({none})))")
    made = n.formula(text + (f"/{len(roots)}" if n.attr("aggregate_function", 1) == 0 else ""), at=place,
                     target=n.const(_padded(targets)), weight=n.const(_padded(weights, x.dtype.numpy)))
    return _transformed(n, made)


def _padded(items: object, dtype: object = np.int64) -> Array:
    """At least two elements, so that a table stays a table."""
    found = np.asarray(items).astype(dtype)  # type: ignore[call-overload]
    return np.concatenate([found, found[-1:]]) if len(found) < 2 else found


def _targets(n: Node, side: str, inner: int) -> Array:
    """Where a side of each node leads: nodes first, then leaves."""
    ids, leafs = np.asarray(n.attr(f"nodes_{side}nodeids")), np.asarray(n.attr(f"nodes_{side}leafs"))
    return np.where(leafs == 1, ids + inner, ids).astype(np.int64)


def _depth(sides: list[Array], roots: tuple[int, ...], inner: int) -> int:
    level, depth = set(roots), 0
    while any(v < inner for v in level):
        level = {int(side[v]) for v in level if v < inner for side in sides}
        depth += 1
    return depth


def _members(n: Node, modes: Array, splits: Array) -> tuple[Array, Array]:
    """Sets of the nodes that test membership [nodes, most], and their sizes. NaN ends a set in the attribute."""
    values = n.attr("membership_values")
    sets: list[list[float]] = [[]]
    for v in np.asarray([] if values is None else values).tolist():
        if v != v:
            sets.append([])
        else:
            sets[-1].append(v)
    members = iter(sets)
    found = [next(members) if m == 6 else [] for m in modes]
    width = max(1, *(len(f) for f in found))
    table = np.zeros((max(2, len(found)), width), splits.dtype)
    for k, f in enumerate(found):
        table[k, :len(f)] = f
    return table, np.asarray([len(f) for f in found])


def _transformed(n: Node, x: Value) -> Value:
    match n.attr("post_transform", 0):
        case 0:
            return x
        case 1:
            return n.call("softmax", x, axis=-1)
        case 2:
            return n.formula("y = sigmoid(x)", x=x)
    raise n.refuse(f"post_transform {n.attr('post_transform')}")
