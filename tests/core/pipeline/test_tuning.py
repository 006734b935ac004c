"""Tuning ends with a fair race, and says no more than the race shows; sizes for timing grow only where they are open."""

from __future__ import annotations

import pytest

from kernelcat_core.pipeline import hops, tuning
from kernelcat_core.pipeline.comparing import compare, round_medians
from kernelcat_core.pipeline.measuring import work
from kernelcat_core.pipeline.workloads import SHORT_MS, for_timing, warnings
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.tuner import session


def test_a_gain_is_shown_only_when_intervals_are_apart() -> None:
    slow, fast = tuple(2.0 + k / 100 for k in range(7)), tuple(1.0 + k / 100 for k in range(7))
    clear = compare(fast, slow)
    assert clear.gain_shown and 1.9 < clear.ratio < 2.0 and clear.ratio_low > 1.0
    bimodal = (1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 2.0)
    luck = compare(bimodal, bimodal[::-1])
    assert not luck.gain_shown and luck.chosen.ties(luck.default)
    assert clear.to_dict()["baseline_ms"] == pytest.approx(2030.0)


def test_a_round_counts_once_however_many_samples_it_has() -> None:
    assert round_medians([(1.0, 1.0, 9.0), (3.0,)]) == (1.0, 3.0)


def test_a_lucky_trial_does_not_become_a_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every config is equally fast, one was measured at half its time: the race shows no gain and the best has its time."""
    a = hops.analyse("Y = softmax(X)", {"X": "64x128:f32"})
    space = hops.space(a.graph, "c")
    others = list(space.neighbours(space.default()))[:3]
    trials = [session.Trial(k, c, session.Outcome(t, t, t, (t,)), "local")
              for k, (c, t) in enumerate(zip([space.default(), *others], (1.0, 0.5, 1.0, 1.0)))]
    monkeypatch.setattr(tuning.session, "run", lambda *_, **__: tuple(trials))
    monkeypatch.setattr(tuning, "race", lambda a, entrants, **_: {n: [(0.001,)] * 7 for n in entrants})
    tuned = tuning.tune(a, "c", 4)
    assert tuned.comparison is not None and not tuned.comparison.gain_shown and tuned.comparison.ratio == 1.0
    assert tuned.best is not None and tuned.best.outcome.median_ms == pytest.approx(1.0)


def test_the_default_wins_where_the_race_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    a = hops.analyse("Y = softmax(X)", {"X": "64x128:f32"})
    space = hops.space(a.graph, "c")
    other = next(iter(space.neighbours(space.default())))
    trials = (session.Trial(0, space.default(), session.Outcome(1.0, 1.0, 1.0, (1.0,)), "local"),
              session.Trial(1, other, session.Outcome(0.5, 0.5, 0.5, (0.5,)), "local"))
    monkeypatch.setattr(tuning.session, "run", lambda *_, **__: trials)
    monkeypatch.setattr(tuning, "race", lambda a, entrants, **_: {n: [(0.001 if n == "0" else 0.002,)] * 7 for n in entrants})
    tuned = tuning.tune(a, "c", 2)
    assert tuned.best is not None and tuned.best.index == 0 and tuned.comparison is not None
    assert tuned.comparison.ratio == 1.0 and tuned.source == hops.render(a.graph, "c", Config()).source.text


def test_open_sizes_grow_for_timing_and_given_ones_stay() -> None:
    opened = for_timing(hops.analyse("Y = softmax(X)"))
    assert work(opened.graph, opened.workload).nbytes >= 8 << 20
    given = hops.analyse("Y = softmax(X)", {"X": "4x8:f32"})
    assert for_timing(given).workload == given.workload
    half = for_timing(hops.analyse("C[i,j] += A[i,k]*B[k,j]", {"A": "4x8:f32"}))
    assert {n: half.workload[n] for n in half.given} == dict(half.given) and max(half.workload.values()) > 1000
    fixed = hops.analyse("Y[i] = X[i]*W[i]\nX: f32[64]")
    assert for_timing(fixed).workload == fixed.workload


def test_growth_keeps_to_what_the_formula_allows() -> None:
    a = for_timing(hops.analyse("Y = conv2d(X, W, padding=1)"))
    assert a.is_legal(a.workload) and work(a.graph, a.workload).operations > 1 << 20


def test_short_times_are_warned_about() -> None:
    assert warnings(SHORT_MS / 2) and not warnings(SHORT_MS) and not warnings(None)

