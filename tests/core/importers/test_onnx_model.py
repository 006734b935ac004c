"""ONNX models run as they say: control flow, functions, external data, every opset from 7 on, and clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.onnx_model.node import TABLE
from kernelcat_core.importers.trace import Trace
from kernelcat_core.pipeline.network.model import OnnxNetwork

NEWEST = onnx.defs.onnx_opset_version()
X = np.asarray([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


def network(text: str, opset: int = 18, head: str = "") -> OnnxNetwork:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}{head}]>\n{text}')
    return OnnxNetwork(model, threads=1, opt_level="O1")


def ran(text: str, opset: int = 18, **inputs: Any) -> Any:
    """The outputs of a model, one alone or a list."""
    made = list(network(text, opset)(inputs).values())
    return made[0] if len(made) == 1 else made


def refusal(text: str, opset: int = 18, **inputs: Any) -> KernelcatError:
    with pytest.raises(KernelcatError) as raised:
        ran(text, opset, **inputs)
    return raised.value


# -- control flow

BRANCHES = """agraph (bool c, float[2,3] x) => (float[2,3] y) {
  y = If (c) <then_branch = yes () => (float[2,3] a) { a = Neg (x) }, else_branch = no () => (float[2,3] b) { b = Abs (x) }>
}"""


def test_if_takes_the_branch_that_this_run_asks_for() -> None:
    made = network(BRANCHES)
    for flag, wanted in ((True, -X), (False, np.abs(X)), (True, -X)):
        np.testing.assert_array_equal(made({"c": np.bool_(flag), "x": X})["y"], wanted)
    assert len(made._ready) == 1 and [len(v) for v in made._ready.values()] == [2], "each value of c is traced once"


def test_loop_counts_carries_and_collects() -> None:
    total, rows = ran("""agraph (int64 n, float[3] x) => (float[3] y, float[k,3] z) {
      go = Constant <value = bool {1}> ()
      y, z = Loop (n, go, x) <body = turn (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] u) {
        d = Identity (c)
        f = Cast <to = 1> (i)
        t = Add (s, f)
        u = Mul (t, t)
      }>
    }""", n=np.int64(4), x=X[0])
    np.testing.assert_allclose(total, X[0] + 6)
    np.testing.assert_allclose(rows, [(X[0] + k) ** 2 for k in (0, 1, 3, 6)])


def test_loop_stops_when_the_data_say_so() -> None:
    text = """agraph (float x) => (float y) {
      n = Constant <value = int64 {100}> ()
      go = Constant <value = bool {1}> ()
      two = Constant <value = float {2}> ()
      most = Constant <value = float {50}> ()
      y = Loop (n, go, x) <body = turn (int64 i, bool c, float s) => (bool d, float t) {
        t = Mul (s, two)
        d = Less (t, most)
      }>
    }"""
    made = network(text)
    assert [float(made({"x": np.float32(v)})["y"]) for v in (3.0, 20.0, 60.0)] == [96.0, 80.0, 120.0]
    assert not made._ready, "what the data decided is not kept for other data"


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan_walks_an_axis(backwards: int) -> None:
    end, rows = ran(f"""agraph (float[3] s, float[2,3] x) => (float[3] e, float[2,3] z) {{
      e, z = Scan (s, x) <num_scan_inputs = 1, scan_input_directions = [{backwards}], scan_output_directions = [{backwards}],
        body = turn (float[3] a, float[3] r) => (float[3] b, float[3] o) {{ b = Add (a, r)
        o = Identity (b) }}>
    }}""", s=np.zeros(3, np.float32), x=X)
    order = X[::-1] if backwards else X
    np.testing.assert_allclose(end, X.sum(0))
    np.testing.assert_allclose(rows, np.cumsum(order, 0)[::-1 if backwards else 1])


def test_sequences_and_optionals_are_containers() -> None:
    first, count, flag = ran("""agraph (float[2,3] x) => (float[2,3] y, int64 n, bool f) {
      s = SequenceConstruct (x, x)
      m = Neg (x)
      t = SequenceInsert (s, m)
      last = Constant <value = int64 {-1}> ()
      y = SequenceAt (t, last)
      n = SequenceLength (t)
      o = Optional (x)
      f = OptionalHasElement (o)
    }""", x=X)
    np.testing.assert_array_equal(first, -X)
    assert (int(count), bool(flag)) == (3, True)


def test_data_decide_shapes() -> None:
    made = network("agraph (float[2,3] x) => (int64[2,k] y) { y = NonZero (x) }")
    for x in (np.where(X > 0, X, 0), np.zeros_like(X), np.ones_like(X)):
        np.testing.assert_array_equal(made({"x": x})["y"], np.stack(np.nonzero(x)))


def test_what_data_decided_alike_needs_no_second_plan() -> None:
    made = network("agraph (float[2,3] x) => (float[k] y) {\ni = NonZero (x)\nt = Transpose (i)\ny = GatherND (x, t)\n}")
    for x in (np.where(X > 0, X, 0), np.where(X < 1, X, 0), np.where(X > 0, 2*X, 0)):
        np.testing.assert_array_equal(made({"x": x})["y"], x[np.nonzero(x)])
    counts = {int(np.count_nonzero(x)) for x in (np.where(X > 0, X, 0), np.where(X < 1, X, 0))}
    assert len(made._plans) == 1 + len(counts), "one plan that counts, one for every count"


# -- functions

LOCAL = """<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
agraph (float[2,3] x) => (float[2,3] y, float[2,3] z) {
  y = own.scaled (x)
  z = own.scaled <by = 5.0> (x)
}
<domain: "own", opset_import: ["" : 18]>
scaled <by: float = 3.0> (a) => (b) {
  k = Constant <value_float: float = @by> ()
  b = Mul (a, k)
}"""


def test_functions_of_the_model_take_their_attributes() -> None:
    made = OnnxNetwork(parser.parse_model(LOCAL), threads=1, opt_level="O1")({"x": X})
    np.testing.assert_allclose(made["y"], 3*X)
    np.testing.assert_allclose(made["z"], 5*X)


def test_functions_of_the_standard_take_its_defaults() -> None:
    made = ran("agraph (int32 n) => (float[8] y) { y = HannWindow (n) }", n=np.int32(8))
    np.testing.assert_allclose(made, 0.5 - 0.5*np.cos(2*np.pi*np.arange(8)/8), atol=1e-6)


def test_a_body_with_fewer_outputs_than_the_operator() -> None:
    y = ran("agraph (float[2,4] s, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss (s, t) }",
            s=np.zeros((2, 4), np.float32), t=np.asarray([1, 3]))
    np.testing.assert_allclose(y, np.log(4), rtol=1e-6)


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("causal", [0, 1])
def test_plain_attention_is_what_the_body_says(causal: int, heads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    q, k, v = (draw.normal(size=(2, 5, n*8)).astype(np.float32) for n in (4, heads, heads))
    text = f"""agraph (float[2,5,32] q, float[2,5,{8*heads}] k, float[2,5,{8*heads}] v) => (float[2,5,32] y) {{
      y = Attention <q_num_heads = 4, kv_num_heads = {heads}, is_causal = {causal}> (q, k, v)
    }}"""
    direct = ran(text, 23, q=q, k=k, v=v)
    monkeypatch.delitem(TABLE, ("", "Attention"))
    np.testing.assert_allclose(direct, ran(text, 23, q=q, k=k, v=v), rtol=1e-5, atol=1e-6)


def test_arithmetic_of_shapes_runs_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network("""agraph (float[2,3] x) => (float[k,6] y) {
      s = Shape (x)
      one = Constant <value = int64[1] {1}> ()
      n = Gather (s, one)
      two = Constant <value = int64[1] {2}> ()
      m = Mul (n, two)
      f = Cast <to = 1> (m)
      h = Floor (f)
      w = Cast <to = 7> (h)
      least = Min (w, m)
      rest = Constant <value = int64[1] {-1}> ()
      t = Concat <axis = 0> (rest, least)
      y = Reshape (x, t)
    }""")
    monkeypatch.setattr(made, "_evaluate", lambda graph, feeds: pytest.fail("the shape was computed by kernels"))
    np.testing.assert_array_equal(made({"x": X})["y"], X.reshape(-1, 6))


# -- weights


def test_external_data_are_read_from_the_folder(tmp_path: Path) -> None:
    weight = np.arange(600, dtype=np.float32).reshape(3, 200)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 200])],
                              [numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save_model(model, str(tmp_path / "m.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
    bare = onnx.load(str(tmp_path / "m.onnx"), load_external_data=False)
    made = OnnxNetwork(bare, threads=1, opt_level="O1", folder=tmp_path)({"x": X})
    np.testing.assert_allclose(made["y"], X @ weight, rtol=1e-5)


def test_sparse_weights_are_written_out() -> None:
    values = numpy_helper.from_array(np.asarray([2.0, 7.0], np.float32), "w")
    places = numpy_helper.from_array(np.asarray([1, 5], np.int64), "p")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
                              sparse_initializer=[helper.make_sparse_tensor(values, places, [2, 3])])
    made = OnnxNetwork(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), threads=1)({"x": X})
    np.testing.assert_array_equal(made["y"], X + np.asarray([[0, 2, 0], [0, 0, 7]], np.float32))


def test_a_signature_is_traced_once_and_another_shape_anew() -> None:
    made = network("agraph (float[n,3] x) => (float[n,3] y) { y = Relu (x) }")
    for x in (X, X[:1], 2*X):
        np.testing.assert_array_equal(made({"x": x})["y"], np.maximum(x, 0))
    assert len(made._ready) == 2


# -- opsets


@pytest.mark.parametrize("opset", range(7, NEWEST + 1))
def test_every_opset(opset: int) -> None:
    """A small network in the spelling of each opset: axes and bounds were attributes first, inputs later."""
    axes = "sq = Squeeze <axes = [0]> (u)" if opset < 13 else "one = Constant <value = int64[1] {0}> ()\nsq = Squeeze (u, one)"
    clip = "cl = Clip <min = -1.0, max = 2.0> (n)" if opset < 11 else \
        "lo = Constant <value = float {-1}> ()\nhi = Constant <value = float {2}> ()\ncl = Clip (n, lo, hi)"
    cut = "sl = Slice <starts = [1], ends = [3], axes = [1]> (cl)" if opset < 10 else \
        "a = Constant <value = int64[1] {1}> ()\nb = Constant <value = int64[1] {3}> ()\nsl = Slice (cl, a, b, a)"
    total = "rs = ReduceSum <axes = [1], keepdims = 1> (sl)" if opset < 13 else \
        "ax = Constant <value = int64[1] {1}> ()\nrs = ReduceSum (sl, ax)"
    made = ran(f"""agraph (float[2,3] x, float[3,3] w, float[3] c) => (float[2,1] y) {{
      g = Gemm (x, w, c)
      d = Dropout (g)
      s = Softmax <axis = 1> (d)
      u = Unsqueeze_ (s)
      {axes}
      n = Sub (x, sq)
      {clip}
      {cut}
      {total}
      y = Identity (rs)
    }}""".replace("u = Unsqueeze_ (s)", "u = Unsqueeze <axes = [0]> (s)" if opset < 13 else
                  "zero = Constant <value = int64[1] {0}> ()\nu = Unsqueeze (s, zero)"),
               opset, x=X, w=np.eye(3, dtype=np.float32), c=np.ones(3, np.float32))
    e = np.exp(X + 1 - (X + 1).max(1, keepdims=True))
    wanted = np.clip(X - e/e.sum(1, keepdims=True), -1, 2)[:, 1:3].sum(1, keepdims=True)
    np.testing.assert_allclose(made, wanted, rtol=1e-5)


def test_old_spellings() -> None:
    up = ran("agraph (float[1,1,1,2] x) => (float[1,1,2,4] y) { y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
             7, x=X[:1, :2].reshape(1, 1, 1, 2))
    np.testing.assert_array_equal(up[0, 0], [[1, 1, -2, -2]]*2)
    values, places = ran("agraph (float[2,3] x) => (float[2,2] v, int64[2,2] i) { v, i = TopK <k = 2> (x) }", 9, x=X)
    np.testing.assert_array_equal(places, [[2, 0], [1, 0]])
    np.testing.assert_array_equal(values, [[3, 1], [4, 0.5]])
    padded = ran("agraph (float[2,3] x) => (float[2,5] y) { y = Pad <pads = [0, 1, 0, 1], value = 9.0> (x) }", 9, x=X)
    np.testing.assert_array_equal(padded, np.pad(X, ((0, 0), (1, 1)), constant_values=9))


# -- refusals


def test_a_fault_of_the_importer_says_so() -> None:
    trace = Trace(lambda graph, feeds: {})
    with pytest.raises(KernelcatError) as raised:
        trace.formula("y = x + other", x=trace.input("x", X))
    assert raised.value.code == "KC-I001"


def test_strings_have_no_kernels() -> None:
    error = refusal("agraph (string[2] x) => (string[2] y) { y = Identity (x) }", x=np.asarray(["a", "b"], object))
    assert error.code == "KC-I002" and error.hint


@pytest.mark.parametrize("text", [
    "agraph (float[2,3] x) => (float[2,3] y) { y = Add (x) }",
    "agraph (float[2,3] x) => (float[2,3] y) { y = Add (x, nowhere) }",
])
def test_models_that_are_not_valid(text: str) -> None:
    assert refusal(text, x=X).code == "KC-I003"


def test_operators_without_a_mapping() -> None:
    error = refusal('agraph (float[2,3] x) => (float[2,3] y) { y = Unheard (x) }', x=X)
    assert error.code == "KC-I004" and "Unheard" in error.message and "coverage" in (error.hint or "")


def test_a_formula_that_does_not_fit_names_its_node() -> None:
    error = refusal("agraph (float[2,3] x, float[2,2] w) => (float[2,2] y) { y = MatMul (x, w) }", x=X,
                    w=np.zeros((2, 2), np.float32))
    assert error.code == "KC-I004" and "MatMul" in error.message and "KC-F" in error.message


def test_an_input_that_is_missing() -> None:
    error = refusal("agraph (float[2,3] x, float[2,3] w) => (float[2,3] y) { y = Add (x, w) }", x=X)
    assert error.code == "KC-I005" and "'w'" in error.message
