"""Gradient formulas beside torch.autograd, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcat_core import formula as language
from kernelcat_core.dtypes import from_numpy
from kernelcat_core.ir.interpreter import evaluate
from kernelcat_core.ir.verify import verify_graph

Array = np.ndarray[Any, Any]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def gradients(text: str, arrays: dict[str, Array], wrt: list[str], cotangent: Array | None = None) -> dict[str, Array]:
    """The gradients of `Y` in the formula `text` by each name of `wrt`."""
    given = dict(arrays)
    weight = ""
    if cotangent is not None:
        given["dY"], weight = cotangent, ", dY"
    lines = [text, *(f"d_{n} = grad(Y, {n}{weight})" for n in wrt), "-> " + ", ".join(f"d_{n}" for n in wrt)]
    specs = {n: language.TensorSpec(from_numpy(a.dtype), a.shape) for n, a in given.items()}
    lowered = language.lower(language.parse("\n".join(lines)), specs)
    verify_graph(lowered.graph)
    return {n: evaluate(lowered.graph, given)[f"d_{n}"] for n in wrt}


def agree(text: str, function: Callable[..., Any], arrays: dict[str, Array], wrt: list[str] | None = None,
          tolerance: float = 1e-9) -> None:
    """The gradients of `Y` are those of `function`, both weighted by a random cotangent."""
    import torch

    wrt = [n for n, a in arrays.items() if a.dtype.kind == "f"] if wrt is None else wrt
    tensors = {n: torch.tensor(a, requires_grad=n in wrt) for n, a in arrays.items()}
    value = function(**tensors)
    cotangent = random(*value.shape, seed=99)
    value.backward(torch.tensor(cotangent))
    found = gradients(text, arrays, wrt, cotangent)
    for n in wrt:
        wanted = tensors[n].grad
        expected = np.zeros(arrays[n].shape) if wanted is None else wanted.numpy()
        np.testing.assert_allclose(found[n], expected, rtol=tolerance, atol=tolerance, err_msg=f"by {n} in {text}")
        assert found[n].dtype == arrays[n].dtype
