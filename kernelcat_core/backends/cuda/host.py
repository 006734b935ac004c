"""The host side of a CUDA module: the function that launches its kernels, and the entry for the functional model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kernelcat_core.backends.cuda.dialect import CUDA
from kernelcat_core.backends.cuda.spell import STATIC_SHARED, IndexSpeller, kernel_name, name, storage
from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.ir.expr import product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule

_HOST = replace(CUDA, qualifier="static inline", support={})


def _with_functions(lines: list[str], e: IndexSpeller, prefix: str) -> str:
    """The lines after the functions that their size expressions call; a kernel's own are for the device only."""
    text = "\n".join([part for part in (e.support(),) if part] + lines)
    return re.sub(r"\bkc_(\w+_i64\()", rf"{prefix}_\1", text)


def launcher(module: TileModule, kernels: tuple[Kernel, ...], entry: str) -> str:
    """`int <entry>_launch(tensors, sizes, stream)`: inputs then outputs on the device; returns a cudaError_t."""
    e = IndexSpeller(_HOST)
    lines = [
        "// Launches on `stream`. `tensors`: device pointers, inputs then outputs; `sizes`: "
        + (", ".join(module.sizes) or "none")
        + ". Returns a cudaError_t.",
        f'extern "C" int {entry}_launch(void *const *tensors, const int64_t *sizes, cudaStream_t stream) {{',
        "  cudaError_t status = cudaSuccess;",
    ]
    lines += [f"  int64_t {name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
    for k, t in enumerate((*module.inputs, *module.outputs)):
        constant = "const " if k < len(module.inputs) else ""
        lines.append(f"  {constant}{storage(t.dtype)} *{name(t.name)} = ({constant}{storage(t.dtype)} *)tensors[{k}];")
    for t in module.temporaries:
        lines.append(f"  {storage(t.dtype)} *{name(t.name)} = nullptr;")
        lines.append(
            f"  if (status == cudaSuccess) status = cudaMallocAsync((void **)&{name(t.name)}, {_bytes(t, e)}, stream);"
        )
    for kernel in kernels:
        lines += [f"  {line}" for line in _launch(kernel, e)]
    for t in reversed(module.temporaries):
        lines.append(f"  if ({name(t.name)}) cudaFreeAsync({name(t.name)}, stream);")
    return _with_functions([*lines, "  return status;", "}"], e, "host")


def _bytes(t: Tensor, e: IndexSpeller) -> str:
    return f"(size_t)({e.text(product(t.shape), 14)}) * {t.dtype.itemsize}"


def _launch(k: Kernel, e: IndexSpeller) -> Iterator[str]:
    cells = e.text(product([a.size for a in k.grid]))
    dynamic = k.shared_bytes if k.shared_bytes > STATIC_SHARED else 0
    yield "if (status == cudaSuccess) {"
    yield f"  const int64_t cells = {cells};"
    yield "  if (cells > 2147483647) status = cudaErrorInvalidConfiguration;"
    pointers = ", ".join(f"(void *)&{name(n)}" for n in (*(t.name for t in (*k.reads, *k.writes)), *k.sizes))
    yield f"  void *arguments[] = {{{pointers}}};"
    if dynamic:
        yield f"  status = cudaFuncSetAttribute({kernel_name(k)}, cudaFuncAttributeMaxDynamicSharedMemorySize, {dynamic});"
    yield "  if (status == cudaSuccess && cells > 0)"
    yield f"    status = cudaLaunchKernel({kernel_name(k)}, dim3((unsigned)cells), dim3({k.threads}), "
    yield f"                              arguments, {dynamic}, stream);"
    yield "}"


def model_entry(module: TileModule, entry: str) -> str:
    """The entry that runs the module on the functional model: names the tensors, then launches."""
    e = IndexSpeller(_HOST)
    lines = [f'extern "C" __attribute__((visibility("default"))) int {entry}(void **tensors, const int64_t *sizes) {{']
    lines += [f"  const int64_t {name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
    lines.append("  kc_forget_tensors();")
    for k, t in enumerate((*module.inputs, *module.outputs)):
        writable = int(k >= len(module.inputs))
        lines.append(f'  kc_tensor("{name(t.name)}", tensors[{k}], {_bytes(t, e)}, {t.dtype.itemsize}, {writable});')
    return _with_functions([*lines, f"  return {entry}_launch(tensors, sizes, 0);", "}", ""], e, "model")
