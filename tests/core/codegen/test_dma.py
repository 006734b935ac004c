"""Lowering to the `dma` model: what fits, what is refused, and how tiles and queues are used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelcat_core.backends.ascendc.instructions import TABLE
from kernelcat_core.backends.ascendc.limits import MEMORY_910B
from kernelcat_core.backends.ascendc.manifest import BACKEND
from kernelcat_core.codegen.dma import lower
from kernelcat_core.codegen.dma_ast import Block, Branch, CopyIn, DmaProgram, Loop, Memory, Queue, Stmt, Vector
from kernelcat_core.dtypes import F64
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.expr import Load, Size, Var, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Tensor
from kernelcat_core.schedule.lower import lower as schedule
from tests.core.schedule.graphs import GRAPHS, SCATTERS

TARGET = BACKEND.targets[0]


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    for s in body:
        yield s
        if isinstance(s, Loop | Branch | Block):
            yield from statements(s.body)


def lowered(name: str, memory: Memory = MEMORY_910B) -> tuple[DmaProgram, ...]:
    return lower(schedule(GRAPHS[name](), TARGET), TABLE, memory)


@pytest.mark.parametrize("name", sorted(SCATTERS))
def test_elements_in_global_memory_are_not_renewed(name: str) -> None:
    with pytest.raises(KernelcatError) as caught:
        lowered(name)
    assert caught.value.code == "KC-R001"


@pytest.mark.parametrize("name", sorted(GRAPHS.keys() - SCATTERS.keys()))
def test_default_schedules_fit_and_queues_are_used_in_whole_lives(name: str) -> None:
    for p in lowered(name):
        assert 0 < p.near_bytes <= MEMORY_910B.near_bytes
        for role in ("in", "out"):
            queues = {b.queue or b.name: b.slots for b in p.buffers if b.role == role}
            assert sum(queues.values()) <= MEMORY_910B.queue_buffers
        steps: dict[str, list[str]] = {}
        for s in statements(p.body):
            if isinstance(s, Queue):
                steps.setdefault(s.buffer, []).append(s.step)
        for found in steps.values():
            assert found == ["alloc", "enqueue", "dequeue", "free"] * (len(found) // 4)


def test_copies_of_a_pipelined_loop_get_two_buffers() -> None:
    (p,) = lowered("softmax")
    assert [b.slots for b in p.buffers if b.role == "in"] == [2, 2, 2]


def test_vectors_shrink_until_temporaries_fit() -> None:
    small = Memory(near_bytes=60 * 1024, block_bytes=32, repeat_bytes=256, queue_buffers=8)
    (wide,), (narrow,) = lowered("softmax"), lowered("softmax", small)
    assert narrow.near_bytes <= small.near_bytes < wide.near_bytes


def test_tiles_beyond_the_memory_are_refused() -> None:
    with pytest.raises(KernelcatError) as caught:
        lowered("softmax", Memory(near_bytes=4096, block_bytes=32, repeat_bytes=256, queue_buffers=8))
    assert caught.value.code == "KC-S002"
    assert "smaller blocks" in caught.value.hint


def test_a_matrix_product_is_rows_of_axpy() -> None:
    (p,) = lowered("matmul_bias")
    assert any(isinstance(s, Vector) and s.op == "axpy" for s in statements(p.body))
    assert sum(isinstance(s, CopyIn) for s in statements(p.body)) >= 2


def test_an_operation_that_no_unit_has_is_a_coded_error() -> None:
    n, i = Size("N"), Var("i")
    node = Compute(Tensor("Y", F64, (n,)), (Axis("i", n),), (op("exp", Load("X", (i,), F64)),))
    graph = Graph((Tensor("X", F64, (n,)),), (node,), ("Y",))
    with pytest.raises(KernelcatError) as caught:
        lower(schedule(graph, TARGET), TABLE, MEMORY_910B)
    assert caught.value.code == "KC-R001"
    assert "exp" in caught.value.message


def test_sums_of_floats_use_the_whole_tile_reduction() -> None:
    (p,) = lowered("softmax")
    assert {"reduce_sum", "reduce_max"} <= {s.op for s in statements(p.body) if isinstance(s, Vector)}
