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
        known: list[Item] = [n.trace.stored(np.int64(turn)), n.const(np.bool_(go)), *carried]
        made = n.run.subgraph(body, dict(zip(names, known)), n.scope)
        flag = made[0]
        assert isinstance(flag, Value)
        if flag.constant is None:
            n.trace.compute(flag, *(v for v in made[1:] if isinstance(v, Value)))
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
    outs = len(body.output) - first
    sources = [n.x(k) for k in range(first, len(n))]
    axes = tuple(n.attr("scan_input_axes") or (0,) * count)
    states, kept = _scanned(n, list(n.inputs[:first]), sources, axes, sources[0].shape[axes[0]],
                            tuple(n.attr("scan_input_directions") or (0,) * count))
    backwards = n.attr("scan_output_directions") or (0,) * outs
    made_axes = n.attr("scan_output_axes") or (0,) * outs
    ends = (_stacked(n, rows[::-1] if b else rows, a, body.output[first + k])
            for k, (rows, a, b) in enumerate(zip(kept, made_axes, backwards, strict=True)))
    return (*states, *ends)


@onnx_op("Scan", 8)
def scan_batches(n: Node) -> tuple[Item, ...]:
    """In opset 8 the first axis of everything is a batch whose members are scanned one by one, each as long as is said."""
    body, count = n.attr("body"), n.attr("num_scan_inputs")
    first = len(n) - 1 - count
    states, sources = [n.x(1 + k) for k in range(first)], [n.x(1 + first + k) for k in range(count)]
    batch, turns = sources[0].shape[:2]
    lengths = [int(v) for v in n.host(0)] if n.has(0) else [turns] * batch
    backwards = tuple(n.attr("directions") or (0,) * count)
    every: list[list[Value]] = [[] for _ in body.output]
    for b, length in enumerate(lengths):
        own = [sliced_like(n, s, [(0, 1, length), *((0, 1, d) for d in s.shape[1:])])
               for s in (_at(n, x, 0, b) for x in sources)]
        ends, kept = _scanned(n, [_at(n, s, 0, b) for s in states], own, (0,) * count, length, backwards)
        made = [*(v for v in ends if isinstance(v, Value)),
                *(_stacked(n, rows, 0, body.output[first + k]) for k, rows in enumerate(kept))]
        for k, v in enumerate(made):
            if k >= first and length < turns:
                rest = n.const(np.zeros((turns - length, *v.shape[1:]), v.dtype.numpy))
                v = concatenated(n, [v, rest], 0)
            every[k].append(v)
    return tuple(_stacked(n, rows, 0, None) for rows in every)


def _scanned(n: Node, states: list[Item], sources: list[Value], axes: tuple[int, ...], turns: int,
             backwards: tuple[int, ...]) -> tuple[list[Item], list[list[Value]]]:
    """(states at the end, what every turn puts out)."""
    body = n.attr("body")
    kept: list[list[Value]] = [[] for _ in body.output[len(states):]]
    for turn in range(turns):
        slices = [_at(n, s, a, turns - 1 - turn if b else turn) for s, a, b in zip(sources, axes, backwards, strict=True)]
        bound = dict(zip([i.name for i in body.input], [*states, *slices]))
        results = n.run.subgraph(body, bound, n.scope)
        for rows, item in zip(kept, results[len(states):]):
            assert isinstance(item, Value)
            rows.append(item)
        states = list(results[:len(states)])
    return states, kept


def _at(n: Node, x: Value, axis: int, place: int) -> Value:
    """One slice of an axis, which goes away; the place is read from memory, so that all slices are one kernel."""
    axis %= x.rank
    i = [f"i{k}" for k in range(x.rank)]
    rest = [d for k, d in enumerate(x.shape) if k != axis]
    left = ", ".join(f"{a} in {d}" for a, d in zip((a for k, a in enumerate(i) if k != axis), rest, strict=True))
    inner = ", ".join("p[0]" if k == axis else a for k, a in enumerate(i))
    if 0 in rest:
        return n.const(np.empty(rest, x.dtype.numpy))
    return n.formula(f"y{f'[{left}]' if rest else ''} = x[{inner}]", x=x, p=n.trace.stored(np.full(1, place, np.int64)))
