"""Tensors of torch and arrays of NumPy over the same memory, and the names that both give to element types."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from kernelcat_core.dtypes import DTYPES, DType
from kernelcat_core.errors import KernelcatError
from kernelcat_core.importers.trace import Array

_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
          "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool",
          "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_BY_TORCH = {torch_name: name for name, torch_name in _NAMES.items()}
_VIEWED = {"bf16": "int16", "f8e4m3": "uint8", "f8e5m2": "uint8"}
"""Types that NumPy does not have: they cross as integers of the same width."""


def element_type(dtype: Any) -> DType:
    """The DType of a torch.dtype. Raises KC-I002 for complex and quantized ones."""
    name = str(dtype).removeprefix("torch.")
    if name not in _BY_TORCH:
        raise KernelcatError("KC-I002", f"tensors of {dtype} have no kernels",
                             hint="convert to a float, integer or bool type first")
    return DTYPES[_BY_TORCH[name]]


@cache
def torch_type(name: str) -> Any:
    """The torch.dtype of a DType's name."""
    import torch

    return getattr(torch, _NAMES[name])


def to_array(tensor: Any) -> Array:
    """The contents of a tensor, without a copy where it lies on the CPU in row-major order."""
    dtype = element_type(tensor.dtype)
    tensor = tensor.detach().cpu().contiguous()
    if dtype.name in _VIEWED:
        made: Array = tensor.view(torch_type(_BY_TORCH[_VIEWED[dtype.name]])).numpy().view(dtype.numpy)
        return made
    plain: Array = tensor.resolve_neg().numpy()
    return plain


def to_tensor(array: Array, dtype: DType) -> Any:
    """A tensor over an array's memory."""
    import torch

    if dtype.name in _VIEWED:
        return torch.from_numpy(array.view(np.dtype(_VIEWED[dtype.name]))).view(torch_type(dtype.name))
    return torch.from_numpy(array)


def laid_out(tensor: Any, stride: tuple[int, ...] | None) -> Any:
    """The tensor with the given strides, which later views may rely on; itself where it has them."""
    import torch

    if stride is None or tensor.numel() == 0 or tensor.stride() == stride:
        return tensor
    if any(s > 1 and a != b for s, a, b in zip(tensor.shape, tensor.stride(), stride, strict=True)):
        if any(s > 1 and b == 0 for s, b in zip(tensor.shape, stride, strict=True)):
            return tensor  # an expanded tensor: written out, it reads the same
        return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype).copy_(tensor)
    return tensor
