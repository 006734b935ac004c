"""What emission of one vector program knows, and the text of its parts that need no vector: uniform statements, tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelcat_core.codegen.cstyle import C, Speller, identifier
from kernelcat_core.codegen.vmma import Panel
from kernelcat_core.codegen.vplan import Plan, lanes_of, tiles_written
from kernelcat_core.codegen.vspell import is_small_index
from kernelcat_core.codegen.vtypes import STORAGE, VectorClass
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import Const, Expr, Load, Size, Var, children, variables, walk
from kernelcat_core.ir.tile import Copy, Let, Map, Reduce, Stmt, Store, Tile, TileProgram, statements


@dataclass
class Names:
    """C identifiers of tensors, sizes, variables and tiles of one program: their own names where these differ."""

    taken: set[str] = field(default_factory=lambda: {"kc", "tensors", "sizes", "begin", "end", "cell", "left", "l"})
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def get(self, kind: str, name: str) -> str:
        key = (kind, name)
        if key not in self.known:
            stem = identifier(name)
            if stem[:1] in "Lv" and stem[1:2].isdigit():
                stem = f"n_{stem}"  # L4 and v4f32 are the text's own: lanes and vector types
            text, count = stem, 1
            while text in self.taken:
                count += 1
                text = f"{stem}_{count}"
            self.taken.add(text)
            self.known[key] = text
        return self.known[key]


@dataclass
class Context:
    """What emission of one program knows. `streamed` maps a tensor to the C condition under which stores bypass caches."""

    program: TileProgram
    plan: Plan
    names: Names
    streamed: dict[str, str]
    panels: dict[str, Panel] = field(default_factory=dict)
    scalar: Speller = field(init=False)

    def __post_init__(self) -> None:
        self.scalar = Speller(C, self.leaf)

    def leaf(self, e: Load | Var | Size) -> str:
        if isinstance(e, Size):
            return self.names.get("size", e.name)
        if isinstance(e, Var):
            return self.names.get("var", e.name)
        text = self.names.get("tile", e.tensor)
        return f"{text}[{self.names.get('var', e.index[0].name)}]" if e.index and isinstance(e.index[0], Var) else text

    def tile(self, name: str) -> Tile:
        return self.program.tile[name]

    def stored(self, name: str) -> DType:
        """The dtype in which a tile lies in memory: operands of Mma have that of its result."""
        return self.panels[name].dtype if name in self.panels else self.tile(name).dtype

    def pitch(self, t: Tile) -> int:
        """Elements between rows of a rank-2 tile in memory, and of a rank-1 tile in all: whole vectors."""
        return -(-t.shape[-1] // 64) * 64

    def dtype_of(self, tensor: str) -> DType:
        return next(t.dtype for t in (*self.program.reads, *self.program.writes) if t.name == tensor)


def vector_class(ctx: Context, body: tuple[Stmt, ...], lane: str) -> VectorClass:
    """The class of a group's loop: its widest element that depends on the lane."""
    widest = 1

    def see(dtype: DType) -> None:
        nonlocal widest
        widest = max(widest, dtype.itemsize)

    def visit(e: Expr) -> None:
        if lane not in variables(e):
            return
        see(e.dtype)
        if is_small_index(e, lane):
            return
        for c in children(e) if not isinstance(e, Load) else ():
            visit(c)

    for s in statements(body):
        if isinstance(s, Copy | Map | Reduce) and lanes_of(s):
            for t in tiles_written(s):
                see(ctx.tile(t).dtype)
                see(ctx.stored(t))
        if isinstance(s, Copy) and s.lanes:
            for n in (n for e in (s.offset, s.where) if e is not None for n in walk(e)):
                if isinstance(n, Load) and n.index:
                    see(n.dtype)
        if isinstance(s, Map | Reduce):
            for v in s.values if isinstance(s, Map) else s.elements:
                see(v.dtype)
                visit(v)
        if isinstance(s, Store) and s.lanes:
            for e in (s.value, s.offset, s.where):
                for n in walk(e) if e is not None else ():
                    if isinstance(n, Load) and n.index:
                        see(n.dtype)
            see(s.value.dtype)
            visit(s.value)
    return VectorClass(widest)


def scalar_statement(ctx: Context, s: Stmt) -> list[str]:
    """A statement without lanes: it runs once a cell (or once a pass, inside a group's loop)."""
    text = ctx.scalar.text
    match s:
        case Let():
            return [f"const int64_t {ctx.names.get('var', s.name)} = {text(s.value)};"]
        case Copy():
            element = f"{ctx.names.get('tensor', s.tensor)}[{text(s.offset)}]"
            if s.where is not None:
                fill = s.fill if s.fill is not None else Const(0.0, ctx.tile(s.tile).dtype)
                element = f"{text(s.where, 4)} ? {element} : {text(fill, 4)}"
            return [f"{ctx.names.get('tile', s.tile)} = {element};"]
        case Map():
            names = [ctx.names.get("tile", t) for t in s.tiles]
            if len(names) == 1:
                return [f"{names[0]} = {text(s.values[0])};"]
            lines = [f"  const {C.type(v.dtype)} step{k} = {text(v)};" for k, v in enumerate(s.values)]
            return ["{", *lines, *(f"  {n} = step{k};" for k, n in enumerate(names)), "}"]
        case Store():
            guard = "" if s.where is None else f"if ({text(s.where)}) "
            place = f"{ctx.names.get('tensor', s.tensor)}[{text(s.offset)}]"
            value = text(s.value) if s.combine is None else renewed(ctx, s.combine, place, text(s.value, 15))
            return [f"{guard}{place} = {value};"]
    raise AssertionError(f"not a uniform statement: {s}")


def renewed(ctx: Context, combine: Expr, old: str, value: str) -> str:
    """The C text of a store's `combine` for one element."""
    def leaf(e: Load | Var | Size) -> str:
        if isinstance(e, Var) and e.name in ("a0", "b0"):
            text = old if e.name == "a0" else value
            return f"({text} != 0)" if e.dtype.kind == "b" and e.name == "a0" else text
        return ctx.leaf(e)

    return Speller(C, leaf).text(combine)


def array(t: Tile, ctx: Context) -> str:
    """The declaration of a tile in memory, padded to whole vectors."""
    if t.name in ctx.panels:
        panel = ctx.panels[t.name]
        width = t.shape[1 if panel.k_first else 0]
        count = -(-width // panel.rows) * panel.rows * panel.depth
    else:
        count = ctx.pitch(t) * (t.shape[0] if len(t.shape) == 2 else 1)
    return f"{STORAGE[ctx.stored(t.name).name]} {ctx.names.get('tile', t.name)}[{count}] __attribute__((aligned(64)));"

