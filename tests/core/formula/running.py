"""Formulas run on arrays through the oracle, for the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernelcat_core import formula as language
from kernelcat_core.dtypes import from_numpy
from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph

Array = np.ndarray[Any, Any]


def specs(arrays: dict[str, Array]) -> dict[str, language.TensorSpec]:
    return {n: language.TensorSpec(from_numpy(a.dtype), a.shape) for n, a in arrays.items()}


def outputs(text: str, **arrays: Array) -> dict[str, Array]:
    """Every output of a formula by name. The graph is legal and is the one that no shapes were needed for."""
    lowered = language.lower(language.parse(text), specs(arrays))
    verify_graph(lowered.graph)
    return dict(evaluate(lowered.graph, arrays))


def run(text: str, **arrays: Array) -> Array:
    """The only output of a formula."""
    (value,) = outputs(text, **arrays).values()
    return value


def graph(text: str, **shapes: str) -> Graph:
    given = {n: language.parse_shape(s) for n, s in shapes.items()}
    return language.lower(language.parse(text), given).graph


def fails(code: str, text: str, marked: str | None = None, **shapes: str) -> KernelcatError:
    """The error of a formula: its code, that its caret marks `marked`, and that it has a hint."""
    with pytest.raises(KernelcatError) as caught:
        graph(text, **shapes)
    error = caught.value
    assert error.code == code, str(error)
    assert error.hint
    assert error.line is not None and error.column is not None and error.source == text
    if marked is not None:
        assert error.span is not None and text[error.span.start:error.span.end] == marked, str(error)
    return error


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
