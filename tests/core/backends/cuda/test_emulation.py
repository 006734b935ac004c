"""The functional model: planted faults are named, sound kernels run, in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest

from kernelcat_core.backends.cuda import emulation
from kernelcat_core.conformance.twins.cuda import FAULTS, KERNELS, LAUNCHES, SOUND, launch, line_of, planted
from kernelcat_core.runtime import toolchain

pytestmark = pytest.mark.skipif(toolchain.find_cpp() is None, reason="no C++ compiler")
ORDERS = ("forward", "reverse", "random:7")


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KC_FIBER_ORDER", request.param)  # os.environ writes through to the C environment
    return str(request.param)


def test_every_kernel_is_a_case() -> None:
    assert set(KERNELS) == {*FAULTS, *SOUND}


def test_a_sound_kernel_runs(order: str) -> None:
    message, x, y = launch("good", (4, 1, 1))
    assert message == ""
    expected = x.reshape(4, 64)[:, ::-1] + x.reshape(4, 32, 2)[:, :, ::-1].reshape(4, 64)
    np.testing.assert_array_equal(y, expected.reshape(-1))


@pytest.mark.parametrize("kernel", FAULTS)
def test_a_fault_is_named_in_every_order(kernel: str, order: str) -> None:
    rule, said = FAULTS[kernel]
    message = planted(kernel)
    assert message.startswith(rule) and said in message, message
    assert kernel in message


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_bad_launch_is_refused(name: str) -> None:
    grid, block, dynamic, rule = LAUNCHES[name]
    message, _, y = launch("plain", grid, block, dynamic)
    assert message.startswith(rule)
    assert np.isnan(y).all()


def test_a_fault_names_its_line() -> None:
    message, _, _ = launch("read_past_the_end")
    assert f"at line {line_of('read_past_the_end')}]" in message


def test_a_run_after_a_fault_is_not_affected() -> None:
    assert launch("divergent_barrier")[0]
    assert launch("good", (4, 1, 1))[0] == ""


def test_portable_context_switches() -> None:
    portable = ("-DKC_UCONTEXT",)
    message, x, y = launch("good", (4, 1, 1), flags=portable)
    assert message == ""
    assert y[0] == x[63] + x[1]
    assert launch("missing_barrier", flags=portable)[0].startswith("shared-")
    assert launch("divergent_barrier", flags=portable)[0].startswith("barrier-divergence")


def test_a_text_that_does_not_compile_is_a_failure_with_its_line() -> None:
    made = emulation.build("__global__ void f() {\n  wrong;\n}\n", "")
    assert not isinstance(made, toolchain.Binary)
    assert made.code == "KC-B001"
    assert "line 2" in made.message
