"""Vector types of the vector model: names, classes and the definitions that a text needs.

All values of one loop have the same number of lanes. A loop of class w (the widest element in it has w bytes) works on
L<w> = KC_BYTES / w lanes at once; `v4f32` is a vector of L4 floats, `v8f32` one of L8 floats (half a register). Conditions
are masks: `v<w>m`, integers of w bytes that are -1 or 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelcat_core.codegen.cstyle import STORAGE_TYPES
from kernelcat_core.dtypes import DTYPES, DType

# Element types in memory. A bool is a byte that holds 0 or 1.
STORAGE = {"f64": "double", "f32": "float", "f16": "kc_f16", "bf16": "kc_bf16", "i8": "int8_t", "i16": "int16_t",
           "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
           "bool": "uint8_t", **STORAGE_TYPES}


@dataclass(frozen=True)
class VectorClass:
    """`width` is the number of bytes of the widest element: 1, 2, 4 or 8."""

    width: int

    @property
    def lanes(self) -> str:
        return f"L{self.width}"

    @property
    def mask(self) -> str:
        return f"v{self.width}m"

    @property
    def prefix(self) -> str:
        return f"kc{self.width}"

    def type(self, dtype: DType) -> str:
        """The vector type of `dtype` values in this class; masks for bool."""
        return self.mask if dtype.kind == "b" else f"v{self.width}{dtype}"

    def integer(self, dtype: DType) -> str:
        """Signed integers as wide as `dtype`: what a comparison of it gives."""
        return f"v{self.width}i{dtype.bits}"


def type_definitions(classes: set[int]) -> str:
    """Typedefs of every vector type of the given classes."""
    lines: list[str] = []
    for w in sorted(classes):
        lines.append(f"enum {{ L{w} = KC_BYTES / {w} }};")
        for name, c in STORAGE.items():
            size = DTYPES[name].itemsize
            if size <= w and name != "bool":
                lines.append(f"typedef {c} v{w}{name} __attribute__((vector_size({size} * L{w})));")
        lines.append(f"typedef v{w}i{8 * w} v{w}m;")
    return "\n".join(lines)
