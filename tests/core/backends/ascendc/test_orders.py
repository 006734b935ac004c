"""The functional model notices every barrier, flag and queue step that is missing from rendered text."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

from kernelcat_core.backends.ascendc.renderer import render
from kernelcat_core.numerics.distributions import make_inputs
from kernelcat_core.runtime import toolchain
from kernelcat_core.schedule.knobs import Config
from kernelcat_core.schedule.lower import lower
from tests.core.backends.ascendc.emulate import TARGET, Emulated
from tests.core.schedule.graphs import GRAPHS

pytestmark = pytest.mark.skipif(toolchain.find_cpp() is None, reason="needs a C++ compiler")
_STEP = re.compile(r"^( +)((?:PipeBarrier<\w+>|Sync<[\w:]+>|\w+\.EnQue|\w+\.FreeTensor)\(.*\);)$", re.MULTILINE)
SIZES = {"softmax": {"M": 90, "N": 5003}, "matmul_bias": {"M": 100, "N": 900, "K": 40},
         "argmax_rows": {"M": 90, "N": 600}}
# Steps that the text could do without: hazards are found a buffer at a time, and not through third pipes.
REDUNDANT = {"softmax": 0, "matmul_bias": 1, "argmax_rows": 2}


@pytest.mark.parametrize("name", list(SIZES))
def test_every_missing_order_is_seen(name: str) -> None:
    graph = GRAPHS[name]()
    module = lower(graph, TARGET, Config(), name)
    source = render(module, TARGET)
    number = iter(range(10_000))
    text = _STEP.sub(lambda m: f"{m[1]}if (kc_left_out != {next(number)}) {{ {m[2]} }}", source.text)
    count = next(number)
    switch = '#include <cstdint>\nextern "C" { extern int kc_left_out; int kc_left_out = -1; }\n'
    model = Emulated(module, replace(source, text=switch + text))
    sizes = {s: SIZES[name][s] for s in graph.size_names}
    inputs = make_inputs(graph, sizes, 0)
    left_out = ctypes.c_int.in_dll(model.library, "kc_left_out")
    said, wanted = model.run(inputs, sizes)
    assert said == ""
    unseen = 0
    for k in range(count):
        left_out.value = k
        said, outputs = model.run(inputs, sizes)
        if said == "":
            unseen += 1  # then another step gives this order too, and nothing changes
            for t, value in outputs.items():
                np.testing.assert_array_equal(value, wanted[t])
        else:
            assert re.match(r"\[(pipe-barrier|pipe-flag|queue-state|queue-depth)\] line \d+: ", said), said
    assert count >= 15
    assert unseen <= REDUNDANT[name]
