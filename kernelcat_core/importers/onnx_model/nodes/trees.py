"""Ensembles of decision trees: all trees of all rows go down one level at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.ml import DOMAIN, labels, transformed, two_classes
from kernelcat_core.importers.trace import Array, Value

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_SIGNS = ("<=", "<", ">=", ">", "==", "!=")
_LEAF = len(MODES) - 1


@dataclass(frozen=True)
class Forest:
    """Nodes of all trees by number. A leaf leads to itself. `members` [nodes, most] and `counts` are the sets of the nodes
    that test membership; `weight` [nodes, targets] is what a leaf adds, `told` whether it says anything of a target."""

    feature: Array
    mode: Array
    split: Array
    yes: Array
    no: Array
    missing: Array
    roots: Array
    members: Array
    counts: Array
    weight: Array
    told: Array

    @property
    def depth(self) -> int:
        level, depth = set(self.roots.tolist()), 0
        while any(self.mode[v] != _LEAF for v in level):
            level = {int(side[v]) for v in level for side in (self.yes, self.no)}
            depth += 1
            if depth > len(self.mode):
                raise ValueError("the nodes of a tree make a circle")
        return depth


def leaves(n: Node, x: Value, forest: Forest) -> Value:
    """The leaf [rows, trees] that each row reaches in each tree."""
    rows, trees = x.shape[0], len(forest.roots)
    left = f"b in {rows}, t in {trees}"
    at = n.formula(f"y[{left}] = r[t]", r=n.trace.stored(forest.roots))
    values = {"x": x, **{name: n.trace.stored(getattr(forest, name)) for name in ("feature", "split", "yes", "no")}}
    node, element = "at[b, t]", "x[b, feature[at[b, t]]]"
    used = sorted(set(forest.mode.tolist()) - {_LEAF})
    tests = [f"{element} {_SIGNS[m]} split[{node}]" if m < len(_SIGNS) else "hit[b, t]" for m in used]
    test = tests[-1] if tests else "True"
    for m, other in zip(reversed(used[:-1]), reversed(tests[:-1])):
        test = f"where(mode[{node}] == {m}, {other}, {test})"
    if len(used) > 1:
        values["mode"] = n.trace.stored(forest.mode)
    lines = []
    if 6 in used:
        values |= {"members": n.trace.stored(forest.members), "counts": n.trace.stored(forest.counts)}
        lines.append(f"hit[{left}] = any[k in {forest.members.shape[1]}]("
                     f"(k < counts[{node}]) and ({element} == members[{node}, k]))")
    if forest.missing.any():
        values["missing"] = n.trace.stored(forest.missing)
        test = f"({test}) or ((missing[{node}] != 0) and isnan({element}))"
    lines.append(f"y[{left}] = where({test}, yes[{node}], no[{node}])")
    for _ in range(forest.depth):
        at = n.formula("\n".join(lines), at=at, **values)
    return at


def totals(n: Node, at: Value, forest: Forest, how: str, base: Array | None) -> Value:
    """What the trees say of every target [rows, targets], put together by SUM, AVERAGE, MIN or MAX."""
    rows, trees = at.shape
    left = f"b in {rows}, o in {forest.weight.shape[1]}"
    values = {"at": at, "w": n.trace.stored(forest.weight)}
    if how in ("SUM", "AVERAGE"):
        text = f"y[{left}] = sum[t in {trees}](w[at[b, t], o])" + (f"/{trees}" if how == "AVERAGE" else "")
    else:
        reducer, none = ("min", "inf") if how == "MIN" else ("max", "-inf")
        values["told"] = n.trace.stored(forest.told)
        text = (f"m[{left}] = {reducer}[t in {trees}](where(told[at[b, t], o], w[at[b, t], o], {none}))\n"
                f"y[{left}] = where(isinf(m[b, o]), 0, m[b, o])")
    made = n.formula(text, **values)
    return made if base is None else n.formula("y = x + b", x=made, b=n.const(base))


def _older(n: Node, side: str, count: int, dtype: Any) -> Forest:
    """The forest of TreeEnsembleRegressor and TreeEnsembleClassifier; `side` names the attributes of leaves."""
    def column(name: str, default: Any = 0) -> Array:
        found = n.attr(f"nodes_{name}_as_tensor") if n.attr(f"nodes_{name}_as_tensor") is not None else n.attr(f"nodes_{name}")
        return np.asarray(found if found is not None else np.full(len(n.attr("nodes_nodeids")), default))

    trees, ids = column("treeids"), column("nodeids")
    place = {key: k for k, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    mode = np.asarray([MODES.index(m) for m in n.attr("nodes_modes")], np.int64)
    own = np.arange(len(mode))
    sides = [np.asarray([own[k] if mode[k] == _LEAF else place[t, v] for k, (t, v) in enumerate(
        zip(trees.tolist(), column(f"{which}nodeids").tolist(), strict=True))], np.int64) for which in ("true", "false")]
    inside = {int(v) for s in sides for k, v in enumerate(s.tolist()) if v != k}
    roots = np.asarray([next(k for k in own.tolist() if trees[k] == t and k not in inside)
                        for t in dict.fromkeys(trees.tolist())], np.int64)
    weights = n.attr(f"{side}_weights_as_tensor")
    weights = n.attr(f"{side}_weights") if weights is None else weights
    table, told = np.zeros((len(mode), count), dtype), np.zeros((len(mode), count), np.bool_)
    for t, v, o, w in zip(n.attr(f"{side}_treeids"), n.attr(f"{side}_nodeids"), n.attr(f"{side}_ids"),
                          np.asarray(weights).tolist(), strict=True):
        table[place[t, v], o] += w
        told[place[t, v], o] = True
    return Forest(column("featureids").astype(np.int64), mode, column("values").astype(dtype), sides[0], sides[1],
                  column("missing_value_tracks_true").astype(np.int64), roots, np.zeros((len(mode), 1), dtype),
                  np.zeros(len(mode), np.int64), table, told)


def _base(n: Node, dtype: Any) -> Array | None:
    found = n.attr("base_values_as_tensor") if n.attr("base_values_as_tensor") is not None else n.attr("base_values")
    return None if found is None or not len(found) else np.asarray(found).astype(dtype)


def _features(n: Node) -> Value:
    return n.x() if n.x().dtype.name == "f64" else convert(n, n.x(), "f32")


@onnx_op("TreeEnsembleRegressor", 1, DOMAIN)
def tree_ensemble_regressor(n: Node) -> Value:
    x = _features(n)
    forest = _older(n, "target", n.attr("n_targets", 1), x.dtype.numpy)
    made = totals(n, leaves(n, x, forest), forest, n.attr("aggregate_function", "SUM"), _base(n, x.dtype.numpy))
    return convert(n, transformed(n, made, n.attr("post_transform", "NONE")), "f32")


@onnx_op("TreeEnsembleClassifier", 1, DOMAIN)
def tree_ensemble_classifier(n: Node) -> tuple[Value, Value]:
    """Two classes of which leaves name one share one score; its sign decides, or a half where no weight is negative."""
    x = _features(n)
    names, kind = n.attr("classlabels_int64s"), n.attr("post_transform", "NONE")
    if names is None:
        raise n.refuse("labels that are strings have no kernels")
    forest, base = _older(n, "class", len(names), x.dtype.numpy), _base(n, x.dtype.numpy)
    at = leaves(n, x, forest)
    said = sorted(set(n.attr("class_ids")))
    if len(names) == 2 and len(said) == 1:
        single = n.formula(f"y[i] = x[i, {said[0]}]", x=totals(n, at, forest, "SUM", None))
        if base is not None:
            single = n.formula("y = x + b", x=single, b=n.const(base[-1]))
        positive = bool((forest.weight >= 0).all())
        chosen = n.formula(f"y = i64(s > {0.5 if positive else 0.0})", s=single)
        return labels(n, chosen, names), convert(n, two_classes(n, single, kind, positive), "f32")
    score = totals(n, at, forest, "SUM", base)
    return labels(n, n.call("argmax", score, axis=1), names), convert(n, transformed(n, score, kind), "f32")


@onnx_op("TreeEnsemble", 5, DOMAIN)
def tree_ensemble(n: Node) -> Value:
    x = n.x()
    dtype = x.dtype.numpy
    inner = np.asarray(n.attr("nodes_modes"), np.int64)
    targets = np.asarray(n.attr("leaf_targetids"), np.int64)
    count, width = len(inner) + len(targets), n.attr("n_targets", 1)
    own = np.arange(count)

    def whole(values: Any, kind: Any) -> Array:
        made = np.zeros(count, kind)
        made[:len(inner)] = np.asarray(values)
        return made

    sides = [np.concatenate([np.asarray(n.attr(f"nodes_{s}nodeids")) + len(inner)*np.asarray(n.attr(f"nodes_{s}leafs")),
                             own[len(inner):]]).astype(np.int64) for s in ("true", "false")]
    members, counts = _members(n, inner, count, dtype)
    table, told = np.zeros((count, width), dtype), np.zeros((count, width), np.bool_)
    table[len(inner) + np.arange(len(targets)), targets] = np.asarray(n.attr("leaf_weights"))
    told[len(inner) + np.arange(len(targets)), targets] = True
    forest = Forest(whole(n.attr("nodes_featureids"), np.int64), np.concatenate([inner, np.full(len(targets), _LEAF)]),
                    whole(n.attr("nodes_splits"), dtype), sides[0], sides[1],
                    whole(n.attr("nodes_missing_value_tracks_true") or np.zeros(len(inner)), np.int64),
                    np.asarray(n.attr("tree_roots"), np.int64), members, counts, table, told)
    how = ("AVERAGE", "SUM", "MIN", "MAX")[n.attr("aggregate_function", 1)]
    kinds = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    return transformed(n, totals(n, leaves(n, x, forest), forest, how, None), kinds[n.attr("post_transform", 0)])


def _members(n: Node, modes: Array, count: int, dtype: Any) -> tuple[Array, Array]:
    """Sets of the nodes that test membership [nodes, most], and their sizes. NaN ends a set in the attribute."""
    values = n.attr("membership_values")
    sets: list[list[float]] = [[]]
    for v in np.asarray([] if values is None else values).tolist():
        if v != v:
            sets.append([])
        else:
            sets[-1].append(v)
    members = iter(sets)
    found = [next(members) if m == 6 else [] for m in modes.tolist()]
    table = np.zeros((count, max([1, *map(len, found)])), dtype)
    for k, f in enumerate(found):
        table[k, :len(f)] = f
    return table, np.asarray([*map(len, found), *[0]*(count - len(found))])
