"""Chained reductions in one sweep mean what the two of them mean."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcat
from kernelcat_core.ir import tile_interpreter
from kernelcat_core.ir.tile import For, TileProgram, statements
from kernelcat_core.ir.tile_verify import verify
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower, space
from kernelcat_core.target import Target

VECTOR = Target("vector", "vector", "vector", "vector", "vector", "c")
DEVIATION = """m[i] = mean[k](X[i,k])
v[i] = mean[k]((X[i,k]-m[i])*(X[i,k]-m[i]))
Y[i,j] = (X[i,j]-m[i])*rsqrt(v[i] + 1e-5)"""
FORMULAS = {
    "rows": "Y = softmax(X, axis=-1)", "columns": "Y = softmax(X, axis=0)", "logarithms": "Y = log_softmax(X, axis=0)",
    "guarded": "Y[i,j] = X[i,j] - logsumexp[k](X[i,k])", "layer_norm": "Y = layer_norm(X, axis=-1)",
    "deviation": DEVIATION, "deviation of columns": """m[i] = mean[k](X[k,i])
v[i] = mean[k]((X[k,i]-m[i])*(X[k,i]-m[i]))
Y[j,i] = (X[j,i]-m[i])*rsqrt(v[i] + 1e-5)""",
}
SIZES = ((1100, 2), (70, 37), (1, 1), (0, 5), (5, 0))  # elements in a chain, chains
DOWN = ("columns", "logarithms", "deviation of columns")


def sweeps(program: TileProgram) -> int:
    return sum(isinstance(s, For) for s in statements(program.body))


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", list(FORMULAS))
def test_one_sweep_less_and_the_same_values(name: str, dtype: str) -> None:
    graph = hops.analyse(FORMULAS[name], {"X": f"MxN:{dtype}"}).graph
    knobs = {k.name: k for k in space(graph, VECTOR).knobs}
    smaller = {n: 0 for n in knobs if n.endswith(".resident")} | {n: 64 for n in knobs if n == "Y.lanes"}
    one, two = (lower(graph, VECTOR, Config.of({**smaller, "Y.online": k})) for k in (1, 0))
    verify(one)
    assert sweeps(one.programs[0]) == sweeps(two.programs[0]) - 1
    for seed, (long, short) in enumerate(SIZES):
        m, n = (long, short) if name in DOWN else (short, long)
        sizes = dict(zip(("M", "N"), (m, n), strict=True))
        inputs = make_inputs(graph, sizes, seed)
        if min(m, n) > 30:
            inputs["X"][:, 7] = inputs["X"][7] = -np.inf if "soft" in FORMULAS[name] or "log" in FORMULAS[name] else 3
        verdict = worst(list(Oracle(graph, inputs, sizes).check(tile_interpreter.run(one, inputs, sizes)).values()))
        assert verdict.ok, (m, n, verdict.message)


@pytest.mark.parametrize("name", ["columns", "deviation of columns"])
def test_compiled_c(name: str) -> None:
    run = kernelcat.kernel(FORMULAS[name])
    graph = hops.analyse(FORMULAS[name]).graph
    for seed, numbers in enumerate(((1, 1), (700, 300), (33, 1000), (0, 3))):
        sizes = dict(zip(graph.size_names, numbers, strict=True))
        inputs = make_inputs(graph, sizes, seed)
        verdict = worst(list(Oracle(graph, inputs, sizes).check({"Y": np.asarray(run(**inputs))}).values()))
        assert verdict.ok, (numbers, verdict.message)
