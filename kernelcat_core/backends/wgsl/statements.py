"""Spells the kernels of the SIMT lowering as WGSL entry points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernelcat_core.backends.wgsl.expressions import Speller
from kernelcat_core.backends.wgsl.memory import Buffer
from kernelcat_core.backends.wgsl.names import kind, name, register_bytes
from kernelcat_core.codegen.simt_ast import (
    Assign,
    Barrier,
    Branch,
    Define,
    Kernel,
    Loop,
    Node,
    Note,
    Registers,
    Repeat,
    Variable,
    used_names,
)
from kernelcat_core.dtypes import I64, DType
from kernelcat_core.ir.expr import Expr, Load, Var, loads, product, variables

_HEAD = """@compute @workgroup_size({threads})
fn {name}(@builtin(local_invocation_index) kc_thread: u32, @builtin(workgroup_id) kc_group: vec3<u32>,
    @builtin(num_workgroups) kc_groups: vec3<u32>) {{"""


def shared_bytes(kernel: Kernel) -> int:
    """Workgroup memory that a kernel takes, in the types that registers have; what conditions of barriers need included."""
    total = 16
    for s in kernel.shared:
        size = register_bytes(s.dtype)
        for n in s.shape:
            size *= n
        total += -(-size // 16) * 16
    return total


def entry_name(kernel: Kernel) -> str:
    return name(f"{kernel.name}_kernel")


class KernelText:
    """The text of one entry point and of the workgroup variables that it needs; `prefix` keeps those of programs apart."""

    def __init__(self, kernel: Kernel, buffers: Mapping[str, Buffer], prefix: str) -> None:
        self.kernel = kernel
        self.e = Speller(buffers)
        self.e.natural = {kernel.thread, *(a.name for a in kernel.grid)}
        self.e.wide = {s.name for s in kernel.shared if s.dtype == I64}
        self.e.renamed = {s.name: name(f"{prefix}{s.name}") for s in kernel.shared}
        self.uniform = {a.name for a in kernel.grid}
        self.agreed = f"kc_agreed_{prefix}"
        self.agrees = False

    def text(self) -> str:
        k = self.kernel
        body = [*self._place(), *self._nodes(k.body)]
        head = _HEAD.format(threads=k.threads, name=entry_name(k))
        shared = [f"var<workgroup> {self.e.name(s.name)}: {self._array(s.dtype, s.shape)};" for s in k.shared]
        if self.agrees:
            shared.append(f"var<workgroup> {self.agreed}: i32; // a condition as one invocation has it, for all")
        return "\n".join([*shared, *([""] if shared else []), head, *(f"  {line}" for line in body), "}"])

    @staticmethod
    def _array(dtype: DType, shape: tuple[int, ...]) -> str:
        text = kind(dtype)
        for n in reversed(shape):
            text = f"array<{text}, {n}>"
        return text

    def _place(self) -> Iterator[str]:
        """Which thread and which cell this is; the last axis of the grid is the fastest."""
        grid = self.kernel.grid
        yield f"let {name(self.kernel.thread)} = i32(kc_thread);"
        yield "var kc_cell = i32(kc_group.x + kc_group.y * kc_groups.x);"
        yield f"if (kc_cell >= {self.e.text(product([a.size for a in grid]), 14)}) {{ return; }}"
        for axis in reversed(grid[1:]):
            yield f"let {name(axis.name)} = kc_cell % {self.e.text(axis.size, 14)};"
            yield f"kc_cell = kc_cell / {self.e.text(axis.size, 14)};"
        if grid:
            yield f"let {name(grid[0].name)} = kc_cell;"

    def _nodes(self, nodes: Iterable[Node]) -> Iterator[str]:
        for n in nodes:
            yield from self._node(n)

    def _inner(self, nodes: Iterable[Node]) -> Iterator[str]:
        for line in self._nodes(nodes):
            yield "  " + line

    def _node(self, n: Node) -> Iterator[str]:
        match n:
            case Note():
                yield f"// {n.text}"
            case Define():
                yield self._define(n)
            case Variable():
                if n.dtype == I64:
                    self.e.wide.add(n.name)
                value = "" if n.value is None else f" = {self._value(n.value, n.dtype)}"
                yield f"var {name(n.name)}: {kind(n.dtype)}{value};"
            case Registers():
                yield f"var {name(n.name)}: {self._array(n.dtype, n.shape)};"
            case Assign():
                yield self._assign(n)
            case Repeat():
                yield from self._repeat(n)
            case Loop():
                yield from self._loop(n)
            case Branch():
                yield from self._branch(n)
            case Barrier():
                yield "workgroupBarrier();"
            case _:
                raise AssertionError(f"no spelling for {n}")

    def _define(self, n: Define) -> str:
        if n.dtype == I64 and not self.e.is_wide(n.value):
            if self.e.is_natural(n.value):
                self.e.natural.add(n.name)
            if self._is_uniform(n.value):
                self.uniform.add(n.name)
            return f"let {name(n.name)}: i32 = {self.e.text(n.value)};"
        if n.dtype == I64:
            self.e.wide.add(n.name)
        return f"let {name(n.name)}: {kind(n.dtype)} = {self.e.text(n.value)};"

    def _value(self, e: Expr, dtype: DType) -> str:
        """`e` as it is kept: 64-bit integers in two words, whatever they are."""
        return self.e.long(e) if dtype == I64 else self.e.text(e)

    def _assign(self, n: Assign) -> str:
        place = n.place
        assert isinstance(place, Load | Var)
        value = self._value(n.value, place.dtype)
        if isinstance(place, Load) and place.tensor in self.e.buffers:
            return self.e.buffers[place.tensor].store(self.e.index(place.index[0]), value)
        return f"{self.e.text(place)} = {value};"

    def _repeat(self, n: Repeat) -> Iterator[str]:
        self.e.natural.add(n.var)
        self.uniform.add(n.var)
        v = name(n.var)
        if n.count == 1:
            yield "{"
            if n.var in used_names(n.body):
                yield f"  let {v} = 0;"
        else:
            yield f"for (var {v} = 0; {v} < {n.count}; {v}++) {{"
        yield from self._inner(n.body)
        yield "}"

    def _loop(self, n: Loop) -> Iterator[str]:
        self.e.natural.add(n.var)
        extent = self.e.index(n.extent, 13)
        if _has_barrier(n.body) and not self._is_uniform(n.extent):
            yield from self._agree(extent)
            yield f"let kc_turns_{n.var} = workgroupUniformLoad(&{self.agreed});"
            extent = f"kc_turns_{n.var}"
        self.uniform.add(n.var)
        v = name(n.var)
        yield f"for (var {v} = 0; {v} < {extent}; {v}++) {{"
        yield from self._inner(n.body)
        yield "}"

    def _branch(self, n: Branch) -> Iterator[str]:
        condition = self.e.text(n.condition)
        if (_has_barrier(n.body) or _has_barrier(n.otherwise)) and not self._is_uniform(n.condition):
            yield from self._agree(f"select(0, 1, {condition})")
            condition = f"workgroupUniformLoad(&{self.agreed}) != 0"
        yield f"if ({condition}) {{"
        yield from self._inner(n.body)
        if n.otherwise:
            yield "} else {"
            yield from self._inner(n.otherwise)
        yield "}"

    def _agree(self, value: str) -> Iterator[str]:
        """All invocations have the same value, but WGSL wants to see that before a barrier depends on it."""
        self.agrees = True
        yield f"if ({name(self.kernel.thread)} == 0) {{ {self.agreed} = {value}; }}"

    def _is_uniform(self, e: Expr) -> bool:
        return not loads(e) and variables(e) <= self.uniform


def _has_barrier(nodes: Iterable[Node]) -> bool:
    return any(isinstance(n, Barrier) or _has_barrier(getattr(n, "body", ())) or _has_barrier(getattr(n, "otherwise", ()))
               for n in nodes)
