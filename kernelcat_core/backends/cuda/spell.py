"""Spells the kernels of the SIMT lowering as CUDA C++."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernelcat_core.backends.cuda.dialect import CUDA
from kernelcat_core.codegen.cstyle import Dialect, Speller, identifier
from kernelcat_core.codegen.simt_ast import (
    Aligned,
    Assign,
    AsyncCommit,
    AsyncCopy,
    AsyncWait,
    Barrier,
    Branch,
    Define,
    FragmentLoad,
    FragmentMma,
    Kernel,
    Loop,
    Node,
    Note,
    Registers,
    Repeat,
    Shared,
    Swap,
    Variable,
    used_names,
)
from kernelcat_core.dtypes import F16, DType
from kernelcat_core.ir.expr import Const, Expr, Load, Op, Size, Var

STATIC_SHARED = 48 << 10  # more must be asked for at the launch
_CALL_LEVEL = 15


def name(text: str) -> str:
    return identifier(text, CUDA.reserved)


class IndexSpeller(Speller):
    """Plain / and % where the dividend cannot be negative and the divisor is a positive literal."""

    def __init__(self, dialect: Dialect = CUDA) -> None:
        super().__init__(dialect, self._leaf)
        self.natural: set[str] = set()

    def _leaf(self, e: Load | Var | Size) -> str:
        if isinstance(e, Load):
            return name(e.tensor) + "".join(f"[{self.text(i)}]" for i in e.index)
        return name(e.name)

    def _operation(self, e: Op) -> tuple[str, int]:
        if e.name in ("floordiv", "mod") and self.is_natural(e.args[0]) and _is_positive(e.args[1]):
            sign = "/" if e.name == "floordiv" else "%"
            return f"{self.text(e.args[0], 13)} {sign} {self.text(e.args[1], 14)}", 13
        if e.name == "add" and isinstance(e.args[1], Const) and -(1 << 31) < e.args[1].value < 0:
            return f"{self.text(e.args[0], 12)} - {-e.args[1].value}", 12
        return super()._operation(e)

    def is_natural(self, e: Expr) -> bool:
        """Whether the value is certainly >= 0."""
        if isinstance(e, Const):
            return e.value >= 0
        if isinstance(e, Size):
            return True
        if isinstance(e, Var):
            return e.name in self.natural
        return (
            isinstance(e, Op)
            and e.name in ("add", "mul", "floordiv", "mod", "min", "max")
            and all(self.is_natural(a) for a in e.args)
        )


def _is_positive(e: Expr) -> bool:
    return isinstance(e, Const) and e.value > 0


def storage(dtype: DType) -> str:
    return CUDA.type(dtype)


def kernel_name(kernel: Kernel) -> str:
    return name(f"{kernel.name}_kernel")


class KernelText:
    """The text of one kernel. `speller` is shared by a module, so that helper functions are defined once."""

    def __init__(self, kernel: Kernel, speller: IndexSpeller) -> None:
        self.kernel = kernel
        self.e = speller
        speller.natural = {kernel.thread, *(a.name for a in kernel.grid)}
        self.dynamic = kernel.shared_bytes > STATIC_SHARED

    def text(self) -> str:
        k = self.kernel
        body = list(self._body())
        arguments = parameters(k)
        head = [
            f'extern "C" __global__ void __launch_bounds__({k.threads})',
            f"{kernel_name(k)}({', '.join(arguments)}) {{",
        ]
        return "\n".join([*head, *(f"  {line}" for line in body), "}"])

    def _body(self) -> Iterator[str]:
        yield from self._shared()
        yield f"const int {name(self.kernel.thread)} = threadIdx.x;"
        yield from self._cell()
        yield from self.nodes(self.kernel.body)

    def _shared(self) -> Iterator[str]:
        if not self.dynamic:
            for s in self.kernel.shared:
                yield f"__shared__ __align__(16) {storage(s.dtype)} {name(s.name)}{_dimensions(s)};"
            return
        yield "extern __shared__ __align__(16) unsigned char kc_dynamic[];"
        offset = 0
        for s in self.kernel.shared:
            rest = "".join(f"[{n}]" for n in s.shape[1:])
            kind = f"{storage(s.dtype)} (*){rest}" if rest else f"{storage(s.dtype)} *"
            left = f"(*{name(s.name)}){rest}" if rest else f"*{name(s.name)}"
            yield f"{storage(s.dtype)} {left} = ({kind})(kc_dynamic + {offset});"
            offset += s.nbytes

    def _cell(self) -> Iterator[str]:
        """The block's place in the grid; the last axis is the fastest."""
        grid = self.kernel.grid
        if not grid:
            return
        if len(grid) == 1:
            yield f"const int64_t {name(grid[0].name)} = blockIdx.x;"
            return
        yield "unsigned cell = blockIdx.x;"  # there are fewer than 2^31 cells, so each axis fits
        for axis in reversed(grid[1:]):
            size = f"(unsigned)({self.e.text(axis.size)})"
            yield f"const int64_t {name(axis.name)} = cell % {size};"
            yield f"cell /= {size};"
        yield f"const int64_t {name(grid[0].name)} = cell;"

    def nodes(self, nodes: Iterable[Node]) -> Iterator[str]:
        for n in nodes:
            yield from self.node(n)

    def _inner(self, nodes: Iterable[Node]) -> Iterator[str]:
        for line in self.nodes(nodes):
            yield "  " + line

    def node(self, n: Node) -> Iterator[str]:
        match n:
            case Note():
                yield f"// {n.text}"
            case Define():
                if n.dtype.name == "i64" and self.e.is_natural(n.value):
                    self.e.natural.add(n.name)
                yield f"const {storage(n.dtype)} {name(n.name)} = {self.e.text(n.value)};"
            case Variable():
                value = "" if n.value is None else f" = {self.e.text(n.value)}"
                yield f"{storage(n.dtype)} {name(n.name)}{value};"
            case Registers():
                yield f"{storage(n.dtype)} {name(n.name)}{''.join(f'[{k}]' for k in n.shape)};"
            case Assign():
                yield f"{self.e.text(n.place)} = {self.e.text(n.value)};"
            case Repeat():
                yield from self._repeat(n)
            case Loop():
                self.e.natural.add(n.var)
                v = name(n.var)
                yield f"for (int64_t {v} = 0; {v} < {self.e.text(n.extent, 11)}; ++{v}) {{"
                yield from self._inner(n.body)
                yield "}"
            case Branch():
                yield from self._branch(n)
            case _:
                yield from self._together(n)

    def _repeat(self, n: Repeat) -> Iterator[str]:
        self.e.natural.add(n.var)
        if n.count == 1:
            yield "{"
            if n.var in used_names(n.body):
                yield f"  const int {name(n.var)} = 0;"
        else:
            yield f"#pragma unroll {n.unroll}" if n.unroll else "#pragma unroll"
            yield f"for (int {name(n.var)} = 0; {name(n.var)} < {n.count}; ++{name(n.var)}) {{"
        yield from self._inner(n.body)
        yield "}"

    def _branch(self, n: Branch) -> Iterator[str]:
        yield f"if ({self.e.text(n.condition)}) {{"
        yield from self._inner(n.body)
        if n.otherwise:
            yield "} else {"
            yield from self._inner(n.otherwise)
        yield "}"

    def _together(self, n: Node) -> Iterator[str]:
        """What threads do with each other."""
        match n:
            case Barrier():
                yield "__syncthreads();"
            case AsyncCopy():
                place, source = self.e.text(n.place, _CALL_LEVEL), self.e.text(n.source, _CALL_LEVEL)
                yield f"__pipeline_memcpy_async(&{place}, &{source}, {n.place.dtype.itemsize * n.count});"
            case Aligned():
                yield f"const bool {name(n.name)} = (uint64_t){name(n.tensor)} % {n.bytes} == 0;"
            case AsyncCommit():
                yield "__pipeline_commit();"
            case AsyncWait():
                yield f"__pipeline_wait_prior({n.pending});"
            case Swap():
                exchanged = f"__shfl_xor_sync(0xffffffffu, {name(n.source)}, 1 << {self.e.text(n.bit, 12)})"
                yield f"const {storage(n.dtype)} {name(n.name)} = {exchanged};"
            case FragmentLoad():
                flag = "true" if n.transposed else "false"
                yield f"kc_load_fragments({self.e.text(n.target)}, &{self.e.text(n.place)}, {flag});"
            case FragmentMma():
                kind = "f16" if n.dtype == F16 else "bf16"
                operands = ", ".join(f"&{self.e.text(x)}" for x in (n.c, n.a, n.b))
                yield f"kc_mma_m16n8k16_{kind}({operands});"
            case _:
                raise AssertionError(f"no spelling for {n}")


def _dimensions(s: Shared) -> str:
    return "".join(f"[{n}]" for n in s.shape)


def parameters(k: Kernel) -> list[str]:
    """The parameters of a kernel, in the order in which the host passes them."""
    reads = [f"const {storage(t.dtype)} *__restrict__ {name(t.name)}" for t in k.reads]
    writes = [f"{storage(t.dtype)} *__restrict__ {name(t.name)}" for t in k.writes]
    return [*reads, *writes, *(f"const int64_t {name(s)}" for s in k.sizes)]


# Instructions that have no C++ spelling. The functional model brings its own definitions of these names.
FRAGMENT_LOAD = """static __device__ __forceinline__ void kc_load_fragments(unsigned *r, const void *row, bool transposed) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(row);
  if (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}"""
FRAGMENT_MMA = """static __device__ __forceinline__ void kc_mma_m16n8k16_{0}(float *d, const unsigned *a, const unsigned *b) {{
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%0,%1,%2,%3}}, {{%4,%5,%6,%7}}, {{%8,%9}}, {{%0,%1,%2,%3}};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}"""
