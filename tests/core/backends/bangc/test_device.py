"""What the backend says that it can show here, its host side, refusals, and the path to the vendor's compiler."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core import api
from kernelcat_core.backends import resolve
from kernelcat_core.backends.bangc.device import Device, find_cncc
from kernelcat_core.backends.bangc.instructions import table
from kernelcat_core.backends.bangc.library import functions
from kernelcat_core.backends.bangc.renderer import render
from kernelcat_core.backends.device import Compiled
from kernelcat_core.dtypes import DTYPES
from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.ir.expr import OPS
from kernelcat_core.runtime import toolchain
from kernelcat_core.schedule.lower import lower
from tests.core.backends.bangc.emulate import MLU590, TARGET, Emulated
from tests.core.backends.bangc.test_kernels import elementwise
from tests.core.schedule.graphs import GRAPHS

TWIN = Path(__file__).parents[4] / "kernelcat_core/backends/bangc/twin"
needs_compiler = pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")


@pytest.fixture
def no_neuware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def test_device_names_lead_to_the_targets() -> None:
    for name in ("mlu370", "MLU370-X8", "cambricon", "mtp_372"):
        assert resolve(name)[1].name == "cambricon:mlu370"
    assert resolve("mlu590")[1].name == "cambricon:mlu590"


@needs_compiler
@pytest.mark.usefixtures("no_neuware")
def test_without_neuware_the_text_is_emulated_and_never_compiled() -> None:
    about = Device().describe()
    assert about.facts == ("rendered", "emulated")
    assert any("NEUWARE_HOME" in line for line in about.missing)
    assert Device().compile(render(lower(GRAPHS["softmax"](), TARGET), TARGET), TARGET) is None


def test_cncc_is_called_for_the_architecture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in = tmp_path / "bin" / "cncc"
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\nfor a in \"$@\"; do last=$a; done\necho \"args: $*\" > \"$last\"\n")
    stand_in.chmod(0o755)
    (tmp_path / "version.txt").write_text("Neuware 4.7.2\n")
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path))
    found = find_cncc()
    assert found is not None
    assert found.version == "4.7.2"
    assert "compiled" in Device().describe().facts
    made = Device().compile(render(lower(GRAPHS["softmax"](), MLU590, name="softmax"), MLU590), MLU590)
    assert isinstance(made, Compiled), made
    assert "--bang-mlu-arch=mtp_592" in made.assembly


def test_a_source_holds_kernels_and_the_host_function() -> None:
    source = render(lower(GRAPHS["layer_norm"](), TARGET, name="layer_norm"), TARGET)
    for words in ("__mlu_global__ void kc_layer_norm(", "if (__is_mpu()) return;", "cell += taskDim",
                  "cnrtRet_t kc_launch_layer_norm(cnrtQueue_t queue", "<<<dim, cnrtFuncTypeUnion1, queue>>>("):
        assert words in source.text
    assert "double" not in source.text


def test_what_the_hardware_lacks_is_refused_with_a_code() -> None:
    with pytest.raises(KernelcatError, match=r"KC-R001.*f64"):
        render(lower(elementwise({"add": None}, DTYPES["f64"]), TARGET), TARGET)


@needs_compiler
def test_text_that_the_host_cannot_build_is_a_failure_with_its_line() -> None:
    source = render(lower(GRAPHS["softmax"](), TARGET), TARGET)
    broken = Device().library(replace(source, text=source.text.replace("__bang_pow2(", "__bang_pow3(")), TARGET)
    assert isinstance(broken, Failure)
    assert broken.code == "KC-B001"


@needs_compiler
def test_missing_syncs_are_seen() -> None:
    """Each sync of the text is left out in turn: the model names the conflict, or nothing changes (another gives the order)."""
    graph = GRAPHS["softmax"]()
    module = lower(graph, TARGET, name="softmax")
    source = render(module, TARGET)
    number = iter(range(10_000))
    text = re.sub(r"__sync_\w+\(\);", lambda m: f"if (kc_left_out != {next(number)}) {m[0]}", source.text)
    count = next(number)
    switch = "extern \"C\" { extern int kc_left_out; int kc_left_out = -1; }\n"
    model = Emulated(module, replace(source, text=switch + text))
    inputs = {"X": np.random.default_rng(0).standard_normal((40, 5003)).astype(np.float32)}
    sizes = {"M": 40, "N": 5003}
    left_out = ctypes.c_int.in_dll(model.library, "kc_left_out")
    said, wanted = model.run(inputs, sizes)
    assert said == ""
    unseen = 0
    for k in range(count):
        left_out.value = k
        said, outputs = model.run(inputs, sizes)
        if said:
            assert re.match(r"\[pipe-order\] line \d+: .* needs __sync_(io|compute)\(\)", said), said
        else:
            unseen += 1
            np.testing.assert_array_equal(outputs["Y"], wanted["Y"])
    assert count >= 7
    assert unseen <= 2  # the copies ahead of a first iteration, which earlier waits of another loop order as well


@needs_compiler
def test_the_command_says_emulated() -> None:
    (row,) = api.check("Y = X*2 + 1", ["mlu370"], {"X": "3x70:f16"}, 1)["targets"]
    assert row["ok"], row
    assert tuple(row["facts"]) == ("rendered", "emulated")


@pytest.mark.parametrize("arch", [372, 592])
def test_every_instruction_is_one_that_the_model_has(arch: int) -> None:
    text = "".join(p.read_text() for p in TWIN.glob("*.h"))
    rows = table(arch).rows
    keys = [(r.kind, r.op, r.dtype, r.to) for r in rows]
    assert len(set(keys)) == len(keys)
    for r in rows:
        assert r.op in OPS or r.kind in ("reduce", "bits", "matrix")
        assert r.dtype in DTYPES
        assert r.source in ("GUIDE", "OWN")
        if r.source == "OWN":
            assert r.name in functions(arch)
        else:
            assert re.search(rf"\b{r.name}\b", text) or re.search(rf"\b{r.name.removesuffix('_scalar')}\b", text), r
