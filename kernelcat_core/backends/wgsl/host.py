"""The host side of a WGSL module: C against webgpu.h that makes the buffers, dispatches the programs and reads back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernelcat_core.backends.wgsl.memory import Buffer
from kernelcat_core.backends.wgsl.statements import entry_name
from kernelcat_core.codegen.cstyle import C, Speller, identifier
from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.ir.expr import Load, Size, Var, product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule

HOST_FILE = "host.c"
_OURS = ("tensors", "sizes", "shader", "steps", "buffers", "numbers")


def _size(text: str) -> str:
    return identifier(text, _OURS)


def _leaf(e: Load | Var | Size) -> str:
    assert isinstance(e, Size)
    return _size(e.name)


def host_text(module: TileModule, kernels: tuple[Kernel, ...], buffers: Mapping[str, Buffer], entry: str, text: str,
              native: bool) -> str:
    """C with `int entry(void **tensors, const int64_t *sizes)`; it includes driver.h, which speaks to the device."""
    e = Speller(C, _leaf)
    tensors = (*module.inputs, *module.outputs, *module.temporaries)
    lines = [
        f"int {entry}(void **tensors, const int64_t *sizes) {{",
        *(f"  const int64_t {_size(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)),
        *(f"  (void){_size(s)};" for s in module.sizes),
        "  kc_buffer buffers[] = {",
        *(f"    {line}," for k, t in enumerate(tensors) for line in _buffer(module, k, t, buffers, e)),
        "  };",
        "  const kc_step steps[] = {",
        *(f"    {line}," for k in kernels for line in _step(k, buffers, tensors, e)),
        "  };",
        f"  return kc_run(shader, buffers, {len(tensors)}, steps, {len(kernels)}, sizes, {len(module.sizes)}, {int(native)});",
        "}",
    ]
    return "\n".join([
        '#include "driver.h"',
        "",
        "static const char shader[] =",
        *_literal(text),
        "    ;",
        "",
        e.support(),
        *lines,
        "",
    ])


def _literal(text: str) -> Iterator[str]:
    for line in text.splitlines():
        escaped = line.replace("\\", "\\\\").replace('"', '\\"')
        yield f'    "{escaped}\\n"'


def _buffer(module: TileModule, k: int, t: Tensor, buffers: Mapping[str, Buffer], e: Speller) -> Iterator[str]:
    given = len(module.inputs) + len(module.outputs)
    place = f"tensors[{k}]" if k < given else "0"
    role = "KC_INPUT" if k < len(module.inputs) else "KC_OUTPUT" if k < given else "KC_TEMPORARY"
    binding = buffers[t.name].binding if t.name in buffers else 0
    written = int(t.name in buffers and buffers[t.name].written)
    yield f"{{{place}, {e.text(product(t.shape))}, {t.dtype.itemsize}, {role}, {binding}, {written}, 0}}"


def _step(k: Kernel, buffers: Mapping[str, Buffer], tensors: tuple[Tensor, ...], e: Speller) -> Iterator[str]:
    places = {t.name: n for n, t in enumerate(tensors)}
    used = list(dict.fromkeys(t.name for t in (*k.reads, *k.writes)))
    numbers = ", ".join(str(places[n]) for n in used)
    yield f'{{"{entry_name(k)}", {e.text(product([a.size for a in k.grid]))}, {len(used)}, {{{numbers}}}}}'
