"""Times taken from outside: the kernel runs only while the clock does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.runtime import arena, client, seccomp, toolchain, witness
from kernelcat_core.runtime.arena import Array, TensorSpec
from kernelcat_core.runtime.witness import Witnessed, WitnessedJob

N = 1000
TEXT = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int kc_threads;
#define ENTRY(name) int name(void **t, const int64_t *s)
ENTRY(add_one) { float *x = t[0], *y = t[1]; for (int64_t i = 0; i < s[0]; i++) y[i] = x[i] + 1; return 0; }
ENTRY(sleeps) { usleep(5000); return add_one(t, s); }
ENTRY(stops_early) { raise(SIGSTOP); return add_one(t, s); }
ENTRY(fails_later) { static int calls; return calls++ > 3 ? 9 : add_one(t, s); }
ENTRY(leaves) { _exit(0); }
ENTRY(changes_input) { add_one(t, s); ((float *)t[0])[3] = 0; return 0; }
ENTRY(writes_behind) { add_one(t, s); ((float *)t[1])[s[0] + 50] = 0; return 0; }
ENTRY(hangs) { for (;;) pause(); }
static volatile int64_t longest, turns;
static int64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static void *watch(void *p) {
  for (int64_t last = now_ns(), now;; last = now, turns++) { now = now_ns(); if (now - last > longest) longest = now - last; }
  return p;
}
ENTRY(watches_beside) {
  pthread_t thread;
  static int calls;
  if (!calls++) pthread_create(&thread, 0, watch, 0);
  for (int64_t before = turns; turns < before + 2;) sched_yield(); /* it has looked since this call began */
  int64_t seen = longest;
  memcpy(t[1], &seen, 8);
  return 0;
}
ENTRY(tells_processors) { cpu_set_t set; sched_getaffinity(0, sizeof set, &set); ((float *)t[1])[0] = CPU_COUNT(&set);
  CPU_ZERO(&set); for (int c = 0; c < 64; c++) CPU_SET(c, &set);
  ((float *)t[1])[1] = sched_setaffinity(0, sizeof set, &set); return 0; }
ENTRY(continues_itself) {
  static int calls;
  struct sigevent wake = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
  struct itimerspec soon = {{0, 0}, {0, 500000}}; /* once a call: a timer whose signal is ignored is not armed again */
  static timer_t timer;
  if (!calls++ && timer_create(CLOCK_MONOTONIC, &wake, &timer)) return 7;
  timer_settime(timer, 0, &soon, 0);
  raise(SIGSTOP);
  return add_one(t, s);
}
"""


@pytest.fixture(scope="module")
def library() -> Path:
    compiler = toolchain.find_c()
    assert compiler is not None
    binary = toolchain.compile(compiler, TEXT, flags=("-O1", "-pthread"))
    assert isinstance(binary, toolchain.Binary), binary
    return binary.path("shared")


def draws(samples: int) -> list[tuple[Array, ...]]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(N).astype(np.float32),) for _ in range(samples)]


def run(library: Path, entry: str, samples: int = 6, timeout_s: float = 5.0) -> Witnessed | Failure:
    job = WitnessedJob(library, entry, draws(samples), (TensorSpec((N,), np.dtype(np.float32)),), (N,),
                       timeout_s=timeout_s)
    return witness.run(job)


def test_every_call_has_inputs_and_outputs_of_its_own(library: Path) -> None:
    ran = run(library, "add_one")
    assert isinstance(ran, Witnessed), ran
    assert len(ran.samples_s) == 6
    assert all(0 < s < 1 for s in ran.samples_s)
    for (x,), (y,) in zip(draws(6), ran.outputs, strict=True):
        np.testing.assert_array_equal(y, x + 1)


def test_a_sleep_is_time(library: Path) -> None:
    ran = run(library, "sleeps", samples=3)
    assert isinstance(ran, Witnessed), ran
    assert min(ran.samples_s) > 4.9e-3


def test_what_is_computed_after_a_stop_is_not_seen(library: Path) -> None:
    ran = run(library, "stops_early", samples=4)
    assert isinstance(ran, Witnessed), ran
    # The first call stops at once; the second sample has it finish, with that sample's inputs and in that sample's time.
    assert [arena.looks_unwritten(y) for (y,) in ran.outputs] == [True, False, True, False]


def test_threads_stand_still_between_samples(library: Path) -> None:
    large = [(np.zeros(16 << 20, np.float32),) for _ in range(3)]  # the witness copies 128 MiB between two samples
    ran = witness.run(WitnessedJob(library, "watches_beside", large, (TensorSpec((1,), np.dtype(np.int64)),), (N,), threads=2))
    assert isinstance(ran, Witnessed)
    # A thread that looks at the clock all the time finds that it did not run for as long as that took.
    assert int(ran.outputs[2][0][0]) > 4_000_000


@pytest.mark.parametrize(("entry", "code", "said"), [
    ("fails_later", "KC-M001", "status 9"), ("leaves", "KC-M001", "ended with status 0"),
    ("changes_input", "KC-M003", "input 0"), ("writes_behind", "KC-M001", "outside output 0"),
    ("nothing_there", "KC-M001", "nothing_there"),
])
def test_failures_are_coded(library: Path, entry: str, code: str, said: str) -> None:
    failure = run(library, entry)
    assert isinstance(failure, Failure)
    assert failure.code == code
    assert said in failure.message


def test_a_kernel_that_never_comes_back_is_ended(library: Path) -> None:
    failure = run(library, "hangs", timeout_s=0.5)
    assert isinstance(failure, Failure)
    assert failure.code == "KC-M002"


def test_a_kernel_keeps_the_processors_it_was_given(library: Path) -> None:
    ran = run(library, "tells_processors", samples=2)
    assert isinstance(ran, Witnessed), ran
    assert ran.outputs[0][0][:2].tolist() == [1, -1]


def test_timers_are_refused(library: Path) -> None:
    failure = run(library, "continues_itself")
    assert isinstance(failure, Failure)
    assert "status 7" in failure.message


def test_a_process_that_continues_itself_is_found_out(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A zygote whose filter lets timers through stands for a way of waking up that nobody has thought of.
    monkeypatch.setattr(client, "_MODULE", "tests.core.runtime.timers_allowed")
    client.stop()
    try:
        large = [(np.zeros(4 << 20, np.float32),) for _ in range(6)]
        job = WitnessedJob(library, "continues_itself", large, (TensorSpec((N,), np.dtype(np.float32)),), (N,))
        failure = witness.run(job)
    finally:
        client.stop()
    assert isinstance(failure, Failure)
    assert failure.code == "KC-M008"


def test_a_witness_that_fails_is_our_fault(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = witness._request
    monkeypatch.setattr(witness, "_request", lambda *a: {**whole(*a), "samples": "many"})
    with pytest.raises(KernelcatError) as caught:
        run(library, "add_one")
    assert caught.value.code == "KC-X002"


def test_no_signal_may_be_ordered_for_later() -> None:
    assert {"timer_create", "sched_setaffinity"} <= set(seccomp._KERNEL_ONLY)
    assert "fcntl" in seccomp._SPECIAL
