"""Rendered Ascend C, run on the functional model, agrees with the oracle: kernel classes, operations, dtypes, sizes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kernelcat_core.dtypes import BOOL, DTYPES, F32, I32, I64, STORAGE_ONLY, DType
from kernelcat_core.ir.expr import OPS, Load, Size, Var, cast, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Tensor
from kernelcat_core.numerics.compare import Oracle
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.runtime import toolchain
from kernelcat_core.schedule.lower import space
from tests.core.backends.ascendc.emulate import TARGET, Array, Emulated
from tests.core.schedule.graphs import GRAPHS, SCATTERS

pytestmark = pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")

SIZES = ((5, 7, 3), (1, 1, 1), (2, 130, 17), (67, 33, 20), (0, 4, 2), (3, 2, 0), (3, 5003, 70))
N, i = Size("N"), Var("i")


def wrong(model: Emulated, graph: Graph, inputs: dict[str, Array], sizes: dict[str, int]) -> list[str]:
    said, outputs = model.run(inputs, sizes)
    if said:
        return [said]
    return [v.message for v in Oracle(graph, inputs, sizes).check(outputs).values() if not v.ok]


RUNNABLE = sorted(GRAPHS.keys() - SCATTERS.keys())


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_kernel_class_matches_the_oracle_at_odd_and_empty_sizes(name: str) -> None:
    graph = GRAPHS[name]()
    model = Emulated.of(graph)
    for numbers in SIZES:
        sizes = dict(zip(graph.size_names, numbers))
        for seed in range(2):
            assert wrong(model, graph, make_inputs(graph, sizes, seed), sizes) == [], (numbers, seed)


@pytest.mark.parametrize("seed", range(2))
def test_random_legal_configs_match_the_oracle(seed: int) -> None:
    choice = random.Random(seed)
    graph = GRAPHS[choice.choice(RUNNABLE)]()
    model = Emulated.of(graph, space(graph, TARGET).random(choice))
    for _ in range(3):
        numbers = (choice.randint(0, 40), choice.randint(1, 300), choice.randint(0, 40))
        sizes = dict(zip(graph.size_names, numbers))
        assert wrong(model, graph, make_inputs(graph, sizes, seed), sizes) == [], numbers


def elementwise(expressions: dict[str, DType | None], dtype: DType) -> Graph:
    """One output for each operation (value None) or each cast (value: the dtype) of X, Y: dtype[N]."""
    x, y = Load("X", (i,), dtype), Load("Y", (i,), dtype)
    nodes = []
    for name, to in expressions.items():
        if to is not None:
            e = cast(x, to)
        elif name == "where":
            e = op("where", op("ne", x, y), x, y)
        else:
            e = op(name, x) if OPS[name].arity == 1 else op(name, x, y)
        nodes.append(Compute(Tensor(f"o_{name}", e.dtype, (N,)), (Axis("i", N),), (e,)))
    return Graph((Tensor("X", dtype, (N,)), Tensor("Y", dtype, (N,))), tuple(nodes), tuple(n.output.name for n in nodes))


def values(dtype: DType, n: int, seed: int) -> Array:
    """Ordinary and extreme values, shuffled."""
    rng = np.random.default_rng(seed)
    if dtype == BOOL:
        return rng.integers(0, 2, n).astype(bool)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        x = rng.integers(max(limits.min, -20), 20, n).astype(dtype.numpy)
        x[:6] = np.array([limits.min, limits.max, 0, 1, 2, 3], dtype.numpy)[: min(n, 6)]
        return x
    x = rng.standard_normal(n) * rng.choice([1e-3, 1, 1, 10, 100], n)
    x[:12] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-7, -1e-7, 0.5, 2.5, -0.5][: min(n, 12)]
    rng.shuffle(x)
    return x.astype(dtype.numpy)


def check_elementwise(graph: Graph, dtype: DType) -> None:
    model = Emulated.of(graph, name="ops")
    for n in (1, 200, 2500):
        for seed in range(2):
            inputs = {t.name: values(dtype, n, seed + k) for k, t in enumerate(graph.inputs)}
            assert wrong(model, graph, inputs, {"N": n}) == [], (n, seed)


_BITS = ("not_bits", "and_bits", "or_bits", "xor_bits", "shl", "shr")
_LOGIC = ("and", "or", "xor", "not")
_FLOAT = tuple(n for n in OPS if n not in (*_BITS, *_LOGIC, "cast"))
_INTEGER = ("add", "sub", "mul", "floordiv", "mod", "fmod", "pow", "min", "max", "neg", "abs", "sign", "lt", "le", "gt",
            "ge", "eq", "ne", "where", *_BITS)


@pytest.mark.parametrize(("dtype", "names"), [
    (F32, _FLOAT[:22]), (F32, _FLOAT[22:]), (I32, _INTEGER), (BOOL, (*_LOGIC, "eq", "ne", "where")),
], ids=lambda v: str(v) if isinstance(v, DType) else "")
def test_every_operation_matches_on_extreme_values(dtype: DType, names: tuple[str, ...]) -> None:
    check_elementwise(elementwise(dict.fromkeys(names), dtype), dtype)


@pytest.mark.parametrize("dtype", [F32, I64], ids=str)
def test_every_conversion_matches(dtype: DType) -> None:
    targets = {t.name: t for t in DTYPES.values() if t not in STORAGE_ONLY and t != dtype}
    check_elementwise(elementwise(targets, dtype), dtype)
