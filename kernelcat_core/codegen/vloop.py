"""The vector model's loops: one Group of a plan as C text over vectors, with a full and a tail form."""

from __future__ import annotations

from kernelcat_core.codegen.cstyle import C, Speller
from kernelcat_core.codegen.vaddress import convex, motion
from kernelcat_core.codegen.vcontext import Context, renewed, scalar_statement, vector_class
from kernelcat_core.codegen.vplan import Group, Narrow, tiles_written
from kernelcat_core.codegen.vspell import VectorSpeller
from kernelcat_core.codegen.vtypes import VectorClass
from kernelcat_core.dtypes import DType
from kernelcat_core.ir.expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    Load,
    Op,
    Size,
    Var,
    op,
    substitute,
    variables,
)
from kernelcat_core.ir.graph import Monoid
from kernelcat_core.ir.tile import Copy, For, If, Map, Reduce, Stmt, Store, Tile, statements

PARTIALS = 4  # vectors of partial states of a narrow accumulator: hides the latency of one combine


def emit_group(ctx: Context, group: Group) -> list[str]:
    """C statements of one group."""
    return _GroupText(ctx, group).text()


class _GroupText:
    def __init__(self, ctx: Context, group: Group) -> None:
        self.ctx = ctx
        self.group = group
        self.lane = group.lanes[-1]
        self.vc = vector_class(ctx, group.body, self.lane.name)
        self.c = ctx.names.get("var", self.lane.name)
        self.reduces = [s for s in group.body if isinstance(s, Reduce)]
        found = {t for s in statements(group.body) for t in tiles_written(s) if t in ctx.plan.narrow}
        self.partials = max((partials(ctx.plan.narrow[t]) for t in found), default=0)
        self.down = any(r.over != self.lane.name for r in self.reduces)  # over the outer lane: vectors of results
        if self.down:
            self.partials = max(1, min(PARTIALS, self.lane.capacity // 16))
        elif self.reduces and not found and len(group.lanes) == 1 and self.lane.capacity >= 16 * PARTIALS:
            self.partials = PARTIALS  # as above: one chain of combines would wait for its own latency

    def text(self) -> list[str]:
        if self.down:
            return self._columns()
        extent = self.ctx.scalar.text(self.lane.extent)
        inner: list[str] = []
        for number, r in enumerate(self.reduces):
            inner += [f"{self.vc.type(e.dtype)} {fold_name(number, k, part)} = {self._splat(i, e.dtype)};"
                      for k, (e, i) in enumerate(zip(r.elements, r.monoid.identity, strict=True))
                      for part in range(max(1, self.partials))]
        inner += self._wide(extent) if self.partials > 1 else self._plain(extent)
        for number, r in enumerate(self.reduces):
            inner += self._folded(number, r)
        if len(self.group.lanes) == 1:
            return ["{", *indent(inner), "}"] if self.reduces else inner
        outer = self.group.lanes[0]
        y = self.ctx.names.get("var", outer.name)
        return [f"for (int64_t {y} = 0; {y} < {self.ctx.scalar.text(outer.extent, 11)}; {y}++) {{", *indent(inner), "}"]

    def _splat(self, value: Const, dtype: DType) -> str:
        literal = self.ctx.scalar.text(Const(value.value, dtype))
        return f"{self.vc.prefix}_mask({literal})" if dtype.kind == "b" else f"{self.vc.prefix}_set_{dtype}({literal})"

    def _body(self, tail: bool, part: int) -> list[str]:
        return _Body(self, tail, part).block(self.group.body)

    def _plain(self, extent: str) -> list[str]:
        c, lanes = self.c, self.vc.lanes
        n = self.ctx.names.get("count", f"n{self.c}")
        return ["{", f"  const int64_t {n} = {extent};", f"  int64_t {c} = 0;",
                f"  for (; {c} + {lanes} <= {n}; {c} += {lanes}) {{", *indent(self._body(False, 0), 2), "  }",
                f"  if ({c} < {n}) {{", f"    const int64_t left = {n} - {c};", *indent(self._body(True, 0), 2), "  }", "}"]

    def _wide(self, extent: str) -> list[str]:
        """Several vectors a step, each with its own partial states."""
        c, lanes, parts = self.c, self.vc.lanes, self.partials
        n, at = self.ctx.names.get("count", f"n{self.c}"), self.ctx.names.get("count", f"at{self.c}")
        lines = ["{", f"  const int64_t {n} = {extent};", f"  int64_t {at} = 0;",
                 f"  for (; {at} + {parts} * {lanes} <= {n}; {at} += {parts} * {lanes}) {{"]
        for part in range(parts):
            lines += ["    {", f"      const int64_t {c} = {at} + {part} * {lanes};", *indent(self._body(False, part), 3),
                      "    }"]
        lines.append("  }")
        for part in range(parts):
            lines += [f"  if ({at} < {n}) {{", f"    const int64_t {c} = {at}, left = {n} - {c} < {lanes} ? {n} - {c} : {lanes};",
                      *indent(self._body(True, part), 2), f"    {at} += {lanes};", "  }"]
        return [*lines, "}"]

    def _columns(self) -> list[str]:
        """Reductions over the outer lane: it runs inside, under a few vectors of the inner lane, and folds stay in registers."""
        lanes, parts = self.vc.lanes, self.partials
        n, at = self.ctx.names.get("count", f"n{self.c}"), self.ctx.names.get("count", f"at{self.c}")
        lines = ["{", f"  const int64_t {n} = {self.ctx.scalar.text(self.lane.extent)};", f"  int64_t {at} = 0;"]
        if parts > 1:
            lines += [f"  for (; {at} + {parts} * {lanes} <= {n}; {at} += {parts} * {lanes}) {{",
                      *indent(self._column(parts, False), 2), "  }"]
        lines += [f"  for (; {at} + {lanes} <= {n}; {at} += {lanes}) {{", *indent(self._column(1, False), 2), "  }",
                  f"  if ({at} < {n}) {{", f"    const int64_t left = {n} - {at};", *indent(self._column(1, True), 2), "  }", "}"]
        return lines

    def _column(self, parts: int, tail: bool) -> list[str]:
        """All rows for `parts` vectors of the inner lane, and the vectors of results that they give."""
        outer, at = self.group.lanes[0], self.ctx.names.get("count", f"at{self.c}")
        y = self.ctx.names.get("var", outer.name)
        folds = [(r, number, k, part) for number, r in enumerate(self.reduces) for part in range(parts)
                 for k in range(len(r.elements))]
        lines = []
        for r, number, k, part in folds:
            dtype = r.elements[k].dtype
            lines.append(f"{self.vc.type(dtype)} {fold_name(number, k, part)} = {self._splat(r.monoid.identity[k], dtype)};")
        lines.append(f"for (int64_t {y} = 0; {y} < {self.ctx.scalar.text(outer.extent, 11)}; {y}++) {{")
        for part in range(parts):
            lines += ["  {", f"    const int64_t {self.c} = {at} + {part} * {self.vc.lanes};",
                      *indent(self._body(tail, part), 2), "  }"]
        lines.append("}")
        for r, number, k, part in folds:
            dtype = r.elements[k].dtype
            target = f"{self.ctx.names.get('tile', r.tiles[k])} + {at} + {part} * {self.vc.lanes}"
            lines.append(f"{self.vc.prefix}_store_{dtype}({target}, {fold_name(number, k, part)});")
        return lines

    def _folded(self, number: int, r: Reduce) -> list[str]:
        dtypes = [e.dtype for e in r.elements]
        parts = [[fold_name(number, k, part) for k in range(len(dtypes))] for part in range(max(1, self.partials))]
        lines: list[str] = []
        while len(parts) > 1:
            half = (len(parts) + 1) // 2
            for a, b in zip(parts, parts[half:], strict=False):
                lines += combined(self.vc, r.monoid, a, b, dtypes, self.ctx)
            parts = parts[:half]
        targets = [self.target(t, r) for t in r.tiles]
        return lines + fold_lanes(self.vc, r.monoid, parts[0], dtypes, targets, self.ctx)

    def target(self, name: str, r: Reduce) -> str:
        t = self.ctx.tile(name)
        text = self.ctx.names.get("tile", name)
        if not t.shape:
            return text
        kept = next(lane for lane in r.lanes if lane.name != r.over)
        return f"{text}[{self.ctx.names.get('var', kept.name)}]"


def fold_name(number: int, state: int, part: int) -> str:
    """The vector in which reduction `number` of a group gathers one state of one of its partial results."""
    return f"fold{number}_{state}_{part}"


def partials(narrow: Narrow) -> int:
    return max(1, min(PARTIALS, narrow.capacity // 16))


def indent(lines: list[str], levels: int = 1) -> list[str]:
    return ["  " * levels + x for x in lines]


def retyped(e: Expr, dtypes: dict[str, DType]) -> Expr:
    """A monoid's combine over states of other dtypes (16-bit floats widened to f32)."""
    if isinstance(e, Var):
        return Var(e.name, dtypes.get(e.name, e.dtype))
    if isinstance(e, Op):
        return op(e.name, *(retyped(a, dtypes) for a in e.args))
    return e


def combined(vc: VectorClass, monoid: Monoid, a: list[str], b: list[str], dtypes: list[DType], ctx: Context) -> list[str]:
    """C statements for the vectors `a` = combine(a, b)."""
    names = {f"{x}{k}": v for x, vs in (("a", a), ("b", b)) for k, v in enumerate(vs)}
    types = {f"{x}{k}": d for x in "ab" for k, d in enumerate(dtypes)}

    def read(n: Load) -> str:
        return names[n.tensor]

    speller = VectorSpeller(vc, "lane", "0", read, ctx.scalar)
    lane = Var("lane")
    values = [substitute(retyped(c, types), {n: Load(n, (lane,), d) for n, d in types.items()}) for c in monoid.combine]
    if len(values) == 1:
        return [f"{a[0]} = {speller.vector(values[0])};"]
    lines = [f"const {vc.type(d)} step{k} = {speller.vector(v)};" for k, (v, d) in enumerate(zip(values, dtypes, strict=True))]
    return ["{", *indent(lines), *indent([f"{x} = step{k};" for k, x in enumerate(a)]), "}"]


def fold_lanes(vc: VectorClass, monoid: Monoid, vectors: list[str], dtypes: list[DType], targets: list[str],
               ctx: Context) -> list[str]:
    """Fold vectors of states over their lanes, in log2 steps, into scalars."""
    other = [f"other{k}" for k in range(len(vectors))]
    lines = [f"for (int s = {vc.lanes} / 2; s > 0; s /= 2) {{"]
    for v, o, d in zip(vectors, other, dtypes, strict=True):
        lines.append(f"  const {vc.type(d)} {o} = {vc.prefix}_swap_{d}({v}, s);")
    lines += [*indent(combined(vc, monoid, vectors, other, dtypes, ctx)), "}"]
    for t, v, d in zip(targets, vectors, dtypes, strict=True):
        lines.append(f"{t} = {v}[0]{' != 0' if d.kind == 'b' else ''};")
    return lines


class _Body:
    """One pass over a group's statements for the lanes at `c`: all of them, or the first `left` (tail)."""

    def __init__(self, group: _GroupText, tail: bool, part: int) -> None:
        self.g, self.ctx, self.vc = group, group.ctx, group.vc
        self.tail, self.part = tail, part
        self.lane = group.lane.name
        self.c = group.c
        self.speller = VectorSpeller(self.vc, self.lane, self.c, self.read, self.ctx.scalar)
        self.count = 0

    def block(self, body: tuple[Stmt, ...]) -> list[str]:
        """The statements of the group's top level, preceded by the tiles that several statements set."""
        often: dict[str, int] = {}
        for depth, s in _depths(body):
            for t in tiles_written(s):
                often[t] = often.get(t, 0) + (1 if depth == 0 else 2)
        self.declared = {t for t, n in often.items() if n > 1 and t in self.ctx.plan.local}
        lines = [f"{self.vc.type(self.ctx.tile(t).dtype)} {self.name(t)} = {{0}};" for t in sorted(self.declared)]
        return lines + self.statements(body)

    def statements(self, body: tuple[Stmt, ...]) -> list[str]:
        return [line for s in body for line in self.statement(s)]

    def statement(self, s: Stmt) -> list[str]:
        match s:
            case For():
                v = self.ctx.names.get("var", s.var)
                head = f"for (int64_t {v} = 0; {v} < {self.ctx.scalar.text(s.extent, 11)}; {v}++) {{"
                return [head, *indent(self.statements(s.body)), "}"]
            case If():
                return [f"if ({self.ctx.scalar.text(s.condition)}) {{", *indent(self.statements(s.body)), "}"]
            case Copy() if s.lanes:
                return self.copy(s)
            case Map() if s.lanes:
                return self.map(s)
            case Store() if s.lanes:
                return self.store(s)
            case Reduce():
                return self.reduce(s)
        return scalar_statement(self.ctx, s)

    def name(self, tile: str) -> str:
        text = self.ctx.names.get("tile", tile)
        return f"{text}_{self.part}" if tile in self.ctx.plan.narrow else text

    def place(self, t: Tile, position: str = "", index: tuple[Expr, ...] = ()) -> str:
        """The C expression of a memory tile's element index at the lane."""
        c = position or self.c
        if len(t.shape) == 1:
            return c if not index or index == (Var(self.lane),) else self.ctx.names.get("var", self.g.group.lanes[0].name)
        return f"{self.ctx.names.get('var', self.g.group.lanes[0].name)} * {self.ctx.pitch(t)} + {c}"

    def read(self, e: Load) -> str:
        if e.tensor in self.ctx.plan.local or e.tensor in self.ctx.plan.narrow:
            return self.name(e.tensor)
        t = self.ctx.tile(e.tensor)
        return f"{self.vc.prefix}_load_{t.dtype}({self.name(e.tensor)} + {self.place(t)})"

    def write(self, tile: str, value: str) -> list[str]:
        t = self.ctx.tile(tile)
        if tile in self.ctx.plan.narrow:
            if self.tail:
                value = f"{self.vc.prefix}_select_{t.dtype}({self.vc.prefix}_first(left), {value}, {self.name(tile)})"
            return [f"{self.name(tile)} = {value};"]
        if tile in self.ctx.plan.local:
            head = "" if tile in self.declared else f"const {self.vc.type(t.dtype)} "
            return [f"{head}{self.name(tile)} = {value};"]
        if tile in self.ctx.panels:
            return self.write_panel(tile, value)
        target = f"{self.name(tile)} + {self.place(t)}"
        if self.tail:
            return [f"{self.vc.prefix}_storen_{t.dtype}({target}, {value}, left);"]
        return [f"{self.vc.prefix}_store_{t.dtype}({target}, {value});"]

    def write_panel(self, tile: str, value: str) -> list[str]:
        """An operand of Mma goes into its panels; lanes past the extent may be written, for panels are padded."""
        panel, t = self.ctx.panels[tile], self.ctx.tile(tile)
        value = self.speller.converted(value, t.dtype, panel.dtype)
        outer = self.ctx.names.get("var", self.g.group.lanes[0].name)
        if panel.k_first:
            return [f"{self.vc.prefix}_store_{panel.dtype}({self.name(tile)} + {panel.place(outer, self.c)}, {value});"]
        self.count += 1
        return [f"const {self.vc.type(panel.dtype)} row{self.count} = {value};",
                f"for (int l = 0; l < {self.limit}; l++) {self.name(tile)}[{panel.place(outer, f'({self.c} + l)')}] = "
                f"row{self.count}[l];"]

    def map(self, s: Map) -> list[str]:
        values = [self.speller.vector(v) for v in s.values]
        if len(s.tiles) == 1:
            return self.write(s.tiles[0], values[0])
        self.count += 1
        lines = [f"const {self.vc.type(v.dtype)} value{self.count}_{k} = {text};"
                 for k, (v, text) in enumerate(zip(s.values, values, strict=True))]
        for k, t in enumerate(s.tiles):
            lines += self.write(t, f"value{self.count}_{k}")
        return lines

    def reduce(self, s: Reduce) -> list[str]:
        number = self.g.reduces.index(s)
        self.count += 1
        vectors = [fold_name(number, k, self.part) for k in range(len(s.elements))]
        fresh = [f"value{self.count}_{k}" for k in range(len(s.elements))]
        dtypes = [e.dtype for e in s.elements]
        lines = []
        for f, e, i in zip(fresh, s.elements, s.monoid.identity, strict=True):
            text = self.speller.vector(e)
            if self.tail:
                identity = self.g._splat(i, e.dtype)
                text = f"{self.vc.prefix}_select_{e.dtype}({self.vc.prefix}_first(left), {text}, {identity})"
            lines.append(f"const {self.vc.type(e.dtype)} {f} = {text};")
        return lines + combined(self.vc, s.monoid, vectors, fresh, dtypes, self.ctx)

    # Addresses.

    def at(self, e: Expr, position: str) -> str:
        """An i64 or bool expression as a C scalar for one lane, whose variable has the text `position`."""
        def leaf(n: Load | Var | Size) -> str:
            if isinstance(n, Var) and n.name == self.lane:
                return position
            if isinstance(n, Load) and n.index:
                if n.tensor in self.ctx.plan.local or n.tensor in self.ctx.plan.narrow:
                    text = f"{self.name(n.tensor)}[l]"
                else:
                    text = f"{self.name(n.tensor)}[{self.place(self.ctx.tile(n.tensor), position, n.index)}]"
                return f"({text} != 0)" if n.dtype.kind == "b" else text
            return self.ctx.leaf(n)

        return Speller(C, leaf).text(e)

    @property
    def last(self) -> str:
        return f"({self.c} + left - 1)" if self.tail else f"({self.c} + {self.vc.lanes} - 1)"

    @property
    def limit(self) -> str:
        return "left" if self.tail else self.vc.lanes

    def load(self, dtype: DType, pointer: str) -> str:
        if self.tail:
            return f"{self.vc.prefix}_loadn_{dtype}({pointer}, left)"
        return f"{self.vc.prefix}_load_{dtype}({pointer})"

    def run_checks(self, offset: Expr, where: Expr | None) -> tuple[Expr, list[str]] | None:
        """The step of `offset` along the lanes, and the C conditions under which it and `where` hold for all of them."""
        moved = motion(offset, self.lane)
        inside = () if where is None else convex(where, self.lane)
        if moved is None or inside is None:
            return None
        quotients = dict.fromkeys((*moved.quotients, *inside))
        checks = [f"{self.at(q, self.c)} == {self.at(q, self.last)}" for q in quotients]
        if where is not None:
            uniform = self.lane not in variables(where)
            ends = (self.c,) if uniform else (self.c, self.last)
            checks += [f"({self.at(where, x)})" for x in ends]
        return moved.step, checks

    def copy(self, s: Copy) -> list[str]:
        t = self.ctx.tile(s.tile)
        dtype = t.dtype
        tensor = self.ctx.names.get("tensor", s.tensor)
        fill = s.fill if s.fill is not None else Const(0.0 if dtype.is_float else 0, dtype)
        checked = self.run_checks(s.offset, s.where)
        first = self.at(s.offset, self.c)
        uniform_where = s.where is None or self.lane not in variables(s.where)
        if checked is not None and uniform_where and checked[0] in (ZERO, ONE) and not _has_quotient(s.offset, self.lane):
            if checked[0] == ZERO:
                text = f"{tensor}[{first}]"
                if s.where is not None:
                    text = f"{self.at(s.where, self.c)} ? {text} : {self.at(fill, self.c)}"
                return self.write(s.tile, self.speller.splat(text, dtype))
            text = self.load(dtype, f"{tensor} + {first}")
            if s.where is not None:
                text = f"{self.at(s.where, self.c)} ? {text} : {self.speller.vector(fill)}"
            return self.write(s.tile, text)
        self.count += 1
        name = f"copied{self.count}"
        lines = [f"{self.vc.type(dtype)} {name} = {self.speller.vector(fill)};"]
        lines += self._gathered(s, name, tensor, dtype, checked, first)
        return lines + self.write(s.tile, name)

    def _gathered(self, s: Copy, name: str, tensor: str, dtype: DType, checked: tuple[Expr, list[str]] | None,
                  first: str) -> list[str]:
        true = "-1" if dtype.kind == "b" else ""
        position = f"({self.c} + l)"
        element = f"{tensor}[{self.at(s.offset, position)}]"
        element = f"{element} ? {true} : 0" if true else element
        guard = f"if ({self.at(s.where, position)}) " if s.where is not None else ""
        slow = f"for (int l = 0; l < {self.limit}; l++) {guard}{name}[l] = {element};"
        if checked is None:
            return [slow]
        step, checks = checked
        if step == ONE:
            fast = f"{name} = {self.load(dtype, f'{tensor} + {first}')};"
        elif step == ZERO:
            fast = f"{name} = {self.speller.splat(f'{tensor}[{first}]', dtype)};"
        else:
            strided = f"{tensor}[at + l * {self.ctx.scalar.text(step, 14)}]"
            strided = f"{strided} ? {true} : 0" if true else strided
            fast = f"const int64_t at = {first}; for (int l = 0; l < {self.limit}; l++) {name}[l] = {strided};"
        if not checks:
            return ["{", f"  {fast}", "}"]
        return [f"if ({' && '.join(checks)}) {{ {fast} }}", f"else {slow}"]

    def store(self, s: Store) -> list[str]:
        dtype = s.value.dtype
        tensor = self.ctx.names.get("tensor", s.tensor)
        self.count += 1
        name = f"value{self.count}"
        lines = [f"const {self.vc.type(dtype)} {name} = {self.speller.vector(s.value)};"]
        checked = self.run_checks(s.offset, s.where)
        position = f"({self.c} + l)"
        guard = f"if ({self.at(s.where, position)}) " if s.where is not None else ""
        element = f"{name}[l] != 0" if dtype.kind == "b" else f"{name}[l]"
        place = f"{tensor}[{self.at(s.offset, position)}]"
        if s.combine is not None:
            element = renewed(self.ctx, s.combine, place, f"({element})" if dtype.kind == "b" else element)
        slow = f"for (int l = 0; l < {self.limit}; l++) {guard}{place} = {element};"
        if checked is None or checked[0] != ONE:
            return [*lines, slow]
        fast = self._stored(tensor, s, dtype, name) if s.combine is None else self._renewed(tensor, s, dtype, name)
        if not checked[1]:
            return [*lines, fast]
        if s.where is not None and self.lane not in variables(s.where) and not _has_quotient(s.offset, self.lane):
            return [*lines, f"{guard}{fast}"]
        return [*lines, f"if ({' && '.join(checked[1])}) {fast}", f"else {slow}"]

    def _renewed(self, tensor: str, s: Store, dtype: DType, name: str) -> str:
        """The elements of a whole vector, read, combined and written back."""
        assert s.combine is not None
        pointer = f"{tensor} + {self.at(s.offset, self.c)}"
        texts = {"a0": self.load(dtype, pointer), "b0": name}
        speller = VectorSpeller(self.vc, "lane", "0", lambda n: texts[n.tensor], self.ctx.scalar)
        at = (Var("lane"),)
        value = speller.vector(substitute(s.combine, {n: Load(n, at, dtype) for n in texts}))
        if self.tail:
            return f"{self.vc.prefix}_storen_{dtype}({pointer}, {value}, left);"
        return f"{self.vc.prefix}_store_{dtype}({pointer}, {value});"

    def _stored(self, tensor: str, s: Store, dtype: DType, name: str) -> str:
        pointer = f"{tensor} + {self.at(s.offset, self.c)}"
        if self.tail:
            return f"{self.vc.prefix}_storen_{dtype}({pointer}, {name}, left);"
        plain = f"{self.vc.prefix}_store_{dtype}({pointer}, {name});"
        condition = self.ctx.streamed.get(s.tensor)
        if condition is None or dtype.kind == "b" or dtype.itemsize != self.vc.width:
            return plain
        aligned = f"!((uintptr_t)({pointer}) % KC_BYTES)"
        return f"{{ if ({condition} && {aligned}) {self.vc.prefix}_stream_{dtype}({pointer}, {name}); else {plain} }}"


def _has_quotient(offset: Expr, lane: str) -> bool:
    found = motion(offset, lane)
    return found is None or bool(found.quotients)


def _depths(body: tuple[Stmt, ...], depth: int = 0) -> list[tuple[int, Stmt]]:
    found: list[tuple[int, Stmt]] = []
    for s in body:
        found.append((depth, s))
        if isinstance(s, For | If):
            found += _depths(s.body, depth + 1)
    return found


