"""Control flow and sequences: the host decides, kernels compute."""

from __future__ import annotations

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.layout import concatenated, reshaped, sliced_like
from kernelcat_core.importers.trace import Value


@onnx_op("If")
def if_(n: Node) -> tuple[Item, ...]:
    chosen = n.attr("then_branch") if bool(n.host(0).reshape(-1)[0]) else n.attr("else_branch")
    return tuple(n.run.subgraph(chosen, {}, n.scope))


@onnx_op("Loop")
def loop(n: Node) -> tuple[Item, ...]:
    body = n.attr("body")
    trips = int(n.host(0).reshape(-1)[0]) if n.has(0) else None
    go = bool(n.host(1).reshape(-1)[0]) if n.has(1) else True
    carried: list[Item] = list(n.inputs[2:])
    count = len(carried)
    scans: list[list[Value]] = [[] for _ in body.output[1 + count:]]
    turn = 0
    while go and (trips is None or turn < trips):
        names = [i.name for i in body.input]
        known: list[Item] = [n.const(np.int64(turn)), n.const(np.bool_(go)), *carried]
        made = n.run.subgraph(body, dict(zip(names, known)), n.scope)
        flag = made[0]
        assert isinstance(flag, Value)
        go = bool(n.trace.host(flag).reshape(-1)[0])
        carried = list(made[1:1 + count])
        for kept, item in zip(scans, made[1 + count:]):
            assert isinstance(item, Value)
            kept.append(item)
        turn += 1
    return (*carried, *(_stacked(n, kept, 0, body.output[1 + count + k]) for k, kept in enumerate(scans)))


def _stacked(n: Node, items: list[Value], axis: int, declared: object) -> Value:
    """Values of every turn along a new axis."""
    if not items:
        from kernelcat_core.importers.onnx_model.node import tensor_type

        kind = declared.type.tensor_type  # type: ignore[attr-defined]
        shape = [d.dim_value for d in kind.shape.dim]
        return n.const(np.empty((0, *shape), tensor_type(kind.elem_type).numpy))
    place = axis % (items[0].rank + 1)
    rows = [reshaped(n, v, (*v.shape[:place], 1, *v.shape[place:])) for v in items]
    return concatenated(n, rows, place)


@onnx_op("Scan", 9)
def scan(n: Node) -> tuple[Item, ...]:
    body, count = n.attr("body"), n.attr("num_scan_inputs")
    first = len(n) - count
    states: list[Item] = list(n.inputs[:first])
    sources = [n.x(k) for k in range(first, len(n))]
    axes = n.attr("scan_input_axes") or (0,) * count
    backwards = n.attr("scan_input_directions") or (0,) * count
    turns = sources[0].shape[axes[0]]
    outs = len(body.output) - first
    made_axes = n.attr("scan_output_axes") or (0,) * outs
    made_backwards = n.attr("scan_output_directions") or (0,) * outs
    kept: list[list[Value]] = [[] for _ in range(outs)]
    for turn in range(turns):
        slices = [_at(n, s, a, turns - 1 - turn if b else turn) for s, a, b in zip(sources, axes, backwards, strict=True)]
        bound = dict(zip([i.name for i in body.input], [*states, *slices]))
        results = n.run.subgraph(body, bound, n.scope)
        states = list(results[:first])
        for rows, item in zip(kept, results[first:]):
            assert isinstance(item, Value)
            rows.append(item)
    ends = tuple(_stacked(n, rows[::-1] if b else rows, a, body.output[first + k])
                 for k, (rows, a, b) in enumerate(zip(kept, made_axes, made_backwards, strict=True)))
    return (*states, *ends)


def _at(n: Node, x: Value, axis: int, place: int) -> Value:
    axis %= x.rank
    parts = [(0, 1, d) for d in x.shape]
    parts[axis] = (place, 1, 1)
    return reshaped(n, sliced_like(n, x, parts), [d for k, d in enumerate(x.shape) if k != axis])
