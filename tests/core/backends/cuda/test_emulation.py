"""The functional model: planted faults are named, sound kernels run, in every order of threads."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.runtime import toolchain

pytestmark = pytest.mark.skipif(toolchain.find_cpp() is None, reason="no C++ compiler")
TEXT = (Path(__file__).parent / "faults.cu").read_text()
KERNELS = re.findall(r"^KERNEL (\w+) ARGUMENTS", TEXT, re.MULTILINE)
ORDERS = ("forward", "reverse", "random:7")

# Whether a thread reads before or after the others write depends on the order: it is a race, or it finds nothing.
# kernel -> (rule, what its message must say)
FAULTS = {
    "missing_barrier": ("shared-", "of shared memory"),
    "missing_second_barrier": ("shared-race", "no barrier between"),
    "warp_barrier_too_weak": ("shared-", "of shared memory"),
    "shuffle_is_no_barrier": ("shared-race", "no barrier between"),
    "write_write_race": ("shared-race", "writes"),
    "divergent_barrier": ("barrier-divergence", "left the kernel"),
    "two_barriers": ("barrier-divergence", "at that of line"),
    "early_exit": ("barrier-divergence", "left the kernel"),
    "divergent_shuffle": ("warp-divergence", "left the kernel"),
    "shuffle_from_outside_the_mask": ("shuffle-lane", "reads from lane 20"),
    "barrier_against_shuffle": ("barrier-divergence", "warp collective"),
    "read_past_the_end": ("global-out-of-bounds", "element 2"),
    "read_before_the_start": ("global-out-of-bounds", "element -1 of X"),
    "write_past_the_end": ("global-out-of-bounds", "of Y, which has 256"),
    "write_to_input": ("read-only-write", "X, which is an input"),
    "read_of_unwritten_output": ("global-uninitialised", "of Y"),
    "all_threads_write_one_element": ("global-race", "element 0 of Y"),
    "blocks_write_one_element": ("global-race", "another block"),
    "unordered_atomic": ("shared-", "of shared memory"),
    "uninitialised_shared": ("shared-uninitialised", "nobody has written"),
    "subscript_into_the_next_row": ("array-out-of-bounds", "subscript 8"),
    "local_subscript": ("array-out-of-bounds", "leaves its array"),
    "dynamic_shared_past_the_end": ("shared-out-of-bounds", "shared memory"),
    "misaligned_vector": ("misaligned-access", "no multiple of 16"),
    "copy_without_wait": ("async-copy-not-awaited", "in flight"),
    "wait_for_the_wrong_group": ("async-copy-not-awaited", "in flight"),
    "wait_without_barrier": ("", "of shared memory"),
    "leaves_with_copies_in_flight": ("async-copy-not-awaited", "leaves the kernel"),
    "copy_of_two_bytes": ("async-copy-size", "4, 8 or 16"),
    "copy_into_a_slot_in_use": ("shared-race", "no barrier between"),
    "division_by_zero": ("division-by-zero", "divided by zero"),
    "shift_too_far": ("shift-range", "a shift by"),
    "too_much_static_shared": ("shared-budget", "static shared memory"),
    "too_much_local_memory": ("local-memory", "local memory"),
}
LAUNCHES = {  # what is wrong with the launch itself: grid, block, dynamic bytes
    "block of 1025 threads": ((1, 1, 1), (1025, 1, 1), 0, "launch-limits"),
    "empty block": ((1, 1, 1), (0, 1, 1), 0, "launch-limits"),
    "block deeper than 64": ((1, 1, 1), (1, 1, 65), 0, "launch-limits"),
    "empty grid": ((0, 1, 1), (64, 1, 1), 0, "launch-limits"),
    "grid too high": ((1, 65536, 1), (64, 1, 1), 0, "launch-limits"),
    "dynamic shared memory not asked for": ((1, 1, 1), (64, 1, 1), 49153, "shared-budget"),
}


@cache
def library(flags: tuple[str, ...] = ()) -> tuple[ctypes.CDLL, Path]:
    cases = "\n".join(
        f"  if (s[0] == {i}) return cudaLaunchKernel({name}, grid, block, arguments, s[7], 0);"
        for i, name in enumerate(KERNELS)
    )
    built = emulation.build(
        TEXT,
        f"""
extern "C" __attribute__((visibility("default"))) int entry(void **t, const int64_t *s) {{
  const float *X = (const float *)t[0];
  float *Y = (float *)t[1];
  int n = 256;
  kc_forget_tensors();
  kc_tensor("X", t[0], 1024, 4, 0);
  kc_tensor("Y", t[1], 1024, 4, 1);
  void *arguments[] = {{&X, &Y, &n}};
  dim3 grid(s[1], s[2], s[3]), block(s[4], s[5], s[6]);
{cases}
  return -1;
}}""",
        flags,
    )
    assert isinstance(built, toolchain.Binary), built
    handle = ctypes.CDLL(str(built.path("shared")))
    handle.kc_last_error.restype = ctypes.c_char_p
    return handle, built.path("shared")


def launch(
    kernel: str,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (64, 1, 1),
    dynamic: int = 0,
    flags: tuple[str, ...] = (),
) -> tuple[str, np.ndarray, np.ndarray]:
    """The error message ("" when it ran) and both arrays."""
    handle, path = library(flags)
    x = np.arange(256, dtype=np.float32)
    y = np.full(256, np.nan, np.float32)
    tensors = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    numbers = (ctypes.c_int64 * 8)(KERNELS.index(kernel), *grid, *block, dynamic)
    status = handle.entry(tensors, numbers)
    message = handle.kc_last_error().decode() if status else ""
    return emulation.with_line(message, path), x, y


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KC_FIBER_ORDER", request.param)  # os.environ writes through to the C environment
    return str(request.param)


def test_every_kernel_is_a_case() -> None:
    assert set(KERNELS) == {*FAULTS, "good", "plain"}


def test_a_sound_kernel_runs(order: str) -> None:
    message, x, y = launch("good", (4, 1, 1))
    assert message == ""
    expected = x.reshape(4, 64)[:, ::-1] + x.reshape(4, 32, 2)[:, :, ::-1].reshape(4, 64)
    np.testing.assert_array_equal(y, expected.reshape(-1))


@pytest.mark.parametrize("kernel", FAULTS)
def test_a_fault_is_named_in_every_order(kernel: str, order: str) -> None:
    rule, said = FAULTS[kernel]
    grid = (2, 1, 1) if kernel == "blocks_write_one_element" else (1, 1, 1)
    message, _, _ = launch(kernel, grid, dynamic=128 if kernel.startswith("dynamic") else 0)
    assert message.startswith(rule) and said in message, message
    assert kernel in message


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_bad_launch_is_refused(name: str) -> None:
    grid, block, dynamic, rule = LAUNCHES[name]
    message, _, y = launch("plain", grid, block, dynamic)
    assert message.startswith(rule)
    assert np.isnan(y).all()


def test_a_fault_names_its_line() -> None:
    message, _, _ = launch("read_past_the_end")
    line = next(i for i, text in enumerate(TEXT.split("\n"), 1) if "KERNEL read_past_the_end" in text)
    assert f"at line {line}]" in message


def test_a_run_after_a_fault_is_not_affected() -> None:
    assert launch("divergent_barrier")[0]
    assert launch("good", (4, 1, 1))[0] == ""


def test_portable_context_switches() -> None:
    portable = ("-DKC_UCONTEXT",)
    message, x, y = launch("good", (4, 1, 1), flags=portable)
    assert message == ""
    assert y[0] == x[63] + x[1]
    assert launch("missing_barrier", flags=portable)[0].startswith("shared-")
    assert launch("divergent_barrier", flags=portable)[0].startswith("barrier-divergence")


def test_a_text_that_does_not_compile_is_a_failure_with_its_line() -> None:
    made = emulation.build("__global__ void f() {\n  wrong;\n}\n", "")
    assert not isinstance(made, toolchain.Binary)
    assert made.code == "KC-B001"
    assert "line 2" in made.message
