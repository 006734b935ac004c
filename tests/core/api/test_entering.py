"""Hand-written kernels as entries: secret cases, a time from outside, a second opinion on every call."""

from __future__ import annotations

import pytest

from kernelcat_core.api.entering import enter
from kernelcat_core.errors import KernelcatError
from kernelcat_core.pipeline import entering, hops

FORMULA = "X: f32[N <= 4096]\nY[i] = exp(X[i]) + 1"
GOOD = """
#include <math.h>
void f(const float *X, float *Y, long long N) { for (long long i = 0; i < N; i++) Y[i] = expf(X[i]) + 1; }
"""


def test_an_honest_entry_has_a_time_a_baseline_and_an_audit() -> None:
    report = enter(GOOD, FORMULA, "c", seeds=1, secret=1)
    assert report["ok"], report["message"]
    best = report["best"]
    assert best["status"] == "measured"
    assert 0 < best["low_ms"] <= best["median_ms"] <= best["high_ms"]
    assert len(best["samples"]) == entering.ROUNDS * entering.SAMPLES
    assert report["baseline_ms"] > 0
    assert report["workload"] == "X=4096:f32"
    assert "secret sizes" in report["audited"] and "all others agree with the generated kernel" in report["audited"]
    assert [r["fact"] for r in report["rows"]] == ["rendered", "compiled", "executed", "measured"]


def test_a_wrong_entry_has_none() -> None:
    report = enter(GOOD.replace("+ 1;", "+ 1.1f;"), FORMULA, "c", seeds=1)
    assert (report["ok"], report["best"], report["audited"]) == (False, None, "")
    assert report["error"]["code"] == "KC-N001"


def test_one_wrong_call_of_many_is_found() -> None:
    # The seventeenth call of a process is one of the last samples of a round; few of them are chosen for the oracle.
    wrong = GOOD.replace("Y[i] = expf", "Y[i] = (calls == 10 && i == N - 1) ? 7 : expf").replace(
        "{ for", "{ static int calls; calls++; for")
    assert all(enter(wrong, FORMULA, "c", seeds=1, secret=s)["error"]["code"] == "KC-N001" for s in range(3))


def test_integers_are_compared_exactly() -> None:
    report = enter("void f(const int *X, int *Y, long long N) { for (long long i = 0; i < N; i++) Y[i] = X[i] * 3; }",
                   "X: i32[N <= 4096]\nY[i] = X[i] * 3", "c", seeds=1)
    assert report["ok"], report["message"]


def test_what_cannot_be_entered_is_said() -> None:
    with pytest.raises(KernelcatError) as caught:
        enter("Y = X", FORMULA, "c")
    assert caught.value.code == "KC-F019"
    with pytest.raises(KernelcatError) as caught:
        enter(GOOD, FORMULA, "ascend:910b")
    assert caught.value.code == "KC-R001"


def test_data_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entering, "_STORE_BYTES", 40_000)
    with pytest.raises(KernelcatError) as caught:
        enter(GOOD, FORMULA, "c", seeds=1)
    assert caught.value.code == "KC-F020"


def test_secret_cases_follow_their_secret() -> None:
    a = hops.analyse(FORMULA)
    first, again, other = ([c.name for c in entering.secret_cases(a, s)] for s in (1, 1, 2))
    assert first == again != other
    assert len(first) == entering.SECRET_CASES
    assert entering.fresh_secret() != entering.fresh_secret()
