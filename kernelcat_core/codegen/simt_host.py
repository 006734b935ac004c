"""The host side that CUDA and HIP share: the function that launches a module's kernels, and the functional model's entry.

The two runtimes have the same functions under two prefixes ("cuda", "hip"); how a kernel is launched a backend says itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.codegen.simt_c import IndexSpeller, Language
from kernelcat_core.ir.expr import product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule

MODEL_ENTRY = "model_entry.h"
"""The file of a Source that holds the entry for the functional model."""


@dataclass(frozen=True)
class Host:
    """A C++ host: `prefix` of its runtime's names; `launch` gives the lines that start a kernel of `cells` blocks when
    `status` is still good, and leave what came of it in `status`."""

    language: Language
    prefix: str
    launch: Callable[[Kernel], Iterator[str]]

    def speller(self) -> IndexSpeller:
        """Of size expressions, on the host."""
        return IndexSpeller(self.language, replace(self.language.dialect, qualifier="static inline", support={}))

    def arguments(self, k: Kernel) -> list[str]:
        """Names of a kernel's arguments, in the order of its parameters."""
        return [self.language.name(n) for n in (*(t.name for t in (*k.reads, *k.writes)), *k.sizes)]

    def launcher(self, module: TileModule, kernels: tuple[Kernel, ...], entry: str) -> str:
        """`int <entry>_launch(tensors, sizes, stream)`: inputs then outputs on the device; returns the runtime's error."""
        e, p, name, kind = self.speller(), self.prefix, self.language.name, self.language.type
        lines = [
            "// Launches on `stream`. `tensors`: device pointers, inputs then outputs; `sizes`: "
            + (", ".join(module.sizes) or "none")
            + f". Returns a {p}Error_t.",
            f'extern "C" int {entry}_launch(void *const *tensors, const int64_t *sizes, {p}Stream_t stream) {{',
            f"  {p}Error_t status = {p}Success;",
        ]
        lines += [f"  int64_t {name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
        for k, t in enumerate((*module.inputs, *module.outputs)):
            constant = "const " if k < len(module.inputs) else ""
            lines.append(f"  {constant}{kind(t.dtype)} *{name(t.name)} = ({constant}{kind(t.dtype)} *)tensors[{k}];")
        for t in module.temporaries:
            made = f"{p}MallocAsync((void **)&{name(t.name)}, {_bytes(t, e)}, stream)"
            lines.append(f"  {kind(t.dtype)} *{name(t.name)} = nullptr;")
            lines.append(f"  if (status == {p}Success) status = {made};")
        for kernel in kernels:
            lines += [f"  {line}" for line in self._launch(kernel, e)]
        for t in reversed(module.temporaries):
            lines.append(f"  if ({name(t.name)}) {p}FreeAsync({name(t.name)}, stream);")
        return _with_functions([*lines, "  return status;", "}"], e, "host")

    def _launch(self, k: Kernel, e: IndexSpeller) -> Iterator[str]:
        yield f"if (status == {self.prefix}Success) {{"
        yield f"  const int64_t cells = {e.text(product([a.size for a in k.grid]))};"
        yield f"  if (cells > 2147483647) status = {self.prefix}ErrorInvalidConfiguration;"
        for line in self.launch(k):
            yield f"  {line}"
        yield "}"

    def model_entry(self, module: TileModule, entry: str) -> str:
        """The entry that runs the module on the functional model: names the tensors, then launches."""
        e, name = self.speller(), self.language.name
        lines = [f'extern "C" __attribute__((visibility("default"))) int {entry}(void **tensors, const int64_t *sizes) {{']
        lines += [f"  const int64_t {name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
        lines.append("  kc_forget_tensors();")
        for k, t in enumerate((*module.inputs, *module.outputs)):
            writable = int(k >= len(module.inputs))
            lines.append(f'  kc_tensor("{name(t.name)}", tensors[{k}], {_bytes(t, e)}, {t.dtype.itemsize}, {writable});')
        return _with_functions([*lines, f"  return {entry}_launch(tensors, sizes, 0);", "}", ""], e, "model")


def _with_functions(lines: list[str], e: IndexSpeller, prefix: str) -> str:
    """The lines after the functions that their size expressions call; a kernel's own are for the device only."""
    text = "\n".join([part for part in (e.support(),) if part] + lines)
    return re.sub(r"\bkc_(\w+_i64\()", rf"{prefix}_\1", text)


def _bytes(t: Tensor, e: IndexSpeller) -> str:
    return f"(size_t)({e.text(product(t.shape), 14)}) * {t.dtype.itemsize}"
