"""The in-process path: call generated code directly, with no sandbox between. For trusted text only.

`kernelcat.kernel` uses it for code that this package generated from a formula; everything else goes through runner.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from kernelcat_core.errors import KernelcatError
from kernelcat_core.runtime.kernel_child import last_error, set_threads
from kernelcat_core.runtime.runner import ALIGNMENT, Array, TensorSpec


@dataclass(frozen=True)
class LoadedKernel:
    """A host entry in this process. Not thread-safe for a library that keeps state (kc_threads, kc_last_error)."""

    library: ctypes.CDLL
    function: Any
    entry: str

    def __call__(self, inputs: Sequence[Array], outputs: Sequence[TensorSpec],
                 sizes: Sequence[int]) -> tuple[Array, ...]:
        """Call on contiguous arrays; returns fresh outputs. Raises KC-M001 when the entry reports an error."""
        made = tuple(aligned_empty(spec) for spec in outputs)
        self.call_into(inputs, made, sizes)
        return made

    def call_into(self, inputs: Sequence[Array], outputs: Sequence[Array], sizes: Sequence[int]) -> None:
        """Call with outputs that the caller owns; every array must be C-contiguous."""
        tensors = (*inputs, *outputs)
        pointers = (ctypes.c_void_p * max(1, len(tensors)))(*(array.ctypes.data for array in tensors))
        values = (ctypes.c_int64 * max(1, len(sizes)))(*sizes)
        if self.function(pointers, values) != 0:
            self.failed()

    def failed(self) -> NoReturn:
        """Raise KC-M001 with what the library says of a call that did not return 0."""
        raise KernelcatError("KC-M001", last_error(self.library) or "the kernel returned an error")


def load(library: Path, entry: str, threads: int = 1) -> LoadedKernel:
    """Load a shared object and find its entry. Raises KernelcatError KC-M001 if either is not possible."""
    try:
        handle = ctypes.CDLL(str(library))
        function = getattr(handle, entry)
    except (OSError, AttributeError) as error:
        raise KernelcatError("KC-M001", f"the compiled kernel cannot be loaded: {error}") from error
    function.restype = ctypes.c_int
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    set_threads(handle, threads)
    _share_pool(handle)
    return LoadedKernel(handle, function, entry)


_POOL: list[int] = []
"""The address of the process's thread pool: that of the first library that brought one."""


def _share_pool(library: ctypes.CDLL) -> None:
    """Point a library's launches to the one pool, so that the kernels of a network do not wake each other's threads."""
    try:
        dispatch = ctypes.c_void_p.in_dll(library, "kc_dispatch")
    except ValueError:
        return  # a kernel without threads of its own
    if not _POOL:
        assert dispatch.value is not None
        _POOL.append(dispatch.value)
    dispatch.value = _POOL[0]


def aligned_empty(spec: TensorSpec) -> Array:
    """An uninitialised array whose first byte is aligned to 64 bytes, as the contract of entries promises."""
    raw = np.empty(spec.nbytes + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start:start + spec.nbytes].view(spec.dtype).reshape(spec.shape)
