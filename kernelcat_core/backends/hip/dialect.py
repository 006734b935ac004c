"""How HIP C++ spells kernels: CUDA's words, wavefronts of 64, exchanges without a mask."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, STORAGE_TYPES, Dialect
from kernelcat_core.codegen.simt_ast import Kernel
from kernelcat_core.codegen.simt_c import Language
from kernelcat_core.codegen.simt_host import Host
from kernelcat_core.codegen.simt_words import CPP_RESERVED, divisions, half_precision

_INLINE = "static __device__ __forceinline__"

HIP = Language(
    dialect=Dialect(
        name="HIP C++",
        types=MappingProxyType({**C_TYPES, **STORAGE_TYPES, "f16": "__half", "bf16": "__hip_bfloat16"}),
        calls=MappingProxyType({"rsqrt.f32": "rsqrtf({0})", "rsqrt.f64": "rsqrt({0})"}),
        casts=MappingProxyType(
            {
                "f16>f32": "__half2float({0})",
                "f32>f16": "__float2half_rn({0})",
                "bf16>f32": "__bfloat162float({0})",
                "f32>bf16": "__float2bfloat16({0})",
            }
        ),
        qualifier=_INLINE,
        infinity="__int_as_float(0x7f800000)",
        nan="__int_as_float(0x7fc00000)",
        reserved=CPP_RESERVED,
        wraps=True,
        support=MappingProxyType(
            {**divisions(_INLINE), **half_precision(_INLINE, "__half", "__hip_bfloat16", "__float2bfloat16")}
        ),
    ),
    head='extern "C" __global__ void __launch_bounds__({threads})\n{name}({parameters}) {{',
    read="const {type} *__restrict__ {name}",
    write="{type} *__restrict__ {name}",
    thread="threadIdx.x",
    block="blockIdx.x",
    shared="__shared__ __attribute__((aligned(16))) {type} {place};",
    barrier="__syncthreads();",
    exchange="__shfl_xor({value}, 1 << {bit})",
)


def _launch(k: Kernel) -> Iterator[str]:
    yield "if (status == hipSuccess && cells > 0) {"
    yield f"  hipLaunchKernelGGL({HIP.kernel_name(k)}, dim3((unsigned)cells), dim3({k.threads}), 0, stream, "
    yield f"                     {', '.join(HOST.arguments(k))});"
    yield "  status = hipGetLastError();"
    yield "}"


HOST = Host(HIP, "hip", _launch)
