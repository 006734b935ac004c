"""Schedules keep the meaning of graphs, on every execution model, at any legal config and size."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcat_core.errors import KernelcatError
from kernelcat_core.ir import tile_interpreter
from kernelcat_core.ir.tile_verify import verify
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import kernels, lower, space
from kernelcat_core.target import Target
from tests.core.schedule.graphs import GRAPHS

MODELS = {m: Target(m, m, m, m, m, "c") for m in ("vector", "simt", "dma")}
SIZES = ((5, 7, 3), (1, 1, 1), (2, 130, 17), (67, 33, 20), (0, 4, 2), (3, 2, 0))


def disagreement(name: str, model: str, config: Config, numbers: tuple[int, int, int], seed: int = 0) -> str:
    graph = GRAPHS[name]()
    sizes: Mapping[str, int] = dict(zip(graph.size_names, numbers))
    module = lower(graph, MODELS[model], config)
    verify(module)
    inputs = make_inputs(graph, sizes, seed)
    outputs = tile_interpreter.run(module, inputs, sizes)
    verdict = worst(list(Oracle(graph, inputs, sizes).check(outputs).values()))
    return "" if verdict.ok else verdict.message


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("name", list(GRAPHS))
def test_default_config_matches_the_oracle(name: str, model: str) -> None:
    for numbers in SIZES:
        assert disagreement(name, model, Config(), numbers) == "", numbers


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(GRAPHS)), model=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 10**6),
       numbers=st.tuples(st.integers(0, 40), st.integers(1, 90), st.integers(0, 20)))
def test_any_legal_config_matches_the_oracle(name: str, model: str, seed: int, numbers: tuple[int, int, int]) -> None:
    config = space(GRAPHS[name](), MODELS[model]).random(random.Random(seed))
    assert disagreement(name, model, config, numbers, seed) == ""


def test_classes_are_found_by_analysis() -> None:
    found = {name: [k.kernel_class for k in kernels(make())] for name, make in GRAPHS.items()}
    assert found["softmax"] == ["row"] and found["layer_norm"] == ["row"] and found["argmax_rows"] == ["row"]
    assert found["softmax_middle"] == ["column"] and found["pool"] == ["column"]
    assert found["matmul_bias"] == ["contraction"] and found["convolution"] == ["contraction"]
    assert found["chain_f16"] == ["elementwise"] and found["select_by_key"] == ["select"]


def test_without_fusion_every_reduction_is_its_own_kernel() -> None:
    assert len(kernels(GRAPHS["softmax"](), fuse=False)) == 3


def test_unknown_knobs_and_values_are_refused() -> None:
    graph = GRAPHS["softmax"]()
    for config, text in ((Config.of({"Y.width": 3}), "no knob"), (Config.of({"Y.lanes": 7}), "cannot be 7")):
        with pytest.raises(KernelcatError) as caught:
            lower(graph, MODELS["vector"], config)
        assert caught.value.code == "KC-S002" and text in caught.value.message


def test_text_and_digest_are_complete() -> None:
    graph = GRAPHS["matmul_bias"]()
    first, second = (lower(graph, MODELS["simt"], Config.of({"Y.BM": v})) for v in (32, 64))
    assert first.digest != second.digest and first.text != second.text
    assert lower(graph, MODELS["simt"], Config.of({"Y.BM": 32})).digest == first.digest
