"""REGISTRY x kernels x shapes: every backend's text against the oracle at odd, unit and zero sizes, f32 and f16."""

from __future__ import annotations

from itertools import product

import pytest

from kernelcat_core.api import check
from kernelcat_core.backends import REGISTRY

RUNS = {"emulated", "executed"}
FORMULAS = {
    "elementwise": "X: {t}[M,N]; Y[i,j] = tanh(X[i,j]) * 0.5 + X[i,j]",
    "broadcast": "X: {t}[M,N]; b: {t}[N]; Y[i,j] = max(X[i,j] + b[j], 0.0)",
    "row": "X: {t}[M,N]; M1[i] = max[k](X[i,k]); Y[i,j] = exp(X[i,j]-M1[i]) / sum[k](exp(X[i,k]-M1[i]))",
    "column": "X: {t}[M,N]; Y[j] = sum[i](X[i,j])",
    "total": "X: {t}[M,N]; S = sum[i,j](X[i,j])",
    "contraction": "A: {t}[M,K]; B: {t}[K,N]; C[i,j] = sum[k](A[i,k]*B[k,j])",
    "window": "X: {t}[M,N]; Y[i,x] = max[r in 3](X[i,2*x+r])",
    "argmax": "X: {t}[M,N]; Y[i] = argmin[k](X[i,k])",
    "gather": "T: {t}[N,K]; I: i32[M]; Y[i,j] = T[I[i],j]",
    "select": "points: {t}[M,3]; Y = gather_nearest(points, 0.8, 4, order=\"nearest\")",
}
FIRST = {b.targets[0].model: b.name for b in reversed(REGISTRY.values())}
CASES = [*product(("f32", "f16"), FORMULAS), *((t, "other types") for t in ("f64", "bf16", "i32", "i8", "u8"))]
TARGETS = [
    pytest.param(
        b.targets[0].name,
        marks=() if RUNS & set(b.load_device()().describe().facts) else pytest.mark.skip(reason=f"nothing runs {b.name} here"),
    )
    for b in REGISTRY.values()
]


@pytest.fixture(autouse=True)
def a_spread(request: pytest.FixtureRequest) -> None:
    """Of languages that share a lowering the first takes every case, others every fourth (all with --all-cases)."""
    of = request.node.callspec.params
    backend = of["target"].partition(":")[0]
    place = CASES.index((of["dtype"], of.get("name", "other types")))
    if backend not in FIRST.values() and place % 4 and not request.config.getoption("--all-cases"):
        pytest.skip("a spread of the cases")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", list(FORMULAS))
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_kernel_matches_the_oracle(name: str, dtype: str, target: str) -> None:
    report = check(FORMULAS[name].format(t=dtype), [target], seeds=2)["targets"][0]
    assert report["ok"], report["message"]
    assert RUNS & set(report["facts"]), report


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f64", "bf16", "i32", "i8", "u8"])
def test_other_types(dtype: str, target: str) -> None:
    report = check(f"X: {dtype}[M,N]; Y[i,j] = X[i,j]*X[i,j] + X[i,j]; S[i] = sum[j](X[i,j]); -> Y, S", [target],
                   seeds=2)["targets"][0]
    assert report["ok"] or report["message"].startswith("KC-R001"), report["message"]
