"""Shapes given from outside: "4096x1024:f32", "scalar:f32", "MxK"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernelcat_core.dtypes import DTYPES, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.formula import limits


@dataclass(frozen=True)
class TensorSpec:
    """A given input: `shape` holds sizes (>= 0) or names of sizes; () is a scalar. `dtype` None: as declared, else f32."""

    dtype: DType | None
    shape: tuple[int | str, ...]

    def __str__(self) -> str:
        body = "x".join(str(d) for d in self.shape) or "scalar"
        return body if self.dtype is None else f"{body}:{self.dtype}"


_DIM = re.compile(r"[0-9]+|[A-Za-z_][A-Za-z_0-9]*")


def parse_shape(text: str) -> TensorSpec:
    """The spec of a text such as `4096x1024:f32`, `MxK`, `scalar:i32`. Raises KC-F020.

    `x` (or `,` or `*`) stands between sizes; names of sizes may not hold an `x` between digits or start with a digit.
    """
    body, colon, name = text.strip().partition(":")
    if colon and name.strip() not in DTYPES:
        raise KernelcatError("KC-F020", f"unknown element type '{name.strip()}' in shape '{text}'",
                             hint="types are " + " ".join(DTYPES))
    dtype = DTYPES[name.strip()] if colon else None
    body = body.strip().strip("[]()").strip().removesuffix(",")
    if body in ("scalar", ""):
        return TensorSpec(dtype, ())
    if body in DTYPES and not colon:
        return TensorSpec(DTYPES[body], ())
    dims: list[int | str] = []
    for part in re.split(r"[x,*×]", body):
        part = part.strip()
        if not _DIM.fullmatch(part):
            raise KernelcatError("KC-F020", f"'{text}' is not a shape", hint="write 4096x1024:f32, MxK or scalar:f32")
        if part.isdigit():
            if len(part) > 18 or int(part) > limits.ELEMENTS:
                raise KernelcatError("KC-F003", f"size {part} is larger than 2^40", hint="use a smaller shape")
            dims.append(int(part))
        else:
            dims.append(part)
    if len(dims) > limits.RANK:
        raise KernelcatError("KC-F003", f"more than {limits.RANK} axes", hint="merge axes")
    return TensorSpec(dtype, tuple(dims))

