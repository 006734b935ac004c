"""Every barrier and wait that the lowering derives is needed: without it the functional model names a broken rule."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from kernelcat_core.backends.cuda.renderer import render
from kernelcat_core.target import Target
from tests.core.backends.cuda.emulate import AVAILABLE, PLAIN, SM80, Emulated, graph_of, module_of

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no C++ compiler")
SYNCHRONISATION = re.compile(r"^ *(__syncthreads\(\)|__pipeline_wait_prior\(0\));\n", re.MULTILINE)
CASES = {
    "softmax": ("X: f32[M,N]; Y = softmax(X, axis=-1)", {"M": 2, "N": 700}),
    "product": ("A: f32[M,K]; B: f32[K,N]; C[i,j] += A[i,k]*B[k,j]", {"M": 64, "K": 48, "N": 64}),
    "half": ("A: f16[M,K]; B: f16[K,N]; C[i,j] += A[i,k]*B[k,j]", {"M": 64, "K": 48, "N": 64}),
    "argmax": ("X: f32[M,N]; Y[i] = argmax[k](X[i,k])", {"M": 1, "N": 600}),
}


# The plain argmax is left out: one thread alone uses its result, so a compiler may drop the others' read of it.
@pytest.mark.parametrize(
    ("name", "target"), [*((n, SM80) for n in CASES), *((n, PLAIN) for n in CASES if n != "argmax")],
    ids=lambda x: getattr(x, "name", x)
)
def test_each_synchronisation_is_needed(name: str, target: Target) -> None:
    formula, sizes = CASES[name]
    graph = graph_of(formula)
    module = module_of(graph, target=target)
    source = render(module, target)
    assert target is SM80 or not re.search(r"__shfl|__pipeline|kc_mma", source.text)
    places = [m.span() for m in SYNCHRONISATION.finditer(source.text)]
    assert places
    rng = np.random.default_rng(0)
    inputs = {t.name: rng.standard_normal([sizes[d.name] for d in t.shape]).astype(t.dtype.numpy) for t in graph.inputs}
    assert Emulated(module, source=source).fault(inputs, sizes) == ""
    for start, end in places:
        broken = replace(source, text=source.text[:start] + "\n" + source.text[end:])
        fault = Emulated(module, source=broken).fault(inputs, sizes)
        assert fault.startswith(("shared-", "async-")), f"line {source.text.count(chr(10), 0, start) + 1}: {fault!r}"
