"""What CUDA C++ has beyond C: dynamic shared memory, asynchronous copies, tensor cores."""

from __future__ import annotations

from collections.abc import Iterator

from kernelcat_core.backends.cuda.dialect import CUDA
from kernelcat_core.codegen.simt_ast import (
    Aligned,
    AsyncCommit,
    AsyncCopy,
    AsyncWait,
    FragmentLoad,
    FragmentMma,
    Node,
)
from kernelcat_core.codegen.simt_c import KernelText, Language
from kernelcat_core.dtypes import F16

STATIC_SHARED = 48 << 10  # more must be asked for at the launch
_CALL_LEVEL = 15

LANGUAGE = Language(
    dialect=CUDA,
    head='extern "C" __global__ void __launch_bounds__({threads})\n{name}({parameters}) {{',
    read="const {type} *__restrict__ {name}",
    write="{type} *__restrict__ {name}",
    thread="threadIdx.x",
    block="blockIdx.x",
    shared="__shared__ __align__(16) {type} {place};",
    barrier="__syncthreads();",
    exchange="__shfl_xor_sync(0xffffffffu, {value}, 1 << {bit})",
)


class CudaText(KernelText):
    """The text of one kernel in CUDA C++."""

    def shared(self) -> Iterator[str]:
        """Arrays; where they are more than may be declared, pointers into what the launch asks for."""
        if self.kernel.shared_bytes <= STATIC_SHARED:
            yield from super().shared()
            return
        yield "extern __shared__ __align__(16) unsigned char kc_dynamic[];"
        offset = 0
        for s in self.kernel.shared:
            kind, name = self.type(s.dtype), self.name(s.name)
            rest = "".join(f"[{n}]" for n in s.shape[1:])
            pointer = f"{kind} (*){rest}" if rest else f"{kind} *"
            left = f"(*{name}){rest}" if rest else f"*{name}"
            yield f"{kind} {left} = ({pointer})(kc_dynamic + {offset});"
            offset += s.nbytes

    def special(self, n: Node) -> Iterator[str]:
        match n:
            case AsyncCopy():
                place, source = self.e.text(n.place, _CALL_LEVEL), self.e.text(n.source, _CALL_LEVEL)
                yield f"__pipeline_memcpy_async(&{place}, &{source}, {n.place.dtype.itemsize * n.count});"
            case Aligned():
                yield f"const bool {self.name(n.name)} = (uint64_t){self.name(n.tensor)} % {n.bytes} == 0;"
            case AsyncCommit():
                yield "__pipeline_commit();"
            case AsyncWait():
                yield f"__pipeline_wait_prior({n.pending});"
            case FragmentLoad():
                flag = "true" if n.transposed else "false"
                yield f"kc_load_fragments({self.e.text(n.target)}, &{self.e.text(n.place)}, {flag});"
            case FragmentMma():
                kind = "f16" if n.dtype == F16 else "bf16"
                operands = ", ".join(f"&{self.e.text(x)}" for x in (n.c, n.a, n.b))
                yield f"kc_mma_m16n8k16_{kind}({operands});"
            case _:
                yield from super().special(n)


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
