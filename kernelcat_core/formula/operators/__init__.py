"""Named operators: each is a formula, grouped by family. Importing the package registers them all."""

from __future__ import annotations

from kernelcat_core.formula.operators import softmax as _softmax
from kernelcat_core.formula.operators.definition import REGISTRY, OnnxNode, Operator, Tensor

FAMILIES = (_softmax,)

__all__ = ["FAMILIES", "REGISTRY", "OnnxNode", "Operator", "Tensor"]
