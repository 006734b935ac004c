"""Order and prefix operators of ONNX: TopK, Unique, CumSum, CumProd, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from kernelcat_core.importers.onnx_model.node import Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.elementwise import convert
from kernelcat_core.importers.onnx_model.nodes.indexing import indices, ranged, true_places, unravelled
from kernelcat_core.importers.onnx_model.nodes.layout import reshaped
from kernelcat_core.importers.trace import Value


@onnx_op("CumSum CumProd")
def prefix(n: Node) -> Value:
    x = n.x()
    axis = int(n.host(1).reshape(-1)[0]) % x.rank
    name = "sum" if n.op == "CumSum" else "prod"
    made = n.formula(f'y = scan("{name}", x, {axis}, reverse={bool(n.attr("reverse", 0))}, '
                     f'exclusive={bool(n.attr("exclusive", 0))})', x=x)
    return convert(n, made, x.dtype.name)


@onnx_op("TopK")
def top_k(n: Node) -> tuple[Value, Value]:
    x = n.x()
    count = int(n.host(1).reshape(-1)[0]) if n.has(1) else int(n.attr("k"))
    axis = n.attr("axis", -1) % x.rank
    order = [*(k for k in range(x.rank) if k != axis), axis]
    rows = n.call("transpose", x, axes=tuple(order)) if axis != x.rank - 1 else x
    places = n.formula(f"y = i64(first_true(True, {count}, x, descending={bool(n.attr('largest', 1))}))", x=rows)
    i = indices("i", x.rank)
    values = n.formula(f"y[{ranged(i, places.shape)}] = x[{', '.join([*i[:-1], f'p[{chr(44).join(i)}]'])}]", x=rows, p=places)
    if axis == x.rank - 1:
        return values, places
    back = tuple(order.index(k) for k in range(x.rank))
    return n.call("transpose", values, axes=back), n.call("transpose", places, axes=back)


@onnx_op("Unique")
def unique(n: Node) -> tuple[Value, Value, Value, Value]:
    """Slices in order; the first of each run of equal ones stays. Only how many that are comes to the host."""
    x, axis = n.x(), n.attr("axis")
    flat = axis is None
    axis = 0 if flat else axis % x.rank
    whole = reshaped(n, x, (x.size,)) if flat else x
    count = whole.shape[axis]
    if flat:
        sorted_ = n.formulas("p = i64(first_true(True, \"all\", x))\n"
                                f"f[i in {count}] = where(i > 0, x[p[i - 1]] != x[p[i]], True)\n"
                                'r = scan("sum", i64(f), 0) - 1\n-> p, f, r', x=whole)
    else:
        order = [axis, *(k for k in range(x.rank) if k != axis)]
        rows = reshaped(n, n.call("transpose", x, axes=tuple(order)) if axis else x, (count, x.size // max(1, count)))
        width = rows.shape[1]
        sorted_ = n.formulas(
            f"d[i in {count}, j in {count}] = min[k in {width}](where(x[i, k] != x[j, k], k, {width}))\n"
            f"less[i in {count}, j in {count}] = x[i, d[i, j]] < x[j, d[i, j]]\n"
            f"same[i in {count}, j in {count}] = d[i, j] == {width}\n"
            f"rank[j in {count}] = sum[i in {count}](i64((less[i, j] and not same[i, j]) or (same[i, j] and i < j)))\n"
            'p = i64(first_true(True, "all", rank))\n'
            f"f[i in {count}] = where(i > 0, not same[p[i - 1], p[i]], True)\n"
            'r = scan("sum", i64(f), 0) - 1\n-> p, f, r', x=rows)
    places, firsts, ranks = sorted_
    starts = true_places(n, firsts)
    kept = starts.size
    chosen = n.formula("y[i] = p[s[i]]", p=places, s=starts)
    counts = n.formula(f"y[i in {kept}] = where(i + 1 < {kept}, s[i + 1], {count}) - s[i]", s=starts)
    inverse = n.formula(f"z[i in {count}] = i64(0)\ny = scatter[i in {count}](z, (p[i],), r[i])", p=places, r=ranks)
    if not n.attr("sorted", 1):
        chosen, counts, inverse = n.formulas(
            'q = i64(first_true(True, "all", c))\n'
            f"z[j in {kept}] = i64(0)\nback = scatter[j in {kept}](z, (q[j],), j)\n"
            "c2[j] = c[q[j]]\nn2[j] = n[q[j]]\nv2[i] = back[v[i]]\n-> c2, n2, v2", c=chosen, n=counts, v=inverse)
    return n.call("take", whole, chosen, axis=axis), chosen, inverse, counts


@onnx_op("NonMaxSuppression")
def non_max_suppression(n: Node) -> Value:
    """Boxes by falling score; a box stays unless one before it that stays overlaps it too much.

    That rule has one solution. It is found by applying it to all boxes at once until nothing changes: after k rounds the
    first k boxes are right, and usually everything is after a few.
    """
    boxes, scores = n.x(0), n.x(1)
    limit = int(n.host(2).reshape(-1)[0]) if n.has(2) else 0
    batches, classes, count = scores.shape
    if limit <= 0 or not count:
        return n.const(np.empty((0, 3), np.int64))
    overlap = float(n.host(3).reshape(-1)[0]) if n.has(3) else 0.0
    least = n.formula("y = s > t", s=scores, t=n.x(4)) if n.has(4) else n.formula("y = s == s or s != s", s=scores)
    if n.attr("center_point_box", 0):
        corners = ["boxes[b, i, 1] - boxes[b, i, 3]/2", "boxes[b, i, 0] - boxes[b, i, 2]/2",
                   "boxes[b, i, 1] + boxes[b, i, 3]/2", "boxes[b, i, 0] + boxes[b, i, 2]/2"]
    else:
        corners = [f"{f}imum(boxes[b, i, {k}], boxes[b, i, {k + 2}])" for f in ("min", "max") for k in (0, 1)]
    text = [f"c{k}[b in {batches}, i in {count}] = {c}" for k, c in enumerate(corners)]
    pair = f"b in {batches}, i in {count}, j in {count}"
    text += [f"area[b in {batches}, i in {count}] = (c2[b, i] - c0[b, i])*(c3[b, i] - c1[b, i])",
             f"both[{pair}] = maximum(0, minimum(c2[b, i], c2[b, j]) - maximum(c0[b, i], c0[b, j]))"
             "*maximum(0, minimum(c3[b, i], c3[b, j]) - maximum(c1[b, i], c1[b, j]))",
             f"near[{pair}] = both[b, i, j] > {overlap!r}*(area[b, i] + area[b, j] - both[b, i, j])",
             'p = i64(first_true(True, "all", scores, descending=True))',
             f"valid[b in {batches}, c in {classes}, i in {count}] = ok[b, c, p[b, c, i]]",
             "-> near, p, valid"]
    near, order, valid = n.formulas("\n".join(text), boxes=boxes, scores=scores, ok=least)
    place = f"b in {batches}, c in {classes}, i in {count}"
    n.trace.compute(near, order, valid)
    kept = valid
    for _ in range(count):
        kept, changed = n.formulas(
            f"next[{place}] = v[b, c, i] and not any[j in {count}]("
            "(j < i) and k[b, c, j] and near[b, p[b, c, j], p[b, c, i]])\n"
            f"changed = any[{place}](next[b, c, i] != k[b, c, i])\n-> next, changed", v=valid, k=kept, near=near, p=order)
        n.trace.compute(kept, changed)
        if not bool(n.trace.host(changed)):
            break
    within = n.formula(f'y = k and (scan("sum", i64(k), 2) <= {limit})', k=kept)
    places = true_places(n, reshaped(n, within, (batches * classes * count,)))
    if not places.size:
        return n.const(np.empty((0, 3), np.int64))
    spots = unravelled(n, places, (batches, classes, count), 1)
    return n.formula(f"y[r in {places.size}, d in 3] = where(d < 2, s[r, d], p[s[r, 0], s[r, 1], s[r, 2]])", s=spots, p=order)
