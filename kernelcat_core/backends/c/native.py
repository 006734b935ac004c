"""Hand-written C: the entry that calls it as generated kernels are called."""

from __future__ import annotations

from kernelcat_core.codegen.native import Launch, Native
from kernelcat_core.codegen.source import Source
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.target import Target

ENTRY = "kc_native_entry"


def source(native: Native, arguments: tuple[str, ...], tensors: tuple[Tensor, ...], sizes: tuple[str, ...], launch: Launch,
           target: Target) -> Source:
    """The text followed by an entry; `launch` means nothing on a CPU: the kernel is called once."""
    call = f"{native.name}({', '.join(arguments)})"
    entry = f"#include <stdint.h>\nint {ENTRY}(void **tensors, const int64_t *sizes) {{\n  {call};\n  return 0;\n}}\n"
    return Source(f"{native.text.rstrip()}\n\n{entry}", ENTRY, "c", target.name)
