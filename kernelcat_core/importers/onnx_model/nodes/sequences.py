"""Sequences and optionals of ONNX: containers of the host; what is in them comes from kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcat_core.importers.onnx_model.node import Item, Node, onnx_op
from kernelcat_core.importers.onnx_model.nodes.layout import concatenated, reshaped, split_at
from kernelcat_core.importers.trace import Value


def sequence(n: Node, place: int = 0) -> list[Any]:
    """An input that is a sequence."""
    found = n.inputs[place] if place < len(n.inputs) else None
    if not isinstance(found, list):
        raise n.refuse(f"input number {place} is no sequence")
    return found


def tensors(items: list[Any]) -> list[Value]:
    """The tensors of a sequence of tensors."""
    return [v for v in items if isinstance(v, Value)]


@onnx_op("SequenceEmpty")
def sequence_empty(n: Node) -> tuple[Item, ...]:
    return ([],)


@onnx_op("SequenceConstruct")
def sequence_construct(n: Node) -> tuple[Item, ...]:
    return (list(n.inputs),)


@onnx_op("SequenceInsert")
def sequence_insert(n: Node) -> tuple[Item, ...]:
    made = list(sequence(n))
    place = int(n.host(2).reshape(-1)[0]) if n.has(2) else len(made)
    made.insert(place + len(made) if place < 0 else place, n.inputs[1])
    return (made,)


@onnx_op("SequenceErase")
def sequence_erase(n: Node) -> tuple[Item, ...]:
    made = list(sequence(n))
    del made[int(n.host(1).reshape(-1)[0]) if n.has(1) else -1]
    return (made,)


@onnx_op("SequenceAt")
def sequence_at(n: Node) -> tuple[Item, ...]:
    return (sequence(n)[int(n.host(1).reshape(-1)[0])],)


@onnx_op("SequenceLength")
def sequence_length(n: Node) -> Value:
    return n.const(np.int64(len(sequence(n))))


@onnx_op("ConcatFromSequence")
def concat_from_sequence(n: Node) -> Value:
    parts = tensors(sequence(n))
    axis = n.attr("axis", 0)
    if n.attr("new_axis", 0):
        axis %= parts[0].rank + 1
        parts = [reshaped(n, v, (*v.shape[:axis], 1, *v.shape[axis:])) for v in parts]
    return concatenated(n, parts, axis)


@onnx_op("SplitToSequence")
def split_to_sequence(n: Node) -> tuple[Item, ...]:
    x = n.x()
    axis = n.attr("axis", 0) % x.rank
    size = x.shape[axis]
    if not n.has(1):
        parts = list(split_at(n, x, axis, [1] * size))
        if not n.attr("keepdims", 1):
            parts = [reshaped(n, v, (*x.shape[:axis], *x.shape[axis + 1:])) for v in parts]
        return (parts,)
    wanted = n.host(1)
    if wanted.ndim:
        return (list(split_at(n, x, axis, [int(v) for v in wanted])),)
    each = int(wanted)
    return (list(split_at(n, x, axis, [min(each, size - k) for k in range(0, size, each)])),)


@onnx_op("SequenceMap")
def sequence_map(n: Node) -> tuple[Item, ...]:
    body = n.attr("body")
    names = [i.name for i in body.input]
    made: list[list[Any]] = [[] for _ in body.output]
    for turn in range(len(sequence(n))):
        bound = {name: v[turn] if isinstance(v, list) else v for name, v in zip(names, n.inputs)}
        for rows, item in zip(made, n.run.subgraph(body, bound, n.scope), strict=True):
            rows.append(item)
    return tuple(made)


@onnx_op("Optional")
def optional(n: Node) -> tuple[Item, ...]:
    return (n.inputs[0] if n.inputs else None,)


@onnx_op("OptionalHasElement")
def optional_has_element(n: Node) -> Value:
    return n.const(np.bool_(n.has(0)))


@onnx_op("OptionalGetElement")
def optional_get_element(n: Node) -> tuple[Item, ...]:
    if not n.has(0):
        raise n.refuse("the optional is empty")
    return (n.inputs[0],)
