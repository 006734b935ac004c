"""Renders tile modules as Ascend C: a kernel class and an entry for each program, and the host side."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.ascendc.driver import driver_text
from kernelcat_core.backends.ascendc.host import host_text, tiling_text
from kernelcat_core.backends.ascendc.instructions import TABLE
from kernelcat_core.backends.ascendc.limits import MEMORY_910B
from kernelcat_core.backends.ascendc.names import Operator, Paths, operators
from kernelcat_core.backends.ascendc.spell import DIALECT, Names, storage
from kernelcat_core.backends.ascendc.statements import FUNCTIONS, Statements, queue_name
from kernelcat_core.codegen.cstyle import support_text
from kernelcat_core.codegen.dma import lower
from kernelcat_core.codegen.dma_ast import DmaProgram
from kernelcat_core.codegen.dma_text import cell_count, cell_lines
from kernelcat_core.codegen.source import Source
from kernelcat_core.ir.expr import product
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.target import Target


def render(module: TileModule, target: Target) -> Source:
    """The Ascend C text of a module.

    `text` is the device code; `files` hold the tiling structs, the host operators and the functional model's driver,
    whose `entry` runs the tiling functions and then the kernels. Raises KC-R001 and KC-S002 (see codegen.dma.lower).
    """
    programs = lower(module, TABLE, MEMORY_910B)
    named = operators(module)
    bodies = [_program(p, named[p.name]) for p in programs]
    used = {name: None for _, statements in bodies for name in statements.names.speller.used}
    copies = {name: None for _, statements in bodies for name in statements.functions}
    scalar_functions = support_text(used, DIALECT)
    paths = Paths(module.name)
    text = "\n".join(
        [
            f"// {module.name} for {target.name}, by KernelCAT. Host side: {paths.tiling}, {paths.host}.",
            '#include "kernel_operator.h"',
            "using namespace AscendC;",
            "",
            "namespace {",
            *(FUNCTIONS[name] for name in copies),
            *([scalar_functions] if scalar_functions else []),
            "",
            *(line for lines, _ in bodies for line in (*lines, "")),
            "}  // namespace",
            "",
            *(line for p in programs for line in _entry(p, named[p.name])),
        ]
    )
    entry = f"kc_run_{module.name}"
    return Source(
        text,
        entry,
        target.language,
        target.name,
        tuple((p.name, _launch(p)) for p in programs),
        (
            (paths.tiling, tiling_text(module)),
            (paths.host, host_text(module)),
            (paths.driver, driver_text(module, entry)),
        ),
    )


def _launch(p: DmaProgram) -> str:
    grid = ", ".join(a.name for a in p.grid)
    memory = f"{p.near_bytes} of {MEMORY_910B.near_bytes} B of UB"
    return f"min(cells, vector cores) blocks, each walks cells ({grid or '1'}); {memory}"


def _program(p: DmaProgram, operator: Operator) -> tuple[list[str], Statements]:
    """The kernel class of one program."""
    names = Names(p)
    statements = Statements(names)
    body = list(statements.lines(p.body, " " * 12))
    return [
        f"/// {p.kernel_class}: {_launch(p)}",
        f"class {operator.core_class} {{",
        "public:",
        *_init(p, names),
        *_process(p, names, body),
        "",
        "private:",
        *_members(p, names),
        "};",
    ], statements


def _parameters(p: DmaProgram) -> list[str]:
    return [f"GM_ADDR {Names(p).of(t.name)}" for t in (*p.reads, *p.writes)]


def _init(p: DmaProgram, names: Names) -> Iterator[str]:
    """Sizes, tensors and buffers."""
    parameters = [*_parameters(p), *(f"int64_t {names.of(s)}" for s in p.sizes)]
    yield f"    __aicore__ inline void Init({', '.join(parameters)}) {{"
    for s in p.sizes:
        yield f"        this->{names.of(s)} = {names.of(s)};"
    for t in (*p.reads, *p.writes):
        kind = storage(t.dtype)
        yield (
            f"        {names.tensor(t.name)}.SetGlobalBuffer(reinterpret_cast<__gm__ {kind} *>({names.of(t.name)}), "
            f"{names.text(product(t.shape))});"
        )
    queues: dict[str, int] = {}
    for b in p.buffers:
        if b.role == "calc":
            yield f"        pipe.InitBuffer({names.of(b.name + '_buffer')}, {max(32, b.bytes)});"
        else:
            queues[b.queue or b.name] = max(queues.get(b.queue or b.name, 0), b.bytes)
    slots = {b.queue or b.name: b.slots for b in p.buffers if b.role != "calc"}
    for queue, size in queues.items():
        yield f"        pipe.InitBuffer({queue_name(queue, names)}, {slots[queue]}, {size});"
    yield "    }"


def _process(p: DmaProgram, names: Names, body: list[str]) -> Iterator[str]:
    """The persistent loop over cells."""
    yield "    __aicore__ inline void Process() {"
    for b in p.buffers:
        if b.role == "calc":
            kind = storage(b.dtype)
            yield f"        LocalTensor<{kind}> {names.of(b.name)} = {names.of(b.name + '_buffer')}.Get<{kind}>();"
    yield f"        const int64_t cells = {cell_count(p, names)};"
    yield "        for (int64_t cell = GetBlockIdx(); cell < cells; cell += GetBlockNum()) {"
    yield from cell_lines(p, names, " " * 12)
    yield from body
    yield "        }"
    yield "    }"


def _members(p: DmaProgram, names: Names) -> Iterator[str]:
    yield "    TPipe pipe;"
    seen: set[str] = set()
    for b in p.buffers:
        queue = b.queue or b.name
        if b.role == "calc":
            yield f"    TBuf<TPosition::VECCALC> {names.of(b.name + '_buffer')};"
        elif queue not in seen:
            seen.add(queue)
            yield f"    TQue<TPosition::{'VECIN' if b.role == 'in' else 'VECOUT'}, 1> {queue_name(queue, names)};"
    for t in (*p.reads, *p.writes):
        yield f"    GlobalTensor<{storage(t.dtype)}> {names.tensor(t.name)};"
    if p.sizes:
        yield f"    int64_t {', '.join(names.of(s) for s in p.sizes)};"


def _entry(p: DmaProgram, operator: Operator) -> Iterator[str]:
    """The function that a launch calls."""
    names = Names(p)
    parameters = [*_parameters(p), "GM_ADDR workspace", "GM_ADDR tiling"]
    yield f'extern "C" __global__ __aicore__ void {operator.entry}({", ".join(parameters)}) {{'
    yield "    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);"
    yield f"    GET_TILING_DATA_WITH_STRUCT({operator.tiling}, sizes, tiling);"
    yield "    (void)workspace;"
    yield f"    {operator.core_class} kernel;"
    arguments = [
        *(names.of(t.name) for t in (*p.reads, *p.writes)),
        *(f"sizes.{names.of(s)}" for s in p.sizes),
    ]
    yield f"    kernel.Init({', '.join(arguments)});"
    yield "    kernel.Process();"
    yield "}"
