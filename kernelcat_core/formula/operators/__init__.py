"""Named operators: each is a formula, grouped by family. Importing the package registers them all."""

from __future__ import annotations

from kernelcat_core.formula.operators import (
    activations,
    attention,
    convolution,
    layout,
    normalisation,
    points,
    pooling,
    products,
    reductions,
    softmax,
)
from kernelcat_core.formula.operators.definition import REGISTRY, OnnxNode, Operator, Tensor

FAMILIES = (activations, attention, convolution, layout, normalisation, points, pooling, products, reductions, softmax)

__all__ = ["FAMILIES", "REGISTRY", "OnnxNode", "Operator", "Tensor"]
