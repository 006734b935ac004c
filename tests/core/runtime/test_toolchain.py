"""Compilers as values: what they make, how they refuse, what is remembered."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from kernelcat_core.errors import Failure, KernelcatError
from kernelcat_core.runtime import cache, load, nvrtc, runner, toolchain
from kernelcat_core.runtime.runner import TensorSpec
from kernelcat_core.runtime.toolchain import Binary, Diagnostic, Toolchain

SCALE = """
#include <stdint.h>
static const char *message = "";
const char *kc_last_error(void) { return message; }
int scale(void **tensors, const int64_t *sizes) {
  const float *x = tensors[0];
  float *y = tensors[1];
  if (sizes[0] < 0) { message = "negative size"; return 1; }
  for (int64_t i = 0; i < sizes[0]; i++) y[i] = FACTOR * x[i];
  return 0;
}
"""
CUDA = "extern \"C\" __global__ void k(float *a) { a[threadIdx.x] += 1; }\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELCAT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def compiler() -> Toolchain:
    found = toolchain.find_c()
    assert found is not None
    return found


def build(compiler: Toolchain, text: str = SCALE, **settings: object) -> Binary:
    made = toolchain.compile(compiler, text, **{"flags": ("-O2", "-DFACTOR=3"), **settings})  # type: ignore[arg-type]
    assert isinstance(made, Binary), made
    return made


def test_a_binary_runs_in_process(compiler: Toolchain) -> None:
    kernel = load.load(build(compiler).path("shared"), "scale")
    x = np.arange(10, dtype=np.float32)
    (y,) = kernel((x,), (TensorSpec((10,), x.dtype),), (10,))
    np.testing.assert_array_equal(y, 3 * x)
    assert y.ctypes.data % runner.ALIGNMENT == 0


def test_an_error_in_process_is_coded(compiler: Toolchain) -> None:
    library = build(compiler).path("shared")
    kernel = load.load(library, "scale")
    with pytest.raises(KernelcatError, match="negative size") as caught:
        kernel((), (TensorSpec((1,), np.dtype(np.float32)),), (-1,))
    assert caught.value.code == "KC-M001"
    with pytest.raises(KernelcatError) as caught:
        load.load(library, "no_such_entry")
    assert caught.value.code == "KC-M001"


def test_the_second_compile_comes_from_the_cache(compiler: Toolchain) -> None:
    first, second = build(compiler), build(compiler)
    assert (first.cached, second.cached) == (False, True)
    assert first.paths == second.paths
    assert build(compiler, flags=("-O2", "-DFACTOR=4")).key != first.key
    assert build(compiler, text=SCALE + "\n").key != first.key


def test_a_damaged_entry_is_made_again(compiler: Toolchain) -> None:
    first = build(compiler)
    first.path("shared").write_bytes(b"not an object")
    second = build(compiler)
    assert not second.cached
    assert second.path("shared").read_bytes()[:4] == b"\x7fELF"


def test_assembly_is_text(compiler: Toolchain) -> None:
    made = build(compiler, kinds=("shared", "assembly"))
    assert "scale" in made.text("assembly")
    with pytest.raises(KeyError):
        made.path("ptx")


def test_headers_lie_beside_the_source(compiler: Toolchain) -> None:
    header = {"factor.h": "#define FACTOR 5\n"}
    made = build(compiler, text='#include "factor.h"\n' + SCALE, flags=("-O2",), files=header)
    (y,) = load.load(made.path("shared"), "scale")((np.ones(1, np.float32),), (TensorSpec((1,), np.dtype("f4")),), (1,))
    assert y[0] == 5


def test_a_rejected_source_is_a_failure_with_its_place(compiler: Toolchain) -> None:
    made = toolchain.compile(compiler, "int f(void) {\n  return x;\n}\n")
    assert isinstance(made, Failure)
    assert made.code == "KC-B001"
    assert "line 2:10" in made.message
    assert "error" in made.detail


def test_a_compiler_that_does_not_end_is_stopped(compiler: Toolchain) -> None:
    deep = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint f(void) { return B(B(1+)) 1; }\n"
    made = toolchain.compile(compiler, deep, timeout_s=1)
    assert isinstance(made, Failure)
    assert made.code == "KC-B003"


def test_a_source_cannot_read_files(compiler: Toolchain) -> None:
    for name in ("/etc/passwd", "/proc/self/environ"):
        made = toolchain.compile(compiler, f'#include "{name}"\n')
        assert isinstance(made, Failure), name
        assert made.code == "KC-B001"
        assert "root:" not in made.detail


def test_a_source_cannot_embed_files(compiler: Toolchain) -> None:
    made = toolchain.compile(compiler, '__asm__(".incbin \\"/etc/passwd\\"");\nint f(void) { return 0; }\n')
    assert isinstance(made, Failure)


def test_cpp_compiles_too() -> None:
    compiler = toolchain.find_cpp()
    assert compiler is not None
    made = toolchain.compile(compiler, '#include <vector>\nextern "C" int f() { return std::vector<int>(3).size(); }\n')
    assert isinstance(made, Binary), made


def test_zig_makes_the_same_where_no_compiler_is_installed() -> None:
    zig = toolchain._ziglang("c")
    assert zig is not None
    assert toolchain._compiles(zig)
    made = build(zig, flags=("-O2", "-march=native", "-DFACTOR=3"))
    (y,) = load.load(made.path("shared"), "scale")((np.ones(4, np.float32),), (TensorSpec((4,), np.dtype("f4")),), (4,))
    assert list(y) == [3] * 4
    again = build(zig, flags=("-O2", "-DFACTOR=2"))
    assert again.seconds < 3  # its libraries are kept


@pytest.mark.parametrize("find", [toolchain.find_nvrtc, toolchain.find_nvcc])
def test_cuda_compiles_without_a_device(find: object) -> None:
    compiler = find()  # type: ignore[operator]
    if compiler is None:
        pytest.skip("this machine lacks it; requirements-cuda.lock brings NVRTC")
    made = toolchain.compile(compiler, CUDA, flags=("-arch=sm_80", "-Xptxas=-v"), kinds=("ptx", "cubin"))
    assert isinstance(made, Binary), made
    assert ".target sm_80" in made.text("ptx")
    assert made.path("cubin").read_bytes()[:4] == b"\x7fELF"
    assert "registers" in made.log
    refused = toolchain.compile(compiler, CUDA.replace("a[", "b["), flags=("-arch=sm_80",), kinds=("ptx",))
    assert isinstance(refused, Failure)
    assert refused.code == "KC-B001"
    assert 'line 1: identifier "b" is undefined' in refused.message


def test_nvrtc_is_found_only_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvrtc.sysconfig, "get_paths", lambda: {"purelib": str(tmp_path)})
    monkeypatch.setattr(nvrtc.glob, "glob", lambda pattern: [])
    assert nvrtc.discover() is None


def test_diagnostics_of_each_style() -> None:
    log = ("kernel.c:3:7: error: expected ';'\nkernel.c:4:1: warning: unused\nkernel.cu(12): error: identifier\n"
           "kernel.cu(13): warning #177-D: never used\nother.h:1:1: error: not ours\nkernel.c:9: fatal error: stop\n")
    assert toolchain.diagnostics(log) == (
        Diagnostic(3, 7, "error", "expected ';'"), Diagnostic(4, 1, "warning", "unused"),
        Diagnostic(12, 0, "error", "identifier"), Diagnostic(13, 0, "warning", "never used"),
        Diagnostic(9, 0, "error", "stop"))


def test_a_missing_toolchain_says_what_to_install() -> None:
    failure = toolchain.missing("cuda")
    assert failure.code == "KC-B002"
    assert "CUDA" in failure.hint


def test_the_cache_stays_below_its_limit() -> None:
    for number in range(6):
        entry = cache.publish(cache.key(number=number), {"file": bytes(1000)}, {})
        os.utime(entry.files["file"].parent, (number, number))
    left = cache.trim(3500)
    assert left <= 3500
    assert cache.find(cache.key(number=5)) is not None
    assert cache.find(cache.key(number=0)) is None


def test_the_first_of_two_publishers_wins() -> None:
    key = cache.key(a=1)
    first = cache.publish(key, {"file": b"first"}, {"n": 1})
    second = cache.publish(key, {"file": b"second"}, {"n": 2})
    assert second.facts == {"n": 1}
    assert second.files == first.files
    assert first.files["file"].read_bytes() == b"first"


def test_the_cache_is_private() -> None:
    assert stat.S_IMODE(cache.folder().stat().st_mode) == 0o700


def test_a_key_does_not_depend_on_the_order_of_its_parts() -> None:
    assert cache.key(a=1, b=2) == cache.key(b=2, a=1) != cache.key(a=1, b=3)
