"""What a kernel must do at least, and which times are believed."""

from __future__ import annotations

from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.measuring import believable, operations, work


def test_work_counts_bytes_once_and_operations_as_written() -> None:
    a = hops.analyse("C[i,j] += A[i,k]*B[k,j]", {"A": "8x16:f32", "B": "16x4:f32"})
    assert work(a.graph, a.workload).nbytes == 4 * (8 * 16 + 16 * 4 + 8 * 4)
    assert operations(a.graph, a.workload) == 2 * 8 * 16 * 4


def test_inputs_that_stay_cached_while_outputs_stream_past_are_believed() -> None:
    a = hops.analyse("Y[i,j] = 2*X[i,j]", {"X": "1024x2048:f32"})
    w = believable(a.graph, a.workload)
    assert w.nbytes == 2 * 4 * 1024 * 2048 and w.working_set == 4 * 1024 * 2048 and w.operations == 0
