"""Scans, scatters and orders as C text that runs, over element types, with sizes known and unknown."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcat
from kernelcat_core.numerics.compare import compare_outputs
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops

FORMULAS = {
    "scans": "X: {t}[M, N]; a = cumsum(X, 1); b = cummax(X, 0); c = cummin_indices(X, 1, reverse=True)",
    "scatter along rows": "B: {t}[9, 6]; I: i32[7]; V: {t}[7, 6]; a = index_add(B, 0, I, V); b = index_copy(B, 0, I, V)",
    "scatter by element": 'B: {t}[R, S]; I: i64[Q, T]; V: {t}[Q, T]; a = scatter(B, I, V, 1, "max")',
    "serial scatter": "B: {t}[N]; I: i64[L]; V: {t}[L]; a = scatter_add(B, I, V); b = scatter(B, I, V)",
    "orders": "X: {t}[3, 50]; a = argsort(X, 1); b = sort(X, 0, True); c = topk(X, 2); d = topk(X, 30, largest=False)",
}


@pytest.mark.parametrize("dtype", ["f32", "f16", "i8", "u64"])
@pytest.mark.parametrize("name", list(FORMULAS))
def test_kernels_agree_with_the_oracle(name: str, dtype: str) -> None:
    text = FORMULAS[name].format(t=dtype)
    made = kernelcat.kernel(text)
    analysis = hops.analyse(text)
    for seed, change in enumerate(({}, dict.fromkeys(analysis.graph.size_names, 1), {"N": 37, "L": 5, "T": 3})):
        sizes = {**analysis.workload, **{k: v for k, v in change.items() if k in analysis.workload}}
        inputs = make_inputs(analysis.graph, sizes, seed, ("normal", "ties", "special")[seed])
        found = made(**inputs)
        outputs = dict(zip(analysis.graph.outputs, found if isinstance(found, tuple) else (found,), strict=True))
        verdict = compare_outputs(analysis.graph, inputs, {k: np.asarray(v) for k, v in outputs.items()}, sizes)
        assert verdict.ok, (sizes, verdict.message)
