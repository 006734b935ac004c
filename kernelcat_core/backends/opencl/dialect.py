"""How OpenCL C 1.2 differs from C in expressions, and how it spells what threads do."""

from __future__ import annotations

from types import MappingProxyType

from kernelcat_core.codegen.cstyle import C_TYPES, STORAGE_TYPES, Dialect
from kernelcat_core.codegen.simt_c import Language
from kernelcat_core.codegen.simt_words import MATHEMATICS, divisions
from kernelcat_core.target import Target

# Fixed-width names as macros: headers that have such types already do no harm then.
WORDS = """#define int8_t char
#define int16_t short
#define int32_t int
#define int64_t long
#define uint8_t uchar
#define uint16_t ushort
#define uint32_t uint
#define uint64_t ulong
typedef ushort kc_f16, kc_bf16; // bits"""
DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"

_VECTORS = [f"{t}{n}" for t in "char uchar short ushort int uint long ulong float double half".split() for n in (2, 3, 4, 8, 16)]
_WORDS = """
access_qualifier acospi all any asinpi atan2pi atanpi atomic_add atomic_sub barrier bitselect clamp clz complex constant cospi
cross degrees distance dot erfc event_t exp10 fdim fract frexp generic get_global_id get_group_id get_local_id global half
hadd ilogb image1d_t image2d_t image3d_t imaginary intptr_t isequal isgreater isless isnormal kernel ldexp length lgamma
local log10 logb mad mad24 mad_hi maxmag mem_fence minmag mix modf mul24 mul_hi nextafter normalize popcount pown powr
prefetch printf private ptrdiff_t quad radians read_only read_write remainder remquo rhadd rootn rotate rsqrt sampler_t
select shuffle sign sincos sinpi smoothstep step tanpi tgamma uchar uint uintptr_t ulong upsample ushort vec_step
vload_half vstore_half write_only
"""
_HOST_WORDS = """
bytes cell cells context count global launch memory program queue sizes status tensors threads values errno stdin stdout
stderr linux unix
"""

_OPENCL = Dialect(
    name="OpenCL C",
    types=MappingProxyType({**C_TYPES, **STORAGE_TYPES, "bool": "uchar"}),
    calls=MappingProxyType({"rsqrt.f": "rsqrt({0})", "tanh.f": "kc_tanh_{t}({0})"}),
    qualifier="static inline",
    reserved=MATHEMATICS | frozenset((*_VECTORS, *_WORDS.split(), *_HOST_WORDS.split())),
    # Half precision by the conversions that every device has: cl_khr_fp16 is not asked for.
    support=MappingProxyType(
        {
            **divisions("static inline"),
            # The specification leaves tanh 5 ulp, and some give less than 1 at infinity: (1 + tanh x) x would not be NaN there.
            "kc_tanh_f32": "static inline float kc_tanh_f32(float a) { return fabs(a) > 10.0f ? copysign(1.0f, a) : tanh(a); }",
            "kc_tanh_f64": "static inline double kc_tanh_f64(double a) { return fabs(a) > 20.0 ? copysign(1.0, a) : tanh(a); }",
            "kc_f16_to_f32": "static inline float kc_f16_to_f32(kc_f16 a) { return vload_half(0, (const half *)&a); }",
            "kc_f32_to_f16": """static inline kc_f16 kc_f32_to_f16(float a) {
  kc_f16 bits;
  vstore_half_rte(a, 0, (half *)&bits);
  return bits;
}""",
        }
    ),
    wraps=True,
    single="",
    long="l",
)


def language(target: Target) -> Language:
    """OpenCL C as `target` takes it: f64 (KC-R001 when asked for) only where its limits say that it has cl_khr_fp64."""
    types = {k: v for k, v in _OPENCL.types.items() if k != "f64" or target.limit("fp64", 0)}
    return Language(
        dialect=Dialect(**{**vars(_OPENCL), "types": MappingProxyType(types)}),
        head="__kernel __attribute__((reqd_work_group_size({threads}, 1, 1)))\nvoid {name}({parameters}) {{",
        read="__global const {type} *restrict {name}",
        write="__global {type} *restrict {name}",
        thread="get_local_id(0)",
        block="get_group_id(0)",
        shared="__local {type} {place} __attribute__((aligned(16)));",
        barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    )
