"""How a CUDA module's host function launches a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.cuda.spell import LANGUAGE, STATIC_SHARED
from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.codegen.simt_host import Host


def _launch(k: Kernel) -> Iterator[str]:
    kernel, dynamic = LANGUAGE.kernel_name(k), k.shared_bytes if k.shared_bytes > STATIC_SHARED else 0
    pointers = ", ".join(f"(void *)&{a}" for a in HOST.arguments(k))
    yield f"void *arguments[] = {{{pointers}}};"
    if dynamic:
        yield f"status = cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {dynamic});"
    yield "if (status == cudaSuccess && cells > 0)"
    yield f"  status = cudaLaunchKernel({kernel}, dim3((unsigned)cells), dim3({k.threads}), "
    yield f"                            arguments, {dynamic}, stream);"


HOST = Host(LANGUAGE, "cuda", _launch)
