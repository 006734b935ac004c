"""Attention found by analysis: fused programs mean what the formula says, in the tile interpreter and as compiled C."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import kernelcat
from kernelcat_core.ir import tile_interpreter
from kernelcat_core.ir.graph import Graph
from kernelcat_core.ir.tile_verify import verify
from kernelcat_core.numerics.compare import Oracle, worst
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.pipeline import hops
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import kernels, lower
from kernelcat_core.target import Target

VECTOR = Target("vector", "vector", "vector", "vector", "vector", "c")


def spelled(score: str, more: str = "", lead: str = "b", keys: str = "S") -> str:
    """Attention written out: `score` of query q and key s, extra declarations, names of the batch axes."""
    sizes, at = [x.upper() for x in lead], "".join(f"{x}," for x in lead)
    head = ", ".join([*sizes, ""]).strip() + " " if lead else ""
    return f"""query: [{head}L, D]
key: [{head}{keys}, D]
value: [{head}{keys}, E]
{more}score[{at}q,s] = {score}
top[{at}q] = max[s](score[{at}q,s])
total[{at}q] = sum[s](exp(score[{at}q,s] - top[{at}q]))
y[{at}q,e] = sum[s](exp(score[{at}q,s] - top[{at}q]) / total[{at}q]*value[{at}s,e])"""


DOT = "sum[d](query[b,q,d]*key[b,s,d])"
GROUPED = """query: [B, H, L, D]
key: [B, G, S, D]
value: [B, G, S, E]
score[b,h,q,s] = sum[d](query[b,h,q,d]*key[b,h//(H//G),s,d]) / sqrt(D)
top[b,h,q] = max[s](score[b,h,q,s])
total[b,h,q] = sum[s](exp(score[b,h,q,s] - top[b,h,q]))
y[b,h,q,e] = sum[s](exp(score[b,h,q,s] - top[b,h,q]) / total[b,h,q]*value[b,h//(H//G),s,e])"""
SHARED = GROUPED.replace("[B, G, S", "[B, S").replace("key[b,h//(H//G),", "key[b,").replace("value[b,h//(H//G),", "value[b,")
HEADS_INSIDE = """query: [B, L, H, D]
key: [B, S, H, D]
value: [B, S, H, E]
score[b,h,q,s] = sum[d](query[b,q,h,d]*key[b,s,h,d]) / sqrt(D)
p = softmax(score, axis=-1)
y[b,q,h,e] = sum[s](p[b,h,q,s]*value[b,s,h,e])"""
VARIANTS: dict[str, str] = {
    "dense": "attention(query, key, value)",
    "causal": "attention(query, key, value, causal=True)",
    "added mask": "attention(query, key, value, mask)",
    "added mask, causal": "attention(query, key, value, mask, causal=True)",
    "sparse": "sparse_attention(query, key, value, sparsity_mask)",
    "softmax": "softmax(query @ transpose(key), axis=-1) @ value",
    "grouped": GROUPED,
    "one key head": SHARED,
    "heads inside": HEADS_INSIDE,
    "window": spelled(f"where(s <= q and s > q - 17, {DOT} / sqrt(D), -inf)", keys="L"),
    "band": spelled(f"where(abs(q - s) <= 9, {DOT}, -inf)"),
    "future": spelled(f"where(s < q, -inf, {DOT})"),
    "lengths": spelled(f"where(s < length[b], {DOT}, -inf)", "length: i32[B]\n"),
    "softcap": spelled("20*tanh(sum[d](query[q,d]*key[s,d])*0.125/20)", lead=""),
    "slopes": spelled(f"{DOT} / sqrt(D) - abs(q - s)*slope[b]", "slope: f32[B]\n"),
    "dropout": spelled(DOT, "keep: [L, S]\n").replace("*value[b,s,e]", "*keep[q,s]*value[b,s,e]"),
    "epilogue": spelled(DOT) + "\nz[b,q,e] = tanh(y[b,q,e]) + query[b,q,0]\n",
    "two masks": spelled(f"where(s <= q + 3, where(m[b,s], {DOT}, -inf), -inf)", "m: bool[B, S]\n"),
}
SIZES: tuple[dict[str, int], ...] = (
    {"B": 2, "L": 37, "S": 41, "D": 9, "E": 21}, {"B": 1, "L": 1, "S": 95, "D": 16, "E": 8},
    {"B": 1, "L": 40, "S": 1, "D": 1, "E": 1},
    {"B": 1, "L": 9, "S": 7, "D": 130, "E": 140}, {"B": 1, "L": 0, "S": 4, "D": 3, "E": 2},
    {"B": 2, "L": 5, "S": 0, "D": 3, "E": 2})
COMPILED = ("dense", "causal", "added mask, causal", "sparse", "one key head", "heads inside", "window", "lengths", "softcap")


@lru_cache(maxsize=64)
def graph_of(formula: str, **declared: str) -> Graph:
    return hops.analyse(formula, declared or None).graph


def numbers_of(graph: Graph, wanted: Mapping[str, int]) -> dict[str, int]:
    """Values for the sizes of `graph`, whatever they are called: by the axes of query, key and value."""
    found = dict.fromkeys(graph.size_names, 2)
    tensors = {t.name: t for t in graph.inputs}
    for tensor, tail in (("value", "SE"), ("key", "SD"), ("query", "LD")):
        shape = tensors[tensor].shape if "H" not in graph.size_names or tensors[tensor].rank != 4 else ()
        for dim, name in zip(shape[-2:], tail, strict=False):
            found.update({getattr(dim, "name", ""): wanted[name]})
    found.update({k: v for k, v in {**wanted, "H": 4, "G": 2}.items() if k in found})
    for name in [n for n in found if n.startswith("sparsity_mask")]:
        found[name] = 1 if wanted["L"] % 4 or wanted["S"] % 4 else 4
    return {k: v for k, v in found.items() if k in graph.size_names}


def cases(name: str, *more: dict[str, int]) -> list[dict[str, int]]:
    """Sizes to try; a mask of blocks has none without queries and keys."""
    return [c for c in (*SIZES, *more) if name != "sparse" or (c["L"] and c["S"])]


def inputs_of(graph: Graph, sizes: Mapping[str, int], seed: int) -> dict[str, Any]:
    inputs = make_inputs(graph, sizes, seed)
    if "length" in inputs:
        inputs["length"] = np.arange(inputs["length"].size, dtype=np.int32) * 11
    return inputs


def wrong(graph: Graph, inputs: Mapping[str, Any], sizes: Mapping[str, int], outputs: Mapping[str, Any]) -> str:
    verdict = worst(list(Oracle(graph, inputs, sizes).check(outputs).values()))
    return "" if verdict.ok else verdict.message


@pytest.mark.parametrize("name", list(VARIANTS))
def test_is_one_kernel_that_matches_the_oracle(name: str) -> None:
    graph = graph_of(VARIANTS[name])
    assert [k.kernel_class for k in kernels(graph)] == ["attention"]
    stem = graph.outputs[0]
    for blocks in ((32, 28), (64, 112)):
        module = lower(graph, VECTOR, Config.of({f"{stem}.BQ": blocks[0], f"{stem}.BS": blocks[1]}))
        verify(module)
        assert module.temporaries == ()
        for seed, wanted in enumerate(cases(name)):
            sizes = numbers_of(graph, wanted)
            inputs = inputs_of(graph, sizes, seed)
            assert wrong(graph, inputs, sizes, tile_interpreter.run(module, inputs, sizes)) == "", sizes


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_c_matches_the_oracle(name: str) -> None:
    graph = graph_of(VARIANTS[name])
    run = kernelcat.kernel(VARIANTS[name], config={f"{graph.outputs[0]}.BQ": 32, f"{graph.outputs[0]}.BS": 28})
    larger = ({"B": 2, "L": 133, "S": 150, "D": 64, "E": 64}, {"B": 1, "L": 68, "S": 120, "D": 31, "E": 150})
    for seed, wanted in enumerate(cases(name, *larger)):
        sizes = numbers_of(graph, wanted)
        inputs = inputs_of(graph, sizes, seed)
        assert wrong(graph, inputs, sizes, {graph.outputs[0]: np.asarray(run(**inputs))}) == "", sizes


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f64"])
def test_other_types(dtype: str) -> None:
    formula = VARIANTS["causal"]
    shapes = {"query": f"2x37x24:{dtype}", "key": f"2x37x24:{dtype}", "value": f"2x37x20:{dtype}"}
    a = hops.analyse(formula, shapes)
    assert [k.kernel_class for k in kernels(a.graph)] == ["attention"]
    inputs = make_inputs(a.graph, a.workload, 3)
    run = kernelcat.kernel(formula, shapes=shapes)
    assert wrong(a.graph, inputs, a.workload, {a.graph.outputs[0]: np.asarray(run(**inputs))}) == ""


def extremes() -> dict[str, Any]:
    """Scores of 1e4, of 1e-30, equal ones, and rows that a mask of -inf or of the least float leaves nothing of."""
    rng = np.random.default_rng(1)
    query, key, value = (rng.standard_normal((1, 70, 8)).astype(np.float32) for _ in range(3))
    query[0, :10] *= 1e4
    query[0, 10:20] *= 1e-30
    query[0, 20:30] = 0
    mask = np.where(rng.random((70, 70)) < 0.5, 0, -np.inf).astype(np.float32)
    mask[30:40] = -np.inf
    mask[40:50] = np.finfo(np.float32).min
    mask[:, 50:60] = -np.inf
    return {"query": query, "key": key, "value": value, "mask": mask}


@pytest.mark.parametrize("name", ["added mask", "bool mask"])
def test_extreme_scores_and_rows_without_keys(name: str) -> None:
    inputs = extremes()
    if name == "bool mask":
        inputs["mask"] = np.isfinite(inputs["mask"])
    formula, kind = VARIANTS["added mask"], "bool" if name == "bool mask" else "f32"
    a = hops.analyse(formula, {"query": "1x70x8", "key": "1x70x8", "value": "1x70x8", "mask": f"70x70:{kind}"})
    assert [k.kernel_class for k in kernels(a.graph)] == ["attention"]
    stem = a.graph.outputs[0]
    for outputs in (tile_interpreter.run(lower(a.graph, VECTOR), inputs, a.workload),
                    {stem: np.asarray(kernelcat.kernel(formula, shapes={"mask": f"70x70:{kind}"})(**inputs))}):
        assert wrong(a.graph, inputs, a.workload, outputs) == ""
        assert np.isnan(outputs[stem][0, 30:40]).all() == (name == "added mask")


def test_what_scores_are_needed_for_elsewhere_stays_in_memory() -> None:
    shown = VARIANTS["window"] + "\nz[b,q] = sum[s](exp(score[b,q,s] - top[b,q]) / total[b,q])"
    assert "attention" not in [k.kernel_class for k in kernels(graph_of(shown))]
    other = VARIANTS["window"].replace("total[b,q] = sum[s](exp(score[b,q,s] - top[b,q]))",
                                       "total[b,q] = sum[s](exp(score[b,q,s]))")
    assert "attention" not in [k.kernel_class for k in kernels(graph_of(other))]


def test_models_that_cannot_take_it_keep_the_scores_in_memory() -> None:
    for model in ("simt", "dma"):
        module = lower(graph_of(VARIANTS["dense"]), Target(model, model, model, model, model, "c"))
        assert module.temporaries and all(p.kernel_class != "attention" for p in module.programs)
