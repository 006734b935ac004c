"""Times that can be believed: statistics, interleaving, physics, and the machine's own limits."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.errors import Failure
from kernelcat_core.runtime import device, measure, runner, toolchain
from kernelcat_core.runtime.device import Peaks
from kernelcat_core.runtime.measure import Measurement, Work

PEAKS = Peaks(flops=1e11, l2_bytes_per_s=4e11, l3_bytes_per_s=2e11, dram_bytes_per_s=1e10, l2_bytes=1 << 20,
              l3_bytes=32 << 20, threads=2)


def test_the_median_lies_in_its_interval() -> None:
    samples = np.random.default_rng(1).normal(1.0, 0.1, 200)
    measured = measure.summarize(list(samples))
    assert measured.low_s <= measured.median_s <= measured.high_s
    assert measured.low_s < 1.0 < measured.high_s
    assert measured.high_s - measured.low_s < 0.06
    assert measured == measure.summarize(list(samples))
    assert measured.samples_s == tuple(samples)


def test_one_sample_is_its_own_interval() -> None:
    assert measure.summarize([2.0]) == Measurement(2.0, 2.0, 2.0, (2.0,))
    with pytest.raises(ValueError, match="no samples"):
        measure.summarize([])


def test_ties_and_noise() -> None:
    fast, near, slow = (Measurement(m, m - 0.05, m + 0.05, ()) for m in (1.0, 1.08, 1.5))
    assert fast.ties(near)
    assert not fast.ties(slow)
    assert not slow.noisy
    assert Measurement(1.0, 0.8, 1.2, ()).noisy


def test_interleaving_rotates_and_keeps_every_sample() -> None:
    order: list[str] = []

    def sampler(name: str) -> float:
        order.append(name)
        return float(len(order))

    measured = measure.interleave({name: (lambda n=name: sampler(n)) for name in "abc"}, rounds=4)
    assert order == list("abcbcacababc")
    assert measured["a"].samples_s == (1.0, 6.0, 8.0, 10.0)


def test_interleaving_stops_when_its_time_is_spent_but_not_before_three_rounds() -> None:
    def slow() -> float:
        time.sleep(0.01)
        return 1.0

    measured = measure.interleave({"a": slow}, rounds=1000, budget_s=0.0)
    assert len(measured["a"].samples_s) == 3


def test_time_calls_measures_one_call() -> None:
    sample = measure.time_calls(lambda: time.sleep(0.002))
    assert 0.002 <= sample() < 0.02


def test_the_limit_is_the_slower_of_memory_and_arithmetic() -> None:
    assert measure.limit_seconds(Work(nbytes=10**9), PEAKS) == pytest.approx(0.1)
    assert measure.limit_seconds(Work(nbytes=10**9, operations=10**11), PEAKS) == pytest.approx(1.0)
    assert measure.limit_seconds(Work(nbytes=10**5), PEAKS) == pytest.approx(10**5 / 4e11)
    assert measure.limit_seconds(Work(nbytes=10**7), PEAKS) == pytest.approx(10**7 / 2e11)
    assert measure.limit_seconds(Work(nbytes=10**9, working_set=10**5), PEAKS) == pytest.approx(10**9 / 4e11)


def test_a_time_below_the_limit_is_suspicious() -> None:
    quick = Measurement(1e-6, 1e-6, 1e-6, (1e-6,))
    failure = measure.physics_check(quick, 1e-3)
    assert failure is not None
    assert failure.code == "KC-M004"
    assert measure.physics_check(quick, 1e-6) is None


@pytest.fixture(scope="module")
def library() -> Path:
    compiler = toolchain.find_c()
    assert compiler is not None
    text = """
    #include <stdint.h>
    int honest(void **t, const int64_t *s) { float *x = t[0], *y = t[1];
      for (int64_t i = 0; i < s[0]; i++) y[i] = x[i] + 1; return 0; }
    int lazy(void **t, const int64_t *s) { static int calls; return calls++ ? 0 : honest(t, s); }
    """
    binary = toolchain.compile(compiler, text, flags=("-O3", "-march=native"))
    assert isinstance(binary, toolchain.Binary), binary
    return binary.path("shared")


def job(library: Path, entry: str, n: int = 1 << 22) -> runner.KernelJob:
    x = np.ones(n, np.float32)
    return runner.KernelJob(library, entry, (x,), (runner.TensorSpec((n,), x.dtype),), (n,), repeats=5)


def test_an_honest_kernel_is_measured(library: Path) -> None:
    n = 1 << 22
    outcome = measure.measure_job(job(library, "honest", n), rounds=2, work=Work(nbytes=8 * n))
    assert not isinstance(outcome, Failure), outcome
    measured, last = outcome
    assert len(measured.samples_s) == 10
    assert (last.outputs[0] == 2).all()


def test_a_kernel_that_skips_its_work_is_found_out(library: Path) -> None:
    n = 1 << 22
    outcome = measure.measure_job(job(library, "lazy", n), rounds=1, work=Work(nbytes=8 * n))
    assert isinstance(outcome, Failure)
    assert outcome.code == "KC-M004"


def test_this_machine_describes_itself() -> None:
    cpu = device.this_cpu()
    assert cpu.cores >= 1
    assert cpu.name
    assert cpu.memory_bytes > 1 << 28
    assert cpu.vector_bits in (128, 256, 512)
    assert cpu.digest == device.this_cpu().digest


def test_peaks_are_measured_once_and_only_grow() -> None:
    first = device.peaks()
    assert isinstance(first, Peaks), first
    assert 1e9 < first.flops < 1e14
    assert 1e9 < first.dram_bytes_per_s < 2e12
    before = time.perf_counter()
    assert device.peaks() == first
    assert time.perf_counter() - before < 0.1
    again = device.peaks(refresh=True)
    assert isinstance(again, Peaks)
    assert again.flops >= first.flops
