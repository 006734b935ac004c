"""Named operators: each is a formula, grouped by family. Importing the package registers them all."""

from __future__ import annotations

from kernelcat_core.formula.operators import (
    activations,
    adaptive,
    attention,
    blocks,
    convolution,
    layout,
    normalisation,
    padding,
    points,
    pooling,
    products,
    reductions,
    resize,
    sampling,
    scans,
    scatters,
    softmax,
    sorting,
    transposed,
)
from kernelcat_core.formula.operators.definition import REGISTRY, OnnxNode, Operator, Tensor

FAMILIES = (
    activations,
    adaptive,
    attention,
    blocks,
    convolution,
    layout,
    normalisation,
    padding,
    points,
    pooling,
    products,
    reductions,
    resize,
    scans,
    scatters,
    sampling,
    softmax,
    sorting,
    transposed,
)

__all__ = ["FAMILIES", "REGISTRY", "OnnxNode", "Operator", "Tensor"]
