"""The host side: the function that launches a module's kernels, and the functional model's driver around it."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.bangc.spell import DIALECT, storage
from kernelcat_core.codegen.cstyle import Dialect, Speller, identifier, support_text
from kernelcat_core.codegen.dma_ast import DmaProgram
from kernelcat_core.ir.expr import Load, Size, Var, product
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import TileModule

_HOST = Dialect(name="host C++", qualifier="static inline", reserved=DIALECT.reserved)


def size_name(name: str) -> str:
    """The C++ name of a size."""
    return identifier(name, DIALECT.reserved)


def pointer(name: str) -> str:
    """The C++ name of a tensor's address on the device."""
    return f"{identifier(name)}_gdram"


def speller() -> Speller:
    """Spells size expressions on the host."""

    def leaf(e: Load | Var | Size) -> str:
        assert isinstance(e, Size)
        return size_name(e.name)

    return Speller(_HOST, leaf)


class Entries:
    """Names of what a module becomes."""

    def __init__(self, module: TileModule) -> None:
        self.module = module
        self.entry = f"kc_run_{module.name}"
        self.launch = f"kc_launch_{module.name}"

    def kernel(self, program: str) -> str:
        """The kernel of a program; a module of one program gives it its own name."""
        alone = len(self.module.programs) == 1
        return f"kc_{self.module.name}" if alone else f"kc_{self.module.name}_{program}"


def _tensors(module: TileModule) -> tuple[tuple[Tensor, bool], ...]:
    """Every tensor that the host function takes, and whether kernels may write it."""
    return (
        *((t, False) for t in module.inputs),
        *((t, True) for t in (*module.outputs, *module.temporaries)),
    )


def host_lines(module: TileModule, programs: tuple[DmaProgram, ...], entries: Entries) -> Iterator[str]:
    """The host function: Union1 tasks, as many whole clusters as there are cells for, one kernel after the other."""
    spell = speller()
    parameters = ["cnrtQueue_t queue"]
    for t, writable in _tensors(module):
        parameters.append(f"{'' if writable else 'const '}{storage(t.dtype)} *{pointer(t.name)}")
    parameters += [f"int64_t {size_name(s)}" for s in module.sizes]
    launches = [line for p in programs for line in _launch(p, entries, spell)]
    support = support_text(spell.used, _HOST)
    yield "namespace host {"
    if support:
        yield support
    yield "/// Queues the kernels; tensors are addresses on the device, temporaries last. The caller waits for the queue."
    yield f"static cnrtRet_t {entries.launch}({', '.join(parameters)}) {{"
    yield "    int device = 0, clusters = 1, cores = 4;"
    yield "    cnrtRet_t status = cnrtGetDevice(&device);"
    yield "    if (status == cnrtSuccess) status = cnrtDeviceGetAttribute(&clusters, cnrtAttrClusterCount, device);"
    yield "    if (status == cnrtSuccess) status = cnrtDeviceGetAttribute(&cores, cnrtAttrMcorePerCluster, device);"
    yield "    if (status != cnrtSuccess) return status;"
    yield from launches
    yield "    return cnrtSuccess;"
    yield "}"
    yield "}  // namespace host"


def _launch(p: DmaProgram, entries: Entries, spell: Speller) -> Iterator[str]:
    cells = spell.text(product([a.size for a in p.grid]))
    arguments = [
        *(pointer(t.name) for t in (*p.reads, *p.writes)),
        *(size_name(s) for s in p.sizes),
    ]
    yield "    {"
    yield f"        const int64_t cells = {cells};"
    yield "        const int64_t wanted = (cells + cores - 1) / cores;"
    yield "        cnrtDim3_t dim;"
    yield "        dim.x = (unsigned int)(cores * (wanted < clusters ? wanted : clusters));"
    yield "        dim.y = dim.z = 1;"
    yield "        if (cells > 0) {"
    yield f"            {entries.kernel(p.name)}<<<dim, cnrtFuncTypeUnion1, queue>>>({', '.join(arguments)});"
    yield "        }"
    yield "    }"


def _bytes(t: Tensor, spell: Speller) -> str:
    dims = [spell.text(d, 14) for d in t.shape]
    return " * ".join([f"int64_t{{{t.dtype.itemsize}}}", *dims])


def driver_text(module: TileModule, entries: Entries) -> str:
    """C++ with `extern "C" int entry(void **tensors, const int64_t *sizes)` and `kc_last_error`."""
    spell = speller()
    body: list[str] = []
    arguments = ["nullptr"]
    for k, (t, writable) in enumerate(_tensors(module)):
        place = f"tensors[{k}]"
        if t in module.temporaries:
            place = f"temporary_{k}.data()"
            body.append(f"    std::vector<uint8_t> temporary_{k}(static_cast<size_t>({_bytes(t, spell)}), 0xFF);")
        kind = storage(t.dtype)
        body.append(f"    regions.push_back({{(uint8_t *){place}, (uint64_t)({_bytes(t, spell)}), {str(writable).lower()}}});")
        arguments.append(f"({'' if writable else 'const '}{kind} *){place}")
    arguments += [size_name(s) for s in module.sizes]
    support = support_text(spell.used, _HOST)
    return "\n".join(
        [
            f"// Runs {module.name} on KernelCAT's functional model. Appended to the text of the kernels.",
            'extern "C" int kc_threads;',
            "int kc_threads = 1;",
            'extern "C" const char *kc_last_error(void) { return twin::last_error().c_str(); }',
            "namespace driver {",
            *([support] if support else []),
            "static int launch(void **tensors, const int64_t *sizes) {",
            "    (void)sizes;",
            *(f"    const int64_t {size_name(s)} = sizes[{k}];" for k, s in enumerate(module.sizes)),
            *(f"    (void){size_name(s)};" for s in module.sizes),
            "    std::vector<twin::Region> regions;",
            *body,
            "    return twin::host(regions, [&] {",
            f"        return ::host::{entries.launch}({', '.join(arguments)});",
            "    });",
            "}",
            "}  // namespace driver",
            f'extern "C" int {entries.entry}(void **tensors, const int64_t *sizes) {{',
            "    return driver::launch(tensors, sizes);",
            "}",
            "",
        ]
    )


