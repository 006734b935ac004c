"""Tensors as storage buffers: their declarations, and functions that read and write elements narrower than a word.

A buffer of 8- and 16-bit elements holds words of 32 bits. Where a program writes such a tensor its words are atomic: an
element is cleared and set by two operations on its own bits, so invocations that share a word do not disturb each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.backends.wgsl.names import kind, name
from kernelcat_core.dtypes import F16, DType
from kernelcat_core.ir.graph import Tensor


@dataclass(frozen=True)
class Buffer:
    """A tensor's buffer: number `binding` of group 0; `written` by a program of the module; `native`: f16 as f16."""

    tensor: Tensor
    binding: int
    written: bool
    native: bool

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def name(self) -> str:
        return name(self.tensor.name)

    @property
    def packed(self) -> bool:
        """Whether a word holds several elements."""
        return self.dtype.itemsize < 4 and not (self.native and self.dtype == F16)

    @property
    def declaration(self) -> str:
        element = "f16" if self.native and self.dtype == F16 else "u32" if self.packed else kind(self.dtype)
        element = f"atomic<{element}>" if self.packed and self.written else element
        access = "read_write" if self.written else "read"
        return f"@group(0) @binding({self.binding}) var<storage, {access}> {self.name}: array<{element}>;"

    def load(self, index: str) -> str:
        """The element at an i32 `index`, in its register type."""
        if self.packed:
            return f"kc_at_{self.name}({index})"
        return f"f32({self.name}[{index}])" if self.dtype == F16 else f"{self.name}[{index}]"

    def store(self, index: str, value: str) -> str:
        """The statement that writes `value` there."""
        if self.packed:
            return f"kc_put_{self.name}({index}, {value});"
        return f"{self.name}[{index}] = {f'f16({value})' if self.dtype == F16 else value};"

    def accessors(self) -> list[str]:
        """The functions that `load` and `store` call."""
        if not self.packed:
            return []
        bits = 8 * self.dtype.itemsize
        each = 32 // bits
        word = f"{self.name}[u32(i) / {each}u]"
        word = f"atomicLoad(&{word})" if self.written else word
        at = f"(u32(i) % {each}u) * {bits}u"
        signed = self.dtype.kind == "i"
        field = f"extractBits({f'bitcast<i32>({word})' if signed else word}, {at}, {bits}u)"
        made = [f"fn kc_at_{self.name}(i: i32) -> {kind(self.dtype)} {{ return {self._decoded(field)}; }}"]
        if self.written:
            made.append(
                f"fn kc_put_{self.name}(i: i32, value: {kind(self.dtype)}) {{\n"
                f"  let at = {at};\n"
                f"  atomicAnd(&{self.name}[u32(i) / {each}u], ~({hex((1 << bits) - 1)}u << at));\n"
                f"  atomicOr(&{self.name}[u32(i) / {each}u], ({self._encoded('value')} & {hex((1 << bits) - 1)}u) << at);\n"
                "}"
            )
        return made

    def _decoded(self, field: str) -> str:
        if self.dtype.kind == "b":
            return f"{field} != 0u"
        return f"kc_{self.dtype}_to_f32({field})" if self.dtype.is_float else field

    def _encoded(self, value: str) -> str:
        if self.dtype.kind == "b":
            return f"select(0u, 1u, {value})"
        if self.dtype.is_float:
            return f"kc_f32_to_{self.dtype}({value})"
        return f"bitcast<u32>({value})" if self.dtype.kind == "i" else value
