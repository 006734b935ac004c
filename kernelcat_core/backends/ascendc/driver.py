"""The driver that runs a rendered module on the functional model: host tiling first, then every kernel."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.ascendc.host import HOST, attributes, size_name, speller
from kernelcat_core.backends.ascendc.limits import LIMITS_910B
from kernelcat_core.backends.ascendc.names import Operator, Paths, operators
from kernelcat_core.codegen.cstyle import Speller, support_text
from kernelcat_core.ir.expr import Const, Expr
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule, TileProgram


def driver_text(module: TileModule, entry: str) -> str:
    """C++ with `extern "C" int entry(void **tensors, const int64_t *sizes)` and `kc_last_error`."""
    paths = Paths(module.name)
    spell = speller()
    sizes = [f"    const int64_t {size_name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)]
    held = [line for k, t in enumerate(module.temporaries) for line in _temporary(k, t, spell)]
    places = {
        t.name: f"static_cast<uint8_t *>(tensors[{k}])"
        for k, t in enumerate((*module.inputs, *module.outputs))
    }
    places |= {t.name: f"temporary_{k}.data()" for k, t in enumerate(module.temporaries)}
    named = operators(module)
    runs = [line for p in module.programs for line in _run(module, p, named[p.name], places, spell)]
    functions = support_text(spell.used, HOST)
    return "\n".join(
        [
            f"// Runs {module.name} on KernelCAT's functional model: the host's tiling functions, then the kernels.",
            "// Appended to the device text; the tiling header is included before it, as the vendor's build does.",
            f'#include "{paths.host}"',
            'extern "C" int kc_threads;',
            "int kc_threads = 1;",
            'extern "C" const char *kc_last_error(void) { return twin::last_error().c_str(); }',
            "namespace driver {",
            *([functions] if functions else []),
            "static int launch(void **tensors, const int64_t *sizes) {",
            "    (void)sizes;",
            *sizes,
            *(f"    (void){size_name(s)};" for s in module.sizes),
            *held,
            *runs,
            "    return 0;",
            "}",
            "}  // namespace driver",
            f'extern "C" int {entry}(void **tensors, const int64_t *sizes) {{',
            "    return driver::launch(tensors, sizes);",
            "}",
            "",
        ]
    )


def _bytes(t: Tensor, spell: Speller) -> str:
    dims = [spell.text(d, 14) for d in t.shape]
    return " * ".join([f"int64_t{{{t.dtype.itemsize}}}", *dims])


def _temporary(k: int, t: Tensor, spell: Speller) -> Iterator[str]:
    yield f"    std::vector<uint8_t> temporary_{k}(static_cast<size_t>({_bytes(t, spell)}), 0xFF);"


def _dims(shape: tuple[Expr, ...], spell: Speller) -> str:
    return "{" + ", ".join(spell.text(d) + ("ll" if isinstance(d, Const) else "") for d in shape) + "}"


def _run(
    module: TileModule, p: TileProgram, o: Operator, places: dict[str, str], spell: Speller
) -> Iterator[str]:
    inputs = ", ".join(_dims(t.shape, spell) for t in p.reads)
    outputs = ", ".join(_dims(t.shape, spell) for t in p.writes)
    numbers = ", ".join(size_name(s) for s in attributes(module, p))
    yield "    {"
    yield f"        twin::Host host({{{inputs}}}, {{{numbers}}}, {LIMITS_910B['cores']});"
    yield f"        if (host.infer(optiling::{o.type}InferShape, {{{outputs}}})) return 1;"
    yield f"        if (host.tile(optiling::{o.type}Tiling)) return 1;"
    yield "        const std::vector<twin::Region> regions = {"
    for tensors, writable in ((p.reads, "false"), (p.writes, "true")):
        for t in tensors:
            yield f"            {{{places[t.name]}, static_cast<uint64_t>({_bytes(t, spell)}), {writable}}},"
    yield "        };"
    arguments = ", ".join([places[t.name] for t in (*p.reads, *p.writes)] + ["nullptr", "host.tiling()"])
    yield (
        f"        if (twin::run(host.blocks(), regions, [&] {{ ::{o.entry}({arguments}); }}, kc_threads)) return 1;"
    )
    yield "    }"
