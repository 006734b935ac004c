"""CUDA kernels with a fault each (cuda.cu), and launches that no GPU takes, on the functional model."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.errors import Failure, KernelcatError

TEXT = (Path(__file__).parent / "cuda.cu").read_text(encoding="utf-8")
KERNELS = re.findall(r"^KERNEL (\w+) ARGUMENTS", TEXT, re.MULTILINE)
SOUND = ("good", "plain")

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
    # The second set.
    "last_round_without_barrier": ("shared-", "of shared memory"),
    "half_of_a_warp_waits": ("shared-", "of shared memory"),
    "plain_store_beside_atomics": ("global-", "element 0 of Y"),
    "the_other_half_of_the_buffer": ("async-copy-not-awaited", "in flight"),
    "wait_count_wrong_in_the_tail": ("async-copy-not-awaited", "in flight"),
    "shuffle_after_some_left": ("warp-divergence", "left the kernel"),
    "tree_that_trusts_the_warp": ("shared-", "of shared memory"),
    "one_step_too_many": ("global-out-of-bounds", "element 256"),
    "atomics_read_too_early": ("shared-", "of shared memory"),
    "vector_store_off_by_one": ("misaligned-access", "no multiple of 8"),
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
    """The model with every kernel of the text, and where it is. Raises KC-B001, KC-B002, KC-B003."""
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
    if isinstance(built, Failure):
        raise KernelcatError(built.code, built.message, hint=built.hint)
    handle = ctypes.CDLL(str(built.path("shared")))
    handle.kc_last_error.restype = ctypes.c_char_p
    return handle, built.path("shared")


def launch(
    kernel: str,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (64, 1, 1),
    dynamic: int = 0,
    flags: tuple[str, ...] = (),
) -> tuple[str, npt.NDArray[Any], npt.NDArray[Any]]:
    """The error message ("" when it ran) and both arrays."""
    handle, path = library(flags)
    x = np.arange(256, dtype=np.float32)
    y = np.full(256, np.nan, np.float32)
    tensors = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    numbers = (ctypes.c_int64 * 8)(KERNELS.index(kernel), *grid, *block, dynamic)
    status = handle.entry(tensors, numbers)
    message = handle.kc_last_error().decode() if status else ""
    return emulation.with_line(message, path), x, y



def planted(kernel: str) -> str:
    """What the model says of a kernel of FAULTS."""
    grid = (2, 1, 1) if kernel == "blocks_write_one_element" else (1, 1, 1)
    return launch(kernel, grid, dynamic=128 if kernel.startswith("dynamic") else 0)[0]


def line_of(kernel: str) -> int:
    """The line on which a kernel begins."""
    return next(i for i, text in enumerate(TEXT.split("\n"), 1) if f"KERNEL {kernel} " in text)
