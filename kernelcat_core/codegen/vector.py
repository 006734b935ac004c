"""Lowering of tile programs for the vector model: C functions over ranges of grid cells, and the host entry.

A cell belongs to one thread. Statements over equal lanes run in one loop over vector registers (vplan, vloop); Mma works
on packed panels (vmma). The text needs a prelude with KC_BYTES, kc_launch and kc_workspace (backends/c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelcat_core.codegen.cstyle import C
from kernelcat_core.codegen.vcontext import Context, Names, array, scalar_statement, vector_class
from kernelcat_core.codegen.vhelpers import vector_definitions
from kernelcat_core.codegen.vloop import combined, emit_group, fold_lanes, indent, partials
from kernelcat_core.codegen.vlying import ROWS, Lying, lying_kernel
from kernelcat_core.codegen.vmma import Direct, micro_kernel, panels, without_direct
from kernelcat_core.codegen.vplan import (
    Branch,
    Fold,
    Fresh,
    Group,
    Item,
    Loop,
    Narrow,
    Plan,
    Start,
    plan,
    products_of,
    tiles_written,
)
from kernelcat_core.codegen.vturned import turned
from kernelcat_core.codegen.vtypes import STORAGE, VectorClass
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Const, Expr, Size, index, op, product, sizes
from kernelcat_core.ir.graph import Tensor
from kernelcat_core.ir.tile import Copy, Let, Map, Mma, Store, TileModule, TileProgram, statements
from kernelcat_core.schedule.panels import MR, columns

STREAM_BYTES = 12 << 20  # larger outputs would only pass through the caches on their way to memory


@dataclass(frozen=True)
class VectorText:
    """`definitions` (types and helper functions), then one function a program, then the entry; `launch` in words."""

    definitions: str
    functions: tuple[str, ...]
    entry: str
    launch: tuple[tuple[str, str], ...]


def lower(module: TileModule, entry: str) -> VectorText:
    """The C text of a module; `entry` names its host function."""
    return lower_all(((module, entry),))


def lower_all(modules: Sequence[tuple[TileModule, str]]) -> VectorText:
    """One C text for several modules, each with its entry; names of programs differ between modules."""
    texts: list[str] = []
    hosts: list[str] = []
    products: set[tuple[DType, str]] = set()
    launch: list[tuple[str, str]] = []
    for module, entry in modules:
        order = [t.name for t in (*module.inputs, *module.outputs, *module.temporaries)]
        programs = [_ProgramText(p, module, order) for p in module.programs]
        texts += [p.text() for p in programs]
        products |= {d for p in programs for d in p.products}
        launch += [(p.name, _launch_words(p)) for p in module.programs]
        hosts.append(_entry(module, entry))
    kernels = [lying_kernel(d, form) if form else micro_kernel(d) for d, form in sorted(products, key=str)]
    functions = (*((ROWS,) if kernels else ()), *kernels, *texts)
    return VectorText(vector_definitions((*functions, *hosts)), functions, "\n\n".join(hosts), tuple(launch))


def _launch_words(p: TileProgram) -> str:
    from kernelcat_core.ir.printer import print_expr

    cells = " x ".join(print_expr(a.size) for a in p.grid) or "1"
    return f"{cells} cells over the threads of the pool"


def _count(shape: tuple[Expr, ...]) -> Expr:
    return product(shape)


class _ProgramText:
    def __init__(self, program: TileProgram, module: TileModule, order: list[str]) -> None:
        layouts = panels(program)
        program, self.direct = without_direct(program, layouts)
        self.program, self.module, self.order = program, module, order
        found = plan(program)
        streamed = {t.name: "" for t in program.writes}
        self.ctx = Context(program, found, Names(), streamed, layouts)
        for t in (*program.reads, *program.writes):
            self.ctx.names.get("tensor", t.name)
        for s in module.sizes:
            self.ctx.names.get("size", s)
        for t in program.writes:
            streamed[t.name] = self.ctx.names.get("count", f"stream_{t.name}")
        self.classes = self._narrow_classes(found.items)
        self.products: set[tuple[DType, str]] = set()  # micro-kernels used: of which type, and the form of a Lying `a`

    def _narrow_classes(self, items: tuple[Item, ...]) -> dict[str, VectorClass]:
        """The vector class in which each narrow accumulator's loop runs."""
        found: dict[str, VectorClass] = {}
        for item in items:
            if isinstance(item, Loop | Branch):
                found.update(self._narrow_classes(item.body))
            elif isinstance(item, Group):
                vc = vector_class(self.ctx, item.body, item.lanes[-1].name)
                for s in statements(item.body):
                    found.update({t: vc for t in tiles_written(s) if t in self.ctx.plan.narrow})
        return found

    def text(self) -> str:
        p, ctx = self.program, self.ctx
        body = self._cell()
        used = "\n".join(body)
        head = [f"static void {self._name()}(void *const *tensors, const int64_t *sizes, int64_t begin, int64_t end) {{"]
        lines: list[str] = []
        for t in p.reads:
            lines.append(f"const {STORAGE[t.dtype.name]} *restrict {ctx.names.get('tensor', t.name)} = "
                         f"tensors[{self.order.index(t.name)}];")
        for t in p.writes:
            lines.append(f"{STORAGE[t.dtype.name]} *restrict {ctx.names.get('tensor', t.name)} = "
                         f"tensors[{self.order.index(t.name)}];")
        for k, s in enumerate(self.module.sizes):
            lines.append(f"const int64_t {ctx.names.get('size', s)} = sizes[{k}];")
        for t in p.writes:
            name = ctx.names.get("count", f"stream_{t.name}")
            if name in used and t.name in {x.name for x in self.module.outputs}:
                lines.append(f"const bool {name} = {ctx.scalar.text(_count(t.shape), 13)} * {t.dtype.itemsize} > "
                             f"{STREAM_BYTES};")
            elif name in used:
                lines.append(f"const bool {name} = false; /* read again soon */")
        lines += [f"(void){ctx.names.get('size', s)};" for s in self.module.sizes
                  if ctx.names.get("size", s) not in used and ctx.names.get("size", s) not in "\n".join(lines[1:])]
        lines += self._grid(body)
        return "\n".join([*head, *indent(lines), "}"])

    def _name(self) -> str:
        return f"program_{self.program.name}"

    def _grid(self, body: list[str]) -> list[str]:
        """The loop over cells; the last grid axis is the fastest."""
        ctx = self.ctx
        grid = self.program.grid
        before: list[str] = []
        inside: list[str] = []
        rest = "cell"
        for number, axis in reversed(list(enumerate(grid))):
            name = ctx.names.get("var", axis.name)
            if number == 0:
                inside.append(f"const int64_t {name} = {rest};")
                break
            count = ctx.names.get("count", f"cells_{axis.name}")
            before.append(f"const int64_t {count} = {ctx.scalar.text(axis.size)};")
            inside.append(f"const int64_t {name} = {rest} % {count};")
            if number > 1:
                over = ctx.names.get("count", f"outer_{axis.name}")
                inside.append(f"const int64_t {over} = {rest} / {count};")
                rest = over
            else:
                rest = f"{rest} / {count}"
        return [*before, "for (int64_t cell = begin; cell < end; cell++) {", *indent([*inside, *body]), "}"]

    def _cell(self) -> list[str]:
        ctx = self.ctx
        lines = [f"{C.type(t.dtype)} {ctx.names.get('tile', t.name)};" for t in self.program.tiles if not t.shape]
        products = {s.c for s in statements(self.program.body) if isinstance(s, Mma)}
        lines += [array(ctx.tile(t), ctx) for t in ctx.plan.memory if t not in products and t not in self.direct]
        for t in sorted(products):
            m, _ = self.ctx.tile(t).shape
            size = -(-m // MR) * MR * self._pitch(t)
            name = ctx.names.get("tile", t)
            lines += [f"{STORAGE[ctx.tile(t).dtype.name]} {name}[{size}] __attribute__((aligned(64)));",
                      f"bool {self._fresh(t)} = false;"]
        return lines + self._items(ctx.plan.items)

    def _items(self, items: tuple[Item, ...]) -> list[str]:
        lines: list[str] = []
        for item in items:
            match item:
                case Group():
                    lines += turned(self.ctx, item) or emit_group(self.ctx, item)
                case Fresh():
                    lines.append(f"{self._fresh(item.tile)} = true;")
                case Loop():
                    v = self.ctx.names.get("var", item.var)
                    lines += [f"for (int64_t {v} = 0; {v} < {self.ctx.scalar.text(item.extent, 11)}; {v}++) {{",
                              *indent(self._items(item.body)), "}"]
                    lines += self._settle(item)
                case Branch():
                    lines += [f"if ({self.ctx.scalar.text(item.condition)}) {{", *indent(self._items(item.body)), "}"]
                case Start():
                    lines += self._start(item.narrow)
                case Fold():
                    lines += self._fold(item)
                case Mma():
                    lines += self._mma(item)
                case Let() | Copy() | Map() | Store():
                    lines += scalar_statement(self.ctx, item)
        return lines

    def _fresh(self, tile: str) -> str:
        return self.ctx.names.get("count", f"fresh_{tile}")

    def _pitch(self, tile: str) -> int:
        """Elements between rows of an accumulator: whole panels of columns."""
        return self.ctx.pitch(self.ctx.tile(tile))

    def _settle(self, loop: Loop) -> list[str]:
        """After a loop that may have run no Mma, an accumulator that was only declared zero becomes zero."""
        found = dict.fromkeys(x.c for x in products_of(loop.body))
        lines = []
        for t in found:
            name = self.ctx.names.get("tile", t)
            lines.append(f"if ({self._fresh(t)}) memset({name}, 0, sizeof {name});")
        return lines

    def _mma(self, s: Mma) -> list[str]:
        """The micro-kernel over all panels of the block, columns outside: a panel of b stays in the nearest cache."""
        ctx = self.ctx
        dtype = ctx.tile(s.c).dtype
        a = self.direct.get(s.a)
        nr = columns(dtype)
        between = nr if s.b in ctx.panels else self._pitch(s.b)
        form = a.form if isinstance(a, Lying) else "" if s.b in ctx.panels else "columns"
        self.products.add((dtype, form))
        c, pitch = ctx.names.get("tile", s.c), self._pitch(s.c)
        m, n, k = (ctx.scalar.text(lane.extent, 11) for lane in (s.m, s.n, s.k))
        (left, step), (right, next_) = self._operand(s.a), self._operand(s.b)
        target = f"{c} + row * {MR * pitch} + column * {nr}, {pitch}, {self._fresh(s.c)}"
        right = f"{right} + column * {next_}"
        if isinstance(a, Lying):
            along = step if form == "rows" else "1"
            call = f"_{form}_{dtype}({k}, {left} + row * {MR} * {along}, {step}, {right}, {between}, {target});"
            calls = [f"    if ({m} - row * {MR} >= {MR})", f"      kc_mma{call}", "    else",
                     f"      kc_tail{call}".replace("(", f"({m} - row * {MR}, ", 1), "  }"]
        elif form:  # a packed panel, and rows of b as another product left them
            calls = [f"    kc_mma_{form}_{dtype}({k}, {left} + row * {step}, {MR}, {right}, {between}, {target});", "  }"]
        else:
            calls = [f"    kc_mma_{dtype}({k}, {left} + row * {step}, {right}, {target});", "  }"]
        return [f"for (int64_t column = 0; column * {nr} < {n}; column++)",
                f"  for (int64_t row = 0; row * {MR} < {m}; row++) {{", *calls,
                f"if ({k} > 0) {self._fresh(s.c)} = false;"]

    def _operand(self, tile: str) -> tuple[str, str]:
        """The C pointer to an operand, and the elements between its panels (between its rows or k values if it is Lying)."""
        ctx, d = self.ctx, self.direct.get(tile)
        if isinstance(d, Direct | Lying):
            return f"{ctx.names.get('tensor', d.tensor)} + {ctx.scalar.text(d.first, 12)}", ctx.scalar.text(d.step, 14)
        name = ctx.names.get("tile", tile)
        if tile not in ctx.panels:
            return name, str(columns(ctx.tile(tile).dtype))
        panel = ctx.panels[tile]
        return name, str(panel.rows * panel.depth)

    def _start(self, narrow: Narrow) -> list[str]:
        vc = self.classes[narrow.tiles[0]]
        lines: list[str] = []
        for t, identity in zip(narrow.tiles, narrow.monoid.identity, strict=True):
            dtype = self.ctx.tile(t).dtype
            literal = self.ctx.scalar.text(Const(identity.value, dtype))
            value = f"{vc.prefix}_mask({literal})" if dtype.kind == "b" else f"{vc.prefix}_set_{dtype}({literal})"
            name = self.ctx.names.get("tile", t)
            lines += [f"{vc.type(dtype)} {name}_{u} = {value};" for u in range(partials(narrow))]
        return lines

    def _fold(self, item: Fold) -> list[str]:
        narrow = item.narrow
        vc = self.classes[narrow.tiles[0]]
        dtypes = [self.ctx.tile(t).dtype for t in narrow.tiles]
        names = [self.ctx.names.get("tile", t) for t in narrow.tiles]
        lines: list[str] = []
        step = partials(narrow)
        while step > 1:
            for u in range(step // 2):
                a, b = ([f"{n}_{x}" for n in names] for x in (u, u + (step + 1) // 2))
                lines += combined(vc, narrow.monoid, a, b, dtypes, self.ctx)
            step = (step + 1) // 2
        targets = [self.ctx.names.get("tile", t) for t in item.into]
        return lines + fold_lanes(vc, narrow.monoid, [f"{n}_0" for n in names], dtypes, targets, self.ctx)


def _entry(module: TileModule, entry: str) -> str:
    """Allocates temporaries (kept between calls) and launches the programs in order."""
    names = Names(taken={"tensors", "sizes", "all"})
    given = [*module.inputs, *module.outputs]

    def leaf(e: object) -> str:
        assert isinstance(e, Size)
        return names.get("size", e.name)

    from kernelcat_core.codegen.cstyle import Speller

    spell = Speller(C, leaf).text
    used = dict.fromkeys(s for p in module.programs for a in p.grid for s in sizes(a.size))
    used.update(dict.fromkeys(s for t in module.temporaries for d in t.shape for s in sizes(d)))
    lines = [f"const int64_t {names.get('size', s)} = sizes[{module.sizes.index(s)}];" for s in used]
    if not used:
        lines.append("(void)sizes;")
    count = len(given) + len(module.temporaries)
    lines.append(f"void *all[{max(1, count)}] = {{{', '.join(f'tensors[{k}]' for k in range(len(given))) or '0'}}};")
    if not given:
        lines.append("(void)tensors;")
    if module.temporaries:
        lines += [f"static void *kept[{len(module.temporaries)}];", f"static int64_t capacity[{len(module.temporaries)}];"]
    lines += ["int status = 0;", "pthread_mutex_lock(&kc_entry_lock);"]
    for k, t in enumerate(module.temporaries):
        lines.append(f"all[{len(given) + k}] = kc_workspace(&kept[{k}], &capacity[{k}], {_bytes(t, spell)});")
        lines.append(f"if (!all[{len(given) + k}]) status = 1;")
    lines.append("if (status) kc_message = \"out of memory for intermediate tensors\";" if module.temporaries else "")
    for p in module.programs:
        cells = spell(product([a.size for a in p.grid]))
        lines.append(f"if (!status) kc_launch(program_{p.name}, all, sizes, {cells}, {_grain(p)});")
    lines += ["pthread_mutex_unlock(&kc_entry_lock);", "return status;"]
    head = f"int {entry}(void **tensors, const int64_t *sizes) {{"
    return "\n".join([head, *indent([x for x in lines if x]), "}"])


def _bytes(t: Tensor, spell: object) -> str:
    """Bytes of a temporary, with room for one whole vector past its end."""
    assert callable(spell)
    count = op("add", op("mul", product(t.shape), index(t.dtype.itemsize)), index(64))
    return str(spell(count))


def _grain(p: TileProgram) -> int:
    """Cells that one thread takes at least, so that small launches stay on one thread."""
    elements = max((t.shape[-1] for t in p.tiles if t.shape), default=1)
    return max(1, 8192 // elements) if p.kernel_class == "elementwise" else 1


__all__ = ["Plan", "VectorText", "lower"]
