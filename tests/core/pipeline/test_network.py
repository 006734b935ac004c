"""Plans of networks: which kernels they share, and what these read."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kernelcat_core.codegen.source import Source
from kernelcat_core.errors import Failure
from kernelcat_core.formula import lower, parse
from kernelcat_core.pipeline.network.plan import Plan
from kernelcat_core.runtime.toolchain import Binary
from kernelcat_core.target import Target


def plan(formula: str) -> Plan:
    return Plan(lower(parse(formula)).graph)


def test_steps_of_a_sequence_are_one_kernel_over_parts_of_it() -> None:
    steps = "\n".join(f"H{t}[b,h] = tanh(X[{t},b,h] + sum[k](H{t - 1}[b,k]*W[k,h]))" for t in range(1, 6))
    made = plan(f"X: f32[6, 2, 40]; W: f32[40, 40]; H0: f32[2, 40]\n{steps}\n-> H2, H5")
    assert len(made.steps) == 5
    assert len({m.digest for m in made.modules}) == 1
    rng = np.random.default_rng(0)
    x, w, h = (rng.standard_normal(s).astype(np.float32) for s in ((6, 2, 40), (40, 40), (2, 40)))
    got, hidden = made.run({"X": x, "W": w, "H0": h}), h.astype(np.float64)
    for t in range(1, 6):
        hidden = np.tanh(x[t] + hidden @ w)
        if f"H{t}" in got:
            np.testing.assert_allclose(got[f"H{t}"], hidden, atol=1e-5)


def test_parts_of_constants_and_of_intermediates() -> None:
    graph = lower(parse("C: f32[3, 4, 50]; X: f32[2, 50]\nU[i,j] = X[i,j]*2 + sum[k](X[i,k])\n"
                        "A[j] = C[2,3,j] + U[1,j]; B[j] = C[0,1,j] + U[0,j]\n-> A, B")).graph
    rng = np.random.default_rng(0)
    c, x = (rng.standard_normal(s).astype(np.float32) for s in ((3, 4, 50), (2, 50)))
    made = Plan(graph, {"C": c}).run({"X": x})
    u = x * 2 + x.sum(1, keepdims=True)
    np.testing.assert_allclose(made["A"], c[2, 3] + u[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(made["B"], c[0, 1] + u[0], rtol=1e-5, atol=1e-5)


def test_a_part_that_a_predicate_keeps_from_being_read_is_none() -> None:
    made = plan("X: f32[2, 5]\nY[j] = where(j > 9, X[1,j], 3)\nZ[i,j] = where(i < 1, X[i,j], 0)\n-> Y, Z")
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    np.testing.assert_array_equal(made.run({"X": x})["Y"], np.full(5, 3.0))


def test_a_bundle_that_takes_too_long_is_compiled_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelcat_core.backends.c.device import Device

    real, sizes = Device.library, []

    def library(self: Device, source: Source, target: Target, opt_level: str = "O3") -> Binary | Failure:
        count = len(re.findall(r"^int k[0-9a-f]{16}\(", source.text, re.MULTILINE))
        sizes.append(count)
        return real(self, source, target, opt_level) if count < 2 else Failure("KC-B003", "too long")

    monkeypatch.setattr(Device, "library", library)
    made = plan("X: f32[5]\nA[i] = 3.25*X[i]\nB[i] = sum[j](X[j])*4.125 + X[i]\nC[i] = max[j](X[j]) - X[i]\n-> A, B, C")
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(made.run({"X": x})["C"], 4 - x)
    assert max(sizes) > 1 and sizes.count(1) == len({m.digest for m in made.modules})
