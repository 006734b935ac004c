"""Rendered BANG C, run on the functional model, agrees with the oracle: kernel classes, operations, dtypes, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernelcat_core.dtypes import BOOL, DTYPES, F16, F32, I32, STORAGE_ONLY, DType
from kernelcat_core.ir.expr import OPS, Const, Load, Size, Var, cast, op
from kernelcat_core.ir.graph import Axis, Compute, Graph, Tensor, monoid
from kernelcat_core.numerics.compare import Oracle
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.runtime import toolchain
from kernelcat_core.target import Target
from tests.core.backends.bangc.emulate import MLU370, MLU590
from tests.core.backends.emulated import EmulatedModule
from tests.core.schedule.graphs import GRAPHS

pytestmark = pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")

Array = np.ndarray[Any, Any]
SIZES = ((5, 7, 3), (1, 1, 1), (67, 33, 20), (0, 4, 2), (3, 2, 0), (3, 5003, 70))
N, i = Size("N"), Var("i")


def label(v: Any) -> str:
    return v.arch if isinstance(v, Target) else f"{len(v)}_operations" if isinstance(v, tuple) else str(v)


def wrong(model: EmulatedModule, graph: Graph, inputs: dict[str, Array], sizes: dict[str, int]) -> list[str]:
    said, outputs = model.run(inputs, sizes)
    if said:
        return [said]
    return [v.message for v in Oracle(graph, inputs, sizes).check(outputs).values() if not v.ok]


@pytest.mark.parametrize(("target", "name"), [
    (MLU370, "softmax"), (MLU370, "layer_norm"), (MLU370, "matmul_bias"), (MLU370, "chain_f16"),
    (MLU370, "gather"), (MLU370, "scan_first"), (MLU590, "softmax"), (MLU590, "pool"),
], ids=label)
def test_kernel_classes_match_the_oracle_at_odd_and_empty_sizes(target: Target, name: str) -> None:
    graph = GRAPHS[name]()
    model = EmulatedModule.rendered(target, graph)
    for numbers in SIZES:
        sizes = dict(zip(graph.size_names, numbers))
        assert wrong(model, graph, make_inputs(graph, sizes, 0), sizes) == [], numbers


def elementwise(expressions: dict[str, DType | None], dtype: DType) -> Graph:
    """One output for each operation (value None) or each cast (value: the dtype) of X, Y: dtype[N]."""
    x, y = Load("X", (i,), dtype), Load("Y", (i,), dtype)
    nodes = []
    for name, to in expressions.items():
        if to is not None:
            e = cast(x, to)
        elif name == "where":
            e = op("where", op("ne", x, y), x, y)
        elif name == "relu":
            e = op("max", x, Const(0.0 if dtype.is_float else 0, dtype))
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


# What has an instruction or a function of our own; the scalar unit's functions are those of the C library here.
_FLOAT = ("add", "sub", "mul", "div", "min", "max", "relu", "abs", "neg", "exp", "exp2", "log", "log2", "log10", "sqrt",
          "rsqrt", "sin", "cos", "tanh", "erf", "expm1", "log1p", "floor", "ceil", "rint", "round_half_away", "lt", "le",
          "eq", "ne", "where", "isnan", "fmod", "pow")
_INTEGER = ("add", "sub", "mul", "min", "max", "relu", "neg", "abs", "lt", "ge", "eq", "ne", "where", "floordiv", "shl")


@pytest.mark.parametrize(("target", "dtype", "names"), [
    (MLU370, F32, _FLOAT), (MLU590, F32, ("max", "relu", "ne", "where", "exp", "min")), (MLU370, I32, _INTEGER),
    (MLU370, F16, ("add", "div", "exp", "max", "where", "lt", "tanh")), (MLU370, BOOL, ("and", "xor", "not", "eq", "where")),
], ids=label)
def test_operations_match_on_extreme_values(target: Target, dtype: DType, names: tuple[str, ...]) -> None:
    graph = elementwise(dict.fromkeys(names), dtype)
    model = EmulatedModule.rendered(target, graph, name="ops")
    for n in (1, 200, 2500):
        inputs = {t.name: values(dtype, n, 3 + k) for k, t in enumerate(graph.inputs)}
        assert wrong(model, graph, inputs, {"N": n}) == [], n


def test_conversions_match() -> None:
    targets = {t.name: t for t in DTYPES.values() if t not in STORAGE_ONLY and t.name not in ("f32", "f64")}
    graph = elementwise(targets, F32)  # type: ignore[arg-type]
    model = EmulatedModule.rendered(MLU370, graph, name="casts")
    inputs = {t.name: values(F32, 300, k) for k, t in enumerate(graph.inputs)}
    assert wrong(model, graph, inputs, {"N": 300}) == []


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
def test_three_stages_over_many_cells(dtype: DType) -> None:
    """Cells of one task in a row: copies of the next, vectors of this, stores of the last; the end is not a whole cell."""
    graph = elementwise({"relu": None, "add": None}, dtype)
    model = EmulatedModule.rendered(MLU370, graph, name="stages")
    for n in (2047, 16 * 2048 * 3 + 5):
        inputs = {t.name: values(dtype, n, k) for k, t in enumerate(graph.inputs)}
        assert wrong(model, graph, inputs, {"N": n}) == [], n
    text = model.source.text
    late, ahead = text.index("__other, o"), text.index("const int64_t next = cell + taskDim")
    assert text.index("for (int64_t cell") < text.index("__sync_io();") < late < ahead  # wait, store, copy, then vectors


def test_products_of_tiles_are_matrix_instructions() -> None:
    rows, columns, depth = Size("M"), Size("P"), Size("K")
    a, b = Load("A", (i, Var("k")), F16), Load("B", (Var("k"), Var("j")), F16)
    product = Compute(Tensor("Y", F32, (rows, columns)), (Axis("i", rows), Axis("j", columns)),
                      (op("mul", cast(a, F32), cast(b, F32)),), (Axis("k", depth),), monoid("sum", F32))
    graph = Graph((Tensor("A", F16, (rows, depth)), Tensor("B", F16, (depth, columns))), (product,), ("Y",))
    model = EmulatedModule.rendered(MLU590, graph, name="product")
    assert "__bang_matmul(part, a, filter, m, depth, width)" in model.source.text
    assert "Product<half, uint16_t>(" in model.source.text
    for numbers in ((37, 75, 140), (1, 1, 1), (16, 32, 128), (5, 0, 3)):
        sizes = dict(zip(("M", "K", "P"), numbers))
        assert wrong(model, graph, make_inputs(graph, sizes, 1), sizes) == [], numbers
