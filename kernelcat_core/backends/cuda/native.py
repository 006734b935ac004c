"""Hand-written CUDA: the entry that launches it on the functional model, tensors named and bounded."""

from __future__ import annotations

from kernelcat_core.backends.cuda.spell import LANGUAGE
from kernelcat_core.codegen.native import Launch, Native
from kernelcat_core.codegen.simt_c import IndexSpeller
from kernelcat_core.codegen.simt_host import MODEL_ENTRY
from kernelcat_core.codegen.source import Source
from kernelcat_core.ir.expr import product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.target import Target

ENTRY = "kc_native_entry"


def source(
    native: Native,
    arguments: tuple[str, ...],
    tensors: tuple[Tensor, ...],
    sizes: tuple[str, ...],
    launch: Launch,
    target: Target,
) -> Source:
    """The text as it is; its launch stands in the host file. `tensors` are inputs, then outputs (those not constant)."""
    e, name = IndexSpeller(LANGUAGE), LANGUAGE.name
    lines = [f'extern "C" __attribute__((visibility("default"))) int {ENTRY}(void **tensors, const int64_t *sizes) {{']
    lines += [f"  const int64_t {name(s)} = sizes[{k}];" for k, s in enumerate(sizes)]
    lines.append("  kc_forget_tensors();")
    for k, t in enumerate(tensors):
        writable = int(
            any(
                a.endswith(f"tensors[{k}]") and "*" not in a.rpartition(")")[2] and not p.is_constant
                for a, p in zip(arguments, native.parameters, strict=True)
            )
        )
        size = f"(size_t)({e.text(product(t.shape), 14)}) * {t.dtype.itemsize}"
        lines.append(f'  kc_tensor("{name(t.name)}", tensors[{k}], {size}, {t.dtype.itemsize}, {writable});')
    for k, (a, p) in enumerate(zip(arguments, native.parameters, strict=True)):
        kind = p.type.replace("__restrict__", "").replace("restrict", "").strip()
        lines.append(f"  {kind} argument{k} = {a};")
    lines.append(
        "  void *arguments[] = {"
        + ", ".join([*(f"(void *)&argument{k}" for k in range(len(arguments))), "nullptr"])
        + "};"
    )
    grid, block = (", ".join(f"(unsigned)({x})" for x in part) for part in (launch.grid, launch.block))
    empty = " && ".join(f"({x}) > 0" for x in launch.grid)
    lines.append(f"  if (!({empty})) return 0;")
    lines.append(f"  return cudaLaunchKernel({native.name}, dim3({grid}), dim3({block}), arguments, ")
    lines.append(f"                          (size_t)({launch.shared}), 0);")
    host = "\n".join([*lines, "}", ""])
    words = f"<<<({', '.join(launch.grid)}), ({', '.join(launch.block)}), {launch.shared}>>>"
    return Source(native.text, ENTRY, "cuda", target.name, ((native.name, words),), ((MODEL_ENTRY, host),))
