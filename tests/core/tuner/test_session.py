"""Sessions and strategies on synthetic spaces: deterministic, no repeats, better than chance."""

from __future__ import annotations

import random

import pytest

from kernelcat_core.errors import Failure
from kernelcat_core.schedule.knobs import Config, Knob, SearchSpace
from kernelcat_core.tuner import session
from kernelcat_core.tuner.strategies import STRATEGIES

SPACE = SearchSpace(tuple(Knob(f"k{n}", (1, 2, 4, 8, 16, 32), 1) for n in range(4)))


def bowl(config: Config) -> session.Outcome:
    """A smooth optimum at 8 for every knob, with one corner that fails."""
    values = config.as_dict()
    if values["k0"] == 32:
        return session.Outcome(failure=Failure("KC-B001", "refused"))
    score = sum((v.bit_length() - 4) ** 2 for v in values.values()) + 1.0
    return session.Outcome(score, score, score, (score,))


@pytest.mark.parametrize("name", list(STRATEGIES))
def test_trials_are_distinct_deterministic_and_start_with_the_default(name: str) -> None:
    first, second = (session.run(SPACE, bowl, 60, seed=3, strategy=name) for _ in range(2))
    assert [t.config for t in first] == [t.config for t in second]
    assert first[0].config == SPACE.default() and len({t.config for t in first}) == len(first) == 60
    assert [t.index for t in first] == list(range(60))


@pytest.mark.parametrize("name", ["local", "evolve"])
def test_searching_beats_sampling(name: str) -> None:
    def regret(strategy: str) -> float:
        found = [session.best(session.run(SPACE, bowl, 48, seed=s, strategy=strategy)) for s in range(12)]
        return sum(t.outcome.median_ms or 0.0 for t in found if t is not None) / len(found)

    assert regret(name) < regret("random")


def test_a_small_space_is_exhausted_once() -> None:
    small = SearchSpace((Knob("a", (1, 2), 1), Knob("b", (1, 2, 3), 2)))
    for name in STRATEGIES:
        done = session.run(small, lambda c: session.Outcome(float(sum(c.as_dict().values()))), 50, strategy=name)
        assert len(done) == 6
        best = session.best(done)
        assert best is not None and best.config == Config.of({"a": 1, "b": 1})


def test_failures_are_kept_and_never_best() -> None:
    done = session.run(SPACE, lambda c: session.Outcome(failure=Failure("KC-B001", "no")), 5)
    assert session.best(done) is None and [t.status for t in done] == ["failed"] * 5
    assert done[0].to_dict()["error"]["code"] == "KC-B001"


def test_stopping_and_progress() -> None:
    seen: list[int] = []
    done = session.run(SPACE, bowl, 50, on_trial=lambda t: seen.append(t.index), should_stop=lambda: len(seen) >= 7)
    assert len(done) == 7 and seen == list(range(7))


def test_space_walks_and_neighbours() -> None:
    assert len({SPACE.at(n) for n in range(SPACE.size)}) == SPACE.size == 6**4
    around = list(SPACE.neighbours(SPACE.default()))
    assert len(around) == 4 and all(sum(v != 1 for v in c.as_dict().values()) == 1 for c in around)
    assert SPACE.random(random.Random(1)) == SPACE.random(random.Random(1))
