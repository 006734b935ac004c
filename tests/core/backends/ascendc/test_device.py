"""What the backend says that it can show here, its host side, and the path to the vendor's compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelcat_core.backends import resolve
from kernelcat_core.backends.ascendc.device import TWIN, Device, find_bisheng
from kernelcat_core.backends.ascendc.renderer import render
from kernelcat_core.backends.device import Compiled
from kernelcat_core.backends.twin_headers import model_digest
from kernelcat_core.errors import Failure
from kernelcat_core.runtime import toolchain
from kernelcat_core.schedule.lower import lower
from tests.core.backends.ascendc.emulate import TARGET, Emulated
from tests.core.schedule.graphs import GRAPHS

needs_compiler = pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")


def test_device_names_lead_to_the_target() -> None:
    for name in ("ascend910b", "Ascend910B", "910b3", "ascend:910b"):
        assert resolve(name)[1].name == "ascend:910b"


@needs_compiler
def test_without_cann_the_text_is_emulated_and_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    about = Device().describe()
    assert about.facts == ("rendered", "emulated")
    assert any("ASCEND_HOME_PATH" in line for line in about.missing)
    module = lower(GRAPHS["softmax"](), TARGET)
    assert Device().compile(render(module, TARGET), TARGET) is None


def test_bisheng_is_called_with_the_tiling_header(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_in = tmp_path / "bin" / "bisheng"
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\nfor a in \"$@\"; do last=$a; done\necho \"args: $*\" > \"$last\"\n")
    stand_in.chmod(0o755)
    (tmp_path / "version.cfg").write_text("version=8.2.RC1\n")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    found = find_bisheng()
    assert found is not None
    assert found.version == "8.2.RC1"
    assert "compiled" in Device().describe().facts
    module = lower(GRAPHS["softmax"](), TARGET, name="softmax")
    made = Device().compile(render(module, TARGET), TARGET)
    assert isinstance(made, Compiled), made
    assert "--cce-aicore-arch=dav-c220-vec" in made.assembly
    assert "softmax_tiling.h" in made.assembly


def test_a_source_holds_kernel_tiling_host_and_driver() -> None:
    source = render(lower(GRAPHS["layer_norm"](), TARGET, name="layer_norm"), TARGET)
    files = dict(source.files)
    assert list(files) == ["layer_norm_tiling.h", "layer_norm_host.cpp", "layer_norm_driver.cpp"]
    entry = 'extern "C" __global__ __aicore__ void kc_layer_norm('
    for words in (entry, "class KcLayerNormCore {", "void Init(", "void Process()"):
        assert words in source.text
    assert "BEGIN_TILING_DATA_DEF(KcLayerNormTilingData)" in files["layer_norm_tiling.h"]
    for words in ("OP_ADD(KcLayerNorm);", "SetBlockDim", 'AddConfig("ascend910b")', "KcLayerNormInferShape"):
        assert words in files["layer_norm_host.cpp"]
    assert "std::" not in source.text  # the scalar unit has no C++ library


@needs_compiler
def test_text_that_the_host_cannot_build_is_a_failure_with_its_line() -> None:
    source = render(lower(GRAPHS["softmax"](), TARGET), TARGET)
    broken = Device().library(replace(source, text=source.text.replace("Exp(", "Expo(")), TARGET)
    assert isinstance(broken, Failure)
    assert broken.code == "KC-B001"


@needs_compiler
def test_a_wrong_host_function_is_noticed() -> None:
    graph = GRAPHS["softmax"]()
    module = lower(graph, TARGET, name="softmax")
    source = render(module, TARGET)

    def with_host(old: str, new: str) -> str:
        files = tuple((n, t.replace(old, new) if n == "softmax_host.cpp" else t) for n, t in source.files)
        assert files != source.files
        import numpy as np

        model = Emulated(module, replace(source, files=files))
        return model.run({"X": np.ones((3, 4), np.float32)}, {"M": 3, "N": 4})[0]

    assert with_host("SetDim(1, N)", "SetDim(1, M)").startswith("[host-shape]")
    assert with_host("cells < 1 ? 1 : cells < cores ? cells : cores", "0").startswith("[host-tiling]")


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "half"])
def test_any_module_name_builds(name: str) -> None:
    Emulated.of(GRAPHS["gather"](), name=name)


def test_the_model_has_a_digest_for_the_cache() -> None:
    assert len(model_digest(TWIN)) == 15
    int(model_digest(TWIN), 16)
