"""Graphs as standard ONNX nodes: the checker accepts them and the reference evaluator agrees with the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.dtypes import BOOL, DTYPES, F16, F32, F64, I8, I32, I64, U8, U32, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.onnx_definition import onnx_model, onnx_text
from kernelcat_core.importers.onnx_nodes import ELEMENT_TYPE
from kernelcat_core.importers.onnx_scalar import SPELLED
from kernelcat_core.ir.expr import OPS, Const, Expr, Load, Op, Size, Var, add, cast, f32, index, mul, op, sub
from kernelcat_core.ir.graph import Axis, Compute, Graph, Monoid, Select, Tensor, monoid
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph

from .onnx_checks import run, verdict

M, N, K = Size("M"), Size("N"), Size("K")
ROW, COLUMN, TERM = Axis("i", M), Axis("j", N), Axis("k", K)
X, V = Tensor("X", F32, (M, K)), Tensor("V", F32, (N,))


def graph(inputs: list[Tensor], *nodes: Compute | Select) -> Graph:
    g = Graph(tuple(inputs), nodes, tuple(n.output.name for n in nodes))
    verify_graph(g)
    return g


def element(e: Expr, *axes: Axis, inputs: list[Tensor]) -> Graph:
    return graph(inputs, Compute(Tensor("Y", e.dtype, tuple(a.size for a in axes)), axes, (e,)))


def v(*at: Expr) -> Load:
    return Load("V", at, F32)


def x(*at: Expr) -> Load:
    return Load("X", at, F32)


def agrees(g: Graph, inputs: dict[str, np.ndarray]) -> None:
    found = verdict(onnx_model(g), g, inputs)
    assert found.ok, found.message
    assert not found.unstable


def test_element_types_are_those_of_the_file_format() -> None:
    from onnx import helper

    assert {t.name: helper.np_dtype_to_tensor_dtype(t.numpy) for t in ELEMENT_TYPE} == {
        t.name: number for t, number in ELEMENT_TYPE.items()
    }


def test_every_scalar_operation_is_spelled() -> None:
    assert frozenset(OPS) == SPELLED


FLOATS = np.array([-7.5, -2.5, -1.0, -0.3, -1e-6, -0.0, 0.0, 1e-6, 0.3, 0.5, 1.0, 2.5, 3.0, 8.0], np.float32)
WHOLES = np.array([-7, -3, -1, 1, 2, 3, 5, 6], np.int32)
FLOAT_UNARY = [n for n, r in OPS.items() if r.arity == 1 and n not in ("cast", "not", "not_bits")]
BINARY = [n for n, r in OPS.items() if r.arity == 2 and n not in ("and", "or", "xor")]


# the reference evaluator forms Erf in f32 whatever its type
@pytest.mark.parametrize(("name", "dtype"), [(n, t) for n in FLOAT_UNARY for t in (F32, F64) if (n, t) != ("erf", F64)])
def test_unary(name: str, dtype: DType) -> None:
    t = Tensor("V", dtype, (N,))
    special = np.array([np.nan, np.inf, -np.inf]) if name not in ("signbit",) else np.array([np.inf, -np.inf])
    agrees(
        element(op(name, Load("V", (COLUMN.var,), dtype)), COLUMN, inputs=[t]),
        {"V": np.concatenate([FLOATS, special]).astype(dtype.numpy)},
    )


@pytest.mark.parametrize("name", [n for n in BINARY if "bits" not in n and n not in ("shl", "shr")])
def test_binary_on_floats(name: str) -> None:
    a, b = Tensor("A", F32, (M,)), Tensor("B", F32, (N,))
    g = element(op(name, Load("A", (ROW.var,), F32), Load("B", (COLUMN.var,), F32)), ROW, COLUMN, inputs=[a, b])
    found = verdict(onnx_model(g), g, {"A": FLOATS, "B": FLOATS})
    assert found.ok, found.message
    # a quotient that is an integer but for its last bit may be floored either way
    assert found.unstable < (20 if name in ("mod", "floordiv") else 1)


@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("div", "atan2", "hypot", "copysign")])
@pytest.mark.parametrize("dtype", [I32, U32])
def test_binary_on_integers(name: str, dtype: DType) -> None:
    a, b = Tensor("A", dtype, (M,)), Tensor("B", dtype, (N,))
    g = element(op(name, Load("A", (ROW.var,), dtype), Load("B", (COLUMN.var,), dtype)), ROW, COLUMN, inputs=[a, b])
    right = np.abs(WHOLES) if name in ("shl", "shr", "pow") or dtype == U32 else WHOLES
    left = np.abs(WHOLES) if dtype == U32 else WHOLES
    agrees(g, {"A": left.astype(dtype.numpy), "B": right.astype(dtype.numpy)})


@pytest.mark.parametrize("name", ["and", "or", "xor", "eq", "ne", "lt", "ge", "min", "max", "not"])
def test_logic(name: str) -> None:
    a, b = Tensor("A", BOOL, (M,)), Tensor("B", BOOL, (N,))
    one, two = Load("A", (ROW.var,), BOOL), Load("B", (COLUMN.var,), BOOL)
    e = op("not", op("or", one, two)) if name == "not" else op(name, one, two)
    agrees(element(e, ROW, COLUMN, inputs=[a, b]), {"A": np.array([True, False]), "B": np.array([True, False])})


@pytest.mark.parametrize("target", [F64, F16, I8, I64, U8, BOOL])
@pytest.mark.parametrize("source", [F32, I32, BOOL])
def test_casts(source: DType, target: DType) -> None:
    t = Tensor("V", source, (N,))
    values = np.array([0.0, 1.9, 3.0, 100.0]).astype(source.numpy)
    agrees(element(cast(Load("V", (COLUMN.var,), source), target), COLUMN, inputs=[t]), {"V": values})


GUARD = op("and", op("ge", sub(COLUMN.var, index(1)), index(0)), op("lt", COLUMN.var, index(4)))
LOADS: dict[str, Graph] = {
    "copy": element(v(COLUMN.var), COLUMN, inputs=[V]),
    "broadcast": element(add(x(ROW.var, TERM.var), v(COLUMN.var)), ROW, COLUMN, TERM, inputs=[X, V]),
    "repeated": element(v(COLUMN.var), ROW, COLUMN, inputs=[V, X]),
    "transposed": element(x(ROW.var, TERM.var), TERM, ROW, inputs=[X]),
    "diagonal": element(x(ROW.var, ROW.var), ROW, inputs=[Tensor("X", F32, (M, M))]),
    "shifted": element(sub(v(add(COLUMN.var, index(1))), v(COLUMN.var)), Axis("j", sub(N, index(1))), inputs=[V]),
    "every second": element(v(mul(index(2), COLUMN.var)), Axis("j", op("floordiv", N, index(2))), inputs=[V]),
    "window": element(v(add(COLUMN.var, Var("r"))), Axis("j", sub(N, index(2))), Axis("r", index(3)), inputs=[V]),
    "reversed": element(v(sub(sub(N, index(1)), COLUMN.var)), COLUMN, inputs=[V]),
    "one element": element(x(index(1), sub(K, index(1))), inputs=[X]),
    "one row": element(x(index(0), TERM.var), TERM, inputs=[X]),
    "prefix": element(v(COLUMN.var), Axis("j", index(2)), inputs=[V]),
    "guarded": element(Load("V", (sub(COLUMN.var, index(1)),), F32, GUARD, f32(-3)), COLUMN, inputs=[V]),
    "index as value": element(mul(cast(COLUMN.var, F32), cast(N, F32)), COLUMN, inputs=[V]),
    "constant": element(f32(2.5), COLUMN, inputs=[V]),
    "infinite constant": element(op("max", v(COLUMN.var), f32(float("-inf"))), COLUMN, inputs=[V]),
}


@pytest.mark.parametrize("case", LOADS)
@pytest.mark.parametrize("sizes", [{"M": 4, "N": 6, "K": 4}, {"M": 3, "N": 3, "K": 3}])
def test_loads(case: str, sizes: dict[str, int]) -> None:
    g, rng = LOADS[case], np.random.default_rng(0)
    shapes = {"X": (sizes["M"], sizes["K"]), "V": (sizes["N"],)}
    agrees(g, {t.name: rng.standard_normal(shapes[t.name]).astype(np.float32) for t in g.inputs})


def test_computed_subscripts() -> None:
    p = Tensor("P", I32, (M,))
    where = cast(Load("P", (ROW.var,), I32), I64)
    inside = op("and", op("ge", where, index(0)), op("lt", where, N))
    g = element(Load("V", (where,), F32, inside, f32(0)), ROW, inputs=[V, p])
    positions = np.array([2, -1, 0, 9], np.int32)
    agrees(g, {"V": np.arange(3, dtype=np.float32), "P": positions})
    agrees(g, {"V": np.zeros(0, np.float32), "P": positions})


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin"])
@pytest.mark.parametrize("inner", [(TERM,), (COLUMN, TERM)])
def test_reductions(name: str, inner: tuple[Axis, ...]) -> None:
    logical = name in ("any", "all")
    m = monoid(name, BOOL if logical else F32)
    total = add(x(ROW.var, TERM.var), v(COLUMN.var)) if len(inner) == 2 else x(ROW.var, TERM.var)
    first = op("gt", total, f32(0.5)) if logical else total
    place = add(mul(COLUMN.var, K), TERM.var) if len(inner) == 2 else TERM.var
    parts = (first, place) if name.startswith("arg") else (first,)
    finish = Var("s1", I64) if name.startswith("arg") else None
    out = Tensor("Y", I64 if finish else first.dtype, (M,))
    g = graph([X, V], Compute(out, (ROW,), parts, inner, m, finish))
    rng = np.random.default_rng(1)
    agrees(g, {"X": rng.integers(-2, 3, (4, 5)).astype(np.float32), "V": rng.integers(-1, 2, 3).astype(np.float32)})


def test_a_reduction_over_an_axis_that_does_not_vary() -> None:
    g = graph([X, V], Compute(Tensor("Y", F32, (M,)), (ROW,), (x(ROW.var, index(0)),), (COLUMN,), monoid("sum", F32)))
    agrees(g, {"X": np.ones((2, 3), np.float32), "V": np.zeros(7, np.float32)})


PRODUCTS: dict[str, tuple[Expr, tuple[Axis, ...]]] = {
    "matmul": (mul(x(ROW.var, TERM.var), Load("B", (TERM.var, COLUMN.var), F32)), (TERM,)),
    "three": (mul(mul(x(ROW.var, TERM.var), Load("B", (TERM.var, COLUMN.var), F32)), v(COLUMN.var)), (TERM,)),
    "scaled": (mul(mul(f32(0.5), x(ROW.var, TERM.var)), Load("B", (TERM.var, COLUMN.var), F32)), (TERM,)),
    "mapped": (
        mul(op("exp", x(ROW.var, TERM.var)), add(Load("B", (TERM.var, COLUMN.var), F32), v(COLUMN.var))),
        (TERM,),
    ),
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_sums_of_products_are_einsum(case: str) -> None:
    e, inner = PRODUCTS[case]
    b = Tensor("B", F32, (K, N))
    finish = add(Var("s0", F32), cast(COLUMN.var, F32))
    g = graph([X, b, V], Compute(Tensor("Y", F32, (M, N)), (ROW, COLUMN), (e,), inner, monoid("sum", F32), finish))
    rng = np.random.default_rng(2)
    shapes = {"X": (3, 5), "B": (5, 4), "V": (4,)}
    agrees(g, {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()})
    assert "Einsum" in onnx_text(g)


def test_narrow_floats() -> None:
    a, b = Tensor("A", F16, (M, K)), Tensor("B", F16, (K, N))
    e = mul(cast(Load("A", (ROW.var, TERM.var), F16), F32), cast(Load("B", (TERM.var, COLUMN.var), F16), F32))
    out = Tensor("C", F16, (M, N))
    g = graph([a, b], Compute(out, (ROW, COLUMN), (e,), (TERM,), monoid("sum", F32), cast(Var("s0", F32), F16)))
    rng = np.random.default_rng(3)
    agrees(
        g, {"A": rng.standard_normal((3, 8)).astype(np.float16), "B": rng.standard_normal((8, 2)).astype(np.float16)}
    )


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_selections(key: bool, count: int) -> None:
    node = Select(
        Tensor("Y", I32, (M, index(count))),
        (ROW,),
        TERM,
        index(count),
        op("gt", x(ROW.var, TERM.var), f32(0)),
        op("neg", x(ROW.var, TERM.var)) if key else None,
    )
    values = np.array([[0, 1, 0, 3, 2], [0, 0, 0, 0, 0], [-1, -1, -1, -1, 5], [1, 1, 1, 1, 1]], np.float32)
    g = graph([X], node)
    assert (run(onnx_model(g), {"X": values})["Y"] == evaluate(g, {"X": values})["Y"]).all()


def test_empty_tensors() -> None:
    g = LOADS["broadcast"]
    agrees(g, {"X": np.zeros((0, 3), np.float32), "V": np.zeros(2, np.float32)})
    total = graph([X], Compute(Tensor("Y", F32, (M,)), (ROW,), (x(ROW.var, TERM.var),), (TERM,), monoid("sum", F32)))
    agrees(total, {"X": np.zeros((2, 0), np.float32)})


def test_several_outputs_and_shared_values() -> None:
    first = Compute(Tensor("P", F32, (N,)), (COLUMN,), (op("exp", v(COLUMN.var)),))
    again = Compute(Tensor("Q", F32, (N,)), (COLUMN,), (op("exp", v(COLUMN.var)),))
    use = Compute(
        Tensor("R", F32, (N,)), (COLUMN,), (add(Load("P", (COLUMN.var,), F32), Load("Q", (COLUMN.var,), F32)),)
    )
    agrees(graph([V], first, again, use), {"V": np.arange(3, dtype=np.float32)})


def test_what_standard_nodes_cannot_say() -> None:
    a, b = Var("a0", F32), Var("b0", F32)
    m = Monoid("custom", (F32,), (f32(0),), (add(mul(a, f32(0.5)), b),))
    custom = graph([X], Compute(Tensor("Y", F32, (M,)), (ROW,), (x(ROW.var, TERM.var),), (TERM,), m))
    with pytest.raises(KernelcatError) as caught:
        onnx_model(custom)
    assert caught.value.code == "KC-R001"


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2", "i4", "u4"])
def test_types_that_are_only_stored(dtype: str) -> None:
    t = DTYPES[dtype]
    e = Op("cast", (Load("V", (COLUMN.var,), t),), F32)
    values = np.array([0, 1, 2, 6], np.float32).astype(t.numpy)
    agrees(element(e, COLUMN, inputs=[Tensor("V", t, (N,))]), {"V": values})


def test_boolean_constants_and_conditions() -> None:
    e = op("where", op("lt", v(COLUMN.var), f32(1)), Const(True, BOOL), op("gt", v(COLUMN.var), f32(2)))
    agrees(element(e, COLUMN, inputs=[V]), {"V": np.array([0, 1.5, 3], np.float32)})
