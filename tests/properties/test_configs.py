"""Random legal Configs compile, run and match the oracle: the search space has no point that gives a wrong kernel."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcat_core.pipeline import hops
from kernelcat_core.pipeline.cases import cases
from kernelcat_core.pipeline.checking import check_target

FORMULAS = (
    "Y = softmax(X, axis=-1)",
    "Y = layer_norm(X, gamma, beta)",
    "Y[i,j] = gelu(sum[k](A[i,k]*B[k,j]) + b[j])",
    "Y = conv2d(X, W, stride=2, padding=1)",
    "Y = max_pool2d(X, kernel_size=3, stride=2, padding=1)",
    "Y = softmax(X, axis=0)",
    "S = sum[i,j](X[i,j]*X[i,j])",
    "Y[i] = argmax[k](X[i,k])",
)


@settings(max_examples=12, deadline=None)
@given(formula=st.sampled_from(FORMULAS), seed=st.integers(0, 10**6))
def test_on_this_processor(formula: str, seed: int) -> None:
    a = hops.analyse(formula)
    config = hops.space(a.graph, "c").random(random.Random(seed))
    report = check_target(a, "c", list(cases(a, 1))[:5], config)
    assert report.ok, (config, report.message)


@pytest.mark.parametrize("target", ["cuda:sm_80", "hip:gfx942", "ascend:910b", "cambricon:mlu370"])
@pytest.mark.parametrize("formula", FORMULAS[:3])
def test_on_the_models(formula: str, target: str) -> None:
    a = hops.analyse(formula)
    config = hops.space(a.graph, target).random(random.Random(len(formula)))
    report = check_target(a, target, list(cases(a, 1))[:3], config)
    # tiles that do not fit on chip are refused before anything is compiled
    assert report.ok or report.message.startswith(("KC-R001", "KC-S002")), (config, report.message)
