"""What the text keeps to, and what is said where PoCL is not installed: no PoCL needed here."""

from __future__ import annotations

import re

import pytest

from kernelcat_core.api import check
from kernelcat_core.backends.opencl import pocl
from kernelcat_core.backends.opencl.device import Device
from kernelcat_core.backends.opencl.renderer import render
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.pipeline import hops
from tests.core.backends.cuda.emulate import graph_of
from tests.core.backends.opencl.pocl_run import AVAILABLE, GENERIC, TARGETS, module_of

FORMULAS = {
    "softmax": "X: f32[M,N]; Y = softmax(X, axis=-1)",
    "product": "A: f16[M,K]; B: f16[K,N]; C = gelu(A @ B)",
    "argmax": "X: bf16[M,N]; Y[i] = argmax[k](X[i,k])",
    "eight bits": "X: f8e4m3[M]; Y: f8e5m2[M]; Z[i] = f8e4m3(f32(X[i])*f32(Y[i]))",
}


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_of_other_languages(name: str, arch: str) -> None:
    text = hops.render(graph_of(FORMULAS[name]), f"opencl:{arch}").source.text
    assert re.search(r"__kernel __attribute__\(\(reqd_work_group_size\(\d+, 1, 1\)\)\)", text)
    assert not re.search(r"__shfl|__sync|__pipeline|asm|long long|\dll\b|\b(exp|fabs|tanh|sqrt)f\(|\bdouble\b|sub_group", text)


@pytest.mark.parametrize("arch", TARGETS)
def test_local_memory_and_threads_stay_in_the_limits(arch: str) -> None:
    target = TARGETS[arch]
    made = hops.render(graph_of("A: f32[M,K]; B: f32[K,N]; C = softmax(A @ B)"), target.name)
    for _, words in made.source.launch:
        threads = re.search(r"blocks of (\d+) threads", words)
        assert threads is not None
        assert int(threads[1]) <= target.limits["threads"]
        if found := re.search(r"(\d+) bytes of shared", words):
            assert int(found[1]) <= target.limits["near_bytes"]
    threads_knobs = [k for k in hops.space(graph_of(FORMULAS["softmax"]), target.name).knobs if k.name.endswith("threads")]
    assert threads_knobs
    assert all(max(k.values) <= target.limits["threads"] for k in threads_knobs)


def test_double_precision_is_refused_where_it_is_missing() -> None:
    graph = graph_of("X: f64[M]; Y[i] = exp(X[i])")
    assert "#pragma OPENCL EXTENSION cl_khr_fp64 : enable" in render(module_of(graph), GENERIC).text
    with pytest.raises(KernelcatError, match="no arithmetic or storage for f64") as caught:
        render(module_of(graph, target=TARGETS["mali-g610"]), TARGETS["mali-g610"])
    assert caught.value.code == "KC-R001"


def test_without_pocl_texts_are_rendered_and_the_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pocl, "find", lambda: None)
    device = Device()
    source = render(module_of(graph_of(FORMULAS["softmax"])), GENERIC)
    assert device.describe().facts == ("rendered",)
    assert "kernelcat[opencl]" in device.describe().missing[0]
    assert device.compile(source, GENERIC) is None
    missing = device.library(source, GENERIC)
    assert isinstance(missing, Failure)
    assert missing.code == "KC-B002"


@pytest.mark.skipif(not AVAILABLE, reason="no PoCL")
def test_evidence_names_pocl_and_never_a_time() -> None:
    about = Device().describe()
    assert about.name.startswith("PoCL 3.")
    assert "CPU" in about.name
    assert about.facts == ("rendered", "compiled", "executed")


@pytest.mark.skipif(not AVAILABLE, reason="no PoCL")
def test_a_text_that_does_not_compile_is_a_failure_with_its_line() -> None:
    source = hops.render(graph_of(FORMULAS["softmax"]), "opencl").source
    broken = type(source)(source.text.replace("barrier(", "barier(", 1), source.entry, "opencl", source.target, (), source.files)
    line = 1 + source.text[: source.text.index("barrier(")].count("\n")
    made = Device().compile(broken, GENERIC)
    assert isinstance(made, Failure)
    assert made.code == "KC-B001"
    assert f"line {line}:" in made.message


@pytest.mark.skipif(not AVAILABLE, reason="no PoCL")
def test_pocl_in_the_place_of_a_gpu_is_an_emulation() -> None:
    rows = {t: check("X: f32[M]; Y[i] = X[i] * 2", [t], seeds=1)["targets"][0] for t in ("opencl", "opencl:mali-g610")}
    assert [r["facts"] for r in rows.values()] == [["rendered", "compiled", "executed"], ["rendered", "compiled", "emulated"]]
    for r in rows.values():
        assert r["ok"]
        assert r["rows"][1]["toolchain"].startswith("pocl 3.")
        assert r["rows"][2]["toolchain"].startswith("pocl 3.")
        assert "PoCL" in r["rows"][2]["device"]
