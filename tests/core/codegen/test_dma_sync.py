"""Where the order between pipes must be asked for, and where a queue or an earlier wait already gives it."""

from __future__ import annotations

from kernelcat_core.codegen.dma_ast import (
    Assign,
    Branch,
    Buffer,
    CopyIn,
    CopyOut,
    Loop,
    Put,
    Queue,
    Stmt,
    Sync,
    Vector,
    View,
)
from kernelcat_core.codegen.dma_sync import insert_syncs
from kernelcat_core.dtypes import F32
from kernelcat_core.ir.expr import ONE, TRUE, ZERO, Const, Load, index

A, B, C, IN, OUT = (View(n, F32, ZERO) for n in ("a", "b", "c", "in", "out"))
BUFFERS = (*(Buffer(n, F32, 64) for n in ("a", "b", "c")), Buffer("in", F32, 64, "in", 2),
           Buffer("out", F32, 64, "out", 2, "out"))
ZERO_F32 = Const(0.0, F32)


def vector(target: View, *sources: View) -> Vector:
    return Vector("add", target, sources, (), index(64))


def fill(target: View) -> Vector:
    return Vector("fill", target, (), (ZERO_F32,), index(64))


def read(view: View) -> Assign:
    return Assign("s", Load(view.buffer, (ZERO,), F32))


def load() -> CopyIn:
    return CopyIn(IN, "X", ZERO, ONE, index(64), ZERO, 0)


def syncs(*body: Stmt) -> list[tuple[int, str, str]]:
    """(place, before, after) of the Syncs in a body that runs for cell after cell; S reads every tile between cells."""
    once = insert_syncs((Branch(TRUE, body), *(read(v) for v in (A, B, C))), BUFFERS)
    found = next(s for s in once if isinstance(s, Branch)).body
    return [(k, s.before, s.after) for k, s in enumerate(found) if isinstance(s, Sync)]


def test_dependent_vector_instructions_need_a_barrier() -> None:
    assert [s[1:] for s in syncs(fill(A), vector(B, A))][-1:] == [("V", "V")]
    assert [s[1:] for s in syncs(vector(B, A), fill(A))][-1:] == [("V", "V")]  # written after it was read
    assert [s for s in syncs(vector(B, A), vector(C, A)) if s[1:] == ("V", "V")] == []  # both only read


def test_scalar_access_needs_flags_both_ways() -> None:
    found = syncs(fill(A), read(A), Put(A, ZERO_F32), vector(B, A))
    assert ("V", "S") in [s[1:] for s in found]
    assert ("S", "V") in [s[1:] for s in found]


def test_queues_bring_their_own_order() -> None:
    body = (Queue("alloc", "in"), load(), Queue("enqueue", "in"), Queue("dequeue", "in"), vector(A, IN), Queue("free", "in"))
    assert all("MTE2" not in s[1:] for s in syncs(*body))
    out = (Queue("alloc", "out"), fill(OUT), Queue("enqueue", "out"), Queue("dequeue", "out"),
           CopyOut("Y", ZERO, OUT, ONE, index(64), ZERO, 0), Queue("free", "out"))
    assert all("MTE3" not in s[1:] for s in syncs(*out))


def test_the_scalar_unit_reads_a_copied_tile_after_its_own_flag() -> None:
    body = (Queue("alloc", "in"), load(), Queue("enqueue", "in"), Queue("dequeue", "in"), read(IN))
    assert ("MTE2", "S") in [s[1:] for s in syncs(*body)]


def test_a_plain_buffer_needs_flags_around_copies() -> None:
    body = (CopyIn(A, "X", ZERO, ONE, index(64), ZERO, 0), vector(B, A), CopyIn(A, "X", ZERO, ONE, index(64), ZERO, 0))
    found = [s[1:] for s in syncs(*body)]
    assert ("MTE2", "V") in found
    assert ("V", "MTE2") in found


def test_what_only_the_first_iteration_needs_stands_before_the_loop() -> None:
    loop = Loop("i", ZERO, index(64), ONE, (read(A),))
    out = insert_syncs((fill(A), loop), BUFFERS)
    place = next(k for k, s in enumerate(out) if isinstance(s, Loop))
    assert Sync("V", "S") in out[:place]
    inner = out[place]
    assert isinstance(inner, Loop)
    assert not any(isinstance(s, Sync) for s in inner.body)


def test_a_hazard_between_iterations_is_found() -> None:
    loop = Loop("i", ZERO, index(4), ONE, (vector(A, A),))
    inner = next(s for s in insert_syncs((loop,), BUFFERS) if isinstance(s, Loop))
    assert Sync("V", "V") in inner.body
    apart = Loop("i", ZERO, index(4), ONE, (vector(A, A),), independent=True)
    inner = next(s for s in insert_syncs((apart,), BUFFERS) if isinstance(s, Loop))
    assert Sync("V", "V") not in inner.body
