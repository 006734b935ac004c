"""Renders tile modules as BANG C: an entry for each program, and the host function that launches them in order."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.bangc import library
from kernelcat_core.backends.bangc.host import Entries, driver_text, host_lines
from kernelcat_core.backends.bangc.instructions import table
from kernelcat_core.backends.bangc.limits import ARCHITECTURES, Architecture
from kernelcat_core.backends.bangc.spell import DIALECT, Names, storage
from kernelcat_core.backends.bangc.statements import Statements
from kernelcat_core.codegen.cstyle import support_text
from kernelcat_core.codegen.dma import lower
from kernelcat_core.codegen.dma_ast import Buffer, DmaProgram, other_slot
from kernelcat_core.codegen.dma_text import cell_count, cell_lines
from kernelcat_core.codegen.source import Source
from kernelcat_core.ir.tile import TileModule
from kernelcat_core.target import Target


def render(module: TileModule, target: Target) -> Source:
    """The BANG C text of a module: device code, then the host function `kc_launch_<module>` that queues its kernels.

    `files` hold the functional model's driver, whose `entry` calls that host function. Raises KC-R001 and KC-S002 (see
    codegen.dma.lower).
    """
    arch = ARCHITECTURES[target.arch]
    programs = lower(module, table(arch.number), arch.memory)
    entries = Entries(module)
    bodies = [_program(p, entries.kernel(p.name), arch) for p in programs]
    own = {name: None for _, statements in bodies for name in statements.functions}
    if any(statements.names.wide for _, statements in bodies):
        own["Load64"] = None
    used = {name: None for _, statements in bodies for name in statements.names.speller.used}
    used |= {name: None for f in own for name in library.CALLS.get(f, ())}
    texts = library.functions(arch.number)
    support = support_text(used, DIALECT)
    text = "\n".join(
        [
            f"// {module.name} for {target.name} ({arch.name}), by KernelCAT.",
            "#include <bang.h>",
            "#include <stdint.h>",
            "",
            *([support, ""] if support else []),
            *(line for name in own for line in (texts[name], "")),
            *(line for lines, _ in bodies for line in (*lines, "")),
            *host_lines(module, programs, entries),
        ]
    )
    return Source(
        text,
        entries.entry,
        target.language,
        target.name,
        tuple((p.name, _launch(p, arch)) for p in programs),
        ((f"{module.name}_driver.cpp", driver_text(module, entries)),),
    )


def _launch(p: DmaProgram, arch: Architecture) -> str:
    grid = ", ".join(a.name for a in p.grid)
    memory = f"{p.near_bytes} of {arch.memory.near_bytes} B of NRAM"
    return f"Union1 tasks, min(cells, cores) in whole clusters, each walks cells ({grid or '1'}); {memory}"


def _program(p: DmaProgram, entry: str, arch: Architecture) -> tuple[list[str], Statements]:
    """The kernel of one program."""
    names = Names(p)
    statements = Statements(p, names, table(arch.number))
    body = list(statements.lines(p.body, " " * 8))
    around = [list(statements.lines(part, " " * 4)) for part in (p.state, p.last)]
    first = [f"        {line}" for line in statements.next_cell(p.first)] if p.first else []
    parameters = [
        *(f"const {storage(t.dtype)} *{names.tensor(t.name)}" for t in p.reads),
        *(f"{storage(t.dtype)} *{names.tensor(t.name)}" for t in p.writes),
        *(f"int64_t {names.of(s)}" for s in p.sizes),
    ]
    return [
        f"/// {p.kernel_class}: {_launch(p, arch)}",
        f"__mlu_global__ void {entry}({', '.join(parameters)}) {{",
        *_arrays(p.buffers, names),
        *([f"    __wram__ uint8_t filter[{statements.filter}];"] if statements.filter else []),
        "    if (__is_mpu()) return;",
        f"    const int64_t cells = {cell_count(p, names)};",
        *around[0],
        *(["    {", "        const int64_t next = taskId;", *first, "    }"] if first else []),
        "    for (int64_t cell = taskId; cell < cells; cell += taskDim) {",
        *cell_lines(p, names, " " * 8),
        *body,
        "    }",
        *around[1],
        "}",
    ], statements


def _arrays(buffers: tuple[Buffer, ...], names: Names) -> Iterator[str]:
    """NRAM; a buffer of two slots is two pointers, which take turns."""
    for b in buffers:
        kind, name, count = storage(b.dtype), names.of(b.name), max(1, b.elements)
        if b.slots == 1:
            yield f"    __nram__ {kind} {name}[{count}];"
            continue
        slots = names.of(f"{b.name}__slots")
        yield f"    __nram__ {kind} {slots}[{2 * count}];"
        yield f"    {kind} *{name} = {slots}, *{names.of(other_slot(b.name))} = {slots} + {count};"
