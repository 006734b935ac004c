"""Identifiers and types of WGSL, and the functions that kernels may call by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from kernelcat_core.codegen.cstyle import identifier
from kernelcat_core.dtypes import DType
from kernelcat_core.errors import KernelcatError

# Keywords and reserved words of WGSL (W3C, "Keyword and Context-Dependent Name Summary"), and the built-in functions and
# types that our text uses, which a declaration would hide.
_WORDS = """
alias break case const const_assert continue continuing default diagnostic discard else enable false fn for if let loop
override requires return struct switch true var while
NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become cast catch class co_await
co_return co_yield coherent column_major common compile compile_fragment concept const_cast consteval constexpr constinit
crate debugger decltype delete demote demote_to_helper do dynamic_cast enum explicit export extends extern external
fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements import inline instanceof
interface layout lowp macro macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept noinline
nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset partition pass patch
pixelfragment precise precision premerge priv protected pub public readonly ref regardless register reinterpret_cast require
resource restrict self set shared sizeof smooth snorm static static_assert static_cast std subroutine super target template
this thread_local throw trait try type typedef typeid typename typeof union unless unorm unsafe unsized use using varying
virtual volatile wgsl where with writeonly yield
abs array atomic atomicAnd atomicLoad atomicOr bitcast bool ceil clamp countLeadingZeros extractBits f16 f32 floor i32 max min
round select sign sqrt trunc u32 uniform vec2 vec3 vec4 workgroup workgroupBarrier workgroupUniformLoad private storage
function ptr mat2x2 sampler texture_2d read read_write write
"""
RESERVED: frozenset[str] = frozenset(_WORDS.split())
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("f32", "f16", "bf16"), "f32"),
    **dict.fromkeys(("i8", "i16", "i32"), "i32"),
    **dict.fromkeys(("u8", "u16", "u32"), "u32"),
    **dict.fromkeys(("i64", "u64"), "vec2<u32>"),
    "bool": "bool",
}
_BYTES: Mapping[str, int] = {"vec2<u32>": 8}
_HEAD = re.compile(r"(?:fn|var<private>) (kc_\w+)")
_CALLED = re.compile(r"\bkc_\w+")


def name(text: str) -> str:
    """An identifier for `text`."""
    return identifier(text, RESERVED)


def kind(dtype: DType) -> str:
    """The type of a value in a register: 16-bit floats are f32 there, narrow integers 32 bits wide. KC-R001 for f64."""
    if dtype.name not in _TYPES:
        raise KernelcatError("KC-R001", f"WGSL has no arithmetic or storage for {dtype}",
                             hint="cast the input to f32 first")
    return _TYPES[dtype.name]


def register_bytes(dtype: DType) -> int:
    """Bytes of a value in workgroup memory."""
    return _BYTES.get(kind(dtype), 4)


@cache
def library() -> Mapping[str, str]:
    """Our functions by name, as text."""
    found: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.wgsl")):
        for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            head = _HEAD.match(block)
            if head:
                found[head[1]] = block.strip()
    return found


def functions(texts: Iterable[str]) -> str:
    """Definitions of what `texts` call, and of what those call; callees first."""
    order: dict[str, str] = {}
    known = library()

    def visit(text: str) -> None:
        for called in dict.fromkeys(_CALLED.findall(text)):
            if called in known and called not in order and known[called] is not text:
                order[called] = ""  # (marks it as on its way)
                visit(known[called])
                del order[called]
                order[called] = known[called]

    for t in texts:
        visit(t)
    return "\n\n".join(order.values())
