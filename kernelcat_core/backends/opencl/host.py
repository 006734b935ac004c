"""The host side of an OpenCL module: C for any implementation of OpenCL 1.2, and the entry that runs it here."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.codegen.cstyle import C, Dialect
from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.codegen.simt_c import IndexSpeller, Language
from kernelcat_core.ir.expr import product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule

HOST_FILE, ENTRY_FILE = "host.c", "entry.c"
_LAUNCH = """static cl_int launch(cl_command_queue queue, cl_program program, const char *name, int64_t cells, size_t threads,
                     const cl_mem *memory, cl_uint count, const int64_t *values, cl_uint sizes) {
  cl_int status = CL_SUCCESS;
  if (cells > 2147483647) return CL_INVALID_GLOBAL_WORK_SIZE;
  if (cells <= 0) return CL_SUCCESS;
  cl_kernel made = clCreateKernel(program, name, &status);
  for (cl_uint k = 0; k < count && !status; k++) status = clSetKernelArg(made, k, sizeof memory[k], &memory[k]);
  for (cl_uint k = 0; k < sizes && !status; k++) status = clSetKernelArg(made, count + k, sizeof values[k], &values[k]);
  const size_t global = (size_t)cells * threads;
  if (!status) status = clEnqueueNDRangeKernel(queue, made, 1, NULL, &global, &threads, 0, NULL, NULL);
  if (made) clReleaseKernel(made);
  return status;
}"""


def _speller(language: Language) -> IndexSpeller:
    """Of size expressions: names as in the kernels, functions in C."""
    return IndexSpeller(language, Dialect(**{**vars(C), "reserved": language.dialect.reserved}))


def launcher(module: TileModule, kernels: tuple[Kernel, ...], entry: str, language: Language) -> str:
    """`cl_int <entry>_launch(queue, program, tensors, sizes)`: buffers of inputs, then of outputs; returns an OpenCL error."""
    e = _speller(language)
    lines = [
        "// Launches on `queue`, which is in order. `tensors`: inputs, then outputs; `sizes`: "
        + (", ".join(module.sizes) or "none")
        + ". Returns an OpenCL error.",
        f"cl_int {entry}_launch(cl_command_queue queue, cl_program program, const cl_mem *tensors, const int64_t *sizes) {{",
        "  cl_int status = CL_SUCCESS;",
    ]
    lines += [f"  const int64_t {language.name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
    for k, t in enumerate((*module.inputs, *module.outputs)):
        lines.append(f"  const cl_mem {language.name(t.name)} = tensors[{k}];")
    if module.temporaries:
        lines.append("  cl_context context;")
        lines.append("  status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);")
    for t in module.temporaries:
        name, size = language.name(t.name), _bytes(t, e)
        lines.append(f"  cl_mem {name} = NULL;")
        lines.append(f"  if (!status) {name} = clCreateBuffer(context, CL_MEM_READ_WRITE, {size} + 1, NULL, &status);")
    for kernel in kernels:
        lines += [f"  {line}" for line in _launch(kernel, e, language)]
    for t in reversed(module.temporaries):
        lines.append(f"  if ({language.name(t.name)}) clReleaseMemObject({language.name(t.name)});")
    head = ["#ifndef CL_VERSION_1_2", "#define CL_TARGET_OPENCL_VERSION 120", "#include <CL/cl.h>", "#endif"]
    head += ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
    support = [part for part in (e.support(),) if part]
    return "\n".join([*head, "", *support, _LAUNCH, "", *lines, "  return status;", "}", ""])


def _bytes(t: Tensor, e: IndexSpeller) -> str:
    return f"(size_t)({e.text(product(t.shape), 14)}) * {t.dtype.itemsize}"


def _launch(k: Kernel, e: IndexSpeller, language: Language) -> Iterator[str]:
    tensors, sizes = (*k.reads, *k.writes), k.sizes
    yield "if (!status) {"
    yield f"  const cl_mem memory[] = {{{', '.join(language.name(t.name) for t in tensors)}}};"
    yield f"  const int64_t values[] = {{{', '.join(language.name(s) for s in sizes) or '0'}}};"
    cells = e.text(product([a.size for a in k.grid]))
    yield f'  status = launch(queue, program, "{language.kernel_name(k)}", {cells}, {k.threads}, memory, {len(tensors)},'
    yield f"                  values, {len(sizes)});"
    yield "}"


def run_entry(module: TileModule, entry: str, language: Language) -> str:
    """`int <entry>(tensors, sizes)` for the runner: the program binary `kc_program` on host memory (host/kc_opencl.c)."""
    e = _speller(language)
    tensors = (*module.inputs, *module.outputs)
    lines = [f'__attribute__((visibility("default"))) int {entry}(void **tensors, const int64_t *sizes) {{']
    lines += [f"  const int64_t {language.name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
    lines += [f"  (void){language.name(s)};" for s in module.sizes]
    lines.append("  const size_t bytes[] = {" + (", ".join(_bytes(t, e) for t in tensors) or "0") + "};")
    lines.append(f"  return kc_cl_run(kc_program, sizeof kc_program - 1, {entry}_launch, tensors, bytes, {len(module.inputs)},")
    lines.append(f"                   {len(tensors)}, sizes);")
    return "\n".join([*lines, "}", ""])
