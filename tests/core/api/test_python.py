"""The Python API as its users write it."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcat
from kernelcat import KernelBuilder, KernelProfiler, register_op
from kernelcat_core.runtime.load import LoadedKernel


def test_kernel_on_numpy_arrays() -> None:
    k = kernelcat.kernel("C[i,j] += A[i,k]*B[k,j]")
    rng = np.random.default_rng(0)
    for m, n, d in ((3, 5, 7), (64, 33, 129), (1, 1, 1), (0, 4, 2), (2, 3, 0)):
        a, b = rng.standard_normal((m, d)).astype("f4"), rng.standard_normal((d, n)).astype("f4")
        np.testing.assert_allclose(k(A=a, B=b), a.astype("f8") @ b, atol=1e-4)
    assert k.inputs == ("A", "B") and "int64_t" in k.source and k.config and k.evidence


def test_several_outputs_and_targets() -> None:
    x = np.random.default_rng(1).standard_normal((5, 9)).astype("f4")
    for target in ("c", "a100", "ascend910b"):
        s, m = kernelcat.kernel("S[i] = sum[j](X[i,j]); M[i] = max[j](X[i,j])\n-> S, M", target)(X=x)
        np.testing.assert_allclose(s, x.sum(1), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(m, x.max(1))


@pytest.mark.parametrize(("arrays", "code"), [
    ({}, "KC-F020"), ({"A": np.zeros((2, 3), "f4")}, "KC-F020"),
    ({"A": np.zeros((2, 3), "f4"), "B": np.zeros((4, 5), "f4")}, "KC-F017"),
    ({"A": np.zeros((2, 3), "f4"), "B": np.zeros(3, "f4")}, "KC-F020"),
    ({"A": np.zeros((2, 3), "f8"), "B": np.zeros((3, 5), "f4")}, "KC-F020"),
    ({"A": np.zeros((2, 3), "f4"), "B": np.zeros((3, 5), "f4"), "D": 1}, "KC-F020"),
])
def test_wrong_arrays_are_user_errors(arrays: dict[str, object], code: str) -> None:
    k = kernelcat.kernel("C[i,j] += A[i,k]*B[k,j]")
    with pytest.raises(kernelcat.KernelcatError) as caught:
        k(**arrays)
    assert caught.value.code == code and caught.value.hint


def test_errors_have_a_place() -> None:
    with pytest.raises(kernelcat.KernelcatError) as caught:
        kernelcat.kernel("Y[i] = X[i]\nZ[i] = Q[i,k]")
    assert (caught.value.code, caught.value.line) == ("KC-F009", 2) and caught.value.column


def test_builder_gives_cuda_source_and_ptx() -> None:
    b = KernelBuilder(target="a100")

    @b.register_op
    def scaled_softmax(x, scale: float = 0.5):  # type: ignore[no-untyped-def]
        """Softmax of a scaled tensor."""
        return f"{x}: f32[M, N]; Y = softmax({x} * {scale})"

    built = b.build(opt_level="O3")
    assert built.ok and "__global__" in built.source and built.target == "cuda:sm_80"
    assert ".visible .entry" in built.ptx if "compiled" in built.facts else built.ptx == ""
    assert scaled_softmax(scale=2.0).formula == "x: f32[M, N]; Y = softmax(x * 2.0)"


def test_register_op_with_several_targets() -> None:
    @kernelcat.register_op
    def ball_query(radius: float, max_samples: int):  # type: ignore[no-untyped-def]
        return f"output[i] = gather_nearest(points, {radius}, {max_samples})"

    builds = KernelBuilder(targets=["a100", "ascend910b", "cpu"]).build(ball_query, radius=0.4, max_samples=8)
    assert set(builds) == {"a100", "ascend910b", "cpu"} and all(b.ok and b.source for b in builds.values())
    k = ball_query(0.4, 8).kernel("c")
    points = np.random.default_rng(0).random((50, 3)).astype("f4")
    found = k(points=points)
    d = ((points[:, None] - points[None]) ** 2).sum(-1)
    for row, close in zip(found, d < np.float32(0.4) * np.float32(0.4)):
        hits = np.flatnonzero(close)[:8]
        assert list(row[:len(hits)]) == list(hits) and all(row[len(hits):] == hits[0])
    with pytest.raises(kernelcat.KernelcatError) as caught:
        KernelBuilder(target="cpu").build(ball_query)
    assert caught.value.code == "KC-F005" and "max_samples" in caught.value.message


def test_free_float_parameters_are_run_time_scalars() -> None:
    @register_op
    def scale(x, alpha: float):  # type: ignore[no-untyped-def]
        return f"Y[i] = {alpha} * {x}[i]"

    k = scale().kernel()
    np.testing.assert_array_equal(k(x=np.ones(3, "f4"), alpha=2.5), np.full(3, 2.5, "f4"))


def test_profiler() -> None:
    report = KernelProfiler("cpu").profile("Y = softmax(X)", shapes={"X": "256x256:f32"})
    assert report["median_ms"] > 0 and report["limit_ms"] > 0


def test_what_newcomers_write_is_answered_in_words() -> None:
    k = kernelcat.kernel("Y = softmax(X, axis=-1)")
    x = np.zeros((2, 3), "f4")
    for call, message, hint in (
        (lambda: k(x), "given by name", "X=..."),
        (lambda: k(Z=x), "no input 'Z'", "X"),
        (lambda: k(X=x[0]), "1 axis, the formula says 2", "X: f32[X_0, X_1]"),
        (lambda: kernelcat.kernel(123), "text, not int", "softmax"),  # type: ignore[arg-type]
    ):
        with pytest.raises(kernelcat.KernelcatError) as caught:
            call()
        assert message in caught.value.message and hint in caught.value.hint


def test_a_kernel_shows_itself() -> None:
    k = kernelcat.kernel("X: f32[M, K]\nY[m] = sum[k](X[m,k])")
    assert repr(k) == "<Kernel for c: X: f32[M, K] -> Y: f32[M] (rendered, compiled)>"
    assert "<details>" in k._repr_html_() and "sum[k](X[m,k])" in k._repr_html_()


@pytest.mark.parametrize(("target", "fact"), [("c", "executed"), ("cuda:sm_80", "emulated")])
def test_evidence_grows_with_a_call_that_was_compared(target: str, fact: str) -> None:
    k = kernelcat.kernel("Y[i] = 2*X[i]", target)
    assert fact not in [e.fact for e in k.evidence] and len(repr(k.evidence)) < 200
    k(X=np.ones(8, "f4"))
    k(X=np.ones(8, "f4"))
    assert [e.fact for e in k.evidence].count(fact) == 1 and "X=8:f32" in repr(k.evidence[-1])


def test_a_call_that_differs_is_warned_about_and_is_no_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    k = kernelcat.kernel("Y[i] = 2*X[i]")
    monkeypatch.setattr(LoadedKernel, "call_into", lambda self, inputs, outputs, sizes: outputs[0].fill(7))
    with pytest.warns(RuntimeWarning, match="KC-N001"):
        k(X=np.ones(8, "f4"))
    assert "executed" not in [e.fact for e in k.evidence]


def test_variants_for_ranges_of_sizes() -> None:
    k = kernelcat.kernel("Y[i,j] = sum[k](X[i,k]*W[j,k])", buckets={"I": (1, 4, 20)})
    rng = np.random.default_rng(0)
    w = rng.standard_normal((33, 17)).astype(np.float32)
    for rows in (0, 1, 3, 4, 20, 21, 1):
        x = rng.standard_normal((rows, 17)).astype(np.float32)
        np.testing.assert_allclose(k(X=x, W=w), x @ w.T, atol=1e-5)
    assert list(k.variants) == ["I=1", "I=2..4", "I=5..20"], "compiled when first needed, once"
    assert "mma" in k.source and "mma" not in k.variants["I=1"].source, "one row is no matrix product"
    texts = {k.source, *(v.source for v in k.variants.values())}
    assert len(texts) == 3, "20 rows are blocked as many rows are"
    assert sum(e.fact == "executed" for e in k.evidence) == 3, "each text was compared when it first ran"


@pytest.mark.parametrize(
    "buckets", [{"J": (1,), "Q": (2,)}, {"I": (4, 4)}, {"I": (0, 4)}, {"I": (2.5,)}, {"I": (True,)}]
)
def test_wrong_buckets_are_user_errors(buckets: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(kernelcat.KernelcatError) as caught:
        kernelcat.kernel("Y[i,j] = sum[k](X[i,k]*W[j,k])", buckets=buckets)
    assert caught.value.code == "KC-F018"
    assert caught.value.hint


def test_a_bound_of_a_size_is_kept() -> None:
    k = kernelcat.kernel("X: f32[M <= 4, K]; W: f32[N, K]; Y[i,j] = sum[k](X[i,k]*W[j,k])")
    assert "mma" not in k.source
    w = np.ones((5, 3), np.float32)
    np.testing.assert_array_equal(k(X=np.ones((4, 3), np.float32), W=w), np.full((4, 5), 3.0))
    with pytest.raises(kernelcat.KernelcatError) as caught:
        k(X=np.ones((5, 3), np.float32), W=w)
    assert (caught.value.code, caught.value.line) == ("KC-F018", 1)
    assert "bound 4" in caught.value.message
